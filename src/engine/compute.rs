//! Which engine computes, and where.

use std::fmt;
use std::str::FromStr;

use super::device::{DeviceChoice, DeviceError};
use super::native::Native;
use super::settings::{Precision, Solver};
use super::torch::Torch;
use super::{Engine, one_thread_each};
use crate::models;
use crate::schema::StateShape;

/// Which engine the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// Native kernels for perceptrons unless a CUDA device is asked for by name, else libtorch: a small perceptron is faster
    /// on the CPU than any device that each of its operations must be sent to.
    Auto,
    Native,
    Torch,
}

/// Device and engine, as the user asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compute {
    pub device: DeviceChoice,
    pub engine: EngineChoice,
}

/// Why there is no such engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(
        "engine native was asked for, but it computes on the CPU, not on {device}; use --device cpu or --engine auto"
    )]
    NativeDevice { device: String },
    #[error(
        "engine native was asked for, but the rule differentiates through adaptation, which takes the derivatives of \
         libtorch; use --engine torch or --engine auto"
    )]
    NoAutograd,
}

impl Compute {
    /// The same for a rule that differentiates through adaptation.
    ///
    /// # Errors
    /// If an engine without second derivatives is asked for by name.
    pub fn with_autograd(self) -> Result<Self, ComputeError> {
        match self.engine {
            EngineChoice::Native => Err(ComputeError::NoAutograd),
            EngineChoice::Auto | EngineChoice::Torch => Ok(Compute { engine: EngineChoice::Torch, ..self }),
        }
    }

    /// The engine for a model of states of that shape under so many inputs, and the device that it computes on.
    ///
    /// # Errors
    /// If the device is not there, or the engine does not compute on it.
    pub fn engine(
        self,
        model: &models::Settings,
        state: &StateShape,
        inputs: usize,
        solver: Solver,
        substeps: usize,
        precision: Precision,
    ) -> Result<(Box<dyn Engine>, tch::Device), ComputeError> {
        one_thread_each();
        let perceptron = model.perceptron(state, inputs).filter(|_| self.engine != EngineChoice::Torch);
        let device = match self.device {
            DeviceChoice::Auto if perceptron.is_some() || self.engine == EngineChoice::Native => tch::Device::Cpu,
            choice => choice.resolve()?,
        };
        if self.engine == EngineChoice::Native && device != tch::Device::Cpu {
            return Err(ComputeError::NativeDevice { device: super::device::device_name(device) });
        }
        let tableau = || solver.tableau(substeps);
        let engine: Box<dyn Engine> = match (perceptron.filter(|_| device == tch::Device::Cpu), precision) {
            (Some(perceptron), Precision::F32) => Box::new(Native::<f32>::new(&perceptron, tableau())),
            (Some(perceptron), Precision::F64) => Box::new(Native::<f64>::new(&perceptron, tableau())),
            (None, _) => {
                let method = (solver.tableau(1), substeps);
                Box::new(Torch::new(model.build(state, inputs), method, device, precision, !state.space.is_empty()))
            }
        };
        Ok((engine, device))
    }
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(EngineChoice::Auto),
            "native" => Ok(EngineChoice::Native),
            "torch" => Ok(EngineChoice::Torch),
            _ => Err(format!("found `{text}`, expected auto, native or torch")),
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineChoice::Auto => "auto",
            EngineChoice::Native => "native",
            EngineChoice::Torch => "torch",
        })
    }
}
