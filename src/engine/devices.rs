//! The CUDA devices of this machine.

use super::device::{Device, DeviceChoice};
use super::torch::{HAS_TORCH, cuda_devices, cuda_problem};
use crate::progress::{Event, Run};

/// The CUDA device asked for cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("device cuda:{index} was asked for, but {found}; ask for cpu or auto, or {remedy}")]
pub struct DeviceError {
    /// Number of the CUDA device that was asked for.
    pub index: usize,
    /// What is there instead.
    pub found: String,
    /// What makes the device usable.
    pub remedy: &'static str,
}

impl DeviceChoice {
    /// The device to compute on.
    ///
    /// # Errors
    /// If CUDA is asked for and is not there.
    pub fn resolve(self) -> Result<Device, DeviceError> {
        let index = match self {
            DeviceChoice::Cpu => return Ok(Device::Cpu),
            DeviceChoice::Auto => return Ok(if cuda_devices() > 0 { Device::Cuda(0) } else { Device::Cpu }),
            DeviceChoice::Cuda(index) => index,
        };
        let absent = |found: &str| {
            let remedy = if HAS_TORCH { "make one visible" } else { BUILD_WITH_TORCH };
            Err(DeviceError { index, found: found.to_owned(), remedy })
        };
        match cuda_devices() {
            0 if !HAS_TORCH => absent(WITHOUT_TORCH),
            0 => absent(cuda_problem().unwrap_or("this machine has no usable CUDA device")),
            count if index < count => Ok(Device::Cuda(index)),
            1 => absent("there is only cuda:0"),
            count => absent(&format!("there are only cuda:0 to cuda:{}", count - 1)),
        }
    }
}

/// Why something needs another build, in messages.
pub const WITHOUT_TORCH: &str = "this paramill was built without libtorch";
/// What to do in a build without libtorch.
pub const BUILD_WITH_TORCH: &str = "build paramill with its default features (`make build`)";

/// Warns if CUDA was looked for and has a driver, but the CPU computes all the same.
pub fn warn_of_cuda(run: &Run) {
    if let Some(problem) = cuda_problem() {
        let remedy = "install a libtorch with CUDA that suits the driver, or ask for the device cpu";
        run.emit(Event::Warn(format!("{problem}: the CPU computes; {remedy}")));
    }
}
