// SPDX-License-Identifier: Apache-2.0
//! Flow sizes of a workload.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Dimension};
use slotwise_workload::{Interpolation, Place, SizeTable, Sizes, WorkloadError};

use super::files::parts;
use crate::doc::Doc;
use crate::parse::FILE_BYTES;
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, integer, raw, section, string, word};

const SIZE_BYTES: RangeInclusive<u64> = FILE_BYTES;
const INTERPOLATIONS: [(&str, Interpolation); 2] = [("steps", Interpolation::Steps), ("linear", Interpolation::Linear)];
const EXPECTED: &str =
    "a table of `slotwise workload tables`, a size such as '20 KB', 'exponential 20 KB', or {file: FILE}";

section! {
    /// Table of flow sizes.
    #[derive(Debug)]
    pub(crate) struct SizeKeys [r, fields, _context: ()] {
        /// Name of a shipped table.
        table: Option<String> = "table" optional, string();
        /// Lines of a table from a file, relative to this one: a size in bytes and a cumulative probability each.
        lines: Option<Doc> = "lines" read_optional(r.optional(fields, "lines").cloned()), raw(r#"{"type": "array", "items": {"type": "string"}}"#);
        /// Sizes between two lines: those of the table only (`steps`), or uniform (`linear`). Default: as the table specifies.
        interpolate: Option<Interpolation> = "interpolate" optional, word(INTERPOLATIONS);
        /// Minimum flow size in bytes; smaller flows of the table are omitted. Default: 0.
        min: Option<Bytes> = "min_bytes" optional, integer(SIZE_BYTES);
    }
    kinds { "table" without ["lines"] }
    any ["table", "lines"]
}

/// Reads the sizes under a key and reports problems. `None` without the key or with a problem.
pub(super) fn sizes(r: &mut Reader, fields: &Fields, key: &str) -> Option<Sizes> {
    let value = r.optional(fields, key)?;
    let place = fields.pointer(key);
    if value.is_mapping() {
        return of_table(r, value, &place);
    }
    let Some(text) = value.as_written() else {
        r.report(place, format!("found {}", value.describe()), EXPECTED);
        return None;
    };
    let exponential = text.strip_prefix("exponential ");
    match data(exponential.unwrap_or(text)) {
        Some(size) if exponential.is_some() => Some(Sizes::Exponential(size)),
        Some(size) => Some(Sizes::Fixed(size)),
        None => match Sizes::named(text, None) {
            Ok(sizes) if exponential.is_none() => Some(sizes),
            _ => {
                r.report(place, format!("found {}", value.describe()), EXPECTED);
                None
            }
        },
    }
}

/// Reads an amount of data above 0, with its unit.
fn data(text: &str) -> Option<Bytes> {
    let size = Dimension::Data.parse(text).ok()?;
    let size = u64::try_from(size).ok().filter(|size| SIZE_BYTES.contains(size))?;
    Some(Bytes::new(size))
}

fn of_table(r: &mut Reader, value: &Doc, place: &str) -> Option<Sizes> {
    let before = r.problems.len();
    let keys = SizeKeys::of(r, value, place.to_owned(), ());
    if r.problems.len() > before {
        return None;
    }
    let read = match (&keys.table, &keys.lines) {
        (Some(name), _) => Sizes::named(name, keys.interpolate),
        (None, lines) => {
            let text = lines.as_ref().map(rows_of).unwrap_or_default().join("\n");
            SizeTable::read("table", &text, keys.interpolate).map(Sizes::Table)
        }
    };
    let cut = |sizes| match (sizes, keys.min) {
        (Sizes::Table(table), Some(least)) => Ok(Sizes::Table(table.at_least(least)?)),
        (sizes, _) => Ok(sizes),
    };
    match read.and_then(cut) {
        Ok(sizes) => Some(sizes),
        Err(error) => {
            let (reason, expected) = parts(&error);
            r.report(place_of(&error, place, keys.table.is_some()), reason, expected);
            None
        }
    }
}

/// Place of an error: the line of a table, if it has one in the file.
fn place_of(error: &WorkloadError, place: &str, is_shipped: bool) -> String {
    match &error.place {
        Place::Line { line, .. } if !is_shipped => format!("{place}/lines/{}", line - 1),
        Place::File(_) if !is_shipped => format!("{place}/lines"),
        _ => place.to_owned(),
    }
}

/// Returns the text of each line in a list: a line is a text or a list of numbers.
pub(super) fn rows_of(rows: &Doc) -> Vec<String> {
    let row = |row: &Doc| match row.as_list() {
        Some(numbers) => numbers.iter().filter_map(Doc::as_written).collect::<Vec<_>>().join(" "),
        None => row.as_written().unwrap_or_default().to_owned(),
    };
    rows.as_list().unwrap_or_default().iter().map(row).collect()
}
