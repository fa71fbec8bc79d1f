// SPDX-License-Identifier: Apache-2.0
//! The temporary directory of a run, and what runs that were killed have left.
//!
//! ```text
//! /tmp/slotwise-XXXXXX/lock   held (flock) while the run lives, so that every process that sees the file can ask,
//!                             in other PID namespaces too
//! ```
//!
//! Processes of a run have [`MARK`] with the directory in their environment. `scripts/clean-net` knows both.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::Uid;
use tempfile::TempDir;

/// In the environment of a run's processes: its directory.
pub const MARK: &str = "SLOTWISE_RUN";

const PREFIX: &str = "slotwise-";
const LOCK: &str = "lock";
/// A lock has its name only when it is held.
const DRAFT: &str = "lock.part";

/// A directory that goes with its run, or when the next one starts.
pub struct RunDirectory {
    // Deleted first, while the lock is held.
    directory: TempDir,
    _lock: Flock<File>,
}

impl RunDirectory {
    /// Makes one, and deletes those of dead runs.
    ///
    /// # Errors
    /// What the system says against it. What dead runs have left and cannot be deleted is no error.
    pub fn create() -> io::Result<RunDirectory> {
        // Others look for it from elsewhere.
        RunDirectory::create_in(&std::path::absolute(std::env::temp_dir())?)
    }

    fn create_in(parent: &Path) -> io::Result<RunDirectory> {
        delete_dead(parent);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let draft = directory.path().join(DRAFT);
        let lock = try_lock(File::create_new(&draft)?)?;
        fs::rename(&draft, directory.path().join(LOCK))?;
        Ok(RunDirectory { directory, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn try_lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Opens a lock that this user's run may have left. What else has the name, a pipe or a link, is left alone and not waited for.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(O_NONBLOCK | O_NOFOLLOW).open(path)?;
    let about = file.metadata()?;
    if about.is_file() && about.uid() == Uid::effective().as_raw() {
        Ok(file)
    } else {
        Err(io::Error::other("no lock of a run"))
    }
}

/// Deletes the directories below `parent` of runs of this user that live no more.
fn delete_dead(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && fs::symlink_metadata(entry.path())
                .is_ok_and(|about| about.is_dir() && about.uid() == Uid::effective().as_raw());
        // Whoever gets the lock is the only one who deletes.
        if is_ours
            && let Ok(file) = open_lock(&entry.path().join(LOCK))
            && let Ok(_lock) = try_lock(file)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let entries = fs::read_dir(parent).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_no_lock_is_neither_waited_for_nor_deleted() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = parent.path().join("file");
        fs::write(&elsewhere, "").unwrap();
        for name in ["slotwise-link", "slotwise-pipe"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let pipe = parent.path().join("slotwise-pipe/lock");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink(&elsewhere, parent.path().join("slotwise-link/lock")).unwrap();
        drop(RunDirectory::create_in(parent.path()).unwrap());
        assert_eq!(names(parent.path()), ["file", "slotwise-link", "slotwise-pipe"]);
    }

    #[test]
    fn the_next_run_deletes_what_a_dead_one_left_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        for other in ["slotwise-backup", "other"] {
            fs::create_dir(parent.path().join(other)).unwrap();
        }
        fs::create_dir(parent.path().join("slotwise-dead12")).unwrap();
        fs::write(parent.path().join("slotwise-dead12/lock"), "").unwrap();
        fs::write(parent.path().join("slotwise-dead12/controller.json"), "{}").unwrap();
        let live = RunDirectory::create_in(parent.path()).unwrap();
        let next = RunDirectory::create_in(parent.path()).unwrap();
        let name = |run: &RunDirectory| run.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![
            "other".to_owned(),
            "slotwise-backup".to_owned(),
            name(&live),
            name(&next),
        ];
        expected.sort();
        assert_eq!(names(parent.path()), expected);
        drop((live, next));
        assert_eq!(names(parent.path()), ["other", "slotwise-backup"]);
    }
}
