// SPDX-License-Identifier: Apache-2.0
//! Where the installation keeps what `slotwise` needs beside itself: compiled P4, the controller, the Python package.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
            return Ok(Home::at(dir.into()));
        }
        let starts = [std::env::current_exe().ok(), std::env::current_dir().ok()];
        starts
            .iter()
            .flatten()
            .flat_map(|start| start.ancestors())
            .find(|dir| dir.join("p4src/p4c-out").is_dir())
            .map(|dir| Home::at(dir.to_path_buf()))
            .ok_or(HomeError::NotFound)
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
        let out = self.root.join("p4src/p4c-out");
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

    /// Directory to put on PYTHONPATH.
    pub fn topologies(&self) -> PathBuf {
        self.root.join("topologies")
    }
}

fn existing(path: PathBuf) -> Result<PathBuf, HomeError> {
    if Path::exists(&path) {
        Ok(path)
    } else {
        Err(HomeError::Missing { path })
    }
}
