// SPDX-License-Identifier: Apache-2.0
//! Quantities as people write them: a decimal number and a unit, such as `200 Mbit/s` or `1.5 km`.
//!
//! A quantity is read exactly, without floating point: `0.1 us` is 100 ns, and `0.1 ns` is refused, since no type here holds it.

use std::fmt;

/// Dimension of a quantity. Each has a finest unit, in which its values are whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Time, ns.
    Time,
    /// Length of a fibre as the time that light takes, ns: 5 us per km.
    Length,
    /// Rate of data, bit/s.
    Rate,
    /// Amount of data, bytes.
    Data,
    /// Ratio of powers, dB / 1000.
    Loss,
    /// Power, dBm / 1000.
    Power,
    /// Relative error of a frequency, 10^-9.
    Drift,
}

/// Reason for which a text is refused as a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAQuantity {
    /// The text does not begin with a decimal number.
    NoNumber,
    /// There is a number without a unit.
    NoUnit,
    /// The dimension has no such unit.
    UnknownUnit(String),
    /// The value has a fraction of the finest unit.
    TooFine,
    /// The value does not fit in 64 bits.
    TooLarge,
}

impl Dimension {
    /// Units with the number of finest units in each, ascending. The first unit of several with the same size is printed.
    const fn units(self) -> &'static [(&'static str, i128)] {
        match self {
            Dimension::Time => &[
                ("ns", 1),
                ("us", 1_000),
                ("ms", 1_000_000),
                ("s", 1_000_000_000),
                ("min", 60_000_000_000),
                ("h", 3_600_000_000_000),
            ],
            Dimension::Length => &[("m", 5), ("km", 5_000)],
            Dimension::Rate => &[
                ("bit/s", 1),
                ("b/s", 1),
                ("kbit/s", 1_000),
                ("kb/s", 1_000),
                ("Mbit/s", 1_000_000),
                ("Mb/s", 1_000_000),
                ("Gbit/s", 1_000_000_000),
                ("Gb/s", 1_000_000_000),
                ("Tbit/s", 1_000_000_000_000),
                ("Tb/s", 1_000_000_000_000),
            ],
            Dimension::Data => &[
                ("B", 1),
                ("KB", 1_000),
                ("kB", 1_000),
                ("KiB", 1 << 10),
                ("MB", 1_000_000),
                ("MiB", 1 << 20),
                ("GB", 1_000_000_000),
                ("GiB", 1 << 30),
                ("TB", 1_000_000_000_000),
            ],
            Dimension::Loss => &[("dB", 1_000)],
            Dimension::Power => &[("dBm", 1_000)],
            Dimension::Drift => &[("ppb", 1), ("ppm", 1_000)],
        }
    }

    /// Returns the name of the dimension and an example, for messages.
    pub const fn described(self) -> (&'static str, &'static str) {
        match self {
            Dimension::Time => ("a time", "250 us"),
            Dimension::Length => ("a length", "1.5 km"),
            Dimension::Rate => ("a rate", "200 Mbit/s"),
            Dimension::Data => ("an amount of data", "64 KB"),
            Dimension::Loss => ("a ratio of powers", "20 dB"),
            Dimension::Power => ("a power", "-3 dBm"),
            Dimension::Drift => ("a frequency error", "20 ppm"),
        }
    }

    /// Reads a quantity as a number of finest units.
    ///
    /// # Errors
    /// [`NotAQuantity`] for other texts than a number with a unit of this dimension, and for fractions of the finest unit.
    pub fn parse(self, text: &str) -> Result<i64, NotAQuantity> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)));
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, fraction].concat();
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) || number.ends_with('.') {
            return Err(NotAQuantity::NoNumber);
        }
        let unit = unit.trim_start_matches(' ');
        if unit.is_empty() {
            return Err(NotAQuantity::NoUnit);
        }
        let found = self.units().iter().find(|(name, _)| *name == unit);
        let (_, size) = found.ok_or_else(|| NotAQuantity::UnknownUnit(unit.to_owned()))?;
        let scaled = digits.parse::<i128>().ok().and_then(|digits| digits.checked_mul(*size));
        let scaled = scaled.ok_or(NotAQuantity::TooLarge)?;
        // With 39 or more decimal places only a value of 0 is whole.
        let divisor = u32::try_from(fraction.len())
            .ok()
            .and_then(|places| 10i128.checked_pow(places));
        let divisor = divisor.unwrap_or(i128::MAX);
        if scaled % divisor != 0 {
            return Err(NotAQuantity::TooFine);
        }
        let value = scaled / divisor;
        i64::try_from(if negative { -value } else { value }).map_err(|_| NotAQuantity::TooLarge)
    }

    /// Returns the text of a number of finest units, in the largest unit of which it is a whole number, or with decimal places where the
    /// finest unit has no name.
    pub fn print(self, value: i128) -> String {
        let units = self.units();
        let whole = units.iter().rev().find(|(_, size)| value % size == 0 && value != 0);
        let size = whole.map_or(units[0].1, |(_, size)| *size);
        let (name, _) = units.iter().find(|(_, same)| *same == size).expect("one of the units");
        match value % size {
            0 => format!("{} {name}", value / size),
            _ => format!("{} {name}", value as f64 / size as f64),
        }
    }
}

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAQuantity::NoNumber => f.write_str("no decimal number"),
            NotAQuantity::NoUnit => f.write_str("no unit"),
            NotAQuantity::UnknownUnit(unit) => write!(f, "unknown unit '{}'", unit.escape_debug()),
            NotAQuantity::TooFine => f.write_str("too many decimal places"),
            NotAQuantity::TooLarge => f.write_str("too large"),
        }
    }
}

