// SPDX-License-Identifier: Apache-2.0
//! Repetition of flows: receivers by their place behind the sender, `to: +1 +3`; combinations of senders and receivers, `pairs`; starts one
//! after the other, `start: 5 s, every: 500 ms`.

use slotwise_wire::limits::DURATION_MS;

use super::{Column, Unfolding};
use crate::defaults::name_by_ends;
use crate::doc::Doc;
use crate::reader::{Fields, Reader, shortened};
use crate::spelling::is_spelling;

/// Combinations of senders and receivers of an entry: more than the flows of a scenario.
pub(super) const MAX_FLOWS: u64 = 1_000_000;
const PAIRS: [(&str, Pairs); 4] = [
    ("same", Pairs::Same),
    ("each", Pairs::Each),
    ("all", Pairs::All),
    ("permutation", Pairs::Permutation),
];

/// Combination of senders and receivers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pairs {
    /// The first sender with the first receiver, the second with the second, and so on.
    Same,
    /// Each sender with each receiver but itself.
    Each,
    /// Each sender with all other senders.
    All,
    /// Each sender with one other, so that each receives once; drawn from the seed.
    Permutation,
}

/// Names of host groups, in the order of the file.
struct Groups(Vec<String>);

impl Groups {
    fn of(doc: &Doc) -> Groups {
        let hosts = doc.get("hosts");
        let listed = hosts.and_then(|hosts| hosts.as_list().or_else(|| hosts.get("groups")?.as_list()));
        let names = listed.unwrap_or_default().iter();
        Groups(
            names
                .filter_map(|group| group.get("name")?.as_written().map(str::to_owned))
                .collect(),
        )
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|group| group == name)
    }
}

