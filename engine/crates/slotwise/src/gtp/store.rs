// SPDX-License-Identifier: Apache-2.0
//! Files of a directory: opened beneath it and nowhere else; received beside their place, so that what was cut off can go on.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, OpenHow, RenameFlags, ResolveFlag, openat2, renameat2};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde::{Deserialize, Serialize};
use slotwise_gtp::{Digest, Reason};
use slotwise_transport::content::{Sink, Source};

/// What stands behind the name of a file of which a part is here.
const PART: &str = ".gtp-part";
/// And of what is known of that part.
const STATE: &str = ".gtp-state";
/// Length of a state, with spaces behind it.
const STATE_BYTES: usize = 256;

/// A directory whose files are offered, or to which files come.
pub struct Directory {
    fd: OwnedFd,
}

/// The parent below the directory, and the name in it; none if the name is not one of a file beneath.
fn split(name: &str) -> Option<(PathBuf, String)> {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let last = path.file_name()?.to_str()?;
    let is_ours = last.ends_with(PART) || last.ends_with(STATE);
    let is_clean = !name.chars().any(char::is_control) && !name.ends_with('/');
    if !is_plain || is_ours || !is_clean {
        return None;
    }
    Some((path.parent()?.to_owned(), last.to_owned()))
}

/// Whether a file in a directory may have this name.
pub fn is_name(name: &str) -> bool {
    split(name).is_some()
}

/// Why a file cannot be had: what is not there, or is another's, is missing; what the system is short of is back later.
fn not_read(errno: Errno) -> Reason {
    match errno {
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => Reason::Busy,
        _ => Reason::Missing,
    }
}

impl Directory {
    /// # Errors
    /// When there is none, or it may not be read.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let file = File::open(path)?;
        if !file.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Directory { fd: file.into() })
    }

    /// Opens what is beneath, whatever links there are on the way.
    fn beneath(&self, path: &Path, flags: OFlag, mode: Mode) -> nix::Result<File> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let how = OpenHow::new()
            .flags(flags | OFlag::O_CLOEXEC | OFlag::O_NOCTTY | OFlag::O_NONBLOCK)
            .mode(mode)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        openat2(&self.fd, path, how).map(File::from)
    }

    /// Opens a file to be read; gives its length.
    ///
    /// # Errors
    /// [`Reason::Missing`] for what is no regular file beneath, or may not be read; [`Reason::Busy`] when too many are open.
    pub fn read(&self, name: &str) -> Result<(File, u64), Reason> {
        split(name).ok_or(Reason::Missing)?;
        let file = self.beneath(Path::new(name), OFlag::O_RDONLY, Mode::empty());
        let file = file.map_err(not_read)?;
        let metadata = file.metadata().map_err(|_| Reason::Storage)?;
        if !metadata.is_file() {
            return Err(Reason::Missing);
        }
        Ok((file, metadata.len()))
    }

    /// Makes room for a file, or goes on with what came of it before.
    ///
    /// # Errors
    /// [`Reason::Forbidden`] for names that are not beneath, [`Reason::Exists`] for those that are taken, [`Reason::Busy`] for a file that is
    /// being received already, [`Reason::Storage`] for what the system does not do.
    pub fn receive(&self, name: &str, bytes: u64, digest: Digest) -> Result<Part, Reason> {
        let (parent, name) = split(name).ok_or(Reason::Forbidden)?;
        let parent = self.beneath(&parent, OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty());
        let directory = Directory {
            fd: parent.map_err(|_| Reason::Forbidden)?.into(),
        };
        directory.has_no(&name)?;
        let open = |suffix| {
            let path = format!(".{name}{suffix}");
            let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW;
            // As any file that is made; the user's mask takes away from it.
            let file = directory.beneath(Path::new(&path), flags, Mode::from_bits_truncate(0o666));
            file.map_err(|_| Reason::Storage)
        };
        let lock = directory.lock(open(PART)?, &name)?;
        let state_file = open(STATE)?;
        let file = lock.try_clone().map_err(|_| Reason::Storage)?;
        let state = State::read(&state_file).filter(|state| state.sha256 == digest.to_string() && state.bytes == bytes);
        let length = file.metadata().map_err(|_| Reason::Storage)?.len();
        let here = state.map_or(0, |state| state.here.min(bytes)).min(length);
        file.set_len(here).map_err(|_| Reason::Storage)?;
        let mut part = Part {
            directory,
            name,
            file: Arc::new(file),
            _lock: lock,
            state_file,
            state: State {
                sha256: digest.to_string(),
                bytes,
                here,
            },
        };
        part.save(here).map_err(|_| Reason::Storage)?;
        Ok(part)
    }

    fn has_no(&self, name: &str) -> Result<(), Reason> {
        match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Reason::Exists),
            Err(Errno::ENOENT) => Ok(()),
            Err(_) => Err(Reason::Forbidden),
        }
    }

    /// Locks a part that was opened. Who had it before may have given it its name meanwhile, or deleted it, and it may be a file of another
    /// name too: then what is written to it would be that file's.
    fn lock(&self, part: File, name: &str) -> Result<Flock<File>, Reason> {
        let lock = Flock::lock(part, FlockArg::LockExclusiveNonblock).map_err(|_| Reason::Busy)?;
        let opened = fstat(&*lock).map_err(|_| Reason::Storage)?;
        let path = format!(".{name}{PART}");
        let there = fstatat(&self.fd, path.as_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
        let is_same = there.is_ok_and(|there| (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino));
        self.has_no(name)?;
        match (is_same, opened.st_nlink) {
            (false, _) => Err(Reason::Busy),
            (true, 1) => Ok(lock),
            (true, _) => Err(Reason::Storage),
        }
    }
}

