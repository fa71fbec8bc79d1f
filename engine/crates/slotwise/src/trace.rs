// SPDX-License-Identifier: Apache-2.0
//! Packet traces in a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use slotwise_p4::Pipeline;

/// Where traces go.
pub struct Trace {
    file: BufWriter<File>,
}

impl Trace {
    pub fn create(path: &Path) -> Result<Trace, String> {
        let file = File::create(path).map_err(|error| format!("--trace {}: {error}", path.display()))?;
        Ok(Trace {
            file: BufWriter::new(file),
        })
    }

    /// What the last packet did, one event a line, after the time in seconds. A full disk does not stop the switch.
    pub fn write(&mut self, now_ns: u64, pipeline: &mut Pipeline) {
        let (seconds, nanoseconds) = (now_ns / 1_000_000_000, now_ns % 1_000_000_000);
        for event in pipeline.take_trace() {
            let _ = writeln!(self.file, "{seconds}.{nanoseconds:09} {event}");
        }
        let _ = self.file.flush();
    }
}
