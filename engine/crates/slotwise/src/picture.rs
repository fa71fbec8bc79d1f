// SPDX-License-Identifier: Apache-2.0
//! The picture of a report, as the Python package draws it.

use std::path::Path;
use std::process::Stdio;

use crate::home::Home;
use crate::python;

/// Draws a report into a PNG.
///
/// # Errors
/// In words, when there is no Python that can, or nothing in the report to draw.
pub fn draw(home: &Home, report: &Path, picture: &Path) -> Result<(), String> {
    let mut command = python::module(home, "plot");
    let ended = command.arg(report).arg(picture).stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("cannot start {}: {error}", command.get_program().to_string_lossy()))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(said.trim_end().lines().last().unwrap_or("no reason given").to_owned())
}
