// SPDX-License-Identifier: Apache-2.0
//! Files that a run is asked to leave. Whether they can be written is found out before anything starts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use slotwise_fabric::{CaptureFailure, OpenCapture};

use crate::run::RunError;

/// More captures that ended early than this are counted, not named.
const NAMED_CAPTURES: usize = 8;

/// An error unless `path` can be written; what is there stays as it is. A pipe's reader would take the look for the end.
pub fn check_file(option: &str, path: &Path) -> Result<(), RunError> {
    let before = fs::metadata(path);
    if before.as_ref().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Ok(());
    }
    let look = || -> io::Result<()> {
        OpenOptions::new().append(true).create(true).open(path)?;
        match before {
            Ok(_) => Ok(()),
            Err(_) => fs::remove_file(fs::canonicalize(path)?),
        }
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

/// Writes `value` as JSON; the reason with the path if it cannot be done.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), String> {
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut file, value)?;
        file.write_all(b"\n")?;
        file.flush()
    };
    write().map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

/// Opens captures in a directory that is there.
pub fn captures(directory: &Path) -> OpenCapture {
    let directory = directory.to_owned();
    Box::new(move |point| {
        let file = File::create(directory.join(format!("{}.pcap", point.name())))?;
        Ok(Box::new(BufWriter::new(file)))
    })
}

/// What to say of captures that ended before the run.
pub fn capture_notes(directory: &Path, failures: &[CaptureFailure]) -> Vec<String> {
    let named = failures
        .iter()
        .take(NAMED_CAPTURES)
        .map(|CaptureFailure { point, error }| {
            let path = directory.join(format!("{}.pcap", point.name()));
            format!("capture {} ended before the run: {error}", path.display())
        });
    let more = failures.len().saturating_sub(NAMED_CAPTURES);
    let rest = (more > 0).then(|| format!("{more} more captures in {} ended before the run", directory.display()));
    named.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use slotwise_fabric::CapturePoint;
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
            "capture /captures/edge0-port1.pcap ended before the run: no storage space"
        );
        assert_eq!(notes.len(), 9);
        assert_eq!(notes[8], "2 more captures in /captures ended before the run");
        assert!(capture_notes(Path::new("/captures"), &[]).is_empty());
    }
}
