// SPDX-License-Identifier: Apache-2.0
//! Random tables and packets that fit a program well enough to get deep into it.

use crate::model::{Action, BitString, FieldName, Key, Model, Table, Transition};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;
use slotwise_p4runtime::proto::p4::config::v1::match_field::MatchType;
use slotwise_stf::script::{Call, Match, Number, Rate, Statement};
use std::collections::BTreeMap;

/// Most entries of one table.
const MAX_ENTRIES: usize = 6;
/// Most actions beside the first among which a selector chooses.
const MAX_CHOICES: usize = 3;
/// Longest walk through a parser.
const MAX_STATES: usize = 32;
/// Packets come in on ports below this, and most ports in entries are below it.
const PORTS: u16 = 8;
/// Longest random payload, in bytes.
const MAX_PAYLOAD: usize = 64;

/// Tables, groups and sessions first, then packets.
#[derive(Debug, Clone)]
pub struct Case {
    pub setup: Vec<Statement>,
    pub packets: Vec<(u16, Vec<u8>)>,
}

/// Values that entries match, so that packets can have them.
type Pools = BTreeMap<FieldName, Vec<BitString>>;

pub fn case(model: &Model, packets: usize, random: &mut Pcg64Mcg) -> Case {
    let mut setup = replication(random);
    let mut pools = Pools::new();
    for table in &model.tables {
        for _ in 0..random.random_range(0..=MAX_ENTRIES.min(table.size)) {
            let id = format!("e{}", setup.len());
            setup.extend(entry(table, id, &mut pools, random));
        }
    }
    for fallback in model
        .defaults
        .iter()
        .filter(|_| random.random_bool(0.3))
        .collect::<Vec<_>>()
    {
        let action = fallback.actions.choose(random);
        setup.extend(action.map(|action| Statement::SetDefault {
            table: fallback.table.clone(),
            action: call(action, random),
        }));
    }
    for (meter, size) in &model.meters {
        setup.extend(meter_rates(meter, *size, random));
    }
    let packets = (0..packets).map(|number| {
        let mut frame = frame(model, &pools, random);
        // A cut packet is compared as the first one only.
        if number == 0 && random.random() {
            frame.truncate(random.random_range(1..=frame.len()));
        }
        (random.random_range(0..PORTS), frame)
    });
    let packets = packets.collect();
    Case { setup, packets }
}

/// A few multicast groups and clone sessions with small numbers, which small fields name.
fn replication(random: &mut Pcg64Mcg) -> Vec<Statement> {
    let mut setup = Vec::new();
    for group in 1..=4 {
        setup.push(Statement::GroupCreate(group));
        // One node, each port once: BMv2 orders copies of one port in its own way.
        let ports = (0..PORTS).filter(|_| random.random_bool(0.3)).chain([PORTS]).collect();
        setup.push(Statement::NodeCreate {
            instance: random.random_range(0..100),
            ports,
        });
        setup.push(Statement::NodeAssociate { group, node: group - 1 });
    }
    for session in 1..=4 {
        setup.push(Statement::MirroringAdd {
            session,
            port: random.random_range(0..PORTS),
        });
    }
    setup
}

fn number(bits: &[bool]) -> Number {
    let padding = bits.len().div_ceil(8) * 8 - bits.len();
    let padded: Vec<bool> = std::iter::repeat_n(false, padding)
        .chain(bits.iter().copied())
        .collect();
    let bytes = padded
        .chunks(8)
        .map(|byte| byte.iter().fold(0u8, |acc, &bit| acc << 1 | u8::from(bit)));
    Number {
        value: bytes.skip_while(|&byte| byte == 0).collect(),
        mask: None,
        written_bits: None,
    }
}

fn small(width: usize, random: &mut Pcg64Mcg) -> BitString {
    let value = random.random_range(0..8u32);
    (0..width).rev().map(|bit| bit < 32 && value >> bit & 1 == 1).collect()
}

/// Often small, sometimes at an end of the range, else anything.
fn value(width: usize, random: &mut Pcg64Mcg) -> BitString {
    match random.random_range(0..10) {
        0..6 => small(width, random),
        6 => vec![true; width],
        _ => (0..width).map(|_| random.random()).collect(),
    }
}

fn entry(table: &Table, id: String, pools: &mut Pools, random: &mut Pcg64Mcg) -> Option<Statement> {
    let mut key = Vec::new();
    for part in &table.key {
        let bits = value(part.width, random);
        if let Some(field) = &part.field {
            pools.entry(field.clone()).or_default().push(bits.clone());
        }
        key.extend(key_match(part, bits, random).map(|value| (part.name.clone(), value)));
    }
    let action = call(table.actions.choose(random)?, random);
    let most = if table.has_selector { MAX_CHOICES } else { 0 };
    let others = (0..random.random_range(0..=most))
        .filter_map(|_| Some(call(table.actions.choose(random)?, random)))
        .collect();
    Some(Statement::Add {
        table: table.name.clone(),
        // Different priorities: which of equals wins is not specified.
        priority: Some(random.random_range(0..1_000_000)),
        key,
        action,
        others,
        id: Some(id),
    })
}

