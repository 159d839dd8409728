//! CUDA, opened at run time.

use std::path::Path;
use std::sync::OnceLock;

/// What libtorch found when it looked for CUDA.
struct Cuda {
    devices: usize,
    /// Why there is no device, although there is a driver.
    problem: Option<String>,
}

static CUDA: OnceLock<Cuda> = OnceLock::new();

/// Opens libtorch's CUDA part on first use, so that one binary runs on machines with and without CUDA.
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
    library.map(std::mem::forget).map_err(|error| with_causes(&error))
}

/// An error and what caused it, which tells which file or name was not found.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source()).map(|cause| format!(": {cause}"));
    std::iter::once(error.to_string()).chain(causes).collect()
}

/// Why CUDA is unusable although there is a `driver`, if so, given whether libtorch's CUDA part `opened`, how many
/// `devices` it found, and whether the environment may have `hidden` some.
fn problem(driver: bool, opened: Result<(), String>, devices: usize, hidden: bool) -> Option<String> {
    match opened {
        _ if !driver || devices > 0 => None,
        Err(error) => Some(format!("an NVIDIA driver is here, but libtorch's CUDA part does not open ({error})")),
        Ok(()) if hidden => None,
        Ok(()) => Some("an NVIDIA driver is here, but libtorch finds no device that it can use".to_owned()),
    }
}

/// Number of usable CUDA devices.
pub(crate) fn cuda_devices() -> usize {
    cuda().devices
}

/// Why there is no CUDA device although there is a driver; `None` where CUDA was not looked for.
pub(crate) fn cuda_problem() -> Option<&'static str> {
    CUDA.get()?.problem.as_deref()
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
