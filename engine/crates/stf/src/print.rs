// SPDX-License-Identifier: Apache-2.0
//! Scripts as text that reads back as the same script.

use crate::script::{Call, Cell, Condition, Match, Number, Pattern, Rate, Relation, Script, Statement, Unit};
use std::fmt::{self, Display, Formatter, Write};

/// One line a statement.
impl Display for Script {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.statements
            .iter()
            .try_for_each(|located| writeln!(f, "{}", located.statement))
    }
}

/// A name, in quotes if it is not made of words, dots and indices.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let is_word = |part: &str| {
            let word = match part.split_once('[') {
                Some((word, index))
                    if index
                        .strip_suffix(']')
                        .is_some_and(|index| index.parse::<u32>().is_ok()) =>
                {
                    word
                }
                _ => part,
            };
            word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
                && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
        };
        match self.0.split('.').all(is_word) {
            true => f.write_str(self.0),
            false => write!(f, "\"{}\"", self.0),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let nibbles = |bytes: &[u8], count: usize| -> Vec<u8> {
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect::<Vec<_>>();
            let start = digits.len().saturating_sub(count);
            [vec![0; count.saturating_sub(digits.len())], digits[start..].to_vec()].concat()
        };
        let Some(mask) = &self.mask else {
            let digits = nibbles(&self.value, (self.value.len() * 2).max(1));
            f.write_str("0x")?;
            return digits.iter().try_for_each(|digit| write!(f, "{digit:x}"));
        };
        // Whole digits in hexadecimal, single bits in binary.
        let bits = self.written_bits.unwrap_or(mask.len() as u32 * 8) as usize;
        let (values, masks) = (nibbles(&self.value, bits.div_ceil(4)), nibbles(mask, bits.div_ceil(4)));
        if bits.is_multiple_of(4) && masks.iter().all(|mask| [0, 15].contains(mask)) {
            f.write_str("0x")?;
            for (value, mask) in values.iter().zip(&masks) {
                if *mask == 0 {
                    f.write_char('*')?;
                } else {
                    write!(f, "{value:x}")?;
                }
            }
            return Ok(());
        }
        f.write_str("0b")?;
        for bit in (0..bits).rev() {
            let digit = |nibbles: &[u8]| nibbles[nibbles.len() - 1 - bit / 4] >> (bit % 4) & 1;
            f.write_char(if digit(&masks) == 0 {
                '*'
            } else {
                char::from(b'0' + digit(&values))
            })?;
        }
        Ok(())
    }
}

impl Display for Match {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Match::Number(number) => write!(f, "{number}"),
            Match::Prefix(number, length) => write!(f, "{number}/{length}"),
            Match::Masked(number, mask) => write!(f, "{number}&&&{mask}"),
            Match::Range(low, high) => write!(f, "{low}->{high}"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let args: Vec<String> = self
            .args
            .iter()
            .map(|(name, value)| format!("{}:{value}", Name(name)))
            .collect();
        write!(f, "{}({})", Name(&self.action), args.join(", "))
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for (at, nibble) in self.nibbles.iter().enumerate() {
            if at % 2 == 0 && at > 0 {
                f.write_char(' ')?;
            }
            match nibble {
                Some(digit) => write!(f, "{digit:x}")?,
                None => f.write_char('*')?,
            }
        }
        f.write_str(if self.exact { " $" } else { "" })
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(
            f,
            "{}.{:06}:{}",
            self.per_second / 1_000_000,
            self.per_second % 1_000_000,
            self.burst
        )
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let unit = match self.unit {
            Unit::Packets => "packets",
            Unit::Bytes => "bytes",
        };
        let relation = match self.relation {
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::AtMost => "<=",
            Relation::Greater => ">",
            Relation::AtLeast => ">=",
        };
        write!(f, "{unit} {relation} {}", self.value)
    }
}

fn ports(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" ")
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Statement::Packet { port, frame } => {
                let bytes: Vec<String> = frame.iter().map(|byte| format!("{byte:02x}")).collect();
                write!(f, "packet {port} {}", bytes.join(" "))
            }
            Statement::Expect { port, pattern: None } => write!(f, "expect {port}"),
            Statement::Expect {
                port,
                pattern: Some(pattern),
            } => write!(f, "expect {port} {pattern}"),
            Statement::NoPacket => write!(f, "no_packet"),
            Statement::Wait => write!(f, "wait"),
            Statement::Add {
                table,
                priority,
                key,
                action,
                others,
                id,
            } => {
                write!(f, "add {}", Name(table))?;
                priority.iter().try_for_each(|priority| write!(f, " {priority}"))?;
                key.iter()
                    .try_for_each(|(name, value)| write!(f, " {}:{value}", Name(name)))?;
                write!(f, " {action}")?;
                others.iter().try_for_each(|other| write!(f, " {other}"))?;
                id.iter().try_for_each(|id| write!(f, " = {}", Name(id)))
            }
            Statement::SetDefault { table, action } => write!(f, "setdefault {} {action}", Name(table)),
            Statement::RemoveAll => write!(f, "remove all"),
            Statement::CheckCounter {
                counter,
                cell,
                condition,
            } => {
                match cell {
                    Cell::Index(index) => write!(f, "check_counter {}({index})", Name(counter))?,
                    Cell::Entry(id) => write!(f, "check_counter {}({})", Name(counter), Name(id))?,
                }
                condition.iter().try_for_each(|condition| write!(f, " {condition}"))
            }
            Statement::MirroringAdd { session, port } => write!(f, "mirroring_add {session} {port}"),
            Statement::MirroringAddGroup { session, group } => write!(f, "mirroring_add_mc {session} {group}"),
            Statement::MirroringDelete(session) => write!(f, "mirroring_delete {session}"),
            Statement::MirroringGet(session) => write!(f, "mirroring_get {session}"),
            Statement::GroupCreate(group) => write!(f, "mc_mgrp_create {group}"),
            Statement::NodeCreate { instance, ports: to } => write!(f, "mc_node_create {instance} {}", ports(to)),
            Statement::NodeUpdate { node, ports: to } => write!(f, "mc_node_update {node} {}", ports(to)),
            Statement::NodeAssociate { group, node } => write!(f, "mc_node_associate {group} {node}"),
            Statement::CounterRead(cell) => write!(f, "counter_read {} {}", Name(&cell.name), cell.index),
            Statement::CounterWrite { cell, packets, bytes } => {
                write!(f, "counter_write {} {} {packets} {bytes}", Name(&cell.name), cell.index)
            }
            Statement::RegisterRead(cell) => write!(f, "register_read {} {}", Name(&cell.name), cell.index),
            Statement::RegisterWrite { cell, value } => {
                write!(f, "register_write {} {} {value}", Name(&cell.name), cell.index)
            }
            Statement::RegisterReset(name) => write!(f, "register_reset {}", Name(name)),
            Statement::MeterGetRates(cell) => write!(f, "meter_get_rates {} {}", Name(&cell.name), cell.index),
            Statement::MeterSetRates {
                meter,
                index,
                rates: [committed, peak],
            } => match index {
                Some(index) => write!(f, "meter_set_rates {} {index} {committed} {peak}", Name(meter)),
                None => write!(f, "meter_array_set_rates {} {committed} {peak}", Name(meter)),
            },
        }
    }
}
