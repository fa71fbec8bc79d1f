// SPDX-License-Identifier: Apache-2.0
//! Files of a directory: opened beneath it and nowhere else; received beside their place, so that what was cut off can go on.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, Flock, FlockArg, OFlag, OpenHow, RenameFlags, ResolveFlag, openat2, renameat2};
use nix::sys::stat::{Mode, fstatat};
use nix::unistd::{UnlinkatFlags, fsync, geteuid, linkat, unlinkat};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use slotwise_gtp::{Digest, Reason};
use slotwise_units::Bytes;

use super::disk::DiskSink;

/// What stands behind the name of a file of which a part is here.
const PART: &str = ".gtp-part";
/// And of what is known of that part.
const STATE: &str = ".gtp-state";
/// Length of a state, with spaces behind it.
const STATE_BYTES: usize = 256;
/// Longest name on most file systems.
const NAME_BYTES: usize = 255;

/// A directory whose files are offered, or to which files come.
pub struct Directory {
    fd: OwnedFd,
}

/// The parent below the directory, and the name in it; none if the name is not one of a file beneath.
fn split(name: &OsStr) -> Option<(PathBuf, OsString)> {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let last = path.file_name()?;
    let is_ours = [PART, STATE]
        .iter()
        .any(|suffix| last.as_bytes().ends_with(suffix.as_bytes()));
    let is_clean = !name.to_string_lossy().chars().any(char::is_control) && !name.as_bytes().ends_with(b"/");
    if !is_plain || is_ours || !is_clean {
        return None;
    }
    Some((path.parent()?.to_owned(), last.to_owned()))
}

/// Name beside a file, for what there is of it.
fn beside(name: &OsStr, suffix: &str) -> OsString {
    let mut path = OsString::from(".");
    match path.len() + name.len() + suffix.len() <= NAME_BYTES {
        true => path.push(name),
        // It leaves no room for more; its SHA-256 is as much its own.
        false => path.push(Digest(Sha256::digest(name.as_bytes()).into()).to_string()),
    }
    path.push(suffix);
    path
}

