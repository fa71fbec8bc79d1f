// SPDX-License-Identifier: Apache-2.0
//! Arrows between parts of this crate, read from its text: kinds of networks get `Build` and `Effects` and nothing else of the
//! net, and nothing below them in the crate knows a kind. Crates `net` and `traffic` cannot name this one.

use std::fs;
use std::path::{Path, PathBuf};

/// Items that a kind may import from outside of its folder, by crate.
const OF_KINDS: [(&str, &[&str]); 3] = [
    ("crate::", &["build::", "hosts::Host;", "kind::"]),
    (
        "slotwise_net::",
        &[
            "around::Beyond",
            "capture::CapturePoint",
            "control_event::",
            "drops::",
            "effects::",
            "invariants::Invariant",
            "lane::LaneEnd",
            "lane::OwnEnd",
            "node::",
            "outside::Crossing",
            "span::Span",
            "ticket::",
            "work::",
        ],
    ),
    ("slotwise_traffic::", &["group_hosts"]),
];
/// Parts of the crate that are below the kinds.
const BELOW: [&str; 2] = ["build", "hosts.rs"];
/// Parts of the crate above the kinds.
const ABOVE: [&str; 7] = ["faults", "kind", "list", "lockstep", "measure", "world", "View"];
/// Folders that do not belong to a kind.
const OTHER_FOLDERS: [&str; 3] = ["build", "faults", "world"];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Files at a path, or below it, with their texts up to their tests.
fn texts(path: &Path) -> Vec<(PathBuf, String)> {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        return entries.flat_map(|entry| texts(&entry.unwrap().path())).collect();
    }
    let text = fs::read_to_string(path).unwrap();
    let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    vec![(path.to_owned(), product.to_owned())]
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Folders of kinds.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(sources()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_kinds = |path: &PathBuf| path.is_dir() && !OTHER_FOLDERS.contains(&name(path));
    paths.filter(of_kinds).collect()
}

/// Items of a crate in a text.
fn named<'t>(text: &'t str, of: &'t str) -> impl Iterator<Item = &'t str> {
    let named = text.split(of).skip(1);
    named.map(|rest| rest.lines().next().unwrap())
}

#[test]
fn a_kind_gets_build_and_effects_and_nothing_else_of_the_net() {
    let mut checked = 0;
    for (path, text) in folders().iter().flat_map(|folder| texts(folder)) {
        for (of, allowed) in OF_KINDS {
            for item in named(&text, of) {
                let is_allowed = allowed.iter().any(|allowed| item.starts_with(allowed));
                assert!(is_allowed, "{}: {of}{item}", path.display());
                checked += 1;
            }
        }
        for of in ["World", "Build", "Kinds", "Hosts"] {
            assert!(
                !text.contains(&format!("impl {of} {{")),
                "{}: impl {of}",
                path.display()
            );
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn parts_below_the_kinds_name_none() {
    let mut checked = 0;
    let folders = folders();
    let kinds = folders.iter().map(|path| name(path));
    let above: Vec<&str> = ABOVE.into_iter().chain(kinds).collect();
    for (path, text) in BELOW.iter().flat_map(|below| texts(&sources().join(below))) {
        for item in named(&text, "crate::") {
            let is_above = above.iter().any(|above| item.starts_with(above));
            assert!(!is_above, "{}: {item}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 3, "{checked}");
}

#[test]
fn a_folder_of_a_kind_is_a_word_in_the_list() {
    let list = fs::read_to_string(sources().join("list.rs")).unwrap();
    let (_, list) = list.split_once("\nkinds! {\n").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let words: Vec<&str> = list.lines().filter_map(|line| line.trim().split(':').next()).collect();
    let folders = folders();
    let mut names: Vec<&str> = folders.iter().map(|path| name(path)).collect();
    names.sort_unstable();
    let mut sorted = words.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, names, "listed, and there");
}
