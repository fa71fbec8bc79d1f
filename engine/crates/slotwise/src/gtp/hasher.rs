// SPDX-License-Identifier: Apache-2.0
//! SHA-256 of files, one after the other in a thread of its own: packets do not wait for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use slotwise_gtp::{Digest, TransferId};

use crate::xfer::Hashing;

struct Job {
    id: TransferId,
    file: Arc<File>,
    bytes: u64,
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
                    match hashing.advance(&file, bytes) {
                        Ok(false) => {}
                        Ok(true) => break Ok(hashing.digest()),
                        Err(error) => break Err(error),
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

    /// Hashes the first `bytes` of a file.
    pub fn add(&self, id: TransferId, file: Arc<File>, bytes: u64) {
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
