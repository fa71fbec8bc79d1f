// SPDX-License-Identifier: Apache-2.0
//! Faults by seed: either end of a transfer killed in the middle of it, and what controls it lost, doubled, late or corrupted. Each time the
//! transfer goes on from what was noted, and the file comes whole.

mod world;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use slotwise_gtp::{Digest, Event, Node, Verdict};

use slotwise_units::Bytes;
use world::{Harm, SECOND, World, at, config, file, key, place};

/// What is noted for good of a file that is being received, as the command does each 16 MiB.
const NOTED_BYTES: usize = 16_384;
/// What controls a transfer is shorter; full packets of a file are not.
const CONTROL_BYTES: usize = 300;

/// What happened in a transfer.
#[derive(Debug, Default)]
struct Story {
    receivers_killed: u32,
    daemons_killed: u32,
    resumed: u32,
    harmed: Harm,
}

/// Node 2 gets a file from node 1 through all that, and compares it.
fn transfer(seed: u64, harm: Harm) -> Story {
    let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0xfa17);
    let original = file(150_000 + random.random_range(0..150_000), seed);
    let entry = (Bytes::of(original.len()), Digest([3; 32]));
    let mut world = World::new(&[key(1), key(1)], harm, seed);
    let mut noted: Vec<u8> = Vec::new();
    let mut kills_at: Vec<usize> = (0..random.random_range(1..4))
        .map(|_| random.random_range(1..original.len()))
        .collect();
    kills_at.sort_unstable_by(|a, b| b.cmp(a));
    let mut story = Story::default();
    let mut restarts: u8 = 10;
    'again: loop {
        let (now, nonce) = (world.now, random.random());
        let offset = noted.len() as u64;
        let channel = world.node(2).connect(now, place(1), nonce);
        let mut own = None;
        story.resumed += u32::from(offset > 0);
        loop {
            assert!(world.step(at(3600 * SECOND)), "seed {seed}: it stands still, {story:?}");
            world.settle();
            for (at, event) in std::mem::take(&mut world.events) {
                let now = world.now;
                match event {
                    Event::Opened(opened) if at == place(2) && opened == channel => {
                        own = world.node(2).get(now, channel, "a/file").ok();
                    }
                    // Who asked may be gone since.
                    Event::Wanted { id, .. } => drop(world.node(1).offer(id, entry, original.clone())),
                    Event::Offered { id, .. } if Some(id) == own => {
                        world.node(2).take(now, id, offset, Vec::new()).unwrap();
                    }
                    Event::Received(id) if Some(id) == own => {
                        let came = world.node(2).content(id).unwrap();
                        noted.truncate(offset as usize);
                        noted.extend_from_slice(&came[offset as usize..]);
                        assert!(noted == original, "seed {seed}, {story:?}");
                        world.node(2).conclude(now, id, Verdict::Whole).unwrap();
                        story.harmed = world.harmed;
                        return story;
                    }
                    Event::Lost { channel: lost, .. } if at == place(2) && lost == channel => continue 'again,
                    _ => {}
                }
            }
            let Some(id) = own else {
                continue;
            };
            let Some(sink) = world.node(2).transfer_stats(id).sink else {
                continue;
            };
            let here = offset as usize + sink.in_order.get() as usize;
            if here >= noted.len() + NOTED_BYTES {
                let came = world.node(2).content(id).unwrap();
                let from = noted.len();
                noted.extend_from_slice(&came[from..here]);
            }
            if kills_at.last().is_some_and(|at| here >= *at) {
                kills_at.pop();
                restarts += 1;
                let killed = if random.random() { 1 } else { 2 };
                let anew = Node::new(&config(killed == 1, restarts), key(1)).unwrap();
                world.nodes.insert(place(killed), anew);
                if killed == 2 {
                    story.receivers_killed += 1;
                    continue 'again;
                }
                story.daemons_killed += 1;
            }
        }
    }
}

/// Seeds of a run in the tests; `SLOTWISE_SOAK=N` for more.
fn seeds() -> u64 {
    let asked = std::env::var("SLOTWISE_SOAK");
    asked.map_or(24, |asked| asked.parse().expect("SLOTWISE_SOAK is a number"))
}

fn soak(harm: impl Fn(u64) -> Harm) {
    let stories: Vec<Story> = (0..seeds()).map(|seed| transfer(seed, harm(seed))).collect();
    let sum = |of: fn(&Story) -> u32| stories.iter().map(of).sum::<u32>();
    let killed = sum(|story| story.receivers_killed).min(sum(|story| story.daemons_killed));
    assert!(killed > 0 && sum(|story| story.resumed) > 0, "nothing happened");
    println!(
        "{} transfers: {} receivers and {} daemons killed, {} times resumed; lost {}, doubled {}, late {}, corrupted {}",
        stories.len(),
        sum(|story| story.receivers_killed),
        sum(|story| story.daemons_killed),
        sum(|story| story.resumed),
        sum(|story| story.harmed.lost),
        sum(|story| story.harmed.doubled),
        sum(|story| story.harmed.late),
        sum(|story| story.harmed.corrupted),
    );
}

#[test]
fn files_come_whole_whoever_is_killed_and_whatever_control_is_lost() {
    soak(|seed| Harm {
        lost: [50, 200, 0, 300][seed as usize % 4],
        doubled: [100, 0, 300, 50][seed as usize % 4],
        late: 200,
        corrupted: [0, 100, 50, 20][seed as usize % 4],
        most_bytes: CONTROL_BYTES,
    });
}

#[test]
fn files_come_whole_whoever_is_killed_and_whatever_is_harmed() {
    soak(|seed| Harm {
        lost: [10, 50, 100, 150][seed as usize % 4],
        doubled: 50,
        late: 100,
        corrupted: [100, 20, 0, 50][seed as usize % 4],
        most_bytes: 0,
    });
}
