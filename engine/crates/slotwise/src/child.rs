// SPDX-License-Identifier: Apache-2.0
//! Child processes that speak JSON lines and die with their parent.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::notes::note;

/// What a child said or did.
#[derive(Debug)]
pub enum ChildEvent {
    /// One JSON object that it printed.
    Line(Value),
    /// It closed its output: it has ended or is about to.
    Closed,
}

/// A running child in a process group of its own, killed when dropped.
pub struct JsonChild {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl JsonChild {
    /// Starts `command`; each JSON line it prints goes, through `wrap`, to `events`. Other lines go to our standard error.
    pub fn spawn<E: Send + 'static>(
        name: &'static str,
        mut command: Command,
        events: Sender<E>,
        wrap: impl Fn(ChildEvent) -> E + Send + 'static,
    ) -> io::Result<JsonChild> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        // SAFETY: one async-signal-safe system call between fork and exec.
        unsafe {
            command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGKILL)?));
        }
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            io::Error::new(error.kind(), format!("{name}: cannot start {program}: {error}"))
        })?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout was piped");
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                match serde_json::from_str::<Value>(&line) {
                    Ok(value) if value.is_object() => {
                        if events.send(wrap(ChildEvent::Line(value))).is_err() {
                            return;
                        }
                    }
                    _ => note!("{name}: {line}"),
                }
            }
            let _ = events.send(wrap(ChildEvent::Closed));
        });
        Ok(JsonChild { name, child, stdin })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends one JSON line.
    pub fn send(&mut self, message: &Value) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{message}")?;
        stdin.flush()
    }

    /// Closes its input, asks its group to end, and waits; kills it after `patience`.
    pub fn stop(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        self.stdin = None;
        let group = Pid::from_raw(-(self.child.id() as i32));
        let leader = Pid::from_raw(self.child.id() as i32);
        let _ = kill(leader, Signal::SIGTERM);
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait()? {
                let _ = kill(group, Signal::SIGKILL);
                return Ok(status);
            }
            if Instant::now() >= deadline {
                note!("{}: does not stop, killed", self.name);
                let _ = kill(group, Signal::SIGKILL);
                return self.child.wait();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for JsonChild {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(-(self.child.id() as i32)), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}
