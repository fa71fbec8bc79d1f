// SPDX-License-Identifier: Apache-2.0
//! Packets per second of the interpreter, one core, in memory: `cargo bench -p slotwise-p4`.
//!
//! Prints packets per second of processor time (Linux; elsewhere of elapsed time), nanoseconds a packet, and heap
//! allocations a packet after warm-up. Checks nothing. `PACKETS=n` sets how many packets each case runs.

use slotwise_p4::{
    ActionCall, Executor, KeyField, Output, Pipeline, PipelineConfig, Port, Program, TableEntry, TimestampUnit,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
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

/// A pipeline of a compiled program; the path is from the crate on.
fn load(path: &str, executor: Executor) -> Pipeline {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let program = Program::from_json(&json).unwrap_or_else(|error| panic!("{path}: {error}"));
    let config = PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
    };
    let start = Instant::now();
    let p = Pipeline::with_executor(Arc::new(program), config, executor);
    println!("made in {:?}", start.elapsed());
    p
}

fn call(name: &str, args: &[u64]) -> ActionCall {
    ActionCall {
        name: name.to_owned(),
        args: args.iter().map(|a| a.to_be_bytes().to_vec()).collect(),
    }
}

fn insert(pipeline: &mut Pipeline, table: &str, key: Vec<KeyField>, action: ActionCall) {
    pipeline
        .table_insert(
            table,
            TableEntry {
                key,
                priority: 0,
                action,
            },
        )
        .expect("the entry fits the table");
}

fn exact(value: u64) -> KeyField {
    KeyField::Exact(value.to_be_bytes().to_vec())
}

/// An IPv4/UDP frame of 64 bytes to `dst`.
fn ipv4_frame(dst: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 50, 0, 1, 0, 0, 64, 17, 0x12, 0x34, 10, 0, 0, 1]);
    frame.extend(dst);
    frame.extend([0x30, 0x39, 0x14, 0x51, 0, 30, 0, 0]);
    frame.resize(64, 0);
    frame
}

/// Processor time of this process: other work on the machine does not count.
fn processor_time(start: Instant) -> Duration {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = schedstat.and_then(|s| s.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

fn measure(name: &str, pipeline: &mut Pipeline, inputs: &[(Port, Vec<u8>)]) {
    const WARM_UP: u64 = 10_000;
    let total = std::env::var("PACKETS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2_000_000u64);
    let mut sink = Sink::default();
    let mut run = |packets: u64, start_ns: u64| {
        for i in 0..packets {
            let (port, frame) = &inputs[i as usize % inputs.len()];
            pipeline.process(start_ns + i * 1000, *port, frame, &mut sink);
        }
    };
    run(WARM_UP, 0);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    let start = Instant::now();
    let before = processor_time(start);
    run(total, WARM_UP * 1000);
    let elapsed = processor_time(start) - before;
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    println!(
        "{name:<28} {:>10.0} packets/s {:>7.1} ns/packet {:>6.3} allocations/packet, {} packets and {} bytes out",
        total as f64 / elapsed.as_secs_f64(),
        elapsed.as_nanos() as f64 / total as f64,
        allocations as f64 / total as f64,
        sink.packets,
        sink.bytes
    );
}

/// The first address of a route, and its length: its number in the leading 17 bits, so that all are different.
fn route(number: u32) -> (u32, u32) {
    (number << 15, [24, 17, 20, 28, 32][number as usize % 5])
}

/// A router with so many routes of 17 to 32 bits, and access-list entries of 16 masks that match nothing sent.
fn router(routes: u32, access_list: u32, executor: Executor) -> Pipeline {
    let mut pipeline = load("tests/programs/router.json", executor);
    for number in 0..routes {
        let (address, prefix_len) = route(number);
        let key = KeyField::Lpm {
            value: address.to_be_bytes().to_vec(),
            prefix_len,
        };
        let forward = call("TestIngress.forward", &[u64::from(number % 64), 2]);
        insert(&mut pipeline, "TestIngress.routes", vec![key], forward);
    }
    for i in 0..access_list {
        let mask = u32::MAX << (i % 16);
        let ternary = |value: u32, mask: u32| KeyField::Ternary {
            value: (value & mask).to_be_bytes().to_vec(),
            mask: mask.to_be_bytes().to_vec(),
        };
        let key = vec![ternary(0xe000_0000 | i << 16, mask), ternary(0, 0), ternary(17, 0xff)];
        let entry = TableEntry {
            key,
            priority: i as i32 + 1,
            action: call("TestIngress.drop", &[]),
        };
        pipeline
            .table_insert("TestIngress.access_list", entry)
            .expect("the entry fits the table");
    }
    pipeline
}

fn main() {
    run_all(Executor::Interpreter);
    run_all(Executor::Jit);
}
fn run_all(executor: Executor) {
    let mut edge = load("../../../p4src/p4c-out/edge.json", executor);
    let params = call(
        "EdgeIngress.set_edge_params",
        &[0, 1, 0, 0x0200_0000_0000, 10_000, 250_000, 1],
    );
    edge.table_set_default("EdgeIngress.edge_params", Some(params))
        .expect("the program has edge_params");
    for subnet in 0..250u64 {
        let value = (0x0a01_0000 + (subnet << 8)).to_be_bytes().to_vec();
        let key = KeyField::Lpm { value, prefix_len: 24 };
        insert(
            &mut edge,
            "EdgeIngress.ipv4_route",
            vec![key],
            call("EdgeIngress.to_edge", &[1]),
        );
    }
    let host = KeyField::Lpm {
        value: vec![10, 0, 0, 7],
        prefix_len: 32,
    };
    insert(
        &mut edge,
        "EdgeIngress.ipv4_route",
        vec![host],
        call("EdgeIngress.to_host", &[3, 0x0200_0000_0007]),
    );
    let queue = call("EdgeIngress.enqueue", &[1, 256]);
    insert(&mut edge, "EdgeIngress.voq", vec![exact(1), exact(0)], queue);
    let to_fibre: Vec<_> = (0..64).map(|i| (1, ipv4_frame([10, 1, i, 5]))).collect();
    measure("edge: host to fibre", &mut edge, &to_fibre);
    measure("edge: host to host", &mut edge, &[(1, ipv4_frame([10, 0, 0, 7]))]);

    let mut core = load("../../../p4src/p4c-out/core.json", executor);
    let params = call("CoreIngress.set_core_params", &[0, u64::from(u32::MAX), 0]);
    core.table_set_default("CoreIngress.core_params", Some(params))
        .expect("the program has core_params");
    for input in 256..320 {
        let key = vec![exact(0), exact(0), exact(input)];
        insert(
            &mut core,
            "CoreIngress.crossbar",
            key,
            call("CoreIngress.connect", &[input ^ 1]),
        );
    }
    let through: Vec<_> = (256..320).map(|port| (port, ipv4_frame([10, 1, 1, 1]))).collect();
    measure("core: crossbar", &mut core, &through);

    for (name, routes, access_list) in [
        ("router: 1,000 routes", 1_000, 0),
        ("router: 100,000 routes", 100_000, 0),
        ("router: and 1,000 in the ACL", 1_000, 1_000),
    ] {
        let to_route = |i: u32| (1, ipv4_frame(route(i * 7919 % routes).0.to_be_bytes()));
        let frames: Vec<_> = (0..4096).map(to_route).collect();
        measure(name, &mut router(routes, access_list, executor), &frames);
    }
}
