// SPDX-License-Identifier: Apache-2.0
//! The temporary directory of a run, and what runs that were killed have left.
//!
//! ```text
//! /tmp/slotwise-XXXXXX/lock   held (flock) while the run lives, so that every process that sees the file can ask,
//!                             in other PID namespaces too
//! ```
//!
//! The directory itself is locked until the lock has its name, which goes last when it is deleted: a run that is killed at any time
//! leaves a directory with a lock, or one that is empty but for the draft of it.
//!
//! Processes of a run have [`MARK`] with the directory in their environment. `scripts/clean-net` knows both.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::libc::{O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::Uid;
use tempfile::TempDir;

/// In the environment of a run's processes: its directory.
pub const MARK: &str = "SLOTWISE_RUN";

const PREFIX: &str = "slotwise-";
const LOCK: &str = "lock";
/// A lock has its name only when it is held.
const DRAFT: &str = "lock.part";

/// How often a directory is made that others take for one of a dead run before it has its lock.
const TRIES: usize = 16;

/// A directory that goes with its run, or when the next one starts.
pub struct RunDirectory {
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
        for _ in 0..TRIES {
            let mut builder = tempfile::Builder::new();
            let builder = builder.prefix(PREFIX).permissions(fs::Permissions::from_mode(OWN));
            let directory = builder.tempdir_in(parent)?;
            let Ok(_unborn) = lock_directory(directory.path()) else {
                continue;
            };
            let draft = directory.path().join(DRAFT);
            let lock = match File::create_new(&draft) {
                // Somebody else had the directory's lock before.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                created => try_lock(created?)?,
            };
            fs::rename(&draft, directory.path().join(LOCK))?;
            return Ok(RunDirectory { directory, _lock: lock });
        }
        Err(io::Error::other(
            "temporary directories are deleted immediately after creation",
        ))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        delete(self.directory.path());
    }
}

fn try_lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Locks the directory itself: who makes it holds that until its lock has its name.
fn lock_directory(path: &Path) -> io::Result<Flock<File>> {
    let mut options = OpenOptions::new();
    try_lock(options.read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(path)?)
}

/// Opens a lock that this user's run may have left. What else has the name, a pipe or a link, is left alone and not waited for.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(O_NONBLOCK | O_NOFOLLOW).open(path)?;
    let about = file.metadata()?;
    if about.is_file() && about.uid() == Uid::effective().as_raw() {
        Ok(file)
    } else {
        Err(io::Error::other("not the lock of a run"))
    }
}

/// Deletes the directories below `parent` of runs of this user that live no more.
fn delete_dead(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let about = fs::symlink_metadata(&path);
        let about = about
            .ok()
            .filter(|about| about.is_dir() && about.uid() == Uid::effective().as_raw());
        let Some(about) = about.filter(|_| entry.file_name().to_string_lossy().starts_with(PREFIX)) else {
            continue;
        };
        // Whoever gets the lock is the only one who deletes.
        match open_lock(&path.join(LOCK)) {
            Ok(file) => {
                if let Ok(_lock) = try_lock(file) {
                    delete(&path);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && about.mode() & 0o777 == OWN => {
                delete_unborn(&path);
            }
            Err(_) => {}
        }
    }
}

/// Permissions of a run's directory.
const OWN: u32 = 0o700;

/// Deletes the directory of a run that was killed before it had its lock, or after it had deleted that: nothing else is in it.
fn delete_unborn(path: &Path) {
    if let Ok(_lock) = lock_directory(path) {
        // Only a dead run's draft has this name.
        let _ = fs::remove_file(path.join(DRAFT));
        let _ = fs::remove_dir(path);
    }
}

/// Deletes a directory. What cannot be deleted stays.
fn delete(path: &Path) {
    for entry in contents(path) {
        let is_directory = fs::symlink_metadata(&entry).is_ok_and(|about| about.is_dir());
        let _ = match is_directory {
            true => fs::remove_dir_all(&entry),
            false => fs::remove_file(&entry),
        };
    }
    let _ = fs::remove_dir(path);
}

/// Entries of a directory in the order in which they are deleted, the lock last: whoever is killed meanwhile leaves what the next run deletes.
fn contents(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort_by_key(|entry| entry.ends_with(LOCK));
    entries
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

    #[test]
    fn the_next_run_deletes_what_one_left_that_was_killed_before_it_had_its_lock() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        make("slotwise-empty1", OWN);
        let draft = make("slotwise-draft1", OWN).join(DRAFT);
        fs::write(draft, "").unwrap();
        make("slotwise-backup", 0o755);
        fs::write(make("slotwise-papers", OWN).join("paper"), "").unwrap();
        let being_born = lock_directory(&make("slotwise-birth1", OWN)).unwrap();
        let live = RunDirectory::create_in(parent.path()).unwrap();
        assert_eq!(
            fs::metadata(live.path()).unwrap().mode() & 0o777,
            OWN,
            "it would be known"
        );
        drop(live);
        assert_eq!(
            names(parent.path()),
            ["slotwise-backup", "slotwise-birth1", "slotwise-papers"]
        );
        drop(being_born);
    }

    #[test]
    fn a_directory_loses_its_lock_last() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("slotwise-dead12");
        fs::create_dir_all(path.join("a-directory/in-it")).unwrap();
        for name in [LOCK, "a-token", "z-token"] {
            fs::write(path.join(name), "").unwrap();
        }
        let order = contents(&path);
        assert_eq!((order.len(), order.last()), (4, Some(&path.join(LOCK))));
        delete(&path);
        assert!(!path.exists());
    }
}
