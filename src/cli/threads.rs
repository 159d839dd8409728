//! The threads that a command computes with.

use crate::pipeline::Error;

/// Starts the threads: so many, or as many as the process may use.
pub(crate) fn start_threads(threads: Option<u16>) -> Result<(), Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.or_else(allocated).map_or(0, usize::from));
    pool.build_global().map_err(|error| Error::Usage(format!("cannot start the threads ({error}); lower --threads")))
}

/// The processors that Slurm gave to the job of this process. Where Slurm does not confine its jobs, they see all of the machine's.
fn allocated() -> Option<u16> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok().filter(|&count| (1..=1024).contains(&count));
    std::env::var_os("SLURM_JOB_ID")?;
    number("SLURM_CPUS_PER_TASK").or_else(|| number("SLURM_CPUS_ON_NODE"))
}
