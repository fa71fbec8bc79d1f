// SPDX-License-Identifier: Apache-2.0
//! Files that a run is asked to leave. Whether they can be written is found out before anything starts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, Flock, FlockArg};
use nix::libc::{O_NONBLOCK, O_TMPFILE};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::linkat;
use tempfile::NamedTempFile;

use serde::Serialize;
use slotwise_kinds::{CaptureFailure, OpenCapture};

use slotwise_cli::RunError;

/// More captures that ended early than this are counted, not named.
const NAMED_CAPTURES: usize = 8;

/// How long the reader of a pipe may take nothing.
const READER_PATIENCE: Duration = Duration::from_secs(10);

/// An error unless `path` can be written; what is there stays as it is. A pipe's reader would take the look for the end.
pub fn check_file(option: &str, path: &Path) -> Result<(), RunError> {
    let before = fs::metadata(path);
    if before.as_ref().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Ok(());
    }
    let look = || -> io::Result<()> {
        OpenOptions::new().append(true).create(true).open(path)?;
        let target = fs::canonicalize(path)?;
        if before.is_err() {
            fs::remove_file(&target)?;
        }
        Draft::beside(&target).map(drop)
    };
    look().map_err(|error| cannot_write(option, path, &error))
}

/// Makes the directory if it is not there. An error unless files can be made in it.
pub fn check_directory(option: &str, path: &Path) -> Result<(), RunError> {
    fs::create_dir_all(path)
        .and_then(|()| tempfile::tempfile_in(path))
        .map(drop)
        .map_err(|error| cannot_write(option, path, &error))
}

fn cannot_write(option: &str, path: &Path, error: &io::Error) -> RunError {
    format!("{option} {}: cannot be written: {error}", path.display()).into()
}

/// Writes `value` as JSON; the reason with the path if it cannot be done. A file is there whole or as it was before.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), String> {
    let write = || match fs::metadata(path) {
        Ok(about) if !about.is_file() => write_into(path, value),
        before => replace(&target(path)?, before.ok(), |file| {
            serde_json::to_writer(&mut *file, value)?;
            file.write_all(b"\n")
        }),
    };
    write().map_err(|error| not_written(path, &error))
}

/// Writes files that belong together; the reason with the path if it cannot be done. On a full disk all of them are as they were before.
pub fn write_files<W>(files: impl IntoIterator<Item = (PathBuf, W)>) -> Result<(), String>
where
    W: FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
{
    let mut drafts = Vec::new();
    for (path, write) in files {
        let draft = target(&path).and_then(|target| Ok((draft(&target, fs::metadata(&path).ok(), write)?, target)));
        let (new, target) = draft.map_err(|error| not_written(&path, &error))?;
        drafts.push((new, target));
    }
    for (new, target) in drafts {
        new.persist(&target).map_err(|error| not_written(&target, &error))?;
    }
    Ok(())
}

fn not_written(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be written: {error}", path.display())
}

/// Where links lead, to a file that need not be there.
fn target(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = directory(&path).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A new file, gone unless it takes the place of another. It has no name until it is whole, so that a run that is killed leaves nothing of
/// it; where the file system has no such files, it has one.
enum Draft {
    Unnamed(File),
    Named(NamedTempFile),
}

impl Draft {
    /// In the directory of the file whose place it may take.
    fn beside(path: &Path) -> io::Result<Draft> {
        const NOT_SUPPORTED: [Errno; 3] = [Errno::EOPNOTSUPP, Errno::EISDIR, Errno::ENOENT];
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(PERMISSIONS).custom_flags(O_TMPFILE);
        match options.open(directory(path)) {
            Err(error)
                if NOT_SUPPORTED
                    .map(|errno| errno as i32)
                    .contains(&error.raw_os_error().unwrap_or(0)) =>
            {
                Ok(Draft::Named(names().tempfile_in(directory(path))?))
            }
            opened => Ok(Draft::Unnamed(opened?)),
        }
    }

    fn file(&self) -> &File {
        match self {
            Draft::Unnamed(file) => file,
            Draft::Named(file) => file.as_file(),
        }
    }

    /// Takes the place of `path`.
    fn persist(self, path: &Path) -> io::Result<()> {
        let file = match self {
            Draft::Named(file) => return file.persist(path).map(drop).map_err(|error| error.error),
            Draft::Unnamed(file) => file,
        };
        let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |path: &Path| {
            let linked = linkat(AT_FDCWD, opened.as_str(), AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW);
            linked.map_err(io::Error::from)
        };
        match link(path) {
            // A name cannot be taken over but by another one.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let named = names().make_in(directory(path), link)?;
                named.persist(path).map(drop).map_err(|error| error.error)
            }
            linked => linked,
        }
    }
}

/// What the umask leaves of this.
const PERMISSIONS: u32 = 0o666;

fn names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names
        .prefix(".slotwise-")
        .permissions(fs::Permissions::from_mode(PERMISSIONS));
    names
}

