// SPDX-License-Identifier: Apache-2.0
//! Reads reports from untrusted files: an error names the place of the problem.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use slotwise_cli::notes::one_line;

use crate::report::{REPORT_VERSION, Report, Series};
use crate::series::{LINKS, shown_columns};

/// Maximum file size: a browser cannot show larger reports.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of edges, above that of all scenarios; the page has a cell per pair.
const MAX_EDGES: usize = 4096;
/// Limit of the names in all periods: the stream repeats them in each.
const MAX_NAME_BYTES: usize = 256 << 20;
/// Bytes of a name in the stream beside its own: quotes, commas and a value.
const NAME_OVERHEAD: usize = 16;

/// Error for a report that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Input or output failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Device, FIFO or directory.
    #[error("not a regular file; expected a report of `slotwise simulate` or `emulate`")]
    NotAFile,
    /// Too many bytes.
    #[error("{place}: {found} bytes; expected at most {max}")]
    Bytes {
        /// Part with these bytes.
        place: String,
        /// Number of bytes.
        found: u64,
        /// Limit.
        max: u64,
    },
    /// Invalid JSON.
    #[error("not a report of `slotwise simulate` or `emulate` (schema/report.schema.json): {0}")]
    Syntax(serde_json::Error),
    /// A part of the wrong type, or without a required key.
    #[error("{place}: {problem}")]
    Part {
        /// Path of the part.
        place: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// Unknown column.
    #[error("{place}: unknown column; expected one of {}", .expected.join(", "))]
    Column {
        /// Path of the column.
        place: String,
        /// Known columns.
        expected: Vec<&'static str>,
    },
    /// Columns of different lengths.
    #[error("{place}: {found} values; expected {expected}")]
    Length {
        /// Path of the column.
        place: String,
        /// Number of its values.
        found: usize,
        /// Number of frames, periods or items.
        expected: usize,
    },
    /// Too many edges.
    #[error("network.edges: {0}; expected at most {MAX_EDGES}")]
    Edges(usize),
    /// Edges that the network does not have.
    #[error("series.pairs: from {from} to {to}; expected edges below {edges}")]
    Pair {
        /// Source.
        from: u16,
        /// Destination.
        to: u16,
        /// Number of edges.
        edges: usize,
    },
}

impl Report {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read, is not a report or is damaged.
    pub fn read(path: &Path) -> Result<Report, ReadError> {
        Report::from_json(&Report::text(path)?)
    }

    /// Reads the text of a file that may be a report.
    pub(crate) fn text(path: &Path) -> Result<Vec<u8>, ReadError> {
        // Without this flag, opening a FIFO would wait for a writer.
        let file = File::options()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(ReadError::NotAFile);
        }
        if metadata.len() > MAX_BYTES {
            return Err(ReadError::Bytes {
                place: "the file".into(),
                found: metadata.len(),
                max: MAX_BYTES,
            });
        }
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Reads a report.
    ///
    /// # Errors
    /// [`ReadError`] if it is not a report or is damaged.
    pub fn from_json(text: &[u8]) -> Result<Report, ReadError> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let report: Report = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let place = error.path().to_string();
            match error.inner().classify() {
                serde_json::error::Category::Data => ReadError::Part {
                    place: if place == "." {
                        "the file".into()
                    } else {
                        one_line(&place)
                    },
                    problem: one_line(&error.inner().to_string()),
                },
                _ => ReadError::Syntax(error.into_inner()),
            }
        })?;
        json.end().map_err(ReadError::Syntax)?;
        report.check()?;
        Ok(report)
    }

    fn check(&self) -> Result<(), ReadError> {
        let edges = self.network.edges;
        if edges > MAX_EDGES {
            return Err(ReadError::Edges(edges));
        }
        for pair in &self.series.pairs {
            let (from, to) = (pair.from, pair.to);
            if usize::from(from.max(to)) >= edges {
                return Err(ReadError::Pair { from, to, edges });
            }
        }
        self.series.check()
    }
}

