// SPDX-License-Identifier: Apache-2.0
//! Files of schedulers that are not the controller's own, looked at before a run; nothing of them is run.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use slotwise_scenario::{OwnScheduler, Problem, SchedulerSource};

/// Programs whose first argument is a script. Those of Python may have a version in their name.
const INTERPRETERS: [&str; 5] = ["sh", "bash", "perl", "ruby", "node"];

/// Finds the files that are missing of schedulers whose places are resolved.
pub fn missing(schedulers: &[OwnScheduler]) -> Vec<Problem> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    schedulers.iter().filter_map(|own| missing_of(own, &path)).collect()
}

fn missing_of(own: &OwnScheduler, path: &OsStr) -> Option<Problem> {
    let problem = |place: &str, reason: String, expected: &str| Problem {
        pointer: format!("/schedulers/{}/{place}", own.name),
        line: None,
        reason,
        expected: expected.to_owned(),
    };
    match &own.source {
        SchedulerSource::Jar(file) => {
            let reason = || format!("no file '{}'", file.display());
            (!file.is_file()).then(|| problem("jar", reason(), "a jar with a scheduler class"))
        }
        SchedulerSource::Command { words, directory, .. } => {
            if !directory.is_dir() {
                let reason = format!("no directory '{}'", directory.display());
                return Some(problem("directory", reason, "an existing directory"));
            }
            let (program, script) = (words.first()?, words.get(1));
            if !is_program(program, directory, path) {
                let reason = format!("no program '{program}'");
                return Some(problem(
                    "command/0",
                    reason,
                    "a program on the PATH, or the path of an executable file",
                ));
            }
            let script = script.filter(|word| is_interpreter(program) && !word.starts_with('-'))?;
            let reason = || format!("no file '{}'", directory.join(script).display());
            (!directory.join(script).is_file()).then(|| problem("command/1", reason(), "a script"))
        }
    }
}

/// Looks for a program as the system does: one with a slash from its directory, others on the PATH.
fn is_program(program: &str, directory: &Path, path: &OsStr) -> bool {
    let found: Vec<PathBuf> = match program.contains('/') {
        true => vec![directory.join(program)],
        false => std::env::split_paths(path).map(|place| place.join(program)).collect(),
    };
    let is_executable = |about: std::fs::Metadata| about.is_file() && about.permissions().mode() & 0o111 != 0;
    found.iter().any(|file| file.metadata().is_ok_and(is_executable))
}

fn is_interpreter(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.starts_with("python") || INTERPRETERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found(place: &Path, source: SchedulerSource) -> String {
        let mut own = OwnScheduler {
            name: "mine".into(),
            source,
        };
        own.resolve(place);
        let problem = missing_of(&own, OsStr::new("/usr/bin:/bin"));
        problem.map_or_else(String::new, |problem| {
            problem.to_string().replace(&place.display().to_string(), "PLACE")
        })
    }

    fn command(words: &[&str], directory: &str) -> SchedulerSource {
        SchedulerSource::Command {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            limit_ms: None,
            settings: BTreeMap::new(),
            directory: directory.into(),
        }
    }

    #[test]
    fn missing_files_of_schedulers_are_named_with_their_place() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        std::fs::write(place.join("there"), "").unwrap();
        let jar = |file: &str| found(place, SchedulerSource::Jar(file.into()));
        assert_eq!(jar("there"), "");
        assert_eq!(
            jar("no.jar"),
            "/schedulers/mine/jar: no file 'PLACE/no.jar'; expected a jar with a scheduler class"
        );
        let asked = |words: &[&str]| found(place, command(words, ""));
        assert_eq!(
            asked(&["sh", "no.sh"]),
            "/schedulers/mine/command/1: no file 'PLACE/no.sh'; expected a script"
        );
        for known in [
            &["sh", "there"][..],
            &["sh", "-c", "true"],
            &["true", "no.sh"],
            &["/bin/sh", "there", "no"],
        ] {
            assert_eq!(asked(known), "", "{known:?}");
        }
        // Nobody may execute it.
        for unknown in ["./there", "there", "./no", "no-such-program"] {
            let expected = format!(
                "/schedulers/mine/command/0: no program '{unknown}'; expected a program on the PATH, or the path of an executable file"
            );
            assert_eq!(asked(&[unknown]), expected);
        }
        assert_eq!(
            found(place, command(&["sh"], "nowhere")),
            "/schedulers/mine/directory: no directory 'PLACE/nowhere'; expected an existing directory"
        );
    }
}