/// Whether a file in a directory may have this name.
pub fn is_name(name: &OsStr) -> bool {
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
    pub fn read(&self, name: &str) -> Result<(File, Bytes), Reason> {
        split(name.as_ref()).ok_or(Reason::Missing)?;
        let file = self.beneath(Path::new(name), OFlag::O_RDONLY, Mode::empty());
        let file = file.map_err(not_read)?;
        let metadata = file.metadata().map_err(|_| Reason::Storage)?;
        if !metadata.is_file() {
            return Err(Reason::Missing);
        }
        Ok((file, Bytes::new(metadata.len())))
    }

    /// Makes room for a file, or goes on with what came of it before. What cannot be received leaves nothing behind.
    ///
    /// # Errors
    /// [`Reason::Forbidden`] for names that are not beneath, [`Reason::Exists`] for those that are taken, [`Reason::UnderWay`] for a file that is
    /// being received already, [`Reason::Storage`] for what the system does not do, and for parts that are not this user's alone.
    pub fn receive(&self, name: &OsStr, bytes: Bytes, digest: Digest) -> Result<Part, Reason> {
        let bytes = bytes.get();
        let (parent, name) = split(name).ok_or(Reason::Forbidden)?;
        let parent = self.beneath(&parent, OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty());
        let directory = Directory {
            fd: parent.map_err(|_| Reason::Forbidden)?.into(),
        };
        directory.has_no(&name)?;
        let part = directory.open_beside(&beside(&name, PART))?;
        let is_new = part.is_new;
        let lock = directory.lock(part, &name)?;
        let state_file = directory.open_state(&name);
        let state_file = state_file.inspect_err(|_| {
            if is_new {
                directory.remove(&beside(&name, PART), &lock);
            }
        })?;
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
        if part.save(here).is_err() {
            if is_new {
                part.discard();
            }
            return Err(Reason::Storage);
        }
        Ok(part)
    }

    fn has_no(&self, name: &OsStr) -> Result<(), Reason> {
        match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Reason::Exists),
            Err(Errno::ENOENT) => Ok(()),
            Err(_) => Err(Reason::Forbidden),
        }
    }

    /// Opens a file of this directory, or makes it.
    fn open_beside(&self, name: &OsStr) -> Result<Beside, Reason> {
        let flags = OFlag::O_RDWR | OFlag::O_NOFOLLOW;
        // As any file that is made; the user's mask takes away from it.
        let mode = Mode::from_bits_truncate(0o666);
        let made = self.beneath(Path::new(name), flags | OFlag::O_CREAT | OFlag::O_EXCL, mode);
        let is_new = !matches!(made, Err(Errno::EEXIST));
        let file = match is_new {
            true => made,
            false => self.beneath(Path::new(name), flags, Mode::empty()),
        };
        let file = file.map_err(|_| Reason::Storage)?;
        Ok(Beside { file, is_new })
    }

    /// Opens what is known of a part.
    fn open_state(&self, name: &OsStr) -> Result<File, Reason> {
        let state = self.open_beside(&beside(name, STATE))?;
        match state.is_own() {
            true => Ok(state.file),
            false => Err(Reason::Storage),
        }
    }

    /// Whether a file that is open has this name.
    fn is_at(&self, name: &OsStr, file: &File) -> bool {
        let there = fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW);
        let opened = file.metadata();
        there.is_ok_and(|there| opened.is_ok_and(|opened| (there.st_dev, there.st_ino) == (opened.dev(), opened.ino())))
    }

    /// Locks a part that was opened. Who had it before may have given it its name meanwhile, or deleted it, and it may be a file of another
    /// name too: then what is written to it would be that file's.
    fn lock(&self, part: Beside, name: &OsStr) -> Result<Flock<File>, Reason> {
        let is_own = part.is_own();
        let lock = Flock::lock(part.file, FlockArg::LockExclusiveNonblock).map_err(|_| Reason::UnderWay)?;
        let is_same = self.is_at(&beside(name, PART), &lock);
        self.has_no(name)?;
        match (is_same, is_own) {
            (false, _) => Err(Reason::UnderWay),
            (true, true) => Ok(lock),
            (true, false) => Err(Reason::Storage),
        }
    }

    /// Takes a name away from a file that is open; what else has it by now keeps it.
    fn remove(&self, name: &OsStr, file: &File) {
        if self.is_at(name, file) {
            // What cannot be removed is not used: its SHA-256 is another file's.
            let _ = unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir);
        }
    }

    /// Gives a file that is open another name, which nothing may have. Its old name may be another file's by now: so the file itself is linked,
    /// and only where that does not go (no hard links, no /proc) the name is changed, if the file still has it.
    fn rename(&self, file: &File, old: &OsStr, new: &OsStr) -> nix::Result<()> {
        let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(AT_FDCWD, opened.as_str(), &self.fd, new, AtFlags::AT_SYMLINK_FOLLOW) {
            Ok(()) => {
                self.remove(old, file);
                Ok(())
            }
            Err(Errno::EEXIST) => Err(Errno::EEXIST),
            Err(_) => self.rename_without_links(file, old, new),
        }
    }

    fn rename_without_links(&self, file: &File, old: &OsStr, new: &OsStr) -> nix::Result<()> {
        match self.is_at(old, file) {
            true => renameat2(&self.fd, old, &self.fd, new, RenameFlags::RENAME_NOREPLACE),
            false => Err(Errno::ENOENT),
        }
    }

    /// Brings its names to the disk.
    fn sync(&self) -> nix::Result<()> {
        match fsync(&self.fd) {
            // This file system does not do it for directories.
            Err(Errno::EINVAL) => Ok(()),
            other => other,
        }
    }
}

/// A file beside another one.
struct Beside {
    file: File,
    /// Whether it was made now.
    is_new: bool,
}

