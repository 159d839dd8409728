//! The memory that this process has now.

use std::fs;

/// In MiB; `None` where the system does not tell.
pub(crate) fn resident_mib() -> Option<u64> {
    read(&fs::read_to_string("/proc/self/status").ok()?)
}

fn read(status: &str) -> Option<u64> {
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"))?;
    Some(kib.trim().parse::<u64>().ok()?.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_it_in_kib() {
        assert_eq!(read("Name:\tparamill\nVmHWM:\t  409600 kB\nVmRSS:\t  204801 kB\n"), Some(201));
        assert_eq!(read("Name:\tparamill\n"), None);
    }
}