impl Series {
    fn check(&self) -> Result<(), ReadError> {
        let (frames, periods) = (self.frame_ms.len(), self.time_ms.len());
        for (index, pair) in self.pairs.iter().enumerate() {
            let place = format!("series.pairs[{index}]");
            has_length(&place, "demand_bytes", pair.demand_bytes.len(), frames)?;
            has_length(&place, "granted_slots", pair.granted_slots.len(), frames)?;
            has_length(&place, "delivered_bytes", pair.delivered_bytes.len(), frames)?;
        }
        for (index, link) in self.links.iter().enumerate() {
            let place = format!("series.links[{index}]");
            for (column, values) in &link.columns {
                is_known(&place, LINKS, column)?;
                has_length(&place, column, values.len(), periods)?;
            }
        }
        self.check_names()?;
        for (index, table) in self.tables.iter().enumerate() {
            let place = format!("series.tables[{index}].columns");
            for (column, items) in &table.columns {
                is_known(&place, &table.table, column)?;
                has_length(&place, column, items.len(), table.names.len())?;
                for values in items {
                    has_length(&place, column, values.len(), periods)?;
                }
            }
        }
        for (index, session) in self.sessions.iter().enumerate() {
            let place = format!("series.sessions[{index}]");
            has_length(&place, "rate_bps", session.rate_bps.len(), periods)?;
            has_length(&place, "fair_bps", session.fair_bps.len(), periods)?;
        }
        if let Some(distance) = &self.distance {
            has_length("series.distance", "distance", distance.distance.len(), periods)?;
            has_length("series.distance", "d0", distance.d0.len(), periods)?;
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), ReadError> {
        let links = self.links.iter().map(|link| &link.name);
        let tables = self.tables.iter().flat_map(|table| &table.names);
        let sessions = self.sessions.iter().map(|session| &session.name);
        let names = links.chain(tables).chain(sessions);
        let bytes = names.map(|name| name.len() + NAME_OVERHEAD).sum::<usize>();
        let periods = self.time_ms.len();
        let found = bytes.saturating_mul(periods);
        match found > MAX_NAME_BYTES {
            true => Err(ReadError::Bytes {
                place: format!("series: names of {bytes} bytes in each of {periods} periods"),
                found: found as u64,
                max: MAX_NAME_BYTES as u64,
            }),
            false => Ok(()),
        }
    }
}

fn has_length(place: &str, column: &str, found: usize, expected: usize) -> Result<(), ReadError> {
    match found == expected {
        true => Ok(()),
        false => Err(ReadError::Length {
            place: format!("{place}.{column}"),
            found,
            expected,
        }),
    }
}

fn is_known(place: &str, table: &str, column: &str) -> Result<(), ReadError> {
    let expected: Vec<&str> = shown_columns(table).iter().map(|shown| shown.name).collect();
    match expected.contains(&column) {
        true => Ok(()),
        false => Err(ReadError::Column {
            place: format!("{place}.{}", one_line(column)),
            expected,
        }),
    }
}

/// Reads the version; others are not supported.
pub(crate) fn version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = <u32 as serde::Deserialize>::deserialize(deserializer)?;
    match version == REPORT_VERSION {
        true => Ok(version),
        false => Err(serde::de::Error::custom(format_args!(
            "unsupported report version {version}; expected {REPORT_VERSION}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const REPORT: &[u8] = include_bytes!("../../../../schema/examples/stream-report.json");

    fn report() -> Value {
        serde_json::from_slice(REPORT).unwrap()
    }

    fn error(change: impl FnOnce(&mut Value)) -> String {
        let mut report = report();
        change(&mut report);
        Report::from_json(report.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_report_is_written_as_it_was_read() {
        let read = Report::from_json(REPORT).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), report());
    }

    #[test]
    fn columns_that_do_not_fit_together_are_named() {
        assert_eq!(
            error(|report| report["series"]["pairs"][1]["granted_slots"] = vec![1].into()),
            "series.pairs[1].granted_slots: 1 values; expected 2"
        );
        assert_eq!(
            error(|report| report["series"]["links"][0]["utilization"] = vec![1, 2].into()),
            "series.links[0].utilization: 2 values; expected 1"
        );
        assert_eq!(
            error(|report| report["series"]["tables"][0]["names"] = vec!["a", "b"].into()),
            "series.tables[0].columns.goodput_kbps: 1 values; expected 2"
        );
        assert_eq!(
            error(|report| report["series"]["pairs"][0]["to"] = 3.into()),
            "series.pairs: from 0 to 3; expected edges below 3"
        );
        assert_eq!(
            error(|report| report["network"]["edges"] = 5000.into()),
            "network.edges: 5000; expected at most 4096"
        );
        // Names that every object of the page has.
        for name in ["constructor", "__proto__", "another"] {
            let of_links = error(|report| report["series"]["links"][0][name] = vec![1].into());
            let expected = format!("series.links[0].{name}: unknown column; expected one of utilization, ");
            assert!(of_links.starts_with(&expected), "{of_links}");
            let of_table = error(|report| {
                let columns = &mut report["series"]["tables"][0]["columns"];
                columns[name] = columns["goodput_kbps"].clone();
            });
            let expected = format!("series.tables[0].columns.{name}: unknown column; expected one of window_packets, ");
            assert!(of_table.starts_with(&expected), "{of_table}");
        }
    }

    #[test]
    fn damage_is_named_by_its_place() {
        let version = error(|report| report["version"] = 2.into());
        assert!(
            version.starts_with("version: unsupported report version 2; expected 1"),
            "{version}"
        );
        let missing = error(|report| report["series"] = serde_json::json!({}));
        assert!(missing.starts_with("series: missing field `frame_ms`"), "{missing}");
        let kind = error(|report| report["faults"]["kinds"] = vec![9].into());
        assert!(kind.starts_with("faults.kinds[0]: invalid type: integer"), "{kind}");
        let notes = error(|report| report["verdict"]["notes"] = 7.into());
        assert!(notes.starts_with("verdict.notes: invalid type: integer"), "{notes}");
        let flows = error(|report| report["phases"][0]["flows"] = 1.into());
        assert!(flows.starts_with("phases[0].flows: invalid type: integer"), "{flows}");
        let link = error(|report| report["series"]["links"][0]["utilization"] = "many".into());
        assert!(link.starts_with("series.links[0]"), "{link}");
        for text in ["", "{", "[]", "7", "{} {}"] {
            Report::from_json(text.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn an_error_is_one_short_line_for_all_texts() {
        let name = format!("\u{1b}{}", "x".repeat(1 << 20));
        let column = error(|report| report["series"]["tables"][0]["columns"][name.as_str()] = vec![1].into());
        let seed = error(|report| report["seed"] = name.as_str().into());
        for text in [column, seed] {
            assert!(text.len() < 2000 && !text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn names_too_long_for_each_period_are_refused() {
        let error = error(|report| {
            report["series"]["time_ms"] = (0..1000).map(f64::from).collect();
            let link = &mut report["series"]["links"][0];
            link["name"] = "x".repeat(1 << 20).into();
            let fields = link.as_object_mut().unwrap().values_mut();
            for values in fields.filter(|values| values.is_array()) {
                *values = vec![1; 1000].into();
            }
            report["series"]["links"] = vec![link.clone()].into();
            for other in ["tables", "sessions", "distance"] {
                report["series"].as_object_mut().unwrap().remove(other);
            }
        });
        assert!(
            error.starts_with("series: names of 1048592 bytes in each of 1000 periods: "),
            "{error}"
        );
    }

    #[test]
    fn empty_names_count_too() {
        let error = error(|report| {
            let series = report["series"].as_object_mut().unwrap();
            series.retain(|key, _| ["frame_ms", "pairs", "time_ms", "links"].contains(&key.as_str()));
            let periods = MAX_NAME_BYTES / NAME_OVERHEAD / 1000 + 1;
            series["time_ms"] = vec![0; periods].into();
            series["links"] = vec![serde_json::json!({"name": ""}); 1000].into();
        });
        assert!(error.starts_with("series: names of 16000 bytes in each of "), "{error}");
    }

    #[test]
    fn only_regular_files_are_read_and_none_that_is_too_large() {
        let directory = tempfile::tempdir().unwrap();
        let [fifo, large] = ["fifo", "large"].map(|name| directory.path().join(name));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        for path in [Path::new("/dev/zero"), &fifo, directory.path()] {
            assert!(
                matches!(Report::read(path), Err(ReadError::NotAFile)),
                "{}",
                path.display()
            );
        }
        File::create(&large).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(matches!(Report::read(&large), Err(ReadError::Bytes { .. })));
    }
}
