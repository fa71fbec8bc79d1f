// SPDX-License-Identifier: Apache-2.0
//! On which lines of a text the places stand that problems name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use unsafe_libyaml::{
    YAML_MAPPING_END_EVENT, YAML_MAPPING_START_EVENT, YAML_SCALAR_EVENT, YAML_SEQUENCE_END_EVENT,
    YAML_SEQUENCE_START_EVENT,
};

use crate::depth::events;
use crate::problem::Problem;

/// Says of each problem its line in `yaml`: that of the key or element it names, of the nearest one around it if there is none such (a
/// key that is missing), the outermost of which begins on the line of the first key.
pub(crate) fn locate(yaml: &[u8], problems: &mut [Problem]) {
    let mut lines: HashMap<String, Option<u64>> = HashMap::new();
    for problem in problems.iter() {
        lines.extend(around(&problem.pointer).map(|place| (place.to_owned(), None)));
    }
    walk(yaml, |place, line| {
        if let Some(found) = lines.get_mut(place) {
            found.get_or_insert(line);
        }
    });
    for problem in problems {
        problem.line = around(&problem.pointer).find_map(|place| lines[place]);
    }
}

/// A JSON pointer and those around it, up to the whole file's.
fn around(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(pointer), |place| place.rfind('/').map(|end| &place[..end]))
}

/// A message shows no more of one.
const MOST_OF_A_KEY: usize = 40;

/// The first key that its mapping has had before, with both lines, the later one first.
pub(crate) fn twice(yaml: &[u8]) -> Option<(String, u64, u64)> {
    // Places may be as long as the file.
    let hasher = RandomState::new();
    let mut lines: HashMap<u64, u64> = HashMap::new();
    let mut found = None;
    walk(yaml, |place, line| {
        let first = lines.insert(hasher.hash_one(place), line);
        if let Some(first) = first.filter(|_| found.is_none()) {
            let key = place.rsplit('/').next().unwrap_or_default();
            let key = key.replace("~1", "/").replace("~0", "~");
            found = Some((key.chars().take(MOST_OF_A_KEY).collect(), line, first));
        }
    });
    found
}

/// A collection that is open.
enum Open {
    /// With its next index.
    Sequence(u64),
    /// True if what comes next is a key.
    Mapping(bool),
}

/// Calls `on` with the JSON pointer and line of the outermost collection, and of each key and element.
fn walk(yaml: &[u8], mut on: impl FnMut(&str, u64)) {
    let mut place = String::new();
    // Each with the length of its own pointer.
    let mut open: Vec<(Open, usize)> = Vec::new();
    for event in events(yaml) {
        match event.kind {
            YAML_SEQUENCE_END_EVENT | YAML_MAPPING_END_EVENT => {
                open.pop();
                continue;
            }
            YAML_SCALAR_EVENT | YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT => {}
            _ => continue,
        }
        match open.last_mut() {
            Some((Open::Sequence(next), length)) => {
                place.truncate(*length);
                place.push('/');
                place.push_str(&next.to_string());
                *next += 1;
                on(&place, event.line);
            }
            Some((Open::Mapping(is_key @ true), length)) => {
                let key = event.text.as_ref().map_or("", |text| &text.value);
                place.truncate(*length);
                place.push('/');
                place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                *is_key = false;
                on(&place, event.line);
                // A collection as a key has what is in it below a name that no problem has.
                if event.kind == YAML_SCALAR_EVENT {
                    continue;
                }
            }
            Some((Open::Mapping(is_key), _)) => *is_key = true,
            None => on("", event.line),
        }
        match event.kind {
            YAML_SEQUENCE_START_EVENT => open.push((Open::Sequence(0), place.len())),
            YAML_MAPPING_START_EVENT => open.push((Open::Mapping(true), place.len())),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(yaml: &str, pointer: &str) -> Option<u64> {
        let mut problems = [Problem {
            pointer: pointer.into(),
            line: None,
            reason: String::new(),
            expected: String::new(),
        }];
        locate(yaml.as_bytes(), &mut problems);
        problems[0].line
    }

    const FILE: &str = "# first
a: 1
list:
- {b: 1,
   c: [2, 3]}
-
  b:
    5
'x/y~':
  - [1,
     2]
'': 7
? [k, l]
: 4
z: |
  text
  a: b
last: 8
";

    #[test]
    fn keys_and_elements_have_their_lines() {
        for (pointer, expected) in [
            ("/a", 2),
            ("/list", 3),
            ("/list/0", 4),
            ("/list/0/b", 4),
            ("/list/0/c", 5),
            ("/list/0/c/1", 5),
            ("/list/1/b", 7),
            ("/x~1y~0", 9),
            ("/x~1y~0/0/1", 11),
            ("/", 12),
            ("/z", 15),
            ("/last", 18),
        ] {
            assert_eq!(line(FILE, pointer), Some(expected), "{pointer}");
        }
    }

    #[test]
    fn what_is_missing_has_the_line_of_what_is_around_it() {
        assert_eq!(line(FILE, "/list/1/rate_bps"), line(FILE, "/list/1"));
        assert_eq!(line(FILE, "/list/7/rate_bps"), Some(3));
        assert_eq!(line(FILE, "/nothing/at/all"), Some(2), "the file's first key");
        assert_eq!(line(FILE, ""), Some(2));
        assert_eq!(line("# only\n\n- 1\n", ""), Some(3));
        assert_eq!(line("", "/a"), None);
        assert_eq!(line("a: [1, {", "/a/1/b"), Some(1));
        assert_eq!(line("\u{feff}# \u{e9}\r\n\u{e9}: 1\r\nb: 2\r\n", "/b"), Some(3));
    }

    #[test]
    fn a_key_that_is_there_twice_is_found_with_both_lines() {
        let found = |yaml: &str| twice(yaml.as_bytes());
        assert_eq!(found("a:\n  b: 1\n  c: 2\n  b: 3\n  c: 4\n"), Some(("b".into(), 4, 2)));
        assert_eq!(
            found("a: 1\nb: [{x/y: 1}, {x/y: 1, x/y: 2}]\n"),
            Some(("x/y".into(), 2, 2))
        );
        assert_eq!(found("a: {b: 1}\nc: {b: 1}\nb: [1, 1]\n"), None);
    }

    #[test]
    fn the_first_of_two_equal_keys_is_meant() {
        assert_eq!(line("a: 1\na: 2\n", "/a"), Some(1));
    }
}
