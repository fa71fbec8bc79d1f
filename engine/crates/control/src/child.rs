// SPDX-License-Identifier: Apache-2.0
//! Child processes that speak JSON lines and die with their parent.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use slotwise_cli::notes::note;

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

    /// Closes its input and waits: for one that ends when its input does. Asks it to end after half of `patience`, and kills its group after
    /// all of it, or when `is_given_up`.
    pub fn finish(&mut self, patience: Duration, is_given_up: impl Fn() -> bool) -> io::Result<ExitStatus> {
        self.stdin = None;
        // A signal besides would meet what has begun to end.
        match self.ended_within(patience / 2, &is_given_up)? {
            Some(status) => Ok(status),
            None => self.stop(patience / 2, is_given_up),
        }
    }

    /// Closes the process's input, sends SIGTERM and waits. Kills its group after `patience`, or when `is_given_up`.
    pub fn stop(&mut self, patience: Duration, is_given_up: impl Fn() -> bool) -> io::Result<ExitStatus> {
        self.stdin = None;
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        if let Some(status) = self.ended_within(patience, is_given_up)? {
            return Ok(status);
        }
        note!("{}: not stopping: killed", self.name);
        self.kill_group();
        self.child.wait()
    }

    /// Returns the exit status if the process ends in this time, before it `is_given_up`. Kills the rest of its group.
    fn ended_within(&mut self, patience: Duration, is_given_up: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.kill_group();
                return Ok(Some(status));
            }
            if Instant::now() >= deadline || is_given_up() {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn kill_group(&self) {
        let _ = kill(Pid::from_raw(-(self.child.id() as i32)), Signal::SIGKILL);
    }
}

/// Says what was wrong with the end of a child that had to end, if anything.
pub fn not_ended(name: &str, ended: io::Result<ExitStatus>) -> Option<String> {
    match ended {
        Ok(status) if status.signal() == Some(Signal::SIGKILL as i32) => {
            Some(format!("{name}: killed: did not exit in time"))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{name}: could not be stopped: {error}")),
    }
}

impl Drop for JsonChild {
    fn drop(&mut self) {
        self.kill_group();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(120);

    fn shell(script: &str) -> (JsonChild, Receiver<ChildEvent>) {
        let (events, heard) = channel();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let child = JsonChild::spawn("shell", command, events, |event| event).unwrap();
        assert!(matches!(heard.recv(), Ok(ChildEvent::Line(_))), "not ready");
        (child, heard)
    }

    #[test]
    fn who_ends_with_its_input_gets_no_signal() {
        let (mut child, _heard) = shell("trap 'exit 9' TERM; echo {}; read line; sleep 0.2; exit 3");
        assert_eq!(child.finish(PATIENCE, || false).unwrap().code(), Some(3));
    }

    #[test]
    fn who_does_not_gets_one_and_is_killed_if_that_does_not_help() {
        let (mut child, _heard) = shell("trap 'exit 9' TERM; echo {}; while :; do sleep 0.05; done");
        let ended = child.stop(PATIENCE, || false);
        assert_eq!(ended.as_ref().unwrap().code(), Some(9));
        assert_eq!(not_ended("shell", ended), None);
        let (mut child, _heard) = shell("trap '' TERM; echo {}; while :; do sleep 0.05; done");
        let ended = child.finish(PATIENCE, || true);
        assert_eq!(ended.as_ref().unwrap().signal(), Some(Signal::SIGKILL as i32));
        let told = not_ended("shell", ended).unwrap();
        assert_eq!(told, "shell: killed: did not exit in time");
    }
}
