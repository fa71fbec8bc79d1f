// SPDX-License-Identifier: Apache-2.0
//! Tables: rows with a name, a time and numbers. [`table!`](crate::record::table) declares one, with the expression of each column.

use slotwise_units::{Bytes, Duration};

use super::TableName;

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Meaning, without the unit.
    pub meaning: &'static str,
    /// Unit; empty for numbers without one.
    pub unit: &'static str,
    /// True if the file has 64 bits of each number, as of the time.
    pub is_exact: bool,
    /// Place in the report, the stream, the page and the terminal; `None` for a column of `--columns` alone.
    pub shown: Option<Shown>,
}

/// A column of the report's series, of the stream, the page and the terminal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// Name there.
    pub name: &'static str,
    /// Factor between the numbers of the column and those shown.
    pub factor: f64,
    /// True if the report has integers.
    pub is_whole: bool,
    /// True if the line of a run without a terminal has the column.
    pub is_in_line: bool,
}

/// Declaration of a table.
#[derive(Debug, PartialEq)]
pub struct Declaration {
    /// Rows, and names in the key column.
    pub about: &'static str,
    /// Name of the column of names.
    pub key: &'static str,
    /// Table of the report and the stream with these rows; empty for the one of the same name.
    pub shown_as: &'static str,
    /// Columns of numbers, the time first.
    pub columns: &'static [Column],
}

/// Source of one row.
pub trait Row {
    /// Table of these rows.
    const TABLE: TableName;
    /// Its columns.
    const DECLARATION: &'static Declaration;

    /// Calls `put` with each number of the row in the order of the columns.
    fn put(&self, period: &Period, put: &mut dyn FnMut(f64));
}

/// Time that a row is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    /// End, from the start of the first phase.
    pub end: Duration,
    /// Length.
    pub length: Duration,
}

impl Period {
    /// Returns the length in seconds.
    pub fn seconds(&self) -> f64 {
        self.length.seconds()
    }

    /// Returns the length in ns.
    pub(crate) fn ns(&self) -> f64 {
        self.length.ns() as f64
    }

    /// Returns the mean rate of `bytes` in the period, kb/s.
    pub(crate) fn kbps(&self, bytes: Bytes) -> f64 {
        bytes.get() as f64 * 8.0 / 1e3 / self.seconds()
    }
}

/// Declares a table: its rows, its key column, the value of a row, and for each column name, meaning, unit and expression.
///
/// A column with `show(series)` is also in the report, the stream, the page and the terminal; there `as NAME * FACTOR` gives
/// another name and unit, `whole` makes the report's numbers integers, and `line` adds it to the line of a run without a terminal.
/// A column `as exact` has 64 bits in the file.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $table:ident by $key:ident $(shown as $shown_as:ident)? $(at $time:literal)? = |$period:ident, $row:ident: $value:ty| {
            $($column:ident $meaning:literal $([$($unit:tt)+])? $(show($($show:tt)+))? $(as $exact:ident)? = $number:expr;)+
        }
    ) => {
        impl $crate::record::Row for $value {
            const TABLE: $crate::record::TableName = $crate::record::TableName::$table;
            const DECLARATION: &'static $crate::record::Declaration = &$crate::record::Declaration {
                about: concat!($($about),+),
                key: stringify!($key),
                shown_as: concat!($(stringify!($shown_as))?),
                columns: &[
                    $crate::record::Column {
                        name: "time_s",
                        meaning: $crate::record::table!(@time $($time)?),
                        unit: "s",
                        is_exact: true,
                        shown: None,
                    },
                    $($crate::record::Column {
                        name: stringify!($column),
                        meaning: $meaning,
                        unit: concat!($($(stringify!($unit)),+)?),
                        is_exact: $crate::record::table!(@exact $($exact)?),
                        shown: $crate::record::table!(@shown $column $($($show)+)?),
                    },)+
                ],
            };

            fn put(&self, $period: &$crate::record::Period, put: &mut dyn FnMut(f64)) {
                let $row = self;
                put($period.end.seconds());
                $(put($number);)+
            }
        }
    };
    (@time) => { "end of the period, from the start of the first phase" };
    (@time $time:literal) => { $time };
    (@exact) => { false };
    (@exact exact) => { true };
    (@shown $column:ident) => { None };
    (@shown $column:ident series as $name:ident * $factor:literal $($more:tt)*) => {
        $crate::record::table!(@is (stringify!($name), $factor, false, false) $($more)*)
    };
    (@shown $column:ident series as $name:ident $($more:tt)*) => {
        $crate::record::table!(@is (stringify!($name), 1.0, false, false) $($more)*)
    };
    (@shown $column:ident series $($more:tt)*) => {
        $crate::record::table!(@is (stringify!($column), 1.0, false, false) $($more)*)
    };
    (@is ($name:expr, $factor:expr, $whole:expr, $line:expr), whole $($more:tt)*) => {
        $crate::record::table!(@is ($name, $factor, true, $line) $($more)*)
    };
    (@is ($name:expr, $factor:expr, $whole:expr, $line:expr), line $($more:tt)*) => {
        $crate::record::table!(@is ($name, $factor, $whole, true) $($more)*)
    };
    (@is ($name:expr, $factor:expr, $whole:expr, $line:expr)) => {
        Some($crate::record::Shown { name: $name, factor: $factor, is_whole: $whole, is_in_line: $line })
    };
}
pub(crate) use table;

