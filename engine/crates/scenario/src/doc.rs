// SPDX-License-Identifier: Apache-2.0
//! Tree of a YAML file: the text of each scalar as it was written, whether it is plain, and the line of each node.
//!
//! A plain scalar gets its type from its text when a reader asks for one, by the core schema of YAML 1.2: `yes`, `012`, `1:30` and
//! `1_000` are text. `0b` and a sign before `0x` stay from files of before; the Python package reads them, too.

mod change;
mod plain;
mod read;
mod tabs;

pub(crate) use self::plain::Edit;
use crate::problem::Problem;
use crate::spelling::spellings;

/// Node of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Doc {
    node: Node,
    /// Line where it begins, from 1, with the number of its file ([`Doc::line_in`]); 0 for a node that no file has.
    line: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Scalar {
        text: String,
        /// Neither in quotes nor a block of text.
        is_plain: bool,
    },
    List(Vec<Doc>),
    Mapping(Mapping),
}

/// Keys and values in the order of the file, each key once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapping(Vec<(Doc, Doc)>);

/// Type and value of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scalar<'d> {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(&'d str),
}

/// Null value of a key that a file leaves out.
pub(crate) static NOTHING: Doc = Doc {
    node: Node::Scalar {
        text: String::new(),
        is_plain: true,
    },
    line: 0,
};

impl Doc {
    /// A mapping of one key, with this as its value.
    pub(crate) fn under(self, key: &str) -> Doc {
        let line = self.line;
        let node = Node::Scalar {
            text: key.to_owned(),
            is_plain: false,
        };
        Doc {
            node: Node::Mapping(Mapping(vec![(Doc { node, line }, self)])),
            line,
        }
    }