impl Beside {
    /// Whether it is a regular file of this user, under one name: what is written to another one would be somebody else's.
    fn is_own(&self) -> bool {
        let is_own = |of: std::fs::Metadata| {
            let is_users = self.is_new || of.uid() == geteuid().as_raw();
            of.is_file() && of.nlink() == 1 && is_users
        };
        self.file.metadata().is_ok_and(is_own)
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
    name: OsString,
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
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.state.bytes)
    }

    /// Whether this is the SHA-256 that it should have.
    pub fn is(&self, digest: Digest) -> bool {
        self.state.sha256 == digest.to_string()
    }

    /// Where bytes go.
    pub fn sink(&self) -> DiskSink {
        DiskSink::new(Arc::clone(&self.file), self.state.bytes)
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

    /// Gives the file its name, on disk; refused if something has it already.
    ///
    /// # Errors
    /// What the system said.
    pub fn keep(self) -> io::Result<()> {
        self.file.sync_all()?;
        self.directory
            .rename(&self.file, &beside(&self.name, PART), &self.name)?;
        self.directory.remove(&beside(&self.name, STATE), &self.state_file);
        Ok(self.directory.sync()?)
    }

    /// Forgets it.
    pub fn discard(self) {
        self.directory.remove(&beside(&self.name, STATE), &self.state_file);
        self.directory.remove(&beside(&self.name, PART), &self.file);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use slotwise_transport::content::Sink;

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
            assert_eq!(directory.read(name).unwrap().1, Bytes::new(7), "{name}");
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
            assert!(
                directory.receive(name.as_ref(), Bytes::new(1), digest()).is_err(),
                "{name:?}"
            );
        }
        assert_eq!(directory.read("none").unwrap_err(), Reason::Missing);
        assert_eq!(
            directory.receive("up/new".as_ref(), Bytes::new(1), digest()).err(),
            Some(Reason::Forbidden)
        );
        assert_eq!(
            directory.receive("none/new".as_ref(), Bytes::new(1), digest()).err(),
            Some(Reason::Forbidden)
        );
        assert_eq!(
            directory.receive("link".as_ref(), Bytes::new(1), digest()).err(),
            Some(Reason::Exists)
        );
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_part_goes_on_where_it_was_if_it_is_of_the_same_file() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let mut part = directory.receive("f".as_ref(), Bytes::new(10), digest()).unwrap();
        assert_eq!(part.here(), 0);
        assert_eq!(
            directory.receive("f".as_ref(), Bytes::new(10), digest()).err(),
            Some(Reason::UnderWay)
        );
        let mut sink = part.sink();
        sink.write(0, b"01234");
        sink.write(7, b"7");
        part.save(5).unwrap();
        drop((part, sink));
        let part = directory.receive("f".as_ref(), Bytes::new(10), digest()).unwrap();
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

    #[test]
    fn what_was_a_part_when_it_was_opened_and_is_a_file_now_stays_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let part = directory.receive("f".as_ref(), Bytes::new(1), digest()).unwrap();
        part.sink().write(0, b"1");
        let opened = || directory.open_beside(".f.gtp-part".as_ref()).unwrap();
        // Another process opens the part, waits, and then this one is done with it.
        let late = opened();
        part.keep().unwrap();
        assert_eq!(directory.lock(late, "f".as_ref()).err(), Some(Reason::Exists));
        std::fs::remove_file(root.path().join("f")).unwrap();
        let part = directory.receive("f".as_ref(), Bytes::new(1), digest()).unwrap();
        let late = opened();
        part.discard();
        assert_eq!(directory.lock(late, "f".as_ref()).err(), Some(Reason::UnderWay));
        // Two names of one file: what comes to the one would be in the other.
        std::fs::write(root.path().join("other"), "other").unwrap();
        std::fs::hard_link(root.path().join("other"), root.path().join(".f.gtp-part")).unwrap();
        assert_eq!(
            directory.receive("f".as_ref(), Bytes::new(1), digest()).err(),
            Some(Reason::Storage)
        );
        assert_eq!(std::fs::read(root.path().join("other")).unwrap(), b"other");
    }

    #[test]
    fn a_file_is_whole_only_if_what_was_compared_has_its_name() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let first = directory.receive("f".as_ref(), Bytes::new(1), digest()).unwrap();
        first.sink().write(0, b"1");
        // Somebody tidies up, and sends another file.
        std::fs::remove_file(root.path().join(".f.gtp-part")).unwrap();
        let second = directory.receive("f".as_ref(), Bytes::new(2), Digest([8; 32])).unwrap();
        second.sink().write(0, b"2");
        assert_eq!(first.keep().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!root.path().join("f").exists(), "the other one is not there yet");
        second.sink().write(1, b"2");
        second.keep().unwrap();
        assert_eq!(std::fs::read(root.path().join("f")).unwrap(), b"22");
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
        // The same where there are no hard links.
        let part = directory.receive("g".as_ref(), Bytes::new(1), digest()).unwrap();
        let names = [".g.gtp-part", "g"].map(OsStr::new);
        assert_eq!(
            directory.rename_without_links(&part.file, names[0], "f".as_ref()),
            Err(Errno::EEXIST)
        );
        std::fs::rename(root.path().join(".g.gtp-part"), root.path().join("away")).unwrap();
        std::fs::write(root.path().join(".g.gtp-part"), "other").unwrap();
        assert_eq!(
            directory.rename_without_links(&part.file, names[0], names[1]),
            Err(Errno::ENOENT)
        );
        std::fs::rename(root.path().join("away"), root.path().join(".g.gtp-part")).unwrap();
        directory.rename_without_links(&part.file, names[0], names[1]).unwrap();
        assert!(directory.is_at(names[1], &part.file));
    }

    #[test]
    fn what_another_transfer_has_there_stays_when_a_part_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let first = directory.receive("f".as_ref(), Bytes::new(10), digest()).unwrap();
        for suffix in [PART, STATE] {
            std::fs::remove_file(root.path().join(format!(".f{suffix}"))).unwrap();
        }
        let mut second = directory
            .receive("f".as_ref(), Bytes::new(10), Digest([8; 32]))
            .unwrap();
        second.sink().write(0, b"01234");
        second.save(5).unwrap();
        first.discard();
        drop(second);
        assert_eq!(
            directory
                .receive("f".as_ref(), Bytes::new(10), Digest([8; 32]))
                .unwrap()
                .here(),
            5
        );
    }

    #[test]
    fn a_state_that_is_not_the_user_s_own_file_stays_as_it_is_and_nothing_is_left_of_the_part() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let (victim, state) = (root.path().join("victim"), root.path().join(".f.gtp-state"));
        std::fs::write(&victim, "precious").unwrap();
        let refused = || {
            assert_eq!(
                directory.receive("f".as_ref(), Bytes::new(1), digest()).err(),
                Some(Reason::Storage)
            );
            assert!(!root.path().join(".f.gtp-part").exists());
        };
        std::fs::hard_link(&victim, &state).unwrap();
        refused();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        std::fs::remove_file(&state).unwrap();
        symlink(&victim, &state).unwrap();
        refused();
        std::fs::remove_file(&state).unwrap();
        nix::unistd::mkfifo(&state, Mode::from_bits_truncate(0o600)).unwrap();
        refused();
        std::fs::remove_file(&state).unwrap();
        for (name, suffix) in [("f", PART), ("f", STATE)] {
            let path = root.path().join(format!(".{name}{suffix}"));
            std::fs::write(&path, "").unwrap();
            // Only root may give files away.
            if std::os::unix::fs::chown(&path, Some(1), None).is_ok() {
                assert_eq!(
                    directory.receive(name.as_ref(), Bytes::new(1), digest()).err(),
                    Some(Reason::Storage)
                );
            }
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_name_as_long_as_a_name_may_be_is_received() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        for length in [243, 244, 245, 246, 254, 255] {
            let (name, other) = ("x".repeat(length), "y".repeat(length));
            let mut part = directory.receive(name.as_ref(), Bytes::new(2), digest()).unwrap();
            let beside = directory.receive(other.as_ref(), Bytes::new(2), digest()).unwrap();
            part.sink().write(0, b"1");
            part.save(1).unwrap();
            drop(part);
            let part = directory.receive(name.as_ref(), Bytes::new(2), digest()).unwrap();
            assert_eq!(part.here(), 1, "{length}");
            part.keep().unwrap();
            beside.discard();
            assert_eq!(std::fs::read(root.path().join(name)).unwrap(), b"1", "{length}");
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 6);
        assert_eq!(
            directory
                .receive("x".repeat(256).as_ref(), Bytes::new(1), digest())
                .err(),
            Some(Reason::Forbidden)
        );
        assert_eq!(beside("f".as_ref(), PART), ".f.gtp-part");
    }

    #[test]
    fn a_name_that_no_file_can_have_is_not_taken_and_what_is_short_is_not_missing() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let long = "x".repeat(300);
        assert_eq!(
            directory.receive(long.as_ref(), Bytes::new(1), digest()).err(),
            Some(Reason::Forbidden)
        );
        assert_eq!(not_read(Errno::EMFILE), Reason::Busy);
        assert_eq!(not_read(Errno::EACCES), Reason::Missing);
        let is_name = |name: &[u8]| is_name(OsStr::from_bytes(name));
        assert!(
            is_name(b"f") && is_name(b"latin\xe9") && !is_name(b"a\nb") && !is_name(b"f.gtp-part") && !is_name(b"")
        );
        assert!(!is_name(b"\xe9\x7f"));
    }

    #[test]
    fn a_part_of_another_file_or_with_a_broken_state_begins_anew() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        let begin = |bytes, digest| directory.receive("f".as_ref(), Bytes::new(bytes), digest).unwrap();
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
        let part = directory.receive("f".as_ref(), Bytes::new(1), digest()).unwrap();
        std::fs::write(root.path().join("f"), "other").unwrap();
        assert_eq!(part.keep().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(root.path().join("f")).unwrap(), b"other");
    }
}
