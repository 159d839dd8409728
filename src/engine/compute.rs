//! Which engine computes, and where.

use std::fmt;
use std::str::FromStr;

use super::device::{Device, DeviceChoice};
use super::devices::{BUILD_WITH_TORCH, DeviceError, WITHOUT_TORCH};
use super::native::Native;
use super::products::Products;
use super::rollouts::Engine;
use super::settings::{Precision, Solver};
use super::torch::{self, HAS_TORCH, one_thread_each};
use crate::models;
use crate::schema::StateShape;

/// Which engine the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// Native kernels for perceptrons and libraries of products unless a CUDA device is asked for by name, else libtorch. Small models are
    /// faster on the CPU than on a device to which each operation must be sent.
    Auto,
    /// Native kernels: perceptrons and libraries of products on the CPU.
    Native,
    /// libtorch: every model, on the CPU or a CUDA device.
    Torch,
}

impl EngineChoice {
    /// Every engine, with what it computes.
    pub const ALL: [(EngineChoice, &'static str); 2] = [
        (EngineChoice::Native, "perceptrons and libraries of products on the CPU"),
        (EngineChoice::Torch, "every model by libtorch, on the CPU or a CUDA device"),
    ];

    /// Whether it is part of this build.
    pub fn is_built_in(self) -> bool {
        self != EngineChoice::Torch || HAS_TORCH
    }
}

/// Device and engine, as the user asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compute {
    /// Where to compute.
    pub device: DeviceChoice,
    /// What to compute with.
    pub engine: EngineChoice,
}

/// Why the engine or the device asked for cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// The device asked for is not there.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The native engine was asked for together with a CUDA device.
    #[error(
        "engine native was asked for, but it computes on the CPU, not on {device}; ask for the device cpu or the engine auto"
    )]
    NativeDevice {
        /// The device.
        device: Device,
    },
    /// The engine torch was asked for in a build without libtorch.
    #[error("engine torch was asked for, but {WITHOUT_TORCH}; ask for the engine auto, or {BUILD_WITH_TORCH}")]
    NoTorch,
    /// A model of fields in a build without libtorch.
    #[error("a model of fields is computed by libtorch, and {WITHOUT_TORCH}; {BUILD_WITH_TORCH}")]
    NoTorchForFields,
}

/// Whether this build computes the vector field of `model`: fields need libtorch.
pub fn computes(model: &models::Settings) -> bool {
    HAS_TORCH || matches!(model, models::Settings::Mlp { .. } | models::Settings::Library { .. })
}

impl Compute {
    /// Checks that the engine and the device asked for by name are available, before anything is computed.
    ///
    /// # Errors
    /// If this build or this machine does not have it.
    pub fn check(self) -> Result<(), ComputeError> {
        if self.engine == EngineChoice::Torch && !HAS_TORCH {
            return Err(ComputeError::NoTorch);
        }
        match self.device {
            DeviceChoice::Auto | DeviceChoice::Cpu => Ok(()),
            DeviceChoice::Cuda(_) => Ok(self.device.resolve().map(|_| ())?),
        }
    }

    /// The engine for a model of states of that shape with that many inputs, and the device that it computes on.
    ///
    /// # Errors
    /// If the engine or the device is not available, or the engine does not support the device.
    pub fn engine(
        self,
        model: &models::Settings,
        state: &StateShape,
        inputs: usize,
        solver: Solver,
        substeps: usize,
        precision: Precision,
    ) -> Result<(Box<dyn Engine>, Device), ComputeError> {
        one_thread_each();
        let perceptron = model.perceptron(state, inputs).filter(|_| self.engine != EngineChoice::Torch);
        let library = model.library(state, inputs).filter(|_| self.engine != EngineChoice::Torch);
        let is_native = perceptron.is_some() || library.is_some();
        let device = match self.device {
            DeviceChoice::Auto if is_native || self.engine == EngineChoice::Native => Device::Cpu,
            choice => choice.resolve()?,
        };
        if self.engine == EngineChoice::Native && device != Device::Cpu {
            return Err(ComputeError::NativeDevice { device });
        }
        if let Some(library) = library.filter(|_| device == Device::Cpu) {
            return Ok((Box::new(Products::new(library, solver.tableau(1), substeps)), device));
        }
        let tableau = || solver.tableau(substeps);
        let engine: Box<dyn Engine> = match (perceptron.filter(|_| device == Device::Cpu), precision) {
            (Some(perceptron), Precision::F32) => Box::new(Native::<f32>::new(&perceptron, tableau())),
            (Some(perceptron), Precision::F64) => Box::new(Native::<f64>::new(&perceptron, tableau())),
            (None, _) => {
                let method = (solver.tableau(1), substeps);
                let fields = !state.space.is_empty();
                let none = if fields { ComputeError::NoTorchForFields } else { ComputeError::NoTorch };
                torch::engine(model, (state, inputs), method, device, precision).ok_or(none)?
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
