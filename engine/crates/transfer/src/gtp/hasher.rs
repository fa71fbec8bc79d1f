// SPDX-License-Identifier: Apache-2.0
//! SHA-256 of files, one after the other in a thread of its own: packets do not wait for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use std::sync::{Arc, Weak};

use slotwise_gtp::{Digest, TransferId};
use slotwise_units::Bytes;

use crate::xfer::Hashing;

struct Job {
    id: TransferId,
    /// Of whoever wants it hashed: who goes on without it must not keep others waiting.
    file: Weak<File>,
    bytes: Bytes,
}

/// Hashes what it is given, in that order.
pub struct Hasher {
    jobs: Sender<Job>,
    done: Receiver<(TransferId, io::Result<Digest>)>,
    /// Readable when something is done.
    bell: UnixStream,
}

impl Hasher {
    /// # Errors
    /// When the system is out of descriptors or threads.
    pub fn start() -> io::Result<Hasher> {
        let (jobs, waiting) = channel::<Job>();
        let (say, done) = channel();
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let work = move || {
            for Job { id, file, bytes } in waiting {
                let mut hashing = Hashing::default();
                let result = loop {
                    match file.upgrade().map(|file| hashing.advance(&file, bytes)) {
                        Some(Ok(false)) => {}
                        Some(Ok(true)) => break Ok(hashing.digest()),
                        Some(Err(error)) => break Err(error),
                        None => break Err(io::ErrorKind::NotFound.into()),
                    }
                };
                if say.send((id, result)).is_err() {
                    return;
                }
                // A bell that rings already is heard.
                let _ = (&ring).write(&[0]);
            }
        };
        std::thread::Builder::new().name("sha-256".into()).spawn(work)?;
        Ok(Hasher { jobs, done, bell })
    }

    /// Hashes the first `bytes` of a file, unless it is let go of before.
    pub fn add(&self, id: TransferId, file: &Arc<File>, bytes: Bytes) {
        let file = Arc::downgrade(file);
        let job = Job { id, file, bytes };
        assert!(
            self.jobs.send(job).is_ok(),
            "the thread ends with this end of the channel"
        );
    }

    /// To be waited for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// What was hashed since.
    pub fn done(&self) -> Option<(TransferId, io::Result<Digest>)> {
        // First the bell, so that none is missed that is done afterwards.
        while (&self.bell).read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
        self.done.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    #[test]
    fn what_nobody_wants_any_more_keeps_nobody_waiting() {
        let hasher = Hasher::start().unwrap();
        let id = |number| TransferId { channel: 1, number };
        let file = |bytes| {
            let file = Arc::new(tempfile::tempfile().unwrap());
            file.set_len(bytes).unwrap();
            file
        };
        // It would take an hour.
        let (long, short) = (file(1 << 42), file(1));
        hasher.add(id(1), &long, Bytes::new(1 << 42));
        hasher.add(id(2), &short, Bytes::new(1));
        drop(long);
        let mut done = Vec::new();
        while done.len() < 2 {
            poll(
                &mut [PollFd::new(hasher.descriptor(), PollFlags::POLLIN)],
                PollTimeout::NONE,
            )
            .unwrap();
            done.extend(std::iter::from_fn(|| hasher.done()));
        }
        assert!(done[0].0 == id(1) && done[0].1.is_err());
        assert!(done[1].0 == id(2) && done[1].1.is_ok());
    }
}
