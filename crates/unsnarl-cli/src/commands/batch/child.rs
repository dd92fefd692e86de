//! The processes of the samples: which program they run, how they end with the runner, and how the runner ends them.
//!
//! Guarantees (Linux): a child whose runner is killed is killed with it.
//! Does not: watch processes that a child starts itself; the commands start none.

use crate::session::Failure;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

/// The process that a child should end with.
const RUNNER: &str = "UNSNARL_BATCH_RUNNER";
/// The program to start instead of this one: for a command that is carried by another program, such as an interpreter.
const PROGRAM: &str = "UNSNARL_PROGRAM";

/// The program that runs the samples: this one, unless the environment names another.
pub fn program() -> Result<PathBuf, Failure> {
    match std::env::var_os(PROGRAM) {
        Some(path) => Ok(PathBuf::from(path)),
        None => std::env::current_exe()
            .map_err(|error| Failure::usage(format!("cannot find this program: {error}; name it in {PROGRAM}"))),
    }
}

/// What tells a child who its runner is.
pub fn runner_mark() -> (&'static str, String) {
    (RUNNER, std::process::id().to_string())
}

/// Called first in every process: one that a runner started ends when the runner does.
pub fn end_with_runner() {
    #[cfg(target_os = "linux")]
    if let Some(runner) = std::env::var_os(RUNNER) {
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        // The runner may have ended before the line above.
        if !std::path::Path::new("/proc").join(runner).exists() {
            std::process::exit(2);
        }
    }
}

/// Ends a child and everything in its group, and waits for it.
pub fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits for the end of a child, and for no longer than it is told.
pub struct Waiter {
    /// Where the system tells of the end; naps do where it does not.
    #[cfg(target_os = "linux")]
    descriptor: Option<std::os::fd::OwnedFd>,
}

/// Where the system does not tell of the end, it is noticed this much later at most.
const NAP: Duration = Duration::from_millis(2);

impl Waiter {
    #[cfg(target_os = "linux")]
    pub fn new(child: &Child) -> Self {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        Self { descriptor: pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok() }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new(_: &Child) -> Self {
        Self {}
    }

    /// Comes back when the child has ended, or after some time.
    pub fn wait(&self, most: Duration) {
        #[cfg(target_os = "linux")]
        if let (Some(descriptor), Ok(limit)) = (&self.descriptor, most.try_into()) {
            use rustix::event::{PollFd, PollFlags, poll};
            if poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&limit)).is_ok() {
                return;
            }
        }
        std::thread::sleep(most.min(NAP));
    }
}

/// The memory of a child now and at most, in bytes; nothing where the system does not tell.
pub fn memory(child: &Child) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
    };
    Some((value("VmRSS:")?, value("VmHWM:")?))
}
