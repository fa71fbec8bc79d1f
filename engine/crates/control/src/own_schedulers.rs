// SPDX-License-Identifier: Apache-2.0
//! Files of schedulers that are not the controller's own, looked at before a run; nothing of them is run.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use slotwise_scenario::{OwnScheduler, Problem, SchedulerSource};

/// Options of a program by their letters, as getopt reads them. Other letters are options without a value.
struct Options {
    /// After these no word is a script or a program.
    last: &'static str,
    /// The rest of the word, or the next one, is the value.
    valued: &'static str,
    /// The rest of the word, which may be empty, is the value.
    attached: &'static str,
}

/// Programs whose first argument beside options is a script. Those of Python may have a version in their name.
const INTERPRETERS: [(&[&str], Options); 5] = [
    (
        &["python"],
        Options {
            last: "cmhV?",
            valued: "WX",
            attached: "",
        },
    ),
    (
        &["sh", "bash", "dash"],
        Options {
            last: "cs",
            valued: "oO",
            attached: "",
        },
    ),
    (
        &["perl"],
        Options {
            last: "eEvVh",
            valued: "I",
            attached: "0CDFMilmx",
        },
    ),
    (
        &["ruby"],
        Options {
            last: "eh",
            valued: "CErI",
            attached: "0FKTWix",
        },
    ),
    (
        &["node"],
        Options {
            last: "epihv",
            valued: "rC",
            attached: "",
        },
    ),
];

/// Programs that run the program named by their arguments, with the number of arguments between options and program.
const WRAPPERS: [(&str, Options, usize); 6] = [
    (
        "env",
        Options {
            last: "S",
            valued: "uC",
            attached: "",
        },
        0,
    ),
    (
        "nice",
        Options {
            last: "",
            valued: "n",
            attached: "",
        },
        0,
    ),
    (
        "nohup",
        Options {
            last: "",
            valued: "",
            attached: "",
        },
        0,
    ),
    (
        "setsid",
        Options {
            last: "hV",
            valued: "",
            attached: "",
        },
        0,
    ),
    (
        "stdbuf",
        Options {
            last: "",
            valued: "ioe",
            attached: "",
        },
        0,
    ),
    (
        "timeout",
        Options {
            last: "",
            valued: "ks",
            attached: "",
        },
        1,
    ),
];

const JAVA: &str = "java";
const JAVA_ARCHIVE: &str = "-jar";

/// End of a ZIP archive, which a jar is: a record of this size with this beginning, and a comment of at most 64 KiB.
const END_OF_ARCHIVE: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const MAX_COMMENT_BYTES: u64 = 0xffff;

/// Finds the files that are missing of schedulers whose places are resolved.
pub fn missing(schedulers: &[OwnScheduler]) -> Vec<Problem> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    schedulers.iter().filter_map(|own| missing_of(own, &path)).collect()
}

fn missing_of(own: &OwnScheduler, path: &OsStr) -> Option<Problem> {
    let problem = |(place, reason, expected): (String, String, &str)| Problem {
        pointer: format!("/schedulers/{}/{place}", own.name),
        line: None,
        other: None,
        reason,
        expected: expected.to_owned(),
    };
    let found = match &own.source {
        SchedulerSource::Jar(file) => not_an_archive(file).map(|reason| ("jar".to_owned(), reason, A_JAR)),
        SchedulerSource::Command { directory, .. } if !directory.is_dir() => {
            let reason = format!("no directory '{}'", directory.display());
            Some(("directory".to_owned(), reason, "an existing directory"))
        }
        SchedulerSource::Command { words, directory, .. } => missing_of_command(words, directory, path),
    };
    found.map(problem)
}

const A_JAR: &str = "a jar with a scheduler class";
const A_PROGRAM: &str = "a program on the PATH, or the path of an executable file";

