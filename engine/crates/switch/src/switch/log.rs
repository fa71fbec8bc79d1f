// SPDX-License-Identifier: Apache-2.0
//! Logs: which way each packet takes, what the program says, packets' bytes.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write, stdout};
use std::path::{Path, PathBuf};

use slotwise_p4::{Pipeline, Port};
use slotwise_units::Instant;

use super::bmv2_options::{Bmv2Options, LogLevel};
use slotwise_cli::notes::note;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Where logs go, and what.
#[derive(Default)]
pub struct Logs {
    logs: Vec<Log>,
    /// What the program said while it ran the packet at hand.
    messages: Vec<String>,
    /// Bytes of each packet that are logged.
    dump_bytes: usize,
}

struct Log {
    name: String,
    sink: Sink,
    level: LogLevel,
}

enum Sink {
    Console(Stdout),
    File(BufWriter<File>),
    Rotating(Rotating),
}

impl Logs {
    /// Opens the file of `--trace`.
    pub fn add_trace(&mut self, path: &Path) -> Result<(), String> {
        let file = File::create(path).map_err(|error| format!("--trace {}: {error}", path.display()))?;
        self.logs.push(Log {
            name: path.display().to_string(),
            sink: Sink::File(BufWriter::new(file)),
            level: LogLevel::Trace,
        });
        Ok(())
    }

    /// Opens the log that BMv2's options ask for.
    pub fn add_bmv2(&mut self, options: &Bmv2Options) -> Result<(), String> {
        let (name, sink) = match &options.log_file {
            _ if options.log_level == LogLevel::Off => return Ok(()),
            Some(base) => {
                let rotating = Rotating::create(base, options.log_file_max_size, options.log_file_max_files);
                let rotating = rotating.map_err(|error| format!("--log-file {}: {error}", base.display()))?;
                (base.display().to_string(), Sink::Rotating(rotating))
            }
            None if options.log_console => ("standard output".to_owned(), Sink::Console(stdout())),
            None => return Ok(()),
        };
        let level = options.log_level;
        self.logs.push(Log { name, sink, level });
        self.dump_bytes = options.dump_packet_data;
        Ok(())
    }

    /// Whether somebody wants to know each step of each packet.
    pub fn takes_traces(&self) -> bool {
        self.logs.iter().any(|log| log.level <= LogLevel::Debug)
    }

    fn takes_messages(&self) -> bool {
        self.logs.iter().any(|log| log.level <= LogLevel::Info)
    }

    /// Keeps what the program said, for [`Logs::write`].
    pub fn message(&mut self, message: &str) {
        if self.takes_messages() {
            self.messages.push(format!("log_msg: {message}"));
        }
    }

    /// Keeps a packet's bytes for [`Logs::write`], if they are asked for. `what` says what happens to it.
    pub fn packet(&mut self, what: &str, port: Port, frame: &[u8]) {
        if self.dump_bytes > 0 && self.takes_messages() {
            let bytes = frame.iter().take(self.dump_bytes);
            let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
            self.messages
                .push(format!("{what} port {port}, {} bytes: {hex}", frame.len()));
        }
    }

    /// Writes what the last packet did, one event a line, after the time in seconds. A log that cannot be written, on a
    /// full disk for example, ends with a note; the switch goes on.
    pub fn write(&mut self, now: Instant, pipeline: Option<&mut Pipeline>) {
        if self.logs.is_empty() {
            return;
        }
        let events = pipeline.map(Pipeline::take_trace).unwrap_or_default();
        let messages = std::mem::take(&mut self.messages);
        self.logs.retain_mut(|log| {
            let events = events.iter().map(|event| event as &dyn Display);
            let events = events.filter(|_| log.level <= LogLevel::Debug);
            let messages = messages.iter().map(|message| message as &dyn Display);
            let messages = messages.filter(|_| log.level <= LogLevel::Info);
            let written = log.sink.write(now, &mut events.chain(messages));
            if let Err(error) = &written {
                note!(
                    "slotwise switch: {}: {error}; log stopped, the switch continues",
                    log.name
                );
            }
            written.is_ok()
        });
    }
}

impl Sink {
    fn write(&mut self, now: Instant, lines: &mut dyn Iterator<Item = &dyn Display>) -> io::Result<()> {
        let (seconds, nanoseconds) = (now.ns() / NS_PER_SECOND, now.ns() % NS_PER_SECOND);
        let writer: &mut dyn Write = match self {
            Sink::Console(console) => console,
            Sink::File(file) => file,
            Sink::Rotating(rotating) => rotating,
        };
        for line in lines {
            // In one piece, or a rotation could cut it.
            writer.write_all(format!("{seconds}.{nanoseconds:09} {line}\n").as_bytes())?;
        }
        writer.flush()
    }
}

/// A log in several files, as BMv2 keeps it: BASE.txt is the newest, BASE.1.txt the one before it.
struct Rotating {
    base: PathBuf,
    max_bytes: u64,
    /// Older files that are kept.
    max_files: u32,
    file: BufWriter<File>,
    bytes: u64,
}

impl Rotating {
    fn create(base: &Path, max_bytes: u64, max_files: u32) -> io::Result<Rotating> {
        Ok(Rotating {
            file: BufWriter::new(File::create(Self::path(base, 0))?),
            base: base.to_owned(),
            max_bytes,
            max_files,
            bytes: 0,
        })
    }

    fn path(base: &Path, age: u32) -> PathBuf {
        let mut path = base.as_os_str().to_owned();
        if age > 0 {
            path.push(format!(".{age}"));
        }
        path.push(".txt");
        path.into()
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.flush()?;
        for age in (0..self.max_files).rev() {
            let path = Self::path(&self.base, age);
            if path.exists() {
                fs::rename(path, Self::path(&self.base, age + 1))?;
            }
        }
        self.file = BufWriter::new(File::create(Self::path(&self.base, 0))?);
        self.bytes = 0;
        Ok(())
    }
}

impl Write for Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes > 0 && self.bytes + bytes.len() as u64 > self.max_bytes {
            self.rotate()?;
        }
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotating_log_keeps_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().join("ss-log");
        let mut log = Rotating::create(&base, 8, 2).unwrap();
        for line in ["one\n", "two\n", "three\n", "four\n", "five\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        log.flush().unwrap();
        let read = |end: &str| fs::read_to_string(directory.path().join(format!("ss-log{end}"))).unwrap_or_default();
        assert_eq!(
            [".txt", ".1.txt", ".2.txt", ".3.txt"].map(read),
            ["five\n", "four\n", "three\n", ""]
        );
    }

    #[test]
    fn a_log_that_cannot_be_written_ends_and_the_others_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let mut logs = Logs::default();
        logs.add_trace(Path::new("/dev/full")).unwrap();
        let good = directory.path().join("good");
        logs.add_trace(&good).unwrap();
        for message in ["first", "second"] {
            logs.message(message);
            logs.write(Instant::from_ns(1_500_000_000), None);
        }
        let wanted = "1.500000000 log_msg: first\n1.500000000 log_msg: second\n";
        assert_eq!(fs::read_to_string(good).unwrap(), wanted);
        assert_eq!(logs.logs.len(), 1);
    }
}