/// Puts a new file in the place of one, with the owner and the permissions of the one before.
fn replace(
    path: &Path,
    before: Option<fs::Metadata>,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    draft(path, before, write)?.persist(path)
}

/// A new file that can take the place of one, with the owner and the permissions of the one before; it is gone if it does not.
fn draft(
    path: &Path,
    before: Option<fs::Metadata>,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<Draft> {
    let new = Draft::beside(path)?;
    let mut file = BufWriter::new(new.file());
    write(&mut file)?;
    file.flush()?;
    drop(file);
    if let Some(before) = before {
        // Who may not give files away has made it his own.
        let _ = std::os::unix::fs::fchown(new.file(), Some(before.uid()), Some(before.gid()));
        new.file().set_permissions(before.permissions())?;
    }
    Ok(new)
}

/// Writes into what is no file. Nobody is waited for who does not read.
fn write_into(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let file = OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(path)?;
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    Patient(file).write_all(&text)
}

/// Opens a file for writing from its start, or what is no file, whose reader has [`READER_PATIENCE`] each time. What is written to a file
/// at once is there whole or not at all.
///
/// # Errors
/// When it cannot be written; nobody is waited for who does not read.
pub fn stream(option: &str, path: &Path) -> Result<Box<dyn Write + Send>, RunError> {
    let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file());
    let opened = if is_special {
        let file = OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(path);
        file.map(|file| Box::new(Patient(file)) as Box<dyn Write + Send>)
    } else {
        File::create(path).map(|file| Box::new(WholeWrites { file, len: 0 }) as Box<dyn Write + Send>)
    };
    opened.map_err(|error| cannot_write(option, path, &error))
}

/// A file that a full disk leaves with the last whole write.
struct WholeWrites {
    file: File,
    len: u64,
}

impl Write for WholeWrites {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.file.write_all(bytes) {
            // That the rest cannot be taken back either is no other reason to say.
            let _ = self
                .file
                .set_len(self.len)
                .and_then(|()| self.file.seek(SeekFrom::Start(self.len)));
            return Err(error);
        }
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A pipe whose reader has [`READER_PATIENCE`] each time.
struct Patient(File);

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut pipe = [PollFd::new(self.0.as_fd(), PollFlags::POLLOUT)];
                    let patience = PollTimeout::try_from(READER_PATIENCE).unwrap_or(PollTimeout::MAX);
                    match poll(&mut pipe, patience) {
                        Ok(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it")),
                        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                }
                outcome => return outcome,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens captures in a directory that is there, and holds it: two runs would write into the same files.
///
/// # Errors
/// When another run holds it.
pub fn captures(directory: &Path) -> Result<OpenCapture, RunError> {
    let held = hold(directory)?;
    let directory = directory.to_owned();
    Ok(Box::new(move |point| {
        let _ = &held;
        let file = File::create(directory.join(format!("{}.pcap", point.name())))?;
        Ok(Box::new(BufWriter::new(file)))
    }))
}

/// Locks a directory, where its file system can.
fn hold(directory: &Path) -> Result<Option<Flock<File>>, RunError> {
    let opened = File::open(directory).map_err(|error| cannot_write("--pcap", directory, &error))?;
    match Flock::lock(opened, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Err(format!(
            "--pcap {}: in use by another run; expected a separate directory",
            directory.display()
        )
        .into()),
        Err(_) => Ok(None),
    }
}

/// What to say of captures that ended before the run.
pub fn capture_notes(directory: &Path, failures: &[CaptureFailure]) -> Vec<String> {
    let named = failures
        .iter()
        .take(NAMED_CAPTURES)
        .map(|CaptureFailure { point, error }| {
            let path = directory.join(format!("{}.pcap", point.name()));
            format!("capture {}: incomplete: {error}", path.display())
        });
    let more = failures.len().saturating_sub(NAMED_CAPTURES);
    let rest = (more > 0).then(|| format!("{more} more incomplete captures in {}", directory.display()));
    named.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::FileExt;

    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use slotwise_kinds::CapturePoint;
    use slotwise_scenario::Device;

    use super::*;

    #[test]
    fn files_are_looked_at_and_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (new, old) = (place.path().join("new.json"), place.path().join("old.json"));
        fs::write(&old, "kept").unwrap();
        check_file("--report", &new).unwrap();
        check_file("--report", &old).unwrap();
        assert!(!new.exists());
        assert_eq!(fs::read(&old).unwrap(), b"kept");
        let nowhere = check_file("--report", &place.path().join("none/r.json")).unwrap_err();
        assert!(nowhere.to_string().starts_with("--report /"), "{nowhere}");
        assert!(
            nowhere.to_string().contains("none/r.json: cannot be written: "),
            "{nowhere}"
        );
        assert!(check_file("--report", place.path()).is_err(), "a directory");
        check_directory("--pcap", &place.path().join("a/b")).unwrap();
        let below_a_file = check_directory("--pcap", &old.join("c")).unwrap_err();
        assert!(below_a_file.to_string().starts_with("--pcap "), "{below_a_file}");
        let (link, target) = (place.path().join("link"), place.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        check_file("--report", &link).unwrap();
        assert!(link.is_symlink() && !target.exists());
        check_file("--report", Path::new("/dev/null")).unwrap();
        assert!(
            write_json(Path::new("/dev/full"), &1)
                .unwrap_err()
                .starts_with("/dev/full: ")
        );
    }

    #[test]
    fn a_file_is_there_whole_or_as_it_was_before() {
        let place = tempfile::tempdir().unwrap();
        let names = || {
            let entries = fs::read_dir(place.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let path = place.path().join("r.json");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        // A map whose keys are no strings is not JSON; by then its first bytes are written.
        let broken = [(1, "a")].map(|(key, value)| std::collections::BTreeMap::from([(vec![key], value)]));
        write_json(&path, &(0, broken)).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        let other = place.path().join("other");
        let (cut_off, reached) = (Cell::new(false), Cell::new(0));
        let halves = |file: &mut BufWriter<&File>| {
            reached.set(reached.get() + 1);
            file.write_all(&[0; 100_000])?;
            // Killed here, it would leave nothing.
            let has_names = matches!(Draft::beside(&path).unwrap(), Draft::Named(_));
            assert!(has_names || names().len() == 1, "{:?}", names());
            match cut_off.replace(true) {
                false => Ok(()),
                true => Err(io::ErrorKind::StorageFull.into()),
            }
        };
        let reason = write_files([(path.clone(), &halves), (other.clone(), &halves)]).unwrap_err();
        assert!(
            reason.starts_with(&format!("{}: cannot be written: ", other.display())),
            "{reason}"
        );
        assert_eq!(
            (reached.get(), fs::read(&path).unwrap(), other.exists()),
            (2, b"before".to_vec(), false)
        );
        let whole = |file: &mut BufWriter<&File>| file.write_all(b"whole");
        write_files([(path.clone(), whole), (other.clone(), whole)]).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&other).unwrap()),
            (b"whole".to_vec(), b"whole".to_vec())
        );
        fs::remove_file(&other).unwrap();
        write_json(&path, &[1]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"[1]\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        let (link, missing) = (place.path().join("link"), place.path().join("new.json"));
        std::os::unix::fs::symlink("new.json", &link).unwrap();
        write_json(&link, &2).unwrap();
        write_json(&link, &3).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&missing).unwrap(), b"3\n");
        assert_eq!(names(), ["link", "new.json", "r.json"]);
    }