/// Returns the place of a word that names a missing file, the reason, and what is expected.
fn missing_of_command(words: &[String], directory: &Path, path: &OsStr) -> Option<(String, String, &'static str)> {
    let (mut place, mut directory, mut path) = (0, directory.to_owned(), path.to_owned());
    loop {
        let program = words.get(place)?;
        if !is_program(program, &directory, &path) {
            let reason = format!("no program '{program}'");
            return Some((format!("command/{place}"), reason, A_PROGRAM));
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        if name == JAVA {
            let option = words.iter().skip(place + 1).position(|word| word == JAVA_ARCHIVE)?;
            place += option + 2;
            let reason = not_an_archive(&directory.join(words.get(place)?))?;
            return Some((format!("command/{place}"), reason, A_JAR));
        }
        let interpreter = INTERPRETERS
            .iter()
            .find(|(names, _)| names.contains(&name) || names.contains(&"python") && name.starts_with("python"));
        if let Some((_, options)) = interpreter {
            place = first_argument(words, place + 1, options)?;
            let file = directory.join(words.get(place)?);
            let reason = || format!("no file '{}'", file.display());
            return (!file.is_file()).then(|| (format!("command/{place}"), reason(), "a script"));
        }
        let (_, options, between) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name)?;
        let after = first_argument(words, place + 1, options)?;
        let given = &words[place + 1..after];
        // These change where its program is looked for.
        if name == "env" {
            if given.iter().any(|word| is_reset(word)) {
                return None;
            }
            directory = directory_of(given, &directory)?;
        }
        place = after + between;
        while name == "env"
            && let Some((variable, value)) = words.get(place).and_then(|word| word.split_once('='))
        {
            if variable == "PATH" {
                path = OsString::from(value);
            }
            place += 1;
        }
    }
}

/// Looks for options of env that empty its environment, or part of it.
fn is_reset(word: &str) -> bool {
    word.starts_with("-i") || word.starts_with("-u")
}

/// Directory set by options of env; none if its value is missing.
fn directory_of(options: &[String], directory: &Path) -> Option<PathBuf> {
    let Some(place) = options.iter().position(|word| word.starts_with("-C")) else {
        return Some(directory.to_owned());
    };
    let attached = options[place].strip_prefix("-C").filter(|rest| !rest.is_empty());
    Some(directory.join(attached.or_else(|| options.get(place + 1).map(String::as_str))?))
}

/// Returns the place of the first word from `place` on behind options; none if options give it another meaning.
fn first_argument(words: &[String], mut place: usize, options: &Options) -> Option<usize> {
    loop {
        let word = words.get(place)?;
        let Some(letters) = word.strip_prefix('-') else {
            return Some(place);
        };
        place += 1;
        match letters {
            // Input takes the place of a file; for env it means no environment.
            "" => return None,
            "-" => return Some(place),
            // Whether a long option takes the next word is not known.
            long if long.starts_with('-') && !long.contains('=') => return None,
            long if long.starts_with('-') => continue,
            _ => {}
        }
        for (index, letter) in letters.char_indices() {
            if options.last.contains(letter) {
                return None;
            }
            let rest = &letters[index + letter.len_utf8()..];
            if options.attached.contains(letter) {
                break;
            }
            if options.valued.contains(letter) {
                place += usize::from(rest.is_empty());
                break;
            }
        }
    }
}

/// Looks for a program as the system does: one with a slash from its directory, others on the PATH.
fn is_program(program: &str, directory: &Path, path: &OsStr) -> bool {
    let found: Vec<PathBuf> = match program.contains('/') {
        true => vec![directory.join(program)],
        false => std::env::split_paths(path)
            .map(|place| directory.join(place).join(program))
            .collect(),
    };
    let is_executable = |about: std::fs::Metadata| about.is_file() && about.permissions().mode() & 0o111 != 0;
    found.iter().any(|file| file.metadata().is_ok_and(is_executable))
}

/// Returns the reason if a file is not a ZIP archive, as a jar has to be.
fn not_an_archive(file: &Path) -> Option<String> {
    if !file.is_file() {
        return Some(format!("no file '{}'", file.display()));
    }
    match has_end_of_archive(file) {
        Ok(true) => None,
        Ok(false) => Some(format!("'{}' is not a ZIP archive", file.display())),
        Err(error) => Some(format!("'{}': {error}", file.display())),
    }
}

