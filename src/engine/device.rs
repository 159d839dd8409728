//! Where tensors live: the CPU, or a CUDA device opened at run time.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use crate::progress::{Event, Run};

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
            DeviceChoice::Auto => Ok(if cuda().devices > 0 { tch::Device::Cuda(0) } else { tch::Device::Cpu }),
            DeviceChoice::Cuda(index) => match cuda().devices {
                0 => {
                    let unusable = || "this machine has no usable CUDA device".to_owned();
                    Err(DeviceError { index, found: cuda().problem.clone().unwrap_or_else(unusable) })
                }
                count if index < count => Ok(tch::Device::Cuda(index)),
                1 => Err(DeviceError { index, found: "there is only cuda:0".to_owned() }),
                count => Err(DeviceError { index, found: format!("there are only cuda:0 to cuda:{}", count - 1) }),
            },
        }
    }
}

/// What libtorch found of CUDA.
struct Cuda {
    devices: usize,
    /// Why there is none, though there is a driver.
    problem: Option<String>,
}

static CUDA: OnceLock<Cuda> = OnceLock::new();

/// Opens libtorch's CUDA part on first use, so that one binary serves machines with and without.
fn cuda() -> &'static Cuda {
    CUDA.get_or_init(|| {
        let driver = ["/proc/driver/nvidia/version", "/dev/nvidiactl"].iter().any(|path| Path::new(path).exists());
        let opened = if driver { open() } else { Ok(()) };
        let devices = usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
        let hidden = std::env::var_os("CUDA_VISIBLE_DEVICES").is_some();
        Cuda { devices, problem: problem(driver, opened, devices, hidden) }
    })
}

fn open() -> Result<(), String> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: libtorch's own library, which registers its kernels when it is loaded; it is never unloaded.
    let library = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
    library.map(std::mem::forget).map_err(|error| error.to_string())
}

/// What is wrong with CUDA on a machine with or without a driver, where libtorch's part `opened` or not and then found so many `devices`,
/// of which the environment may have `hidden` some.
fn problem(driver: bool, opened: Result<(), String>, devices: usize, hidden: bool) -> Option<String> {
    match opened {
        _ if !driver || devices > 0 => None,
        Err(error) => Some(format!("an NVIDIA driver is here, but libtorch's CUDA part does not open ({error})")),
        Ok(()) if hidden => None,
        Ok(()) => Some("an NVIDIA driver is here, but libtorch finds no device that it can use".to_owned()),
    }
}

/// Says so if CUDA was looked for, its driver is here, and the CPU computes all the same.
pub fn warn_of_cuda(run: &Run) {
    if let Some(problem) = CUDA.get().and_then(|cuda| cuda.problem.as_ref()) {
        let remedy = "install a libtorch with CUDA that suits the driver, or say --device cpu";
        run.emit(Event::Warn(format!("{problem}: the CPU computes; {remedy}")));
    }
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

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn a_driver_without_a_device_is_a_problem_unless_someone_hid_it() {
        let closed = || Err("libtorch_cuda.so: cannot open shared object file".to_owned());
        assert!(problem(true, closed(), 0, false).is_some_and(|problem| problem.contains("libtorch_cuda.so")));
        assert!(problem(true, closed(), 0, true).is_some(), "a library that does not open is not what was hidden");
        assert!(problem(true, Ok(()), 0, false).is_some_and(|problem| problem.contains("no device")));
        for (driver, opened, devices, hidden) in
            [(false, Ok(()), 0, false), (true, Ok(()), 1, false), (true, Ok(()), 0, true)]
        {
            assert_eq!(problem(driver, opened, devices, hidden), None);
        }
    }
}
