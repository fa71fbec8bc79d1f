// SPDX-License-Identifier: Apache-2.0
//! Scenario files with a base: `base: FILE` names a file whose values apply unless this file overrides them.
//!
//! Mappings are merged key by key, in either spelling of a key; any other value replaces that of the base, and null removes it. `name` is
//! not inherited. Matrices of flows and tables of sizes are read here, too, so that everything after this step is a function of one tree.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use crate::doc::{Doc, Mapping};
use crate::model::Scenario;
use crate::parse::{plain_of, scenario_of};
use crate::problem::{Problem, ScenarioError};
use crate::spelling::is_same;
use crate::workloads::{FILE_KEYS, WORKLOADS};
use crate::{MAX_FILE_BYTES, defaults, workloads};

const BASE: &str = "base";
/// Files, each with the next one as its base.
const MAX_BASES: usize = 8;
/// Numbers in all matrices. A scenario has fewer flows.
const MAX_NUMBERS: usize = 1_000_000;

/// Scenario file merged with its bases, as one tree.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    pub(crate) doc: Doc,
    files: Vec<Other>,
    name: String,
    /// Directories of files that a run reads, the first one first; none for a text without a file.
    directories: Vec<PathBuf>,
}

/// Reader of a file by its path, relative to the scenario file.
type Beside<'a> = dyn FnMut(&Path) -> Result<Vec<u8>, String> + 'a;

/// File named by another one.
#[derive(Debug, Clone)]
struct Other {
    /// Path as written.
    path: String,
    /// Line in the scenario file by which it was reached.
    line: u64,
}

impl ScenarioFile {
    /// Reads a file and all files that it names.
    ///
    /// # Errors
    /// [`ScenarioError`] of the first file that cannot be read.
    pub fn open(path: &Path) -> Result<ScenarioFile, ScenarioError> {
        ScenarioFile::open_with(path, None)
    }