/// What is known of a part.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Of the whole file.
    sha256: String,
    /// Of the whole file.
    bytes: u64,
    /// From the beginning on.
    here: u64,
}

impl State {
    /// None if nothing was written, or not all of it.
    fn read(file: &File) -> Option<State> {
        let mut text = String::new();
        file.take(STATE_BYTES as u64).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// A file of which a part is here. What is not [`Part::keep`]t or [`Part::discard`]ed stays, for the next try.
pub struct Part {
    directory: Directory,
    name: String,
    file: Arc<File>,
    /// As long as it is held nobody else receives this file.
    _lock: Flock<File>,
    state_file: File,
    state: State,
}

impl Part {
    /// Bytes that are here, from the beginning on.
    pub fn here(&self) -> u64 {
        self.state.here
    }

    /// Of the whole file.
    pub fn bytes(&self) -> u64 {
        self.state.bytes
    }

    /// Whether this is the SHA-256 that it should have.
    pub fn is(&self, digest: Digest) -> bool {
        self.state.sha256 == digest.to_string()
    }

    /// Where bytes go.
    pub fn sink(&self) -> DiskSink {
        DiskSink {
            file: Arc::clone(&self.file),
            end: self.state.bytes,
            written_to: u64::MAX,
            error: None,
        }
    }

    /// To be hashed.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Notes how many bytes are here, for who goes on later.
    ///
    /// # Errors
    /// What the system said.
    pub fn save(&mut self, here: u64) -> io::Result<()> {
        self.state.here = here;
        let mut text = serde_json::to_vec(&self.state)?;
        // Always as long, in one piece: who is killed leaves this state or the last one.
        text.resize(STATE_BYTES, b' ');
        self.state_file.write_all_at(&text, 0)
    }

    fn remove(&self, suffix: &str) {
        let path = format!(".{}{suffix}", self.name);
        // What cannot be removed is not used: its SHA-256 is another file's.
        let _ = unlinkat(&self.directory.fd, path.as_str(), UnlinkatFlags::NoRemoveDir);
    }

    /// Gives the file its name, on disk; refused if something has it already.
    ///
    /// # Errors
    /// What the system said.
    pub fn keep(self) -> io::Result<()> {
        self.file.sync_all()?;
        let part = format!(".{}{PART}", self.name);
        let (fd, name) = (&self.directory.fd, self.name.as_str());
        renameat2(fd, part.as_str(), fd, name, RenameFlags::RENAME_NOREPLACE)?;
        self.remove(STATE);
        Ok(())
    }

    /// Forgets it.
    pub fn discard(self) {
        self.remove(STATE);
        self.remove(PART);
    }
}

/// Writes to a file, not beyond its end.
pub struct DiskSink {
    file: Arc<File>,
    end: u64,
    /// Where the first byte is that could not be written, of those that were to be.
    written_to: u64,
    error: Option<io::Error>,
}

impl DiskSink {
    /// Why bytes could not be written.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Of the first `bytes` that it was given, so many are in the file, from the beginning on.
    pub fn written(&self, bytes: u64) -> u64 {
        self.written_to.min(bytes)
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
    use std::os::unix::fs::symlink;

    use super::*;

    fn digest() -> Digest {
        Digest([7; 32])
    }

    #[test]
    fn nothing_is_read_that_is_not_beneath() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("inside");
        std::fs::create_dir_all(inside.join("deep")).unwrap();
        std::fs::write(root.path().join("secret"), "s").unwrap();
        std::fs::write(inside.join("deep/file"), "content").unwrap();
        symlink("deep/file", inside.join("link")).unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink(root.path().join("secret"), inside.join("absolute")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        let directory = Directory::open(&inside).unwrap();
        for name in ["deep/file", "link"] {
            assert_eq!(directory.read(name).unwrap().1, 7, "{name}");
        }
        let secret = root.path().join("secret");
        for name in [
            "../secret",
            "deep/../../secret",
            secret.to_str().unwrap(),
            "out",
            "absolute",
            "up/secret",
            "deep",
            "",
            ".",
            "/",
            "deep/",
            "deep/../deep/file",
            "a\nb",
            ".x.gtp-part",
            "nul\0",
        ] {
            assert_eq!(directory.read(name).unwrap_err(), Reason::Missing, "{name:?}");
            assert!(directory.receive(name, 1, digest()).is_err(), "{name:?}");
        }
        assert_eq!(directory.read("none").unwrap_err(), Reason::Missing);
        assert_eq!(directory.receive("up/new", 1, digest()).err(), Some(Reason::Forbidden));
        assert_eq!(
            directory.receive("none/new", 1, digest()).err(),
            Some(Reason::Forbidden)
        );
        assert_eq!(directory.receive("link", 1, digest()).err(), Some(Reason::Exists));
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_part_goes_on_where_it_was_if_it_is_of_the_same_file() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let mut part = directory.receive("f", 10, digest()).unwrap();
        assert_eq!(part.here(), 0);
        assert_eq!(directory.receive("f", 10, digest()).err(), Some(Reason::Busy));
        let mut sink = part.sink();
        sink.write(0, b"01234");
        sink.write(7, b"7");
        part.save(5).unwrap();
        drop((part, sink));
        let part = directory.receive("f", 10, digest()).unwrap();
        assert_eq!(part.here(), 5);
        assert_eq!(part.file().metadata().unwrap().len(), 5);
        let mut sink = part.sink();
        sink.write(5, b"56789 and more");
        assert!(sink.error().is_none());
        part.keep().unwrap();
        assert_eq!(std::fs::read(root.path().join("f")).unwrap(), b"0123456789");
        assert_eq!(
            std::fs::read_dir(root.path()).unwrap().count(),
            1,
            "nothing else is left"
        );
    }

    /// What is written later, where there is room again, does not make up for it.
    #[test]
    fn what_could_not_be_written_is_not_counted() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("f");
        std::fs::write(&path, "").unwrap();
        let mut sink = DiskSink {
            file: Arc::new(File::options().write(true).open(&path).unwrap()),
            end: 100,
            written_to: u64::MAX,
            error: None,
        };
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

    #[test]
    fn what_was_a_part_when_it_was_opened_and_is_a_file_now_stays_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let part = directory.receive("f", 1, digest()).unwrap();
        part.sink().write(0, b"1");
        let opened = || File::open(root.path().join(".f.gtp-part")).unwrap();
        // Another process opens the part, waits, and then this one is done with it.
        let late = opened();
        part.keep().unwrap();
        assert_eq!(directory.lock(late, "f").err(), Some(Reason::Exists));
        std::fs::remove_file(root.path().join("f")).unwrap();
        let part = directory.receive("f", 1, digest()).unwrap();
        let late = opened();
        part.discard();
        assert_eq!(directory.lock(late, "f").err(), Some(Reason::Busy));
        // Two names of one file: what comes to the one would be in the other.
        std::fs::write(root.path().join("other"), "other").unwrap();
        std::fs::hard_link(root.path().join("other"), root.path().join(".f.gtp-part")).unwrap();
        assert_eq!(directory.receive("f", 1, digest()).err(), Some(Reason::Storage));
        assert_eq!(std::fs::read(root.path().join("other")).unwrap(), b"other");
    }

    #[test]
    fn a_name_that_no_file_can_have_is_not_taken_and_what_is_short_is_not_missing() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let long = "x".repeat(300);
        assert_eq!(directory.receive(&long, 1, digest()).err(), Some(Reason::Forbidden));
        assert_eq!(not_read(Errno::EMFILE), Reason::Busy);
        assert_eq!(not_read(Errno::EACCES), Reason::Missing);
        assert!(is_name("f") && !is_name("a\nb") && !is_name("f.gtp-part") && !is_name(""));
    }

    #[test]
    fn a_part_of_another_file_or_with_a_broken_state_begins_anew() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let begin = |bytes, digest| directory.receive("f", bytes, digest).unwrap();
        let half = || {
            let mut part = begin(10, digest());
            part.sink().write(0, b"01234");
            part.save(5).unwrap();
        };
        half();
        assert_eq!(begin(10, Digest([8; 32])).here(), 0);
        half();
        assert_eq!(begin(11, digest()).here(), 0);
        half();
        std::fs::write(root.path().join(".f.gtp-state"), "{\"sha256\": ").unwrap();
        assert_eq!(begin(10, digest()).here(), 0);
        half();
        std::fs::write(root.path().join(".f.gtp-part"), "01").unwrap();
        assert_eq!(begin(10, digest()).here(), 2, "no more than there is");
        begin(10, digest()).discard();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_that_is_taken_meanwhile_stays_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let part = directory.receive("f", 1, digest()).unwrap();
        std::fs::write(root.path().join("f"), "other").unwrap();
        assert_eq!(part.keep().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(root.path().join("f")).unwrap(), b"other");
    }
}
