// SPDX-License-Identifier: Apache-2.0
//! The stream of a transfer at both ends: an offer, then the bytes of a file. Nothing of the file is held in memory.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use slotwise_transport::content::{Sink, Source};
use slotwise_units::Bytes;
use tempfile::NamedTempFile;

use super::message::{Answer, Digest, Offer};

const CHUNK_BYTES: usize = 64 << 10;
const OFFER_BYTES: u64 = Offer::SIZE as u64;

/// SHA-256 of a file's first bytes, as far as they have been asked for.
#[derive(Default)]
pub struct Hashing {
    sha: Sha256,
    bytes: Bytes,
}

impl Hashing {
    /// Reads on until `end`, but not more than some megabytes a call: others wait. True when there.
    ///
    /// # Errors
    /// When the file cannot be read or is shorter.
    pub fn advance(&mut self, file: &File, end: Bytes) -> io::Result<bool> {
        const CHUNKS_A_CALL: usize = 64;
        let mut chunk = vec![0; CHUNK_BYTES];
        for _ in 0..CHUNKS_A_CALL {
            let left = end.saturating_sub(self.bytes);
            if left.is_zero() {
                return Ok(true);
            }
            let length = left.min(Bytes::of(CHUNK_BYTES)).get() as usize;
            file.read_exact_at(&mut chunk[..length], self.bytes.get())?;
            self.sha.update(&chunk[..length]);
            self.bytes += Bytes::of(length);
        }
        Ok(self.bytes >= end)
    }

    /// Of what has been read so far.
    pub fn digest(&self) -> Digest {
        Digest(self.sha.clone().finalize().into())
    }
}

/// The sender's stream.
pub struct FileSource {
    offer: [u8; Offer::SIZE],
    file: File,
    error: Option<io::Error>,
}

impl FileSource {
    pub fn new(offer: &Offer, file: File) -> FileSource {
        FileSource {
            offer: offer.encode(),
            file,
            error: None,
        }
    }

    /// Why bytes could not be read; what went out in their place is zeros.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }
}

impl Source for FileSource {
    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let from_offer = OFFER_BYTES.saturating_sub(offset).min(out.len() as u64) as usize;
        let (head, body) = out.split_at_mut(from_offer);
        if from_offer > 0 {
            head.copy_from_slice(&self.offer[offset as usize..][..from_offer]);
        }
        if let Err(error) = self.file.read_exact_at(body, offset.saturating_sub(OFFER_BYTES)) {
            body.fill(0);
            self.error.get_or_insert(error);
        }
    }
}

/// The receiver's stream: the offer to memory, the file to a temporary one beside its place.
pub struct FileSink {
    offer: [u8; Offer::SIZE],
    /// Longest file that is written.
    limit_bytes: Bytes,
    /// None once it has its name: all has come then.
    file: Option<NamedTempFile>,
    hashing: Hashing,
    error: Option<io::Error>,
}

impl FileSink {
    /// # Errors
    /// When no file can be made in `directory`.
    pub fn create(directory: &Path, limit_bytes: Bytes) -> io::Result<FileSink> {
        // As any file that is made; the user's mask takes away from it.
        let permissions = Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        let file = builder
            .prefix(".slotwise-xfer-")
            .permissions(permissions)
            .tempfile_in(directory)?;
        Ok(FileSink {
            offer: [0; Offer::SIZE],
            limit_bytes,
            file: Some(file),
            hashing: Hashing::default(),
            error: None,
        })
    }

    /// What came as the offer; whole once [`Offer::SIZE`] bytes came in order.
    pub fn offer(&self) -> &[u8; Offer::SIZE] {
        &self.offer
    }

    /// Hashes on to `stream_bytes` of the stream, all of which came; true when there.
    ///
    /// # Errors
    /// When bytes could not be written or cannot be read again.
    pub fn advance(&mut self, stream_bytes: Bytes) -> io::Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match &self.file {
            Some(file) => self
                .hashing
                .advance(file.as_file(), stream_bytes.saturating_sub(Bytes::of(Offer::SIZE))),
            None => Ok(true),
        }
    }

    /// Of what [`FileSink::advance`] has reached.
    pub fn digest(&self) -> Digest {
        self.hashing.digest()
    }

    /// Gives the file its name, on disk; refused if something has it already.
    ///
    /// # Errors
    /// What the system said; the file is gone then.
    pub fn keep(&mut self, path: &Path) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.as_file().sync_all()?;
            file.persist_noclobber(path)?;
        }
        Ok(())
    }
}

