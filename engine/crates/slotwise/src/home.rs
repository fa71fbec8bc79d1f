// SPDX-License-Identifier: Apache-2.0
//! Where the installation keeps what `slotwise` needs beside itself: compiled P4, the controller, the Python package.

use std::path::{Path, PathBuf};

/// The root of a clone (or of an installation laid out like one).
#[derive(Debug, Clone)]
pub struct Home(PathBuf);

/// Something that ought to be in the installation is not there.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No directory above the executable or the working directory holds `p4src/p4c-out`.
    #[error("cannot find Slotwise's files (p4src/p4c-out): run from the clone, or set SLOTWISE_HOME to it")]
    NotFound,
    /// One file is missing.
    #[error("{path}: missing; `make setup` makes it")]
    Missing {
        /// The file.
        path: PathBuf,
    },
}

impl Home {
    /// `$SLOTWISE_HOME`, or the nearest directory above the executable or the working directory that has `p4src/p4c-out`.
    pub fn find() -> Result<Home, HomeError> {
        if let Some(dir) = std::env::var_os("SLOTWISE_HOME") {
            return Ok(Home(dir.into()));
        }
        let starts = [std::env::current_exe().ok(), std::env::current_dir().ok()];
        starts
            .iter()
            .flatten()
            .flat_map(|start| start.ancestors())
            .find(|dir| dir.join("p4src/p4c-out").is_dir())
            .map(|dir| Home(dir.to_path_buf()))
            .ok_or(HomeError::NotFound)
    }

    /// p4c's JSON and P4Info of a program (`edge`, `core`).
    pub fn p4(&self, program: &str) -> Result<(PathBuf, PathBuf), HomeError> {
        let out = self.0.join("p4src/p4c-out");
        Ok((
            existing(out.join(format!("{program}.json")))?,
            existing(out.join(format!("{program}.p4info.txtpb")))?,
        ))
    }

    /// The runnable controller archive.
    pub fn controller_jar(&self) -> Result<PathBuf, HomeError> {
        existing(self.0.join("controller/standalone/target/slotwise-controller.jar"))
    }

    /// What the Java runtime recorded of the controller's start, if it did (`make setup`).
    pub fn controller_start(&self) -> Option<PathBuf> {
        let archive = self.0.join("controller/standalone/target/slotwise-controller.jsa");
        archive.exists().then_some(archive)
    }

    /// Directory of the experiments.
    pub fn experiments(&self) -> PathBuf {
        self.0.join("experiments")
    }

    /// Directory to put on PYTHONPATH.
    pub fn topologies(&self) -> PathBuf {
        self.0.join("topologies")
    }
}

fn existing(path: PathBuf) -> Result<PathBuf, HomeError> {
    if Path::exists(&path) {
        Ok(path)
    } else {
        Err(HomeError::Missing { path })
    }
}
