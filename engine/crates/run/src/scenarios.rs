// SPDX-License-Identifier: Apache-2.0
//! Scenarios, experiments and examples of the installation, by name: `slotwise list`, and names where commands take scenario files.

use std::fs;
use std::path::{Path, PathBuf};

use slotwise_scenario::ScenarioFile;

use slotwise_cli::RunError;
use slotwise_cli::notes::{printable, say};
use slotwise_control::home::Home;

/// Longest description that is listed, in characters.
const LONGEST_TITLE: usize = 100;

/// A scenario file that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its file.
    pub path: PathBuf,
    /// The name by which it was asked for, if not by its path.
    pub name: Option<String>,
}

/// Something with a name.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    /// `star4`, or with the experiment in which a file lies, `faults/combined`.
    name: String,
    path: PathBuf,
}

/// Prints what there is, a line each: name, and the beginning of what its file says of itself.
pub fn list() -> Result<(), RunError> {
    let home = Home::find()?;
    let found = scenarios(&home);
    let experiments = directories(&home.experiments());
    let examples = files(&home.topologies().join("examples"), "py", "");
    let parts = [
        ("scenarios (emulate, simulate, check)", found),
        ("experiments (reproduce)", experiments),
        ("examples (Python)", examples),
    ];
    for (number, (title, entries)) in parts.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        say!("{gap}{title}:");
        for Named { name, path } in entries {
            say!("  {name:34} {}", printable(&title_of(path)));
        }
    }
    Ok(())
}

/// A scenario file as an argument: a path, or the name of one of the installation's. A file that is there is taken first, not a directory;
/// a path that nothing is at is left to whoever opens it.
pub fn located(argument: &str) -> Result<Located, String> {
    let path = PathBuf::from(argument);
    let is_path = path.extension().is_some() || path.is_absolute() || argument.starts_with('.');
    if is_path || path.exists() && !path.is_dir() {
        return Ok(Located { path, name: None });
    }
    let known = Home::find().map_or_else(|_| Vec::new(), |home| scenarios(&home));
    let nearest = known
        .iter()
        .min_by_key(|named| strsim::damerau_levenshtein(&named.name, argument));
    match known.iter().find(|named| named.name == argument) {
        Some(named) => Ok(Located {
            path: named.path.clone(),
            name: Some(named.name.clone()),
        }),
        None => Err(format!(
            "{}; expected a file or a name shown by `slotwise list`{}",
            if path.is_dir() {
                "directory"
            } else {
                "no such file or scenario"
            },
            nearest.map_or_else(String::new, |named| format!("; closest: '{}'", named.name))
        )),
    }
}

/// All files that are scenarios, by name.
fn scenarios(home: &Home) -> Vec<Named> {
    let mut found = files(&home.topologies(), "yaml", "");
    let mut directories: Vec<PathBuf> = entries(&home.experiments()).filter(|path| path.is_dir()).collect();
    directories.sort();
    for path in directories {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let inside = files(&path, "yaml", &format!("{name}/"));
        // Some are tables for an experiment.
        found.extend(inside.into_iter().filter(|named| is_scenario(&named.path)));
    }
    found
}

fn is_scenario(path: &Path) -> bool {
    let source = ScenarioFile::open(path);
    source.is_ok_and(|source| source.scenario().is_ok())
}

