// SPDX-License-Identifier: Apache-2.0
//! Makes a case that differs small.

use crate::generate::Case;
use crate::{Pair, Verdict};

/// Most runs that are spent on it: each starts a switch.
const MAX_RUNS: usize = 100;

/// The same kind of difference with as few packets and statements as possible. `at`: the packet that differs.
pub async fn shrink(pair: &Pair, mut case: Case, at: usize) -> Case {
    case.packets.truncate(at + 1);
    let mut runs = 0;
    let last = case.packets.len().saturating_sub(1);
    let alone = Case {
        packets: case.packets.split_off(last),
        setup: case.setup.clone(),
    };
    if differs(pair, &alone, &mut runs).await {
        case = alone;
    } else {
        case.packets.extend(alone.packets);
        reduce(
            pair,
            &mut case,
            &mut runs,
            |case| case.packets.len(),
            |case, range| drop(case.packets.drain(range)),
        )
        .await;
    }
    reduce(
        pair,
        &mut case,
        &mut runs,
        |case| case.setup.len(),
        |case, range| drop(case.setup.drain(range)),
    )
    .await;
    case
}

async fn differs(pair: &Pair, case: &Case, runs: &mut usize) -> bool {
    *runs += 1;
    *runs <= MAX_RUNS && matches!(pair.run(case).await, Ok(Verdict::Differs { .. }))
}

/// Takes away ever smaller pieces as long as the rest differs.
async fn reduce(
    pair: &Pair,
    case: &mut Case,
    runs: &mut usize,
    length: impl Fn(&Case) -> usize,
    remove: impl Fn(&mut Case, std::ops::Range<usize>),
) {
    let mut size = length(case).div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < length(case) {
            let mut fewer = case.clone();
            remove(&mut fewer, start..(start + size).min(length(case)));
            if differs(pair, &fewer, runs).await {
                *case = fewer;
            } else {
                start += size;
            }
        }
        size /= 2;
    }
}
