//! The arguments that say where and with what to compute.

use clap::Args;

use super::choices::{device, engine};
use crate::engine::{Compute, DeviceChoice, EngineChoice};

/// Device and engine of a command that computes.
#[derive(Debug, Args)]
pub(crate) struct ComputeArguments {
    /// Where tensors live: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_parser = device)]
    device: DeviceChoice,
    /// What computes rollouts: auto, native (perceptrons and libraries of products, on the CPU) or torch
    #[arg(long, default_value = "auto", value_parser = engine)]
    engine: EngineChoice,
}

impl ComputeArguments {
    pub(crate) fn compute(&self) -> Compute {
        Compute { device: self.device, engine: self.engine }
    }
}