    #[test]
    fn what_a_full_disk_cuts_off_is_taken_back() {
        // Its size cannot grow, as on a full disk: of the second write there is room for a part.
        let memory = memfd_create(c"full", MFdFlags::MFD_ALLOW_SEALING).unwrap();
        let file = File::from(memory);
        file.set_len(4096).unwrap();
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_GROW)).unwrap();
        let mut lines = WholeWrites {
            file: file.try_clone().unwrap(),
            len: 0,
        };
        lines.write_all(&[b'a'; 3000]).unwrap();
        lines.write_all(&[b'b'; 3000]).unwrap_err();
        assert_eq!(file.metadata().unwrap().len(), 3000);
        let mut kept = vec![0; 3000];
        file.read_exact_at(&mut kept, 0).unwrap();
        assert!(kept.iter().all(|byte| *byte == b'a'));
    }

    #[test]
    fn nobody_is_waited_for_who_does_not_open_the_pipe() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        check_file("--report", &path).unwrap();
        let refusal = write_json(&path, &1).unwrap_err();
        assert!(refusal.contains("/pipe: cannot be written: "), "{refusal}");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path)
        });
        // More than a pipe holds, to a reader who may not be there yet.
        let long = "x".repeat(1 << 20);
        while write_json(&path, &long).is_err() {
            std::thread::yield_now();
        }
        assert_eq!(reader.join().unwrap().unwrap().len(), long.len() + 3);
    }

    #[test]
    fn captures_of_two_runs_are_not_mixed() {
        let place = tempfile::tempdir().unwrap();
        let first = captures(place.path()).unwrap();
        let second = captures(place.path()).err().unwrap().to_string();
        assert!(second.contains("in use by another run"), "{second}");
        drop(first);
        drop(captures(place.path()).unwrap());
    }

    #[test]
    fn captures_that_ended_are_named_up_to_a_bound() {
        let failure = |port| CaptureFailure {
            point: CapturePoint::Port {
                device: Device::Edge(0),
                port,
            },
            error: io::ErrorKind::StorageFull.into(),
        };
        let failures: Vec<CaptureFailure> = (1..=10).map(failure).collect();
        let notes = capture_notes(Path::new("/captures"), &failures);
        assert_eq!(
            notes[0],
            "capture /captures/edge0-port1.pcap: incomplete: no storage space"
        );
        assert_eq!(notes.len(), 9);
        assert_eq!(notes[8], "2 more incomplete captures in /captures");
        assert!(capture_notes(Path::new("/captures"), &[]).is_empty());
    }
}
