//! Where tensors live: the CPU, or a CUDA device opened at run time.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Once;

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// CUDA where there is one, else the CPU.
    Auto,
    Cpu,
    Cuda(usize),
}

/// No such device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("device cuda:{index} was asked for, but {found}; use --device cpu or --device auto, or make one visible")]
pub struct DeviceError {
    pub index: usize,
    /// What is there instead.
    pub found: String,
}

impl DeviceChoice {
    /// The device to compute on.
    ///
    /// # Errors
    /// If CUDA is asked for and is not there.
    pub fn resolve(self) -> Result<tch::Device, DeviceError> {
        match self {
            DeviceChoice::Cpu => Ok(tch::Device::Cpu),
            DeviceChoice::Auto => Ok(if cuda_devices() > 0 { tch::Device::Cuda(0) } else { tch::Device::Cpu }),
            DeviceChoice::Cuda(index) => match cuda_devices() {
                0 => Err(DeviceError { index, found: "this machine has no usable CUDA device".to_owned() }),
                count if index < count => Ok(tch::Device::Cuda(index)),
                1 => Err(DeviceError { index, found: "there is only cuda:0".to_owned() }),
                count => Err(DeviceError { index, found: format!("there are only cuda:0 to cuda:{}", count - 1) }),
            },
        }
    }
}

/// Number of CUDA devices. Opens libtorch's CUDA part on first use, so that one binary serves machines with and without.
fn cuda_devices() -> usize {
    static OPEN: Once = Once::new();
    OPEN.call_once(|| {
        if Path::new("/proc/driver/nvidia/version").exists() || Path::new("/dev/nvidiactl").exists() {
            use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
            // SAFETY: libtorch's own library, which registers its kernels when it is loaded; it is never unloaded.
            match unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(library) => std::mem::forget(library),
                Err(error) => tracing::warn!("a CUDA driver is here, but libtorch's CUDA part does not open: {error}"),
            }
        }
    });
    usize::try_from(tch::Cuda::device_count()).unwrap_or(0)
}

/// Name of a device as in `--device`.
pub fn device_name(device: tch::Device) -> String {
    match device {
        tch::Device::Cuda(index) => format!("cuda:{index}"),
        _ => "cpu".to_owned(),
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|index| index.parse().ok())
                .map(DeviceChoice::Cuda)
                .ok_or_else(|| format!("found `{text}`, expected auto, cpu, cuda or cuda:N")),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}
