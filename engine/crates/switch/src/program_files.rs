// SPDX-License-Identifier: Apache-2.0
//! Programs and their P4Info as files: what p4c writes, and what is easily taken for it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};
use slotwise_p4runtime::parse_p4info;
use slotwise_p4runtime::proto::p4::config::v1::P4Info;

/// Longest file that is read: as long as the messages in which controllers send programs.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A program's JSON, not looked into.
///
/// # Errors
/// With the path: what the system says, or that it is P4 source or a P4Info.
pub fn program(path: &Path) -> Result<Vec<u8>, String> {
    if path.extension().is_some_and(|end| end == "p4") {
        return Err(is_source(path));
    }
    let file = read(path)?;
    if is_p4info(path, &file) {
        return Err(format!(
            "{}: P4Info; expected p4c's JSON of the program (p4c-bm2-ss -o FILE)",
            path.display()
        ));
    }
    Ok(file)
}

/// A P4Info: text, or binary in a file that ends in .bin.
///
/// # Errors
/// With the path: what the system says, or what is wrong with it.
pub fn p4info(path: &Path) -> Result<P4Info, String> {
    let file = read(path)?;
    parse_p4info(&file, is_binary(path)).map_err(|error| match members(&file) {
        Some(members) if members.contains_key("pipelines") => format!(
            "{}: program in p4c's JSON; expected its P4Info (p4c-bm2-ss --p4runtime-files FILE)",
            path.display()
        ),
        _ => format!("{}: {error}", path.display()),
    })
}

/// Reads a file of at most 64 MiB; the error names it.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::other("larger than 64 MiB"));
        }
        Ok(bytes)
    };
    read().map_err(|error| format!("{}: {error}", path.display()))
}

fn is_binary(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "bin")
}

/// Of a JSON object.
fn members(file: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(file).ok()
}

fn is_p4info(path: &Path, file: &[u8]) -> bool {
    match members(file) {
        Some(members) => ["pkgInfo", "pkg_info"].iter().any(|key| members.contains_key(*key)),
        None => parse_p4info(file, is_binary(path)).is_ok_and(|p4info| p4info != P4Info::default()),
    }
}

fn is_source(path: &Path) -> String {
    let named = |end: &str| path.with_extension(end).display().to_string();
    format!(
        "{0}: P4 source; expected p4c's JSON of it: p4c-bm2-ss --p4runtime-files {1} -o {2} {0}",
        path.display(),
        named("p4info.txtpb"),
        named("json"),
    )
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const JSON: &str = "replication.json";
    const P4INFO: &str = "replication.p4info.txtpb";

    #[test]
    fn a_file_without_end_is_not_read_for_ever() {
        let refusal = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(refusal, "/dev/zero: larger than 64 MiB");
    }

    #[test]
    fn a_program_and_its_p4info_are_told_from_each_other() {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/tests/programs");
        let directory = TempDir::new().unwrap();
        let file = |name: &str, text: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        assert!(program(&programs.join(JSON)).is_ok());
        assert_ne!(p4info(&programs.join(P4INFO)), Ok(P4Info::default()));

        let refused = |path: &Path| program(path).unwrap_err();
        assert!(refused(&programs.join(P4INFO)).contains("P4Info; expected p4c's JSON"));
        assert!(
            refused(&file("info.json", br#"{"pkgInfo": {"arch": "v1model"}, "tables": []}"#))
                .contains("P4Info; expected")
        );
        assert!(refused(&file("x.p4", b"")).contains("P4 source; expected"));
        assert!(refused(&directory.path().join("none")).contains("none: No such file"));
        let refused = |path: &Path| p4info(path).unwrap_err();
        assert!(refused(&programs.join(JSON)).contains("program in p4c's JSON; expected its P4Info"));
        assert!(!refused(&file("y.txtpb", b"{")).contains("JSON"));
        // What neither is, who reads it says.
        for text in ["", "{}", "[1]", "pipelines"] {
            assert!(program(&file("other.json", text.as_bytes())).is_ok(), "{text}");
        }
    }
}