    /// Value of `key` if this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Doc> {
        self.as_mapping()?.get(key)
    }

    pub(crate) fn as_mapping(&self) -> Option<&Mapping> {
        match &self.node {
            Node::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    pub(crate) fn is_mapping(&self) -> bool {
        self.as_mapping().is_some()
    }

    pub(crate) fn as_list(&self) -> Option<&[Doc]> {
        match &self.node {
            Node::List(elements) => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn is_list(&self) -> bool {
        self.as_list().is_some()
    }

    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self.node, Node::Scalar { .. })
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self.scalar_value()? {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.scalar_value()? {
            Scalar::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self.scalar_value()? {
            Scalar::Integer(number) => number.try_into().ok(),
            _ => None,
        }
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        match self.scalar_value()? {
            Scalar::Integer(number) => number.try_into().ok(),
            _ => None,
        }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self.scalar_value()? {
            Scalar::Integer(number) => Some(number as f64),
            Scalar::Float(number) => Some(number),
            _ => None,
        }
    }

    fn scalar_value(&self) -> Option<Scalar<'_>> {
        match &self.node {
            Node::Scalar { text, is_plain: true } => Some(plain(text)),
            Node::Scalar { text, is_plain: false } => Some(Scalar::Text(text)),
            _ => None,
        }
    }

    /// The value as a message shows it, cut to a length that a terminal bears; a number as the file has it.
    pub(crate) fn describe(&self) -> String {
        const SHOWN: usize = 40;
        match &self.node {
            Node::List(elements) => format!("a list of {} elements", elements.len()),
            Node::Mapping(_) => "a mapping".to_owned(),
            Node::Scalar { text, .. } => {
                let length = text.chars().count();
                match self.scalar_value() {
                    Some(Scalar::Null) => "nothing".to_owned(),
                    Some(Scalar::Text(_)) if length > SHOWN => format!("a string of {length} characters"),
                    Some(Scalar::Text(_)) => format!("'{}'", text.escape_debug()),
                    _ if length > SHOWN => format!("a number of {length} characters"),
                    _ => text.clone(),
                }
            }
        }
    }

    /// Fills in the line of each problem: that of the key or element that its pointer names, or of the nearest node around it (for a key
    /// that is missing); the outermost one begins at the first key.
    pub(crate) fn locate(&self, problems: &mut [Problem]) {
        for problem in problems.iter_mut().filter(|problem| problem.line.is_none()) {
            problem.line = self.line_of(&problem.pointer);
        }
    }

    fn line_of(&self, pointer: &str) -> Option<u64> {
        let (mut node, mut line) = (self, self.line);
        for part in pointer.split('/').skip(1) {
            let found = match &node.node {
                Node::Scalar { .. } => None,
                Node::List(elements) => part.parse().ok().and_then(|index: usize| elements.get(index)),
                Node::Mapping(mapping) => {
                    mapping
                        .entry(&part.replace("~1", "/").replace("~0", "~"))
                        .map(|(key, value)| {
                            line = key.line;
                            value
                        })
                }
            };
            let Some(found) = found else { break };
            if node.is_list() {
                line = found.line;
            }
            node = found;
        }
        (line > 0).then_some(line)
    }
}

impl Mapping {
    pub(crate) fn get(&self, key: &str) -> Option<&Doc> {
        let mut entries = self.0.iter();
        entries.find_map(|(known, value)| (known.as_str() == Some(key)).then_some(value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Doc> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Doc, &Doc)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Key and value by the key's text, of any type, or by another spelling of it.
    fn entry(&self, text: &str) -> Option<(&Doc, &Doc)> {
        let has = |text: &str, key: &Doc| matches!(&key.node, Node::Scalar { text: known, .. } if known == text);
        let by = |text: &str| self.iter().find(|(key, _)| has(text, key));
        by(text).or_else(|| spellings(text).find_map(|spelling| by(spelling.key)))
    }
}

/// Type and value of a plain scalar.
fn plain(text: &str) -> Scalar<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        _ => number(text).unwrap_or(Scalar::Text(text)),
    }
}

fn number(text: &str) -> Option<Scalar<'_>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Most scalars are words, and no number begins like one: this spares them the rest.
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let (radix, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits),
    };
    if !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix)) {
        // Octal in YAML 1.1, decimal in 1.2: neither is a safe guess.
        if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        // Beyond 64 bits a number is out of every range, and its exact value does not matter.
        let size = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
        return Some(Scalar::Integer(if text.starts_with('-') { -size } else { size }));
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(Scalar::Float(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Doc {
        Doc::read(yaml.as_bytes()).unwrap()
    }

    #[test]
    fn plain_scalars_are_typed_as_yaml_1_2_has_them() {
        for (text, expected) in [
            ("", Scalar::Null),
            ("~", Scalar::Null),
            ("NULL", Scalar::Null),
            ("True", Scalar::Bool(true)),
            ("false", Scalar::Bool(false)),
            ("0", Scalar::Integer(0)),
            ("-0", Scalar::Integer(0)),
            ("+7", Scalar::Integer(7)),
            ("-12", Scalar::Integer(-12)),
            ("0x1F", Scalar::Integer(31)),
            ("-0x1f", Scalar::Integer(-31)),
            ("0o17", Scalar::Integer(15)),
            ("0b101", Scalar::Integer(5)),
            ("18446744073709551615", Scalar::Integer(i128::from(u64::MAX))),
            ("18446744073709551616", Scalar::Integer(i128::from(u64::MAX) + 1)),
            ("1.5", Scalar::Float(1.5)),
            ("01.5", Scalar::Float(1.5)),
            ("1.", Scalar::Float(1.0)),
            (".5", Scalar::Float(0.5)),
            ("-1e3", Scalar::Float(-1000.0)),
            (".inf", Scalar::Float(f64::INFINITY)),
            ("-.INF", Scalar::Float(f64::NEG_INFINITY)),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
        assert!(matches!(plain(".NaN"), Scalar::Float(number) if number.is_nan()));
        let texts = [
            "yes",
            "no",
            "on",
            "Off",
            "y",
            "tRUE",
            "nULL",
            "012",
            "-012",
            "00",
            "1:30",
            "1_000",
            "0x",
            "0xg",
            "0x-1",
            "0X1F",
            "+-5",
            "--5",
            "1e999",
            "inf",
            "nan",
            "infinity",
            ".",
            "-",
            "+",
            "1.2.3",
            "1,5",
            "10 Mbit/s",
            "\u{663}",
        ];
        for text in texts {
            assert_eq!(plain(text), Scalar::Text(text));
        }
    }

    #[test]
    fn quotes_and_blocks_make_text() {
        let doc = read("a: '5'\nb: \"true\"\nc: |-\n  5\nd: >-\n  ~\ne: 5\n");
        let text = |key: &str| doc.get(key).and_then(Doc::as_str);
        assert_eq!(
            ["a", "b", "c", "d"].map(text),
            [Some("5"), Some("true"), Some("5"), Some("~")]
        );
        assert_eq!(text("e"), None);
        assert_eq!(doc.get("e").and_then(Doc::as_u64), Some(5));
    }

    #[test]
    fn integers_have_the_width_that_is_asked_for() {
        let numbers = read("[5, -5, 18446744073709551615, 18446744073709551616, 1.5, 5.0]");
        let of = |index: usize| &numbers.as_list().unwrap()[index];
        assert_eq!(
            (of(0).as_u64(), of(0).as_i64(), of(0).as_f64()),
            (Some(5), Some(5), Some(5.0))
        );
        assert_eq!((of(1).as_u64(), of(1).as_i64()), (None, Some(-5)));
        assert_eq!((of(2).as_u64(), of(2).as_i64()), (Some(u64::MAX), None));
        assert_eq!((of(3).as_u64(), of(4).as_u64(), of(5).as_u64()), (None, None, None));
        assert_eq!(of(4).as_f64(), Some(1.5));
        let long = "9".repeat(60);
        assert_eq!(read(&long).as_u64(), None);
        assert_eq!(read(&long).describe(), "a number of 60 characters");
    }

    #[test]
    fn values_are_described_as_the_file_has_them() {
        let long = "x".repeat(41);
        for (yaml, expected) in [
            ("", "nothing"),
            ("~", "nothing"),
            ("TRUE", "TRUE"),
            ("1e3", "1e3"),
            ("+0x1F", "+0x1F"),
            ("012", "'012'"),
            ("'5'", "'5'"),
            ("\"\\e\"", "'\\u{1b}'"),
            (&long[1..], "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"),
            (&long, "a string of 41 characters"),
            ("[1, 2]", "a list of 2 elements"),
            ("{}", "a mapping"),
        ] {
            assert_eq!(read(yaml).describe(), expected);
        }
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
            assert_eq!(read(FILE).line_of(pointer), Some(expected), "{pointer}");
        }
    }

    #[test]
    fn missing_keys_have_the_line_of_what_is_around_them() {
        let file = read(FILE);
        assert_eq!(file.line_of("/list/1/rate_bps"), file.line_of("/list/1"));
        assert_eq!(file.line_of("/list/7/rate_bps"), Some(3));
        assert_eq!(file.line_of("/nothing/at/all"), Some(2), "the file's first key");
        assert_eq!(file.line_of(""), Some(2));
        assert_eq!(read("# only\n\n- 1\n").line_of(""), Some(3));
        assert_eq!(read("").line_of("/a"), None);
        assert_eq!(read("a: [1, {}]").line_of("/a/1/b"), Some(1));
        assert_eq!(read("\u{feff}# \u{e9}\r\n\u{e9}: 1\r\nb: 2\r\n").line_of("/b"), Some(3));
    }
}
