// SPDX-License-Identifier: Apache-2.0
//! What the Python package does for the command.

use std::process::Command;

use crate::home::Home;

/// The Python of the system, which Debian's Matplotlib and Mininet belong to.
pub const PYTHON: &str = "/usr/bin/python3";

/// A module of the package as a command: the script beside the executable that an installed package has, or else the system's Python
/// with the package of the home.
pub fn module(home: &Home, name: &str) -> Command {
    let exe = std::env::current_exe().ok();
    let bin = exe.as_deref().and_then(|exe| exe.parent());
    let script = bin.map(|bin| bin.join(format!("slotwise-{name}")));
    match script.filter(|script| script.is_file()) {
        Some(script) => Command::new(script),
        None => {
            let mut command = Command::new(PYTHON);
            command
                .args(["-m", &format!("slotwise.{name}")])
                .env("PYTHONPATH", home.topologies());
            command
        }
    }
}