impl std::error::Error for NotAQuantity {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Dimension; 7] = [
        Dimension::Time,
        Dimension::Length,
        Dimension::Rate,
        Dimension::Data,
        Dimension::Loss,
        Dimension::Power,
        Dimension::Drift,
    ];

    #[test]
    fn quantities_are_read_exactly() {
        for (dimension, text, value) in [
            (Dimension::Time, "250 us", 250_000),
            (Dimension::Time, "0.1 us", 100),
            (Dimension::Time, "1.50ms", 1_500_000),
            (Dimension::Time, "2 min", 120_000_000_000),
            (Dimension::Length, "1.5 km", 7_500),
            (Dimension::Length, "0.2 m", 1),
            (Dimension::Rate, "200 Mbit/s", 200_000_000),
            (Dimension::Rate, "200  Mb/s", 200_000_000),
            (Dimension::Rate, "+1 Tbit/s", 1_000_000_000_000),
            (Dimension::Data, "64 KB", 64_000),
            (Dimension::Data, "64 KiB", 65_536),
            (Dimension::Loss, "20 dB", 20_000),
            (Dimension::Power, "-28.5 dBm", -28_500),
            (Dimension::Drift, "20 ppm", 20_000),
            (
                Dimension::Time,
                "0.000000000000000000000000000000000000000000000000 ns",
                0,
            ),
        ] {
            assert_eq!(dimension.parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        let unknown = |unit: &str| NotAQuantity::UnknownUnit(unit.to_owned());
        for (dimension, text, reason) in [
            (Dimension::Rate, "5 ms", unknown("ms")),
            (Dimension::Rate, "5 mbit/s", unknown("mbit/s")),
            (Dimension::Rate, "5 Mbit/s ", unknown("Mbit/s ")),
            (Dimension::Rate, "1e3 bit/s", unknown("e3 bit/s")),
            (Dimension::Rate, "0.5 bit/s", NotAQuantity::TooFine),
            (Dimension::Time, "0.0001 us", NotAQuantity::TooFine),
            (Dimension::Length, "0.1 m", NotAQuantity::TooFine),
            (Dimension::Time, "200", NotAQuantity::NoUnit),
            (Dimension::Time, "200 ", NotAQuantity::NoUnit),
            (Dimension::Time, "fast", NotAQuantity::NoNumber),
            (Dimension::Time, "", NotAQuantity::NoNumber),
            (Dimension::Time, ".5 s", NotAQuantity::NoNumber),
            (Dimension::Time, "5. s", NotAQuantity::NoNumber),
            (Dimension::Time, "1.2.3 s", NotAQuantity::NoNumber),
            (Dimension::Time, "--5 s", NotAQuantity::NoNumber),
            (Dimension::Time, "5000000 h", NotAQuantity::TooLarge),
            (
                Dimension::Time,
                "99999999999999999999999999999999999999999 s",
                NotAQuantity::TooLarge,
            ),
        ] {
            assert_eq!(dimension.parse(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn a_value_is_printed_in_the_largest_unit_that_keeps_it_whole() {
        for (dimension, value, text) in [
            (Dimension::Time, 0, "0 ns"),
            (Dimension::Time, 1_500, "1500 ns"),
            (Dimension::Time, 10_000_000_000, "10 s"),
            (Dimension::Rate, 400_000_000_000, "400 Gbit/s"),
            (Dimension::Data, 65_536, "64 KiB"),
            (Dimension::Loss, 1_500, "1.5 dB"),
            (Dimension::Power, -30_000, "-30 dBm"),
        ] {
            assert_eq!(dimension.print(value), text);
        }
    }

    proptest! {
        #[test]
        fn printed_quantities_are_read_again(dimension in 0..ALL.len(), value in -1_000_000_000_000i64..1_000_000_000_000) {
            let dimension = ALL[dimension];
            prop_assert_eq!(dimension.parse(&dimension.print(value.into())), Ok(value));
        }

        #[test]
        fn any_text_is_answered(dimension in 0..ALL.len(), text in "[-+.0-9]{0,50} ?[a-zA-Z/\u{3bc}]{0,8}") {
            drop(ALL[dimension].parse(&text).map_err(|reason| reason.to_string()));
        }
    }
}
