// SPDX-License-Identifier: Apache-2.0
//! The picture of a report, as the Python package draws it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::home::Home;

/// The Python of the system, which Debian's Matplotlib and Mininet belong to.
pub const PYTHON: &str = "/usr/bin/python3";
/// What an installed Python package has beside the executable.
const PLOTTER: &str = "slotwise-plot";

/// Draws a report into a PNG.
///
/// # Errors
/// In words, when there is no Python that can, or nothing in the report to draw.
pub fn draw(home: &Home, report: &Path, picture: &Path) -> Result<(), String> {
    let exe = std::env::current_exe().ok();
    let beside = exe.as_deref().and_then(|exe| exe.parent()).map(|bin| bin.join(PLOTTER));
    let mut command = match beside.filter(|plotter| plotter.is_file()) {
        Some(plotter) => Command::new(plotter),
        None => {
            let mut command = Command::new(PYTHON);
            command
                .args(["-m", "slotwise.plot"])
                .env("PYTHONPATH", home.topologies());
            command
        }
    };
    let ended = command.arg(report).arg(picture).stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| format!("cannot start {}: {error}", command.get_program().to_string_lossy()))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(said.trim_end().lines().last().unwrap_or("no reason given").to_owned())
}
