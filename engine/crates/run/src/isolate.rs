// SPDX-License-Identifier: Apache-2.0
//! Namespaces that make a run leave nothing behind.
//!
//! `emulate` runs as process 1 of its own PID namespace, with the hosts and all interfaces in a network namespace that
//! only its children hold. When it ends, however it ends, the kernel kills every process and removes every interface.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask};
use nix::unistd::{Pid, Uid};

/// Set in the environment of the process inside.
const INSIDE: &str = "SLOTWISE_INSIDE_NAMESPACE";

/// Why a run cannot be isolated.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// Needs CAP_SYS_ADMIN and CAP_NET_RAW.
    #[error("root required for network namespaces and raw sockets; run with sudo")]
    NotRoot,
    /// The kernel refuses namespaces.
    #[error("{what} namespaces not permitted by this kernel or container ({errno}); expected CAP_SYS_ADMIN")]
    Refused {
        /// Which kind.
        what: &'static str,
        /// What the kernel said.
        errno: nix::Error,
    },
    /// The inner process could not be started.
    #[error("cannot start the isolated process: {0}")]
    Spawn(#[from] std::io::Error),
}

/// What a live run needs from the start.
///
/// # Errors
/// [`IsolateError::NotRoot`].
pub fn check_root() -> Result<(), IsolateError> {
    if Uid::effective().is_root() {
        Ok(())
    } else {
        Err(IsolateError::NotRoot)
    }
}

/// True in the process that [`run_inside`] started.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Signals that end a run.
fn ending() -> SigSet {
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])
}

/// Starts this program again with the same arguments as process 1 of a new PID namespace and waits for it. Signals that end a run are
/// passed on; the process inside has them blocked until it calls [`unblock_signals`], as the kernel drops what process 1 has no handler for.
/// `environment` is added to its. Must be called while the process has one thread.
pub fn run_inside(environment: Option<(&str, OsString)>) -> Result<ExitCode, IsolateError> {
    let refused = |what| move |errno| IsolateError::Refused { what, errno };
    unshare(CloneFlags::CLONE_NEWPID).map_err(refused("PID"))?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut command = Command::new("/proc/self/exe");
    command.args(arguments).env(INSIDE, "1").envs(environment);
    // SAFETY: only async-signal-safe system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            Ok(())
        });
    }
    let mut signals = ending();
    // Blocked before the start: the process inside has the same mask, and what is blocked stays pending.
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&signals), None).map_err(std::io::Error::from)?;
    let mut child = command.spawn()?;
    signals.add(Signal::SIGCHLD);
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&signals), None).map_err(std::io::Error::from)?;
    let pid = Pid::from_raw(child.id() as i32);
    loop {
        if let Some(status) = child.try_wait()? {
            let code = status
                .code()
                .or(status.signal().map(|signal| 128 + signal))
                .unwrap_or(1);
            return Ok(ExitCode::from(code as u8));
        }
        match signals.wait() {
            Ok(Signal::SIGCHLD) | Err(_) => {}
            Ok(signal) => {
                let _ = kill(pid, signal);
            }
        }
    }
}

/// Lets the signals that end a run come, of which one may be pending. Call when they have handlers, with one thread.
pub fn unblock_signals() -> Result<(), IsolateError> {
    pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&ending()), None).map_err(|errno| IsolateError::Spawn(errno.into()))
}

/// Gives the inner process its own view of /proc. Call first thing inside, with one thread.
pub fn enter() -> Result<(), IsolateError> {
    let refused = |errno| IsolateError::Refused { what: "mount", errno };
    unshare(CloneFlags::CLONE_NEWNS).map_err(refused)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(refused)?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none).map_err(refused)
}

/// Makes `command` start in a new network namespace.
pub fn in_new_network(command: &mut Command) {
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(unshare(CloneFlags::CLONE_NEWNET)?));
    }
}
