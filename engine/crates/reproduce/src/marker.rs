// SPDX-License-Identifier: Apache-2.0
//! What is kept beside the results of a run: what they were made from, and which files they are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Its name.
const FILE: &str = "done.json";
/// More than any has.
const MAX_BYTES: u64 = 1 << 16;

/// What the results of a run depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    /// Digest of this program: whatever is changed in the engine, it is another one.
    pub engine: String,
    /// Digest of the P4 program.
    pub program: String,
    /// Digest of the scenario, as it is run.
    pub scenario: String,
    pub seed: u64,
    pub duration_ms: u64,
}

/// The files of a directory are of a run with these inputs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Marker {
    #[serde(flatten)]
    pub inputs: Inputs,
    /// SHA-256 of each file, by its name.
    files: BTreeMap<String, String>,
}

impl Marker {
    /// Of a run that has written nothing yet.
    pub fn new(inputs: Inputs) -> Marker {
        Marker {
            inputs,
            files: BTreeMap::new(),
        }
    }

    /// Reads the marker of a directory; `None` without such a directory.
    ///
    /// # Errors
    /// Returns the reason why the marker of a directory cannot be read.
    pub fn read(directory: &Path) -> Result<Option<Marker>, String> {
        if !directory.exists() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        open(&directory.join(FILE))
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
            .map_err(|error| format!("{FILE}: {error}"))?;
        let marker = serde_json::from_slice(&bytes).map_err(|error| format!("{FILE}: {error}"))?;
        Ok(Some(marker))
    }

    /// Writes one of the run's files.
    pub fn write_file(&mut self, directory: &Path, name: String, bytes: &[u8]) -> io::Result<()> {
        fs::write(directory.join(&name), bytes)?;
        self.files.insert(name, hex(Sha256::digest(bytes)));
        Ok(())
    }

    /// Writes it, after all files.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        fs::write(directory.join(FILE), serde_json::to_vec(self)?)
    }

    /// Whether all files are there as they were written.
    ///
    /// # Errors
    /// What is wrong with which.
    pub fn check(&self, directory: &Path) -> Result<(), String> {
        for (name, digest) in &self.files {
            let mut hash = Sha256::new();
            open(&directory.join(name))
                .and_then(|mut file| io::copy(&mut file, &mut hash))
                .map_err(|error| format!("{name}: {error}"))?;
            same(name, digest, hash)?;
        }
        Ok(())
    }

    /// What a file has; nothing if the run wrote none of that name.
    ///
    /// # Errors
    /// When it is not there as it was written.
    pub fn read_file(&self, directory: &Path, name: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(digest) = self.files.get(name) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        open(&directory.join(name))
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| format!("{name}: {error}"))?;
        same(name, digest, Sha256::new_with_prefix(&bytes))?;
        Ok(Some(bytes))
    }
}

fn same(name: &str, digest: &str, hash: Sha256) -> Result<(), String> {
    if hex(hash.finalize()) == digest {
        Ok(())
    } else {
        Err(format!("{name} is not the file written by the run"))
    }
}

/// Opens what is a file and nothing else: one would wait for a FIFO's other end, and a device has no end.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
