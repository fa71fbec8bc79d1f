// SPDX-License-Identifier: Apache-2.0
//! Arrows between parts of this crate, read from its text: kinds of networks get `Build` and `Effects` and nothing else of the
//! net, and nothing below them knows a kind.

use std::fs;
use std::path::{Path, PathBuf};

/// Items of the crate that a kind may import from outside of its folder.
const OF_KINDS: [&str; 3] = ["build::", "hosts::Host;", "kinds::kind::"];
/// Parts of the crate that are below the kinds.
const BELOW: [&str; 2] = ["build", "hosts.rs"];

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

/// Folders of kinds.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(sources().join("kinds")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Items of the crate in a text.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let named = text.split("crate::").skip(1);
    named.map(|rest| rest.lines().next().unwrap())
}

#[test]
fn a_kind_gets_build_and_effects_and_nothing_else_of_the_net() {
    let mut checked = 0;
    for (path, text) in folders().iter().flat_map(|folder| texts(folder)) {
        for item in named(&text) {
            let is_allowed = OF_KINDS.iter().any(|allowed| item.starts_with(allowed));
            assert!(is_allowed, "{}: {item}", path.display());
            checked += 1;
        }
        for of in ["Net", "World", "Effects<'_>", "Build", "Kinds", "Hosts"] {
            assert!(
                !text.contains(&format!("impl {of} {{")),
                "{}: impl {of}",
                path.display()
            );
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn parts_below_the_kinds_name_none() {
    for (path, text) in BELOW.iter().flat_map(|below| texts(&sources().join(below))) {
        for item in named(&text) {
            let is_above = ["kinds", "world", "faults::act", "faults::flows"];
            let is_above = is_above.iter().any(|above| item.starts_with(above));
            assert!(!is_above, "{}: {item}", path.display());
        }
    }
}

#[test]
fn a_folder_of_a_kind_is_a_word_in_the_list() {
    let list = fs::read_to_string(sources().join("kinds/mod.rs")).unwrap();
    let (_, list) = list.split_once("\nkinds! {\n").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let words: Vec<&str> = list.lines().filter_map(|line| line.trim().split(':').next()).collect();
    let names = folders();
    let mut names: Vec<&str> = names
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    names.sort_unstable();
    let mut sorted = words.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, names, "listed, and there");
}