fn has_end_of_archive(file: &Path) -> io::Result<bool> {
    let mut file = File::open(file)?;
    let length = file.seek(SeekFrom::End(0))?;
    let most = END_BYTES as u64 + MAX_COMMENT_BYTES;
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut end = Vec::new();
    file.take(most).read_to_end(&mut end)?;
    Ok(end.windows(END_BYTES).any(|record| record.starts_with(END_OF_ARCHIVE)))
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

    /// The end record of an archive without files.
    const EMPTY_ARCHIVE: &[u8] = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

    /// Python need not be here: a program of its name is looked for only.
    #[test]
    fn scripts_after_options_of_python_and_archives_of_java_are_looked_for() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        for program in ["python3.13", "java"] {
            std::fs::write(place.join(program), "").unwrap();
            std::fs::set_permissions(place.join(program), PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::write(place.join("there.py"), "").unwrap();
        std::fs::write(place.join("a.jar"), EMPTY_ARCHIVE).unwrap();
        let asked = |words: &[&str]| found(place, command(words, ""));
        for known in [
            &["./python3.13", "-u", "there.py"][..],
            &["./python3.13", "-m", "no.py"],
            &["./python3.13", "-uX", "dev", "there.py", "no.py"],
            &["./python3.13", "-Xdev", "-W", "error", "there.py"],
            &["env", "./python3.13", "-ucpass", "no.py"],
            &["./java", "-jar", "a.jar"],
            &["./java", "-cp", "no.jar", "Main"],
        ] {
            assert_eq!(asked(known), "", "{known:?}");
        }
        let missing = "no file 'PLACE/no.py'; expected a script";
        for (unknown, at) in [
            (&["./python3.13", "-u", "no.py"][..], 2),
            (&["env", "./python3.13", "no.py"], 2),
            (&["./python3.13", "-uX", "dev", "no.py"], 3),
        ] {
            assert_eq!(asked(unknown), format!("/schedulers/mine/command/{at}: {missing}"));
        }
        assert_eq!(
            asked(&["./java", "-Xmx64m", "-jar", "there.py"]),
            "/schedulers/mine/command/3: 'PLACE/there.py' is not a ZIP archive; expected a jar with a scheduler class"
        );
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
        std::fs::write(place.join("a.jar"), EMPTY_ARCHIVE).unwrap();
        std::fs::write(place.join("program"), "").unwrap();
        std::fs::set_permissions(place.join("program"), PermissionsExt::from_mode(0o755)).unwrap();
        let jar = |file: &str| found(place, SchedulerSource::Jar(file.into()));
        assert_eq!(jar("a.jar"), "");
        assert_eq!(
            jar("there"),
            "/schedulers/mine/jar: 'PLACE/there' is not a ZIP archive; expected a jar with a scheduler class"
        );
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
            &["sh", "-o", "errexit", "there"],
            &["sh", "--", "there"],
            &["sh", "-eu", "-c", "no.sh"],
            &["sh", "-euc", "no.sh"],
            &["sh", "-"],
            &["sh", "--unknown", "no.sh"],
            &["env"],
            &["env", "-i", "no-such-program"],
            &["env", "-", "no-such-program"],
            &["env", "-uA", "no-such-program"],
            &["env", "-S", "sh no.sh"],
            &["env", "-C", "/usr/bin", "./env", "A=B"],
            &["env", "PATH=.", "A=B", "program"],
            &["env", "A=B", "sh", "-x", "there"],
            &["timeout", "-k", "1", "5", "sh", "there"],
        ] {
            assert_eq!(asked(known), "", "{known:?}");
        }
        for (words, at, unknown, expected) in [
            (&["sh", "-eu", "no.sh"][..], 2, "file 'PLACE/no.sh'", "a script"),
            (&["sh", "-o", "errexit", "no.sh"], 3, "file 'PLACE/no.sh'", "a script"),
            (&["sh", "--", "no.sh"], 2, "file 'PLACE/no.sh'", "a script"),
            (&["env", "sh", "no.sh"], 2, "file 'PLACE/no.sh'", "a script"),
            (
                &["env", "A=B", "sh", "-x", "no.sh"],
                4,
                "file 'PLACE/no.sh'",
                "a script",
            ),
            (&["env", "-C", "/", "sh", "no.sh"], 4, "file '/no.sh'", "a script"),
            (&["/usr/bin/env", "no-such"], 1, "program 'no-such'", A_PROGRAM),
            (&["env", "PATH=/nowhere", "sh"], 2, "program 'sh'", A_PROGRAM),
            (
                &["timeout", "-k", "1", "5", "sh", "no.sh"],
                5,
                "file 'PLACE/no.sh'",
                "a script",
            ),
            (
                &["nice", "-n", "5", "env", "sh", "no.sh"],
                5,
                "file 'PLACE/no.sh'",
                "a script",
            ),
            (&["nohup", "no-such"], 1, "program 'no-such'", A_PROGRAM),
        ] {
            let expected = format!("/schedulers/mine/command/{at}: no {unknown}; expected {expected}");
            assert_eq!(asked(words), expected, "{words:?}");
        }
        // Nobody may execute it.
        for unknown in ["./there", "there", "./no", "no-such-program"] {
            let expected = format!("/schedulers/mine/command/0: no program '{unknown}'; expected {A_PROGRAM}");
            assert_eq!(asked(&[unknown]), expected);
        }
        assert_eq!(
            found(place, command(&["sh"], "nowhere")),
            "/schedulers/mine/directory: no directory 'PLACE/nowhere'; expected an existing directory"
        );
    }
}