impl Sink for FileSink {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let to_offer = OFFER_BYTES.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let (head, body) = bytes.split_at(to_offer);
        if to_offer > 0 {
            self.offer[offset as usize..][..to_offer].copy_from_slice(head);
        }
        // What is beyond is noticed by the length of the stream.
        let at = offset.saturating_sub(OFFER_BYTES);
        let room = self.limit_bytes.get().saturating_sub(at).min(body.len() as u64) as usize;
        if let Some(file) = &self.file
            && let Err(error) = file.as_file().write_all_at(&body[..room], at)
        {
            self.error.get_or_insert(error);
        }
    }
}

/// The sender's end of the answer: what comes beyond it is not kept.
pub struct AnswerSink(pub [u8; Answer::SIZE]);

impl Sink for AnswerSink {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let room = usize::try_from(offset).ok().and_then(|at| self.0.get_mut(at..));
        if let Some(room) = room {
            let length = room.len().min(bytes.len());
            room[..length].copy_from_slice(&bytes[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn offer() -> Offer {
        Offer {
            id: [7; 16],
            answer_port: 1,
            bytes: Bytes::new(10),
            digest: Digest([0; 32]),
        }
    }

    fn source(content: &[u8]) -> FileSource {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        FileSource::new(&offer(), file)
    }

    #[test]
    fn a_stream_is_the_offer_and_then_the_file_however_it_is_cut() {
        let mut source = source(b"0123456789");
        let whole = [&offer().encode()[..], b"0123456789"].concat();
        for start in 0..=whole.len() {
            for end in start..=whole.len() {
                let mut piece = vec![0; end - start];
                source.read(start as u64, &mut piece);
                assert_eq!(piece, whole[start..end]);
            }
        }
        assert!(source.error().is_none());
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let mut source = source(b"012");
        let mut piece = [9; 4];
        source.read(OFFER_BYTES, &mut piece);
        assert_eq!(piece, [0; 4]);
        assert!(source.error().is_some());
    }

    #[test]
    fn a_sink_takes_pieces_in_any_order_and_hashes_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let mut sink = FileSink::create(directory.path(), Bytes::new(10)).unwrap();
        sink.write(OFFER_BYTES + 4, b"456789");
        sink.write(OFFER_BYTES - 2, b"yz0123");
        sink.write(0, &[b'x'; 62]);
        assert_eq!(&sink.offer()[60..], b"xxyz");
        sink.advance(Bytes::new(OFFER_BYTES + 3)).unwrap();
        sink.advance(Bytes::new(OFFER_BYTES + 10)).unwrap();
        // printf 0123456789 | sha256sum
        let expected = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882";
        assert_eq!(sink.digest().to_string(), expected);
        let path = directory.path().join("kept");
        sink.keep(&path).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"0123456789");
    }

    #[test]
    fn nothing_is_written_beyond_the_limit_and_nothing_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let mut sink = FileSink::create(directory.path(), Bytes::new(4)).unwrap();
        sink.write(OFFER_BYTES + 2, b"abcdef");
        sink.write(OFFER_BYTES + (1 << 50), b"far");
        assert_eq!(sink.file.as_ref().unwrap().as_file().metadata().unwrap().len(), 4);
        assert!(sink.error.is_none());
        drop(sink);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_that_is_taken_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        std::fs::write(&path, "old").unwrap();
        let mut sink = FileSink::create(directory.path(), Bytes::new(4)).unwrap();
        assert_eq!(sink.keep(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_answer_is_no_longer_than_it_may_be() {
        let mut sink = AnswerSink([0; Answer::SIZE]);
        sink.write(50, &[1; 20]);
        sink.write(u64::MAX, &[2]);
        assert_eq!(sink.0[50..], [1; 6]);
    }
}