    /// Opens a file like [`ScenarioFile::open`]. Files of workloads that are not in its directory are in the directory `data`.
    ///
    /// # Errors
    /// The errors of [`ScenarioFile::open`].
    pub fn open_with(path: &Path, data: Option<&Path>) -> Result<ScenarioFile, ScenarioError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let bytes = read(path).map_err(ScenarioError::Unreadable)?;
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let directories: Vec<PathBuf> = [directory].into_iter().chain(data).map(Path::to_path_buf).collect();
        let mut source = ScenarioFile::read(&bytes, name, |other| read_other(&found(&directories, other)))?;
        source.directories = directories;
        Ok(source)
    }

    /// Opens a file that a workload names.
    fn open_beside(&self, path: &str) -> Result<Box<dyn BufRead>, String> {
        if self.directories.is_empty() {
            return Err(format!("{path}: scenario without a directory"));
        }
        let path = found(&self.directories, Path::new(path));
        let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let is_file = file.metadata().is_ok_and(|about| about.is_file());
        match is_file {
            true => Ok(Box::new(BufReader::new(file))),
            false => Err(format!("{}: not a regular file", path.display())),
        }
    }

    /// Reads the text of a file; `beside` reads other files by their paths relative to it. `name` is that of a scenario without one.
    ///
    /// # Errors
    /// [`ScenarioError`] of the first file that cannot be read.
    pub fn read(
        yaml: &[u8],
        name: &str,
        mut beside: impl FnMut(&Path) -> Result<Vec<u8>, String>,
    ) -> Result<ScenarioFile, ScenarioError> {
        let mut source = ScenarioFile {
            doc: Doc::read(yaml)?,
            files: Vec::new(),
            name: name.to_owned(),
            directories: Vec::new(),
        };
        let mut layers = Vec::new();
        let mut directory = PathBuf::new();
        while let Some(base) = source.doc.get(BASE).cloned() {
            let line = source.files.first().map_or(base.line(), |first| first.line);
            let path = path_of(&base, BASE, &directory, line)?;
            if layers.len() + 1 == MAX_BASES {
                let reason = "circular bases, or too many of them".to_owned();
                let expected = format!("a chain of at most {MAX_BASES} files");
                return Err(refused(format!("/{BASE}"), line, reason, expected));
            }
            let at = |error| ScenarioError::Base {
                path: path.display().to_string(),
                line,
                error: Box::new(error),
            };
            let bytes = beside(&path).map_err(|reason| at(ScenarioError::Unreadable(reason)))?;
            let mut doc = Doc::read(&bytes).map_err(at)?;
            source.files.push(Other {
                path: path.display().to_string(),
                line,
            });
            doc.set_file(source.files.len() as u64);
            path.parent().unwrap_or(Path::new("")).clone_into(&mut directory);
            layers.push(std::mem::replace(&mut source.doc, doc));
        }
        source.doc.remove(|key| key == "name" && !layers.is_empty());
        while let Some(mut layer) = layers.pop() {
            layer.remove(|key| key == BASE || key == "name" && !layers.is_empty());
            merge(&mut source.doc, &layer);
        }
        source.read_beside(&mut beside)?;
        Ok(source)
    }

    /// Reads the matrices and tables that flows and workloads name, and makes paths of other files relative to the scenario file.
    fn read_beside(&mut self, beside: &mut Beside<'_>) -> Result<(), ScenarioError> {
        // Numbers of all matrices.
        let mut numbers = 0;
        let (mut flows, mut workloads) = (self.entries("flows"), self.entries(WORKLOADS));
        for (index, entry) in flows.iter_mut().enumerate() {
            if let Some(pairs) = entry.get_mut("pairs") {
                self.matrix(pairs, &format!("/flows/{index}/pairs"), &mut numbers, beside)?;
            }
        }
        for (index, entry) in workloads.iter_mut().enumerate() {
            let place = format!("/{WORKLOADS}/{index}");
            if let Some(pairs) = entry.get_mut("pairs") {
                let is_list = pairs.is_list();
                let patterns = match is_list {
                    true => pairs.as_list_mut().unwrap_or_default(),
                    false => std::slice::from_mut(pairs),
                };
                for (number, pattern) in patterns.iter_mut().enumerate() {
                    let place = match is_list {
                        true => format!("{place}/pairs/{number}"),
                        false => format!("{place}/pairs"),
                    };
                    self.matrix(pattern, &place, &mut numbers, beside)?;
                }
            }
            if let Some(sizes) = entry.get_mut("sizes") {
                self.table(sizes, &format!("{place}/sizes"), beside)?;
            }
            for key in FILE_KEYS {
                if let Some(of) = entry.get_mut(key) {
                    self.rebase(of, &format!("{place}/{key}"))?;
                }
            }
        }
        for (key, entries) in [("flows", flows), (WORKLOADS, workloads)] {
            if let Some(value) = self.doc.get_mut(key) {
                let line = value.line();
                match (value.is_mapping(), entries) {
                    (true, mut one) if one.len() == 1 => *value = one.remove(0),
                    (false, entries) if value.is_list() => *value = Doc::list(entries, line),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the entries under a key, which has a list or a single entry.
    fn entries(&self, key: &str) -> Vec<Doc> {
        let Some(value) = self.doc.get(key) else {
            return Vec::new();
        };
        match value.is_mapping() {
            true => vec![value.clone()],
            false => value.as_list().unwrap_or_default().to_vec(),
        }
    }

    /// Directory of the file that has a line, relative to the scenario file, and the line in the scenario file by which it was reached.
    fn reached(&self, line: u64) -> (PathBuf, u64) {
        let (number, line) = Doc::file_and_line(line);
        let named_by = number.checked_sub(1).and_then(|base| self.files.get(base as usize));
        let directory = named_by.and_then(|base| Path::new(&base.path).parent());
        let line = named_by.map_or(line, |base| base.line);
        (directory.map_or_else(PathBuf::new, Path::to_path_buf), line)
    }

    /// Text of the file under `file` of a mapping, with its number among the files and the line that names it; `None` without the key.
    fn text_beside(
        &mut self,
        of: &Doc,
        place: &str,
        beside: &mut Beside<'_>,
    ) -> Result<Option<(String, u64, u64)>, ScenarioError> {
        let Some(file) = of.get("file").cloned() else {
            return Ok(None);
        };
        let place = format!("{place}/file");
        let (directory, line) = self.reached(file.line());
        let path = path_of(&file, &place[1..], &directory, line)?;
        let bytes = beside(&path);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned()));
        let text =
            text.map_err(|reason| refused(place, line, reason, "a file with a row of numbers per line".into()))?;
        self.files.push(Other {
            path: path.display().to_string(),
            line,
        });
        Ok(Some((text, self.files.len() as u64, line)))
    }

    /// Puts the rows of a matrix in the place of its file.
    fn matrix(
        &mut self,
        pairs: &mut Doc,
        place: &str,
        numbers: &mut usize,
        beside: &mut Beside<'_>,
    ) -> Result<(), ScenarioError> {
        let Some((text, number, line)) = self.text_beside(pairs, place, beside)? else {
            return Ok(());
        };
        *numbers += text
            .split([',', ' ', '\t', '\r', '\n'])
            .filter(|number| !number.is_empty())
            .count();
        if *numbers > MAX_NUMBERS {
            let expected = format!("at most {MAX_NUMBERS} numbers in all matrices");
            return Err(refused(
                format!("{place}/file"),
                line,
                "too many numbers".into(),
                expected,
            ));
        }
        let rows = (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty());
        let rows = rows.map(|(line, row)| {
            let numbers = row.split([',', ' ', '\t']).filter(|number| !number.is_empty());
            let line = Doc::line_in(number, line);
            Doc::list(
                numbers.map(|number| Doc::scalar(number.to_owned(), line)).collect(),
                line,
            )
        });
        let rows = Doc::list(rows.collect(), line);
        pairs.remove(|key| key == "file");
        pairs.set("matrix", rows);
        Ok(())
    }

    /// Puts the lines of a table of sizes in the place of its file.
    fn table(&mut self, sizes: &mut Doc, place: &str, beside: &mut Beside<'_>) -> Result<(), ScenarioError> {
        let Some((text, number, line)) = self.text_beside(sizes, place, beside)? else {
            return Ok(());
        };
        let lines = (1..).zip(text.lines());
        let lines = lines.map(|(line, text)| Doc::text(text, Doc::line_in(number, line)));
        let lines = Doc::list(lines.collect(), line);
        sizes.remove(|key| key == "file");
        sizes.set("lines", lines);
        Ok(())
    }

    /// Makes the path of a file that a run reads relative to the scenario file.
    fn rebase(&self, of: &mut Doc, place: &str) -> Result<(), ScenarioError> {
        let Some(file) = of.get("file").cloned() else {
            return Ok(());
        };
        let (directory, line) = self.reached(file.line());
        let path = path_of(&file, &format!("{place}/file")[1..], &directory, line)?;
        of.set("file", Doc::text(&path.display().to_string(), file.line()));
        Ok(())
    }

    /// The file merged with those that it names, as JSON; `None` if it names no other.
    pub fn merged(&self) -> Option<String> {
        (!self.files.is_empty()).then(|| self.doc.to_json())
    }

    /// Reads the scenario and checks all of it.
    ///
    /// # Errors
    /// As [`Scenario::parse`], with the file and line of each problem.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let scenario = scenario_of(self.doc.clone(), &self.name);
        let scenario = scenario.and_then(|mut scenario| {
            let problems = workloads::load(&mut scenario, &mut |path| self.open_beside(path));
            match problems.is_empty() {
                true => Ok(scenario),
                false => Err(ScenarioError::Invalid(problems)),
            }
        });
        scenario.map_err(|error| self.located(error))
    }

    /// The plain form as JSON, as [`Scenario::plain`] returns it.
    ///
    /// # Errors
    /// As [`ScenarioFile::scenario`].
    pub fn plain(&self) -> Result<String, ScenarioError> {
        plain_of(self.doc.clone(), &self.name).map_err(|error| self.located(error))
    }

    /// Warnings about a scenario read from here, with their lines.
    pub fn notes(&self, scenario: &Scenario) -> Vec<Problem> {
        let mut problems = scenario.notes();
        self.locate(&mut problems);
        problems
    }

    /// The error with the file and line of each problem.
    #[must_use]
    pub fn located(&self, mut error: ScenarioError) -> ScenarioError {
        if let ScenarioError::Invalid(problems) = &mut error {
            self.locate(problems);
        }
        error
    }

    fn locate(&self, problems: &mut [Problem]) {
        if problems.iter().any(|problem| problem.line.is_none())
            && let Ok(doc) = crate::parse::tree(self.doc.clone(), defaults::NAME)
        {
            doc.locate(problems);
        }
        for problem in problems {
            let Some((file, line)) = problem.line.map(Doc::file_and_line) else {
                continue;
            };
            let other = file.checked_sub(1).and_then(|file| self.files.get(file as usize));
            if let Some(Other { path, line: of }) = other {
                problem.other = Some((path.clone(), line));
                problem.line = Some(*of);
            }
        }
    }
}

