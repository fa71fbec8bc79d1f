// SPDX-License-Identifier: Apache-2.0
//! What `emulate --attach` is told while it runs: JSON lines on standard input, an answer to each on standard output.
//!
//! ```text
//! {"command": "fibre", "name": "edge2-core0", "up": false}
//! {"event": "fibre", "name": "edge2-core0", "up": false}      or      {"event": "error", "message": "..."}
//! ```

use std::io::{BufRead, Read};

use serde::Deserialize;
use serde_json::{Value, json};
use slotwise_scenario::{Device, LinkChange, Scenario};

/// Longest line that is read as a command.
const MAX_LINE_BYTES: u64 = 4096;
/// More names than this are not listed.
const MOST_LISTED: usize = 16;

/// A line that is no command for this scenario.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is something else.
    #[error("{0}; expected {{\"command\": \"fibre\", \"name\": \"edge0-core0\", \"up\": false}}")]
    NoCommand(#[from] serde_json::Error),
    /// It goes on and on.
    #[error("a line of more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// There is no such fibre.
    #[error("there is no fibre '{name}'; expected one of {known}")]
    NoFibre {
        /// What it says.
        name: String,
        /// What would be right.
        known: String,
    },
}

#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    /// Cuts or mends a pair of fibres.
    Fibre { name: String, up: bool },
}

/// A change of a fibre, as somebody asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct FibreCommand {
    /// The fibre, e.g. `edge2-core0`.
    pub name: String,
    /// What is to become of it.
    pub change: LinkChange,
}

impl FibreCommand {
    /// What is said when it has been done.
    pub fn done(&self) -> Value {
        json!({"event": "fibre", "name": self.name, "up": self.change.up})
    }

    fn parse(line: &[u8], scenario: &Scenario) -> Result<FibreCommand, CommandError> {
        let Line::Fibre { name, up } = serde_json::from_slice(line)?;
        let fibres = || {
            let edges = scenario.edges.iter();
            edges.flat_map(|edge| edge.fibres.iter().map(|fibre| (edge.id, fibre.core)))
        };
        // Either end may be named first: both fibres of the pair are cut.
        let names = |(edge, core)| {
            let (edge, core) = (Device::Edge(edge), Device::Core(core));
            [format!("{edge}-{core}"), format!("{core}-{edge}")]
        };
        let Some((edge, core)) = fibres().find(|&fibre| names(fibre).contains(&name)) else {
            let known: Vec<String> = fibres()
                .take(MOST_LISTED)
                .map(|fibre| names(fibre)[0].clone())
                .collect();
            return Err(CommandError::NoFibre {
                name,
                known: known.join(", "),
            });
        };
        let change = LinkChange {
            at_ms: 0,
            core,
            edge,
            rate_bps: None,
            delay_ns: None,
            loss: None,
            attenuation_mdb: None,
            up: Some(up),
        };
        Ok(FibreCommand { name, change })
    }
}

/// Reads commands until the input ends or nobody listens any more; `tell` says whether somebody does.
pub fn read(
    mut input: impl BufRead,
    scenario: &Scenario,
    mut tell: impl FnMut(Result<FibreCommand, CommandError>) -> bool,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(length) if length as u64 > MAX_LINE_BYTES => {
                // What follows is the middle of a line.
                tell(Err(CommandError::TooLong));
                return;
            }
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => {
                if !tell(FibreCommand::parse(&line, scenario)) {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(input: &[u8]) -> Vec<Result<(u16, u16, Option<bool>), String>> {
        let twin = Scenario::parse(include_bytes!("../../../../topologies/star4-twin.yaml")).unwrap();
        let mut heard = Vec::new();
        read(input, &twin, |command| {
            let change = command.map(|command| command.change);
            let what = change.map(|change| (change.edge, change.core, change.up));
            heard.push(what.map_err(|error| error.to_string()));
            true
        });
        heard
    }

    #[test]
    fn a_fibre_is_named_from_either_end() {
        let lines = br#"{"command": "fibre", "name": "edge2-core1", "up": false}

{"command": "fibre", "name": "core0-edge3", "up": true}"#;
        assert_eq!(heard(lines), [Ok((2, 1, Some(false))), Ok((3, 0, Some(true)))]);
    }

    #[test]
    fn what_is_no_command_is_answered_and_the_next_one_is_heard() {
        let lines = br#"{"command": "fibre", "name": "edge9-core0", "up": false}
cut it
{"command": "fibre", "name": "edge0-core0", "up": false, "now": 1}
{"command": "fibre", "name": "edge0-core0", "up": false}"#;
        let answers = heard(lines);
        assert!(
            answers[0]
                .as_ref()
                .unwrap_err()
                .contains("no fibre 'edge9-core0'; expected one of edge0-core0, edge0-core1")
        );
        assert!(
            answers[1]
                .as_ref()
                .unwrap_err()
                .contains("expected {\"command\": \"fibre\"")
        );
        assert!(answers[2].is_err());
        assert_eq!(answers[3], Ok((0, 0, Some(false))));
    }

    #[test]
    fn a_line_without_an_end_ends_the_reading() {
        let endless = vec![b'x'; 10 * MAX_LINE_BYTES as usize];
        let answers = heard(&endless);
        assert_eq!(answers.len(), 1);
        assert!(answers[0].as_ref().unwrap_err().contains("more than 4096 bytes"));
    }
}
