// SPDX-License-Identifier: Apache-2.0
//! Packets per second of both executors, one core, in memory, and of BMv2's `simple_switch` if it is on the PATH:
//! `cargo bench -p slotwise-p4`.
//!
//! Packets per second are of processor time (Linux; elsewhere of elapsed time), so that other work on the machine
//! counts less. The bench fails if a packet takes memory from the heap after warm-up, or if 100,000 entries take
//! more than 100 MB. It compares with the figures in `baseline.json`; `SAVE=1` writes new ones there. `PACKETS=n` sets
//! how many packets each case runs, `FILTER=text` runs only the cases with that in their name.

mod bmv2;
mod cases;
mod edge;
mod record;

use cases::Case;
use record::{Record, processor_time};
use slotwise_p4::{Executor, Output, Port};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Most bytes that a switch with 100,000 entries may take.
const MAX_HEAP_BYTES: u64 = 100_000_000;

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Default)]
struct Sink {
    packets: u64,
    bytes: u64,
}

impl Output for Sink {
    fn packet(&mut self, _port: Port, frame: &[u8]) {
        self.packets += 1;
        self.bytes += frame.len() as u64;
    }
}

fn allocations_until_now() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// The packets per second of a case on one executor.
fn measure(case: &Case, executor: Executor, total: u64) -> f64 {
    const WARM_UP: u64 = 10_000;
    let heap = LIVE_BYTES.load(Ordering::Relaxed);
    let start = Instant::now();
    let mut pipeline = case.pipeline(executor);
    let made = start.elapsed();
    let heap = LIVE_BYTES.load(Ordering::Relaxed) - heap;
    let mut sink = Sink::default();
    let mut run = |packets: u64, start_ns: u64| {
        for i in 0..packets {
            let (port, frame) = &case.frames[i as usize % case.frames.len()];
            pipeline.process(
                slotwise_units::Instant::from_ns(start_ns + i * 1000),
                *port,
                frame,
                &mut sink,
            );
        }
    };
    run(WARM_UP, 0);
    let start = Instant::now();
    let before = processor_time(start);
    let allocations = allocations_until_now();
    run(total, WARM_UP * 1000);
    let allocations = allocations_until_now() - allocations;
    let elapsed = processor_time(start) - before;
    let rate = total as f64 / elapsed.as_secs_f64();
    println!(
        "  {:<12} {rate:>10.0} packets/s {:>7.1} ns/packet; {} packets and {} bytes out; {:.1} MB of heap, made in {made:.1?}",
        format!("{executor:?}").to_lowercase(),
        1e9 / rate,
        sink.packets,
        sink.bytes,
        heap as f64 / 1e6,
    );
    assert_eq!(allocations, 0, "allocations after warm-up in `{}`", case.name);
    assert!(heap < MAX_HEAP_BYTES, "{heap} bytes of heap in `{}`", case.name);
    rate
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}")),
    )
}

fn main() {
    let packets = setting("PACKETS").unwrap_or(2_000_000);
    let filter = std::env::var("FILTER").unwrap_or_default();
    let mut record = Record::open(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/throughput/baseline.json"));
    for case in cases::all().iter().filter(|case| case.name.contains(&filter)) {
        println!("{}", case.name);
        let interpreter = measure(case, Executor::Interpreter, packets);
        record.add(case.name, "interpreter", interpreter);
        let jit = measure(case, Executor::Jit, packets);
        record.add(case.name, "jit", jit);
        if case.with_peer {
            match bmv2::measure(case) {
                Ok(Some(peer)) => {
                    println!(
                        "  simple_switch {:>9.0} packets/s of its busiest thread, {:.0} of one core, {:.0} of elapsed \
                         time; {} of {} packets out",
                        peer.busiest_thread, peer.one_core, peer.elapsed, peer.packets_out, peer.packets_in
                    );
                    println!(
                        "  of its busiest thread: interpreter x {:.0}, JIT x {:.0}",
                        interpreter / peer.busiest_thread,
                        jit / peer.busiest_thread
                    );
                    record.add(case.name, "simple_switch busiest thread", peer.busiest_thread);
                    record.add(case.name, "simple_switch one core", peer.one_core);
                }
                Ok(None) => println!("  simple_switch is not on the PATH"),
                Err(error) => println!("  simple_switch: {error}"),
            }
        }
    }
    record.finish();
}