fn call(action: &Action, random: &mut Pcg64Mcg) -> Call {
    let args = action
        .params
        .iter()
        .map(|(name, width)| (name.clone(), number(&value(*width, random))));
    Call {
        action: action.name.clone(),
        args: args.collect(),
    }
}

/// Rates with which the color depends neither on time nor on earlier packets: nothing passes a bucket that is empty, and
/// everything one that holds more than all packets of a case.
fn meter_rates(meter: &str, size: u64, random: &mut Pcg64Mcg) -> Option<Statement> {
    let empty = Rate {
        per_second: 0,
        burst: 0,
    };
    let ample = Rate {
        per_second: 1_000_000_000,
        burst: 1_000_000_000,
    };
    let rates = *[[empty, empty], [empty, ample], [ample, ample]].choose(random)?;
    Some(Statement::MeterSetRates {
        meter: meter.to_owned(),
        index: Some(random.random_range(0..size.clamp(1, 8)) as u32),
        rates,
    })
}

/// `None` leaves the field out: "don't care".
fn key_match(part: &Key, bits: BitString, random: &mut Pcg64Mcg) -> Option<Match> {
    let width = part.width;
    match part.kind {
        MatchType::Lpm => Some(Match::Prefix(number(&bits), random.random_range(0..=width) as u32)),
        MatchType::Ternary => match random.random_range(0..4) {
            0 => None,
            1 => {
                let mask: BitString = (0..width).map(|_| random.random()).collect();
                Some(Match::Masked(number(&bits), number(&mask)))
            }
            _ => Some(Match::Number(number(&bits))),
        },
        MatchType::Range => {
            let other = value(width, random);
            let (low, high) = if bits <= other { (bits, other) } else { (other, bits) };
            Some(Match::Range(number(&low), number(&high)))
        }
        MatchType::Optional => random.random_bool(0.7).then(|| Match::Number(number(&bits))),
        MatchType::Exact | MatchType::Unspecified => Some(Match::Number(number(&bits))),
    }
}

/// An extracted header: its name, and names and bits of its fields.
type Extracted<'a> = (&'a str, Vec<(&'a str, BitString)>);

/// Walks through the parser, takes transitions at random, and fills in what they want.
fn frame(model: &Model, pools: &Pools, random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut headers: Vec<Extracted> = Vec::new();
    let mut next = Some(model.start.as_str());
    for _ in 0..MAX_STATES {
        let Some(state) = next.and_then(|name| model.states.get(name)) else {
            break;
        };
        for name in &state.extracts {
            let Some(fields) = model.headers.get(name) else {
                continue;
            };
            let fill = |(field, width): &'_ (String, usize), random: &mut Pcg64Mcg| {
                let pool = pools.get(&(name.clone(), field.clone()));
                match pool
                    .and_then(|pool| pool.choose(random))
                    .filter(|_| random.random_bool(0.7))
                {
                    Some(known) => known.clone(),
                    None => match model.constants.choose(random).filter(|_| random.random_bool(0.3)) {
                        Some(&constant) => (0..*width)
                            .rev()
                            .map(|bit| bit < 64 && constant >> bit & 1 == 1)
                            .collect(),
                        None => value(*width, random),
                    },
                }
            };
            let fields = fields
                .iter()
                .map(|field| (field.0.as_str(), fill(field, random)))
                .collect();
            headers.push((name, fields));
        }
        let Some(transition) = state.transitions.choose(random) else {
            break;
        };
        for (part, (value, mask)) in state.key.iter().zip(&transition.parts) {
            if let Some(field) = part {
                set(&mut headers, field, value, mask);
            }
        }
        let Transition { next: chosen, .. } = transition;
        next = chosen.as_deref();
    }
    let bits: BitString = headers
        .into_iter()
        .flat_map(|(_, fields)| fields)
        .flat_map(|(_, bits)| bits)
        .collect();
    let mut bytes: Vec<u8> = bits
        .chunks(8)
        .map(|byte| byte.iter().fold(0, |acc, &bit| acc << 1 | u8::from(bit)))
        .collect();
    bytes.extend((0..random.random_range(0..MAX_PAYLOAD)).map(|_| random.random::<u8>()));
    if bytes.is_empty() {
        bytes.push(random.random());
    }
    bytes
}

/// Sets a field of the last header of that name.
fn set(headers: &mut [Extracted], (header, field): &FieldName, value: &[bool], mask: &[bool]) {
    let Some((_, fields)) = headers.iter_mut().rev().find(|(name, _)| name == header) else {
        return;
    };
    let Some((_, bits)) = fields.iter_mut().find(|(name, _)| name == field) else {
        return;
    };
    for ((bit, value), mask) in bits.iter_mut().zip(value).zip(mask) {
        if *mask {
            *bit = *value;
        }
    }
}
