// SPDX-License-Identifier: Apache-2.0
//! The list of interfaces that `emulate --attach` joins to access ports, looked at before anything starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use slotwise_scenario::Scenario;

/// Longest file that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// An interface and the access port that it is joined to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Number of the edge.
    pub edge: u16,
    /// Its port, from 1.
    pub port: u16,
    /// The interface's name.
    pub interface: String,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It cannot be read.
    #[error("--attach: {0}")]
    Io(#[from] std::io::Error),
    /// It is longer than a list can be.
    #[error("--attach: more than {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// It is no list.
    #[error("--attach: {0}; expected a JSON list of {{\"edge\": N, \"port\": N, \"interface\": \"NAME\"}}")]
    NoList(#[from] serde_json::Error),
    /// An entry names an edge that the scenario does not have.
    #[error("--attach: entry {index}: there is no edge {edge}; expected an edge from 0 to {last}")]
    NoEdge {
        /// Its place, from 0.
        index: usize,
        /// What it says.
        edge: u16,
        /// The scenario's last edge.
        last: usize,
    },
    /// An entry names a port that the edge does not have.
    #[error("--attach: entry {index}: edge {edge} has no access port {port}; expected {expected}")]
    NoPort {
        /// Its place, from 0.
        index: usize,
        /// The edge.
        edge: u16,
        /// What it says.
        port: u16,
        /// What would be right.
        expected: String,
    },
    /// Two entries have the same port or interface.
    #[error("--attach: entries {first} and {second} both have {what}; expected it once")]
    Twice {
        /// Place of the one.
        first: usize,
        /// Place of the other.
        second: usize,
        /// What they share.
        what: String,
    },
}

/// Reads a list and checks it against the scenario.
///
/// # Errors
/// [`AttachError`] with the first thing that is wrong.
pub fn read(file: &Path, scenario: &Scenario) -> Result<Vec<Attachment>, AttachError> {
    let mut text = Vec::new();
    File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(AttachError::TooLong);
    }
    let list: Vec<Attachment> = serde_json::from_slice(&text)?;
    check(&list, scenario)?;
    Ok(list)
}

fn check(list: &[Attachment], scenario: &Scenario) -> Result<(), AttachError> {
    let mut seen = BTreeMap::new();
    for (index, Attachment { edge, port, interface }) in list.iter().enumerate() {
        let (edge, port) = (*edge, *port);
        let found = scenario.edges.get(usize::from(edge)).ok_or(AttachError::NoEdge {
            index,
            edge,
            last: scenario.edges.len() - 1,
        })?;
        if !(1..=found.hosts).contains(&port) {
            let expected = match found.hosts {
                0 => "another edge: this one has no hosts".to_owned(),
                hosts => format!("a port from 1 to {hosts}"),
            };
            return Err(AttachError::NoPort {
                index,
                edge,
                port,
                expected,
            });
        }
        for what in [
            format!("port {port} of edge {edge}"),
            format!("interface '{}'", interface.escape_debug()),
        ] {
            if let Some(first) = seen.insert(what.clone(), index) {
                return Err(AttachError::Twice {
                    first,
                    second: index,
                    what,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(list: &str) -> String {
        let scenario = Scenario::parse(include_bytes!("../../../../topologies/star4.yaml")).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), list).unwrap();
        read(file.path(), &scenario).map_or_else(|error| error.to_string(), |list| format!("{} entries", list.len()))
    }

    #[test]
    fn what_the_scenario_does_not_have_is_named() {
        let entry = |edge, port, name| format!(r#"{{"edge": {edge}, "port": {port}, "interface": "{name}"}}"#);
        let list = |entries: &[String]| refusal(&format!("[{}]", entries.join(",")));
        assert_eq!(list(&[entry(0, 1, "a"), entry(3, 2, "b")]), "2 entries");
        assert_eq!(
            list(&[entry(4, 1, "a")]),
            "--attach: entry 0: there is no edge 4; expected an edge from 0 to 3"
        );
        assert_eq!(
            list(&[entry(1, 1, "a"), entry(1, 3, "b")]),
            "--attach: entry 1: edge 1 has no access port 3; expected a port from 1 to 2"
        );
        assert!(list(&[entry(1, 0, "a")]).contains("no access port 0"));
        assert_eq!(
            list(&[entry(1, 1, "a"), entry(2, 1, "b"), entry(1, 1, "c")]),
            "--attach: entries 0 and 2 both have port 1 of edge 1; expected it once"
        );
        assert!(list(&[entry(1, 1, "a"), entry(1, 2, "a")]).contains("both have interface 'a'"));
        assert!(refusal("{}").contains("expected a JSON list"));
        assert!(refusal(r#"[{"edge": 1, "port": 1, "interfaces": "a"}]"#).contains("unknown field"));
    }
}
