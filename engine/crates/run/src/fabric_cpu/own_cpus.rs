// SPDX-License-Identifier: Apache-2.0
//! Which CPUs live runs have for themselves. A fabric with a CPU of its own hardly ever sleeps, so one CPU has to be left for all else.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, O_NOFOLLOW, flock};

/// A run's view of them, and its own one for as long as this lives.
#[derive(Debug)]
pub struct OwnCpus {
    /// Byte N is locked by who has CPU N. Locks go with their process, however it ends.
    file: File,
}

impl OwnCpus {
    /// # Errors
    /// What the system says; others cannot be asked then, nor told.
    pub fn open(path: &Path) -> io::Result<OwnCpus> {
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let file = options.mode(0o600).custom_flags(O_NOFOLLOW).open(path)?;
        Ok(OwnCpus { file })
    }

    /// Those of `cpus` that other runs have.
    ///
    /// # Errors
    /// What the system says.
    pub fn of_others(&self, cpus: &[usize]) -> io::Result<Vec<usize>> {
        let mut taken = Vec::new();
        for &cpu in cpus {
            let mut lock = byte(cpu);
            fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut lock))?;
            if lock.l_type != libc::F_UNLCK as libc::c_short {
                taken.push(cpu);
            }
        }
        Ok(taken)
    }

    /// Takes `cpu` of `cpus`, unless another run has it or no other one would be left.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(&self, cpu: usize, cpus: &[usize]) -> io::Result<bool> {
        // Of two that look at the same time, the second sees what the first took.
        self.file.lock()?;
        let taken = self.of_others(cpus).and_then(|others| {
            if cpus.len() < others.len() + 2 || others.contains(&cpu) {
                return Ok(false);
            }
            match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&byte(cpu))) {
                Ok(_) => Ok(true),
                Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
                Err(error) => Err(error.into()),
            }
        });
        self.file.unlock()?;
        taken
    }
}

/// The lock of a CPU's byte.
fn byte(cpu: usize) -> flock {
    flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: cpu as libc::off_t,
        l_len: 1,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn each_run_has_one_of_its_own_and_the_last_is_left_for_all_else() {
        let directory = TempDir::new().unwrap();
        let open = || OwnCpus::open(&directory.path().join("cpus")).unwrap();
        let cpus = [0, 2, 5];
        let (first, second, third) = (open(), open(), open());
        assert!(first.take(5, &cpus).unwrap());
        assert!(first.of_others(&cpus).unwrap().is_empty(), "its own");
        assert_eq!(second.of_others(&cpus).unwrap(), [5]);
        assert!(!second.take(5, &cpus).unwrap(), "the first has it");
        assert!(second.take(2, &cpus).unwrap());
        assert_eq!(third.of_others(&cpus).unwrap(), [2, 5]);
        assert!(!third.take(0, &cpus).unwrap(), "none would be left");
        drop(first);
        assert_eq!(third.of_others(&cpus).unwrap(), [2], "a run that ended has none");
        assert!(third.take(5, &cpus).unwrap());
        assert!(!open().take(0, &[0]).unwrap(), "one does everything");
    }

    #[test]
    fn where_nothing_can_be_written_nobody_is_asked() {
        let directory = TempDir::new().unwrap();
        assert!(OwnCpus::open(&directory.path().join("none/cpus")).is_err());
    }
}