impl Unfolding<'_> {
    pub(super) fn flows(&mut self, doc: &mut Doc) {
        let groups = Groups::of(doc);
        let seed = doc.get("seed").and_then(Doc::as_u64).unwrap_or(1);
        let Some(value) = doc.get_mut("flows") else { return };
        let Some(entries) = value.as_list() else { return };
        let mut unfolded = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let place = format!("/flows/{index}");
            let Some(columns) = self.flow_columns(entry, &place, &groups, seed.wrapping_add(index as u64)) else {
                continue;
            };
            let mut one = entry.clone();
            if !columns.is_empty() {
                one.remove(|key| key == "pairs" || is_spelling(key, "every_ms"));
                one.remove(|key| is_spelling(key, "start_ms") && columns.iter().any(|column| column.key == "start_ms"));
                if one.get("name").is_none() {
                    one.set("name", Doc::scalar("{from}-{to}".to_owned(), entry.line()));
                }
            }
            unfolded.extend(self.unfolded(&one, &columns, &place, |name| groups.place(name)));
        }
        unfolded.iter_mut().for_each(name_by_ends);
        *value = Doc::list(unfolded, value.line());
    }

    /// Columns of an entry of flows; `None` if something is wrong with them, which is reported.
    fn flow_columns(&mut self, entry: &Doc, place: &str, groups: &Groups, seed: u64) -> Option<Vec<Column>> {
        let is_read_here = |key: &str| ["from", "to", "pairs"].contains(&key) || is_spelling(key, "every_ms");
        let mut columns = self.columns(entry, place, is_read_here);
        let before = self.r.problems.len();
        let ends = match entry.get("pairs") {
            Some(pairs) if pairs.is_mapping() => self.weighted_ends(entry, place, seed).map(|(ends, column)| {
                columns.push(column);
                ends
            }),
            _ => self.ends(entry, place, groups, seed),
        };
        if let Some(ends) = ends {
            let (senders, receivers): (Vec<Doc>, Vec<Doc>) = ends.into_iter().unzip();
            for (key, values) in [("from", senders), ("to", receivers)] {
                let key = key.to_owned();
                columns.insert(0, Column { key, values });
            }
        }
        let has_every = entry.as_mapping().is_some_and(|mapping| {
            let mut keys = mapping.keys().filter_map(Doc::as_str);
            keys.any(|key| is_spelling(key, "every_ms"))
        });
        if has_every {
            let count = columns.first().map_or(1, |column| column.values.len());
            columns.push(self.starts(entry, place, count));
        }
        (self.r.problems.len() == before).then_some(columns)
    }

    /// Starts of so many flows, `every` after each other.
    fn starts(&mut self, entry: &Doc, place: &str, count: usize) -> Column {
        let mut reader = Reader::default();
        let fields = Fields::of(entry, place.to_owned());
        let most = 0..=*DURATION_MS.end();
        let start = reader.optional_integer(&fields, "start_ms", most.clone()).unwrap_or(0);
        let every = reader.optional_integer(&fields, "every_ms", most).unwrap_or(0);
        for mut problem in reader.problems {
            problem.line = Some(entry.line());
            self.r.problems.push(problem);
        }
        let start = |index: u64| Doc::scalar((start + index * every).to_string(), entry.line());
        Column {
            key: "start_ms".to_owned(),
            values: (0..count as u64).map(start).collect(),
        }
    }

    /// Sender and receiver of each flow with weights of pairs.
    fn weighted_ends(&mut self, entry: &Doc, place: &str, seed: u64) -> Option<(Vec<(Doc, Doc)>, Column)> {
        let ends = |unfolding: &mut Self, key: &str| {
            let value = entry.get(key)?;
            let names = unfolding.sequence(value, &format!("{place}/{key}"));
            Some(names.unwrap_or_else(|| vec![value.clone()]))
        };
        // A missing sender is reported by the reader.
        let senders = ends(self, "from")?;
        let receivers = ends(self, "to");
        self.weighted(entry, place, &senders, receivers.as_deref(), seed)
    }

    /// Sender and receiver of each flow; `None` if the entry names one of each, or something is wrong, which is reported.
    fn ends(&mut self, entry: &Doc, place: &str, groups: &Groups, seed: u64) -> Option<Vec<(Doc, Doc)>> {
        let (from_place, to_place) = (format!("{place}/from"), format!("{place}/to"));
        let (from, to) = (entry.get("from"), entry.get("to"));
        let pairs = self.pairs(entry, place)?;
        let behind = to.and_then(|to| offsets(to.as_written()?));
        let senders = from.and_then(|from| self.sequence(from, &from_place));
        let receivers = to.and_then(|to| self.sequence(to, &to_place));
        if senders.is_none() && receivers.is_none() && behind.is_none() && pairs.is_none() {
            return None;
        }
        // Missing ends are reported by the reader.
        let senders = senders.or_else(|| Some(vec![from?.clone()]))?;
        let others = behind
            .as_ref()
            .map(Vec::len)
            .or_else(|| receivers.as_ref().map(Vec::len));
        let others = others.unwrap_or(senders.len()) as u64;
        if senders.len() as u64 * others > MAX_FLOWS {
            let expected = format!("senders and receivers in at most {MAX_FLOWS} combinations");
            self.report(entry, from_place, "too many flows".to_owned(), expected);
            return None;
        }
        if let (Some(to), Some(behind)) = (to, behind) {
            if pairs.is_some() {
                let reason = "'pairs' given with places behind the sender".to_owned();
                self.report(entry, format!("{place}/pairs"), reason, "one of the two");
            }
            return self.behind(&senders, to, &behind, groups, &from_place);
        }
        let pairs = pairs.unwrap_or(Pairs::Same);
        if matches!(pairs, Pairs::All | Pairs::Permutation) {
            if to.is_some() || senders.len() < 2 {
                let expected = "no 'to', and several senders under 'from'";
                self.report(entry, to_place, "receivers are the other senders".to_owned(), expected);
                return None;
            }
            return Some(among(&senders, pairs, seed));
        }
        let is_one = receivers.is_none();
        let receivers = receivers.or_else(|| Some(vec![to?.clone()]))?;
        if pairs == Pairs::Each {
            return Some(each(&senders, &receivers));
        }
        match (senders.len(), receivers.len()) {
            (_, 1) if is_one => Some(
                senders
                    .into_iter()
                    .map(|sender| (sender, receivers[0].clone()))
                    .collect(),
            ),
            (1, _) => Some(
                receivers
                    .into_iter()
                    .map(|receiver| (senders[0].clone(), receiver))
                    .collect(),
            ),
            (one, other) if one == other => Some(senders.into_iter().zip(receivers).collect()),
            (one, other) => {
                let reason = format!("{other} elements under 'to', {one} under 'from'");
                let expected = "lists of one length in an entry, or 'pairs: each'";
                self.report(entry, to_place, reason, expected);
                None
            }
        }
    }

    fn pairs(&mut self, entry: &Doc, place: &str) -> Option<Option<Pairs>> {
        let Some(value) = entry.get("pairs") else {
            return Some(None);
        };
        let found = PAIRS.iter().find(|(name, _)| value.as_str() == Some(name));
        if found.is_none() {
            let names = PAIRS.map(|(name, _)| name).join(" or ");
            let names = format!("{names}, or weights such as {{skew: 0.5}}");
            self.report(
                value,
                format!("{place}/pairs"),
                format!("found {}", value.describe()),
                names,
            );
        }
        found.map(|(_, pairs)| Some(*pairs))
    }

    /// Each sender with the groups that are so many places behind it, round.
    fn behind(
        &mut self,
        senders: &[Doc],
        to: &Doc,
        behind: &[usize],
        groups: &Groups,
        place: &str,
    ) -> Option<Vec<(Doc, Doc)>> {
        let mut ends = Vec::with_capacity(senders.len() * behind.len());
        for sender in senders {
            let Some(own) = sender.as_written().and_then(|name| groups.place(name)) else {
                let expected = format!("the name of a group of hosts: {}", shortened(&groups.0));
                self.report(
                    sender,
                    place.to_owned(),
                    format!("found {}", sender.describe()),
                    expected,
                );
                return None;
            };
            for behind in behind {
                let name = groups.0[(own + behind) % groups.0.len()].clone();
                ends.push((sender.clone(), Doc::scalar(name, to.line())));
            }
        }
        Some(ends)
    }
}