/// Rows with a name and numbers, column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Key and columns.
    pub declaration: &'static Declaration,
    /// Name of each row.
    pub names: Vec<String>,
    /// Numbers of each column, one per row.
    pub numbers: Vec<Vec<f64>>,
}

impl Table {
    pub(crate) fn new(declaration: &'static Declaration) -> Table {
        Table {
            declaration,
            names: Vec::new(),
            numbers: vec![Vec::new(); declaration.columns.len()],
        }
    }

    /// Adds a row of numbers in the order of the columns; [`Recording::add`](super::Recording::add) makes them of a value.
    pub fn push(&mut self, name: &str, numbers: impl IntoIterator<Item = f64>) {
        self.names.push(name.to_owned());
        let mut numbers = numbers.into_iter();
        for column in &mut self.numbers {
            column.push(numbers.next().expect("a row has a number per column"));
        }
        debug_assert!(numbers.next().is_none(), "a row has a number per column");
    }

    pub(super) fn add<R: Row>(&mut self, name: &str, period: &Period, row: &R) {
        self.names.push(name.to_owned());
        let mut columns = self.numbers.iter_mut();
        row.put(period, &mut |number| {
            columns.next().expect("a row has a number per column").push(number);
        });
    }

    /// Adds the rows of another table of the same columns.
    pub(super) fn append(&mut self, other: Table) {
        self.names.extend(other.names);
        for (column, numbers) in self.numbers.iter_mut().zip(other.numbers) {
            column.extend(numbers);
        }
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.declaration.columns.iter().map(|column| column.name)
    }

    /// Returns the index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns().position(|column| column == name)
    }

    /// Returns the numbers of a column; empty without such a column.
    pub fn numbers_of(&self, name: &str) -> &[f64] {
        self.column(name).map_or(&[], |column| &self.numbers[column])
    }

    /// Returns (time in s, value) of one name's rows, in order of time.
    pub fn series(&self, name: &str, column: usize) -> Vec<(f64, f64)> {
        let rows = self.names.iter().enumerate().filter(|(_, row)| *row == name);
        rows.map(|(row, _)| (self.numbers[0][row], self.numbers[column][row]))
            .collect()
    }
}

/// Returns the mean; 0 without values.
pub(crate) fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Returns the ratio; 0 if the whole is 0.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Returns the standard deviation of numbers with this exact sum and sum of squares; 0 without numbers.
pub(crate) fn deviation(count: u64, sum: u64, squares: u128) -> f64 {
    let sum = u128::from(sum);
    // n times the sum of squares less the square of the sum.
    let scatter = (u128::from(count) * squares).saturating_sub(sum * sum);
    mean((scatter as f64).sqrt(), count)
}