/// Returns the path of a file in the first directory with it, or in the first directory.
fn found(directories: &[PathBuf], path: &Path) -> PathBuf {
    let mut paths = directories.iter().map(|directory| directory.join(path));
    let there = paths.clone().find(|path| path.exists());
    there.or_else(|| paths.next()).unwrap_or_else(|| path.to_path_buf())
}

/// Reads a file that another one names: a regular file of limited length.
///
/// # Errors
/// The problem with the file, after its path.
pub fn read_other(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !about.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    let bytes = read(path)?;
    match bytes.len() > MAX_FILE_BYTES {
        true => Err(format!("{}: over {MAX_FILE_BYTES} bytes", path.display())),
        false => Ok(bytes),
    }
}

/// Reads a file of limited length.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(at)?;
    file.take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(at)?;
    Ok(bytes)
}

fn refused(pointer: String, line: u64, reason: String, expected: String) -> ScenarioError {
    ScenarioError::Invalid(vec![Problem {
        pointer,
        line: Some(line),
        other: None,
        reason,
        expected,
    }])
}

/// Path of a file beside one of this directory.
fn path_of(value: &Doc, place: &str, directory: &Path, line: u64) -> Result<PathBuf, ScenarioError> {
    let path = value.as_str().map(Path::new);
    let is_relative = |path: &&Path| {
        let mut parts = path.components();
        !path.as_os_str().is_empty() && parts.all(|part| !matches!(part, Component::RootDir | Component::Prefix(_)))
    };
    let Some(path) = path.filter(is_relative) else {
        let expected = "the path of a file, relative to the directory of this one".to_owned();
        return Err(refused(
            format!("/{place}"),
            line,
            format!("found {}", value.describe()),
            expected,
        ));
    };
    Ok(directory.join(path))
}

/// Puts the values of a file over those of its base.
fn merge(base: &mut Doc, over: &Doc) {
    for (key, value) in over.as_mapping().into_iter().flat_map(Mapping::iter) {
        let (line, Some(key)) = (key.line(), key.as_str()) else {
            continue;
        };
        let both_mappings = base.get(key).is_some_and(Doc::is_mapping) && value.is_mapping();
        if both_mappings {
            if let Some(below) = base.get_mut(key) {
                merge(below, value);
            }
            continue;
        }
        base.remove(|known| known != key && is_same(known, key) || known == key && value.is_null());
        if !value.is_null() {
            base.set(key, value.clone());
            base.set_key_line(key, line);
        }
    }
}