/// The `experiment.yaml` of each directory in a directory that has one, in the order of their names.
fn directories(directory: &Path) -> Vec<Named> {
    let mut found: Vec<Named> = entries(directory)
        .map(|path| path.join("experiment.yaml"))
        .filter(|path| path.is_file())
        .filter_map(|path| {
            let name = path.parent()?.file_name()?.to_str()?.to_owned();
            Some(Named { name, path })
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Files of a directory with this extension, in the order of their names, which begin with `prefix`.
fn files(directory: &Path, extension: &str, prefix: &str) -> Vec<Named> {
    let mut found: Vec<Named> = entries(directory)
        .filter(|path| path.is_file() && path.extension().is_some_and(|found| found == extension))
        .filter_map(|path| {
            let name = format!("{prefix}{}", path.file_stem()?.to_str()?);
            Some(Named { name, path })
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// What a file says of itself: its `title`, or else its first comment or docstring, up to the end of the sentence.
fn title_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let title = text.lines().find_map(|line| line.strip_prefix("title: "));
    let said = title.map_or_else(|| opening(&text), str::to_owned);
    match said.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{} ...", &said[..end]),
        None => said,
    }
}

/// The first sentence of the comments or the docstring with which a text begins.
fn opening(text: &str) -> String {
    let mut said = String::new();
    let lines = text.lines().map(str::trim);
    let lines = lines.skip_while(|line| line.starts_with("#!") || line.starts_with("# SPDX"));
    for line in lines {
        let is_docstring = line.starts_with("\"\"\"");
        let Some(rest) = line.strip_prefix("\"\"\"").or_else(|| line.strip_prefix('#')) else {
            break;
        };
        let rest = rest.trim_end_matches("\"\"\"").trim();
        let gap = if said.is_empty() { "" } else { " " };
        let until = format!("{said}{gap}{rest}");
        if let Some((sentence, _)) = until.split_once(". ").or_else(|| until.split_once(": `")) {
            return sentence.to_owned();
        }
        said = until;
        if is_docstring {
            break;
        }
    }
    said.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_in_its_first_sentence() {
        for (text, said) in [
            (
                "# SPDX-License-Identifier: x\n# A star\n# of four. And more.\nname: x\n",
                "A star of four",
            ),
            ("# The main job.\nname: x\n", "The main job"),
            (
                "#!/x\n# SPDX-License-Identifier: x\n\"\"\"A star: `run it`.\"\"\"\nimport x\n",
                "A star",
            ),
            ("#!/x\n\"\"\"A file over XCP.\n\nMore.\n\"\"\"\n", "A file over XCP"),
            ("name: x\n# A comment\n", ""),
            ("", ""),
        ] {
            assert_eq!(opening(text), said, "{text}");
        }
    }

    #[test]
    fn every_name_of_a_scenario_is_of_one_file_that_says_what_it_is() {
        let home = Home::find().unwrap();
        let found = scenarios(&home);
        let mut names: Vec<&str> = found.iter().map(|named| named.name.as_str()).collect();
        for name in ["star4", "ring8", "faults/combined"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), found.len());
        for named in found.iter().chain(&directories(&home.experiments())) {
            assert!(!title_of(&named.path).is_empty(), "{named:?}");
        }
    }

    #[test]
    fn tables_of_experiments_are_no_scenarios() {
        let home = Home::find().unwrap();
        let found = scenarios(&home);
        assert!(
            found.iter().all(|named| !named.path.ends_with("experiment.yaml")),
            "{found:?}"
        );
    }

    #[test]
    fn names_and_paths_are_told_apart() {
        for (name, path) in [
            ("star4", "topologies/star4.yaml"),
            ("faults/combined", "experiments/faults/combined.yaml"),
        ] {
            let found = located(name).unwrap();
            assert!(found.path.ends_with(path), "{found:?}");
            assert_eq!(found.name.as_deref(), Some(name));
        }
        // Whoever opens it says that it is not there.
        for path in ["star4.yaml", "/star4", "./star4"] {
            assert_eq!(
                located(path),
                Ok(Located {
                    path: path.into(),
                    name: None
                })
            );
        }
        let refusal = located("star44").unwrap_err();
        assert!(refusal.contains("slotwise list"), "{refusal}");
        assert!(refusal.ends_with("closest: 'star4'"), "{refusal}");
        // A file that is there is no name; a directory is no file.
        assert_eq!(located("Cargo.toml").unwrap().name, None);
        let refusal = located("src").unwrap_err();
        assert!(refusal.starts_with("directory; expected a file or a name"), "{refusal}");
    }
}
