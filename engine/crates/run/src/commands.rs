// SPDX-License-Identifier: Apache-2.0
//! What `emulate --attach` is told while it runs: JSON lines on standard input, an answer to each on standard output.
//!
//! ```text
//! {"command": "fibre", "name": "edge2-core0", "up": false}
//! {"event": "fibre", "name": "edge2-core0", "up": false}      or      {"event": "error", "message": "..."}
//! ```

use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::{Value, json};

use slotwise_control::network::Fibre;

use crate::hold::HoldOrder;

/// Longest line that is read as a command.
const MAX_LINE_BYTES: u64 = 4096;
/// More names than this are not listed.
const MOST_LISTED: usize = 16;

/// A line that is no command for this network.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is something else.
    #[error("{error}; expected {{\"command\": \"fibre\", \"name\": \"{example}\", \"up\": false}}")]
    NoCommand {
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
        /// The name of a fibre that there is.
        example: String,
    },
    /// Invalid order to a held run.
    #[error("invalid order '{0}'; expected 'step TIME' (such as 'step 10 us'), 'continue' or 'end'")]
    NoOrder(String),
    /// It goes on and on.
    #[error("command too long; expected at most {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// There is no such fibre.
    #[error("unknown fibre '{name}'; expected one of {known}")]
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

/// Order to a run from the page or the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Cut or mend a fibre.
    Fibre(FibreCommand),
    /// Continue a held run.
    Hold(HoldOrder),
}

/// A change of a fibre, as somebody asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FibreCommand {
    /// Its name in the command.
    pub name: String,
    /// The fibre, both ways.
    pub fibre: Fibre,
    /// Whether it is to carry anything.
    pub is_up: bool,
}

impl FibreCommand {
    /// What is said when it has been done.
    pub fn done(&self) -> Value {
        json!({"event": "fibre", "name": self.name, "up": self.is_up})
    }

    /// Reads a line of JSON.
    ///
    /// # Errors
    /// The line is not a command for one of these fibres.
    pub fn parse(line: &[u8], fibres: &[(String, Fibre)]) -> Result<FibreCommand, CommandError> {
        let Line::Fibre { name, up } = serde_json::from_slice(line).map_err(|error| {
            let example = fibres.first().map_or("edge0-core0", |(name, _)| name);
            CommandError::NoCommand {
                error,
                example: example.to_owned(),
            }
        })?;
        FibreCommand::new(name, up, fibres)
    }

    /// Cuts or mends one of these fibres.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn new(name: String, is_up: bool, fibres: &[(String, Fibre)]) -> Result<FibreCommand, CommandError> {
        let Some((_, fibre)) = fibres.iter().find(|(known, _)| *known == name) else {
            let mut known: Vec<&str> = Vec::new();
            let mut listed = Vec::new();
            for (name, fibre) in fibres {
                if known.len() < MOST_LISTED && !listed.contains(&fibre) {
                    listed.push(fibre);
                    known.push(name);
                }
            }
            return Err(CommandError::NoFibre {
                name,
                known: known.join(", "),
            });
        };
        Ok(FibreCommand {
            name,
            fibre: *fibre,
            is_up,
        })
    }
}

/// Reads lines and passes the commands that `parse` makes to `tell`, until the input ends or `tell` returns false.
pub fn read<T>(
    mut input: impl BufRead,
    parse: impl Fn(&[u8]) -> Result<T, CommandError>,
    mut tell: impl FnMut(Result<T, CommandError>) -> bool,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(length) if length as u64 > MAX_LINE_BYTES => {
                if !tell(Err(CommandError::TooLong)) {
                    return;
                }
                // What follows is the middle of a line.
                if line.last() != Some(&b'\n') && skip_line(&mut input).is_err() {
                    return;
                }
            }
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => {
                if !tell(parse(&line)) {
                    return;
                }
            }
        }
    }
}

