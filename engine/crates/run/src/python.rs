// SPDX-License-Identifier: Apache-2.0
//! What the Python package does for the command.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use slotwise_control::home::Home;

/// The Python of the system, which Debian's Matplotlib and Mininet belong to.
pub const PYTHON: &str = "/usr/bin/python3";
/// That of a clone, which has wheels besides, below the clone.
const VENV_PYTHON: &str = "build/venv/bin/python";

/// A module of the package as a command, by its name below the package (`live.tunnel`): the script beside the executable that an
/// installed package has (`slotwise-tunnel`), or else the system's Python with the package of the home.
pub fn module(home: &Home, name: &str) -> Command {
    with_python(home, name, PYTHON.into())
}

/// The same where a module needs more than Debian has: with the Python of the clone's virtual environment, if there is one.
pub fn module_with_wheels(home: &Home, name: &str) -> Command {
    let of_clone = home.python().with_file_name(VENV_PYTHON);
    let python = if of_clone.exists() { of_clone } else { PYTHON.into() };
    with_python(home, name, python)
}

/// A module of the package of the home, by its name below the package, as a command. Python looks for nothing in the working directory:
/// whoever may write there would run as who calls this.
pub fn module_of_home(home: &Home, name: &str, python: &OsStr) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-P", "-m", &format!("slotwise.{name}")])
        .env("PYTHONPATH", home.python());
    command
}

fn with_python(home: &Home, name: &str, python: PathBuf) -> Command {
    let exe = std::env::current_exe().ok();
    let bin = exe.as_deref().and_then(|exe| exe.parent());
    let module = name.rsplit('.').next().unwrap_or(name).replace('_', "-");
    let script = bin.map(|bin| bin.join(format!("slotwise-{module}")));
    match script.filter(|script| script.is_file()) {
        Some(script) => Command::new(script),
        None => module_of_home(home, name, python.as_os_str()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_package_of_the_working_directory_is_not_run() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("slotwise/tools")).unwrap();
        for file in ["slotwise/__init__.py", "slotwise/tools/home.py", "os.py"] {
            fs::write(place.path().join(file), "raise SystemExit(7)").unwrap();
        }
        let mut command = module_of_home(&Home::find().unwrap(), "tools.home", PYTHON.as_ref());
        let done = command.current_dir(place.path()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
}
