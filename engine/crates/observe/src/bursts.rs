// SPDX-License-Identifier: Apache-2.0
//! Bursts at optical packet switches by outcome, from the counters of P4.

use crate::Table;
use serde::{Deserialize, Serialize};

use crate::series::{link_column, link_count};
use crate::summary::line;

/// Bursts that arrived at a switch by outcome, one number per period.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwitchBursts {
    /// Name of the switch.
    pub switch: String,
    /// Forwarded at once on the preferred fibre.
    pub forwarded: Vec<u64>,
    /// Forwarded on it after buffering in optical RAM.
    pub buffered: Vec<u64>,
    /// Forwarded on it after wavelength conversion.
    pub converted: Vec<u64>,
    /// Deflected to another fibre.
    pub deflected: Vec<u64>,
    /// Blocked, and so lost.
    pub blocked: Vec<u64>,
}

/// Returns the series of the rows of all switches, which are by period, then by switch.
pub fn of(switches: &Table) -> Vec<SwitchBursts> {
    let each = (0..link_count(switches)).map(|switch| {
        let column = |name| {
            let numbers = link_column(switches, name, switch).into_iter();
            numbers.map(|number| number as u64).collect()
        };
        SwitchBursts {
            switch: switches.names[switch].clone(),
            forwarded: column("forwarded"),
            buffered: column("buffered"),
            converted: column("converted"),
            deflected: column("deflected"),
            blocked: column("blocked"),
        }
    });
    each.collect()
}

/// Returns the line on bursts by outcome, and on the switch that blocked most; empty without optical packet switches.
pub fn summary(switches: &[SwitchBursts]) -> String {
    let total = |of: fn(&SwitchBursts) -> &Vec<u64>| -> u64 { switches.iter().flat_map(of).sum() };
    let outcomes = [
        ("forwarded", total(|it| &it.forwarded)),
        ("buffered", total(|it| &it.buffered)),
        ("converted", total(|it| &it.converted)),
        ("deflected", total(|it| &it.deflected)),
    ];
    let blocked = total(|it| &it.blocked);
    let all = outcomes.iter().map(|(_, count)| count).sum::<u64>() + blocked;
    if all == 0 {
        return String::new();
    }
    let counts = outcomes.iter().filter(|(_, count)| *count > 0);
    let mut counts: Vec<String> = counts.map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let blocked_at = |it: &SwitchBursts| it.blocked.iter().sum::<u64>();
    let worst = switches.iter().max_by_key(|it| blocked_at(it));
    counts.push(match worst.filter(|it| blocked_at(it) > 0) {
        Some(worst) => {
            let percent = 100.0 * blocked as f64 / all as f64;
            format!(
                "{blocked} blocked (lost; {percent:.2} %; {}: {})",
                worst.switch,
                blocked_at(worst)
            )
        }
        None => "0 blocked".to_owned(),
    });
    line("bursts", format!("{all} at switches: {}", counts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TableName;

    fn switch(name: &str, forwarded: u64, blocked: u64) -> SwitchBursts {
        SwitchBursts {
            switch: name.to_owned(),
            forwarded: vec![forwarded, 1],
            blocked: vec![blocked, 0],
            ..SwitchBursts::default()
        }
    }

    #[test]
    fn bursts_are_counted_by_outcome_with_the_switch_that_blocked_most() {
        let switches = [switch("s0", 10, 2), switch("s1", 20, 5)];
        assert_eq!(
            summary(&switches),
            "  bursts        39 at switches: 32 forwarded, 7 blocked (lost; 17.95 %; s1: 5)\n"
        );
        assert_eq!(
            summary(&[switch("s0", 10, 0)]),
            "  bursts        11 at switches: 11 forwarded, 0 blocked\n"
        );
        assert_eq!(summary(&[]), "", "without optical packet switches");
    }

    #[test]
    fn rows_are_sorted_out_by_switch() {
        let mut table = TableName::Switches.empty();
        for (name, forwarded, deflected) in [("s0", 1.0, 0.0), ("s1", 2.0, 3.0), ("s0", 4.0, 0.0), ("s1", 5.0, 6.0)] {
            table.names.push(name.to_owned());
            for numbers in &mut table.numbers {
                numbers.push(0.0);
            }
            for (column, number) in [("forwarded", forwarded), ("deflected", deflected)] {
                let column = table.column(column).expect("switches have it");
                *table.numbers[column].last_mut().expect("it was pushed") = number;
            }
        }
        let found = of(&table);
        assert_eq!(found.len(), 2);
        assert_eq!((&found[1].switch[..], &found[1].forwarded[..]), ("s1", &[2, 5][..]));
        assert_eq!(found[1].deflected, [3, 6]);
        assert_eq!(found[0].deflected, [0, 0]);
    }
}