/// Reads up to the end of a line, or of the input.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let read = input.fill_buf()?;
        let end = read.iter().position(|byte| *byte == b'\n');
        let (length, is_over) = (end.map_or(read.len(), |end| end + 1), end.is_some() || read.is_empty());
        input.consume(length);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_control::network::Network;

    fn heard_by(scenario: &[u8], input: &[u8]) -> Vec<Result<(Fibre, bool), String>> {
        let fibres = Network::parse(scenario).unwrap().fibres();
        let mut heard = Vec::new();
        let parse = |line: &[u8]| FibreCommand::parse(line, &fibres);
        read(input, parse, |command| {
            let what = command.map(|command| (command.fibre, command.is_up));
            heard.push(what.map_err(|error| error.to_string()));
            true
        });
        heard
    }

    fn heard(input: &[u8]) -> Vec<Result<(Fibre, bool), String>> {
        heard_by(include_bytes!("../../../../topologies/star4-twin.yaml"), input)
    }

    fn of_star(edge: u16, core: u16) -> Fibre {
        Fibre::Star { edge, core }
    }

    #[test]
    fn a_fibre_is_named_from_either_end() {
        let lines = br#"{"command": "fibre", "name": "edge2-core1", "up": false}

{"command": "fibre", "name": "core0-edge3", "up": true}"#;
        assert_eq!(heard(lines), [Ok((of_star(2, 1), false)), Ok((of_star(3, 0), true))]);
    }

    #[test]
    fn a_fibre_of_a_mesh_is_named_from_either_end_and_listed_once() {
        let mesh = include_bytes!("../../../../topologies/mesh5.yaml");
        let lines = br#"{"command": "fibre", "name": "s0-s2", "up": false}
{"command": "fibre", "name": "s2-s0", "up": false}
{"command": "fibre", "name": "s4-e4", "up": true}
{"command": "fibre", "name": "s2-s4", "up": false}
cut it"#;
        let answers = heard_by(mesh, lines);
        let of_span = |span: usize| Fibre::Span { span };
        assert_eq!(answers[0], Ok((of_span(5), false)));
        assert_eq!(answers[1], answers[0]);
        assert_eq!(answers[2], Ok((of_span(11), true)));
        let told = answers[3].as_ref().unwrap_err();
        assert!(told.contains("s0-s1, s1-s2") && !told.contains("s1-s0"), "{told}");
        assert!(
            answers[4].as_ref().unwrap_err().contains("\"name\": \"s0-s1\""),
            "{:?}",
            answers[4]
        );
    }

    #[test]
    fn links_between_routers_have_their_own_names() {
        let routers = include_bytes!("../../../../topologies/routers4.yaml");
        let lines = br#"{"command": "fibre", "name": "north-east", "up": false}
{"command": "fibre", "name": "router1-router3", "up": false}"#;
        let answers = heard_by(routers, lines);
        assert_eq!(answers[0], Ok((Fibre::Routers { link: 2 }, false)));
        assert!(answers[1].as_ref().unwrap_err().ends_with(
            "expected one of west-north, north-west, north-east, \
             east-north, west-south, south-west, south-east, east-south"
        ));
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
                .contains("unknown fibre 'edge9-core0'; expected one of edge0-core0, edge0-core1")
        );
        assert!(
            answers[1]
                .as_ref()
                .unwrap_err()
                .contains("expected {\"command\": \"fibre\"")
        );
        assert!(answers[2].is_err());
        assert_eq!(answers[3], Ok((of_star(0, 0), false)));
    }

    #[test]
    fn a_line_that_is_too_long_is_answered_once_and_the_next_one_is_heard() {
        let command = br#"{"command": "fibre", "name": "edge0-core0", "up": false}"#;
        for long in [MAX_LINE_BYTES, MAX_LINE_BYTES + 1, 10 * MAX_LINE_BYTES] {
            let answers = heard(&[&vec![b'x'; long as usize], &b"\n"[..], command].concat());
            assert_eq!(answers.len(), 2, "{long}");
            assert!(answers[0].as_ref().unwrap_err().contains("at most 4096 bytes"));
            assert_eq!(answers[1], Ok((of_star(0, 0), false)));
        }
        let endless = vec![b'x'; 10 * MAX_LINE_BYTES as usize];
        assert_eq!(heard(&endless).len(), 1);
    }
}
