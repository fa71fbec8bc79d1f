// SPDX-License-Identifier: Apache-2.0
//! One run with one seed: made, unless its results are there, and kept so that they are whole or not there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use slotwise_observe::columns;
use slotwise_observe::record::{Recording, TableName};

use crate::marker::{Inputs, Marker};
use crate::setup::{Runner, RunnerError, Setup};
use crate::work::{How, WorkError};

/// One run with one seed.
pub(crate) struct Job {
    /// Name of the run.
    pub run: String,
    pub seed: u64,
    /// The scenario as it is run.
    pub text: String,
    pub setup: Setup,
    /// What its results depend on.
    pub inputs: Inputs,
    pub directory: PathBuf,
}

/// Digests of what results depend on beside their scenario.
#[derive(Debug, Clone)]
pub(crate) struct Versions {
    engine: String,
    program: String,
}

impl Versions {
    /// Those of this program and of what `runner` has for a setup.
    pub fn of(setup: &Setup, engine: &str, runner: &dyn Runner) -> Result<Versions, RunnerError> {
        let inputs = setup.scenario().map(|scenario| runner.inputs(&scenario));
        Ok(Versions {
            engine: engine.to_owned(),
            program: digest(&inputs.transpose()?.unwrap_or_default()),
        })
    }
}

/// Digest of this program.
pub(crate) fn engine() -> Result<String, WorkError> {
    let exe = std::env::current_exe().map_err(file_error(Path::new("this program")))?;
    fs::read(&exe).map(|bytes| digest(&bytes)).map_err(file_error(&exe))
}

impl Job {
    /// The run `setup`, which `text` says, with a seed, its results in `directory`.
    pub fn new(run: &str, seed: u64, text: &str, setup: Setup, versions: &Versions, directory: PathBuf) -> Job {
        Job {
            run: run.to_owned(),
            seed,
            text: text.to_owned(),
            inputs: Inputs {
                engine: versions.engine.clone(),
                program: versions.program.clone(),
                scenario: digest(text.as_bytes()),
                seed,
                duration_ms: setup.duration_ms(),
            },
            setup,
            directory,
        }
    }

    /// Whether its results are there; if others are, what is wrong with them.
    fn is_done(&self) -> Result<bool, String> {
        match Marker::read(&self.directory)?.filter(|marker| marker.inputs == self.inputs) {
            Some(marker) => marker.check(&self.directory).map(|()| true),
            None => Ok(false),
        }
    }

    /// Deletes its results, if there are any.
    pub fn forget(&self) -> Result<(), WorkError> {
        delete(&self.directory)
    }

    /// Whether it has to be made.
    pub fn is_pending(&self) -> bool {
        self.is_done() != Ok(true)
    }

    /// Does it, unless its results are there already; `advance` hears of simulated time that has passed, in ms.
    pub fn make(&self, runner: &dyn Runner, advance: &impl Fn(u64)) -> Result<How, WorkError> {
        let how = match self.is_done() {
            Ok(true) => {
                advance(self.setup.duration_ms());
                return Ok(How::Earlier);
            }
            Ok(false) => How::Made,
            Err(reason) => How::Again {
                directory: self.directory.clone(),
                reason,
            },
        };
        let mut reported_ms = 0;
        let mut progress = |at_ms| {
            advance(at_ms - reported_ms);
            reported_ms = at_ms;
        };
        let result = match &self.setup {
            Setup::Network(network) => runner.run(network, self.seed, &mut progress),
            Setup::Lambda(study) => study.run(self.seed, runner, &mut progress),
            Setup::Kept(recording) => Ok(Recording::clone(recording)),
        };
        let recording = result.map_err(|source| WorkError::Run {
            run: self.run.clone(),
            seed: self.seed,
            source,
        })?;
        self.keep(&recording)?;
        Ok(how)
    }

    /// Puts the results in place in one step: whenever this is interrupted, those that are there are of one run and whole.
    fn keep(&self, recording: &Recording) -> Result<(), WorkError> {
        let (draft, old) = (beside(&self.directory, ".part"), beside(&self.directory, ".old"));
        for leftover in [&draft, &old] {
            delete(leftover)?;
        }
        fs::create_dir_all(&draft).map_err(file_error(&draft))?;
        let mut marker = Marker::new(self.inputs.clone());
        for (name, table) in recording.tables().filter(|(_, table)| !table.names.is_empty()) {
            let name = columns_file(name);
            let mut bytes = Vec::new();
            columns::write(table, &mut bytes).map_err(|source| WorkError::Columns {
                path: draft.join(&name),
                source,
            })?;
            marker.write_file(&draft, name, &bytes).map_err(file_error(&draft))?;
        }
        marker.write(&draft).map_err(file_error(&draft))?;
        if self.directory.exists() {
            fs::rename(&self.directory, &old).map_err(file_error(&self.directory))?;
        }
        fs::rename(&draft, &self.directory).map_err(file_error(&draft))?;
        delete(&old)
    }

    /// Reads the results of one that is done.
    pub fn load(&self) -> Result<Recording, WorkError> {
        let directory = &self.directory;
        let changed = |reason| WorkError::Changed {
            directory: directory.clone(),
            reason,
        };
        let marker = Marker::read(directory)
            .map_err(&changed)?
            .filter(|marker| marker.inputs == self.inputs)
            .ok_or_else(|| changed("its marker has changed".to_owned()))?;
        let mut recording = Recording::default();
        for table in TableName::ALL {
            let name = columns_file(*table);
            // A table without rows has no file.
            if let Some(bytes) = marker.read_file(directory, &name).map_err(&changed)? {
                *recording.table_mut(*table) =
                    columns::read(bytes, table.empty()).map_err(|source| WorkError::Columns {
                        path: directory.join(&name),
                        source,
                    })?;
            }
        }
        Ok(recording)
    }
}

pub(crate) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> WorkError + '_ {
    move |source| WorkError::File {
        path: path.to_owned(),
        source,
    }
}

fn columns_file(table: TableName) -> String {
    format!("{}.parquet", table.name())
}

/// FNV-1a, 64 bits: tells inputs apart, nothing more.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Deletes a directory if it is there.
fn delete(directory: &Path) -> Result<(), WorkError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(directory)(error)),
        _ => Ok(()),
    }
}