/// Places of `+1 +3 +5`; `None` for other texts.
fn offsets(text: &str) -> Option<Vec<usize>> {
    let place = |word: &str| word.strip_prefix('+')?.parse::<u16>().ok().map(usize::from);
    let places: Option<Vec<usize>> = text.split_ascii_whitespace().map(place).collect();
    places.filter(|places| !places.is_empty())
}

fn each(senders: &[Doc], receivers: &[Doc]) -> Vec<(Doc, Doc)> {
    let to_each = |sender: &Doc| {
        let others = receivers
            .iter()
            .filter(|receiver| receiver.as_written() != sender.as_written());
        others
            .map(|receiver| (sender.clone(), receiver.clone()))
            .collect::<Vec<_>>()
    };
    senders.iter().flat_map(to_each).collect()
}

fn among(senders: &[Doc], pairs: Pairs, seed: u64) -> Vec<(Doc, Doc)> {
    if pairs == Pairs::All {
        return each(senders, senders);
    }
    let receivers = permutation(senders.len(), seed);
    let pair = |(sender, receiver): (&Doc, usize)| (sender.clone(), senders[receiver].clone());
    senders.iter().zip(receivers).map(pair).collect()
}

/// Receiver of each of so many senders: one cycle through all of them (Sattolo), so none receives from itself.
pub(super) fn permutation(count: usize, seed: u64) -> Vec<usize> {
    let mut receivers: Vec<usize> = (0..count).collect();
    let mut random = seed;
    for last in (1..count).rev() {
        receivers.swap(last, (split_mix(&mut random) % last as u64) as usize);
    }
    receivers
}

/// The next number of SplitMix64.
pub(super) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
