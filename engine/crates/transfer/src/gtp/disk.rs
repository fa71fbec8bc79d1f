// SPDX-License-Identifier: Apache-2.0
//! Where bytes of a transfer go to, and come from: files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use slotwise_transport::content::{Sink, Source};

/// Writes to a file, not beyond its end.
pub struct DiskSink {
    file: Arc<File>,
    end: u64,
    /// Where the first byte is that could not be written, of those that were to be.
    written_to: u64,
    error: Option<io::Error>,
}

impl DiskSink {
    /// Into the first `end` bytes of a file.
    pub fn new(file: Arc<File>, end: u64) -> DiskSink {
        DiskSink {
            file,
            end,
            written_to: u64::MAX,
            error: None,
        }
    }

    /// Why bytes could not be written.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Of what it was given up to `end`, so many bytes are in the file, from the beginning on.
    pub fn written(&self, end: u64) -> u64 {
        self.written_to.min(end)
    }
}

impl Sink for DiskSink {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let room = self.end.saturating_sub(offset).min(bytes.len() as u64) as usize;
        if let Err(error) = self.file.write_all_at(&bytes[..room], offset) {
            self.written_to = self.written_to.min(offset);
            self.error.get_or_insert(error);
        }
    }
}

/// Reads from a file.
pub struct DiskSource(pub Arc<File>);

impl Source for DiskSource {
    fn read(&mut self, offset: u64, out: &mut [u8]) {
        // The SHA-256 shows at the other end that a file was changed meanwhile.
        if self.0.read_exact_at(out, offset).is_err() {
            out.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written later, where there is room again, does not make up for it.
    #[test]
    fn what_could_not_be_written_is_not_counted() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("f");
        std::fs::write(&path, "").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let mut sink = DiskSink::new(Arc::new(file), 100);
        sink.write(0, &[1; 10]);
        assert_eq!((sink.written(10), sink.error().is_none()), (10, true));
        let writable = std::mem::replace(&mut sink.file, Arc::new(File::open(&path).unwrap()));
        sink.write(30, &[1; 10]);
        sink.write(20, &[1; 10]);
        sink.file = writable;
        sink.write(10, &[1; 10]);
        sink.write(20, &[1; 5]);
        assert_eq!((sink.written(15), sink.written(40)), (15, 20));
        assert!(sink.error().is_some());
    }
}
