// SPDX-License-Identifier: Apache-2.0
//! The picture of a report, as the Python package draws it.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use slotwise_control::home::Home;

use crate::python;

/// Draws a report into a PNG. Whatever comes of it, a picture of the report that was there before is gone.
///
/// # Errors
/// In words, when there is no Python that can, or nothing in the report to draw.
pub fn draw(home: &Home, report: &Path, picture: &Path) -> Result<(), String> {
    if fs::symlink_metadata(picture).is_ok_and(|about| about.is_file()) {
        fs::remove_file(picture).map_err(|error| format!("{}: {error}", picture.display()))?;
    }
    let mut command = python::module(home, "results.plot");
    let ended = command.arg(report).arg(picture).stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("cannot start {}: {error}", command.get_program().to_string_lossy()))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(said.trim_end().lines().last().unwrap_or("unknown reason").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_another_report_does_not_stay() {
        let place = tempfile::tempdir().unwrap();
        let (report, picture) = (place.path().join("report.json"), place.path().join("picture.png"));
        fs::write(&report, "{}").unwrap();
        fs::write(&picture, "of a run before").unwrap();
        draw(&Home::find().unwrap(), &report, &picture).unwrap_err();
        assert!(!picture.exists());
    }
}
