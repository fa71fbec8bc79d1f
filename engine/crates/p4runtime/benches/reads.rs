// SPDX-License-Identifier: Apache-2.0
//! The longest pause of forwarding while 100,000 entries are read over gRPC on loopback: between two rounds of 32 packets of
//! 64 bytes, with what the owner of the pipeline does for the server between them.
//!
//! Of each pause it is measured how long the owner's thread was really running (its time on the CPU), how often another thread
//! took the CPU from it, and how often it faulted: what is missing was the machine's. Beside it, what the same machine takes for
//! all entries in one go, and the pauses while nothing is read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use slotwise_netio::ThreadUse;
use slotwise_p4::{Executor, Output, Pipeline, PipelineConfig, Port, TimestampUnit};
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::*;
use slotwise_p4runtime::{
    DeviceAccess, DeviceCommand, DeviceConfig, DeviceHub, InitialProgram, Server, ServerConfig, Work, parse_p4info,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

const JSON: &str = include_str!("../tests/programs/entities.json");
const P4INFO: &[u8] = include_bytes!("../tests/programs/entities.p4info.txtpb");
const ENTRIES: u32 = 100_000;
const BATCH: u32 = 5_000;
const ROUND: usize = 32;
const ELECTION_ID: Option<Uint128> = Some(Uint128 { high: 0, low: 1 });
const READS: usize = 10;
/// How often the last read names the table.
const NAMED: usize = 60;
/// For the pauses while nothing is read.
const IDLE: Duration = Duration::from_secs(1);

struct Nowhere;

impl Output for Nowhere {
    fn packet(&mut self, _port: Port, _frame: &[u8]) {}
}

/// Pauses shorter than this are not looked at.
const SHORT_NS: u64 = 50_000;
/// No pause should be longer.
const AIM_NS: u64 = 200_000;

/// Time without packets.
#[derive(Default, Clone, Copy)]
struct Pause {
    wall_ns: u64,
    /// What the thread used in it.
    used: ThreadUse,
}

/// Pauses over some time.
#[derive(Default, Clone, Copy)]
struct Pauses {
    /// By the clock.
    longest: Pause,
    /// Most time on the CPU in one of them.
    most_cpu_ns: u64,
    /// Above the aim.
    above: u64,
    /// Above the aim by time on the CPU.
    above_by_cpu: u64,
}

impl Pauses {
    fn add(&mut self, pause: Pause) {
        if pause.wall_ns > self.longest.wall_ns {
            self.longest = pause;
        }
        self.most_cpu_ns = self.most_cpu_ns.max(pause.used.cpu.ns());
        self.above += u64::from(pause.wall_ns > AIM_NS);
        self.above_by_cpu += u64::from(pause.used.cpu.ns() > AIM_NS);
    }
}

impl fmt::Display for Pauses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pauses {
            longest: Pause { wall_ns, used },
            most_cpu_ns,
            above,
            above_by_cpu,
        } = self;
        write!(
            out,
            "longest pause {} us (the thread ran for {} us of it, preempted {} times, {} faults), most running in a pause {} us; \
             above {} us: {above}, by running time {above_by_cpu}",
            wall_ns / 1000,
            used.cpu.ns() / 1000,
            used.preemptions,
            used.faults,
            most_cpu_ns / 1000,
            AIM_NS / 1000,
        )
    }
}

/// What the owner's thread sees.
#[derive(Default)]
struct Watch {
    pauses: Mutex<Pauses>,
    /// Longest single command, by the clock and on the CPU.
    longest_call_ns: AtomicU64,
    longest_call_cpu_ns: AtomicU64,
    packets: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
    fn pauses(&self) -> std::sync::MutexGuard<'_, Pauses> {
        self.pauses.lock().expect("nobody panics with it")
    }
}

fn since(before: ThreadUse) -> ThreadUse {
    let now = ThreadUse::now();
    ThreadUse {
        cpu: now.cpu - before.cpu,
        preemptions: now.preemptions - before.preemptions,
        faults: now.faults - before.faults,
    }
}

#[derive(Default)]
struct Device(Option<Pipeline>);

impl DeviceAccess for Device {
    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.0.as_mut()
    }

    fn install(&mut self, pipeline: Pipeline) {
        self.0 = Some(pipeline);
    }
}

/// The owner's thread: packets, and commands between them. Gives the device back.
fn own(mut hub: DeviceHub, watch: &Watch) -> Device {
    let mut device = Device::default();
    let mut frame = [0; 64];
    frame[5] = 1;
    let (mut used, mut forwarded) = (ThreadUse::now(), Instant::now());
    while !watch.stop.load(Ordering::Relaxed) {
        while let Some(DeviceCommand { work, .. }) = hub.try_recv() {
            if let Work::Call(call) = work {
                let (before, start) = (ThreadUse::now(), Instant::now());
                call.run(&mut device);
                let (wall_ns, cpu_ns) = (start.elapsed().as_nanos() as u64, since(before).cpu.ns());
                watch.longest_call_ns.fetch_max(wall_ns, Ordering::Relaxed);
                watch.longest_call_cpu_ns.fetch_max(cpu_ns, Ordering::Relaxed);
            }
        }
        let wall_ns = forwarded.elapsed().as_nanos() as u64;
        if wall_ns > SHORT_NS {
            let used = since(used);
            watch.pauses().add(Pause { wall_ns, used });
        }
        if let Some(pipeline) = &mut device.0 {
            for _ in 0..ROUND {
                pipeline.process(slotwise_units::Instant::ZERO, 1, &frame, &mut Nowhere);
            }
            watch.packets.fetch_add(ROUND as u64, Ordering::Relaxed);
        }
        (used, forwarded) = (ThreadUse::now(), Instant::now());
    }
    device
}

fn route(table_id: u32, action_id: u32, number: u32) -> Entity {
    let lpm = field_match::Lpm {
        value: (number << 8).to_be_bytes().to_vec(),
        prefix_len: 24,
    };
    let forward = Action {
        action_id,
        params: vec![action::Param {
            param_id: 1,
            value: vec![1],
        }],
    };
    let entry = TableEntry {
        table_id,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Lpm(lpm)),
        }],
        action: Some(TableAction {
            r#type: Some(table_action::Type::Action(forward)),
        }),
        ..TableEntry::default()
    };
    let entity = Some(entity::Entity::TableEntry(entry));
    Entity { entity }
}

async fn connect(server: &Server) -> (P4RuntimeClient<Channel>, mpsc::Sender<StreamMessageRequest>) {
    let address = format!("http://{}", server.address());
    let mut client = P4RuntimeClient::connect(address).await.expect("the server runs");
    let (requests, receiver) = mpsc::channel(1);
    let arbitration = MasterArbitrationUpdate {
        device_id: 1,
        election_id: ELECTION_ID,
        ..Default::default()
    };
    let update = Some(stream_message_request::Update::Arbitration(arbitration));
    requests
        .send(StreamMessageRequest { update })
        .await
        .expect("the stream is open");
    let mut responses = client
        .stream_channel(ReceiverStream::new(receiver))
        .await
        .expect("a stream")
        .into_inner();
    responses.message().await.expect("an answer");
    (client, requests)
}

/// Reads a table as often as `times` says, with one request; gives how many entries came.
async fn read(client: &mut P4RuntimeClient<Channel>, table_id: u32, times: usize) -> usize {
    let entry = TableEntry {
        table_id,
        ..TableEntry::default()
    };
    let entity = Some(entity::Entity::TableEntry(entry));
    let request = ReadRequest {
        device_id: 1,
        entities: vec![Entity { entity }; times],
        ..ReadRequest::default()
    };
    let mut responses = client.read(request).await.expect("the table is there").into_inner();
    let mut entries = 0;
    while let Some(response) = responses.message().await.expect("the read goes on") {
        entries += response.entities.len();
    }
    entries
}

async fn measure(server: &Server, watch: &Watch) {
    let info = parse_p4info(P4INFO, false).expect("the program's P4Info");
    let has_alias =
        |alias: &'static str| move |it: &&slotwise_p4runtime::proto::p4::config::v1::Preamble| it.alias == alias;
    let tables = info.tables.iter().flat_map(|it| &it.preamble);
    let table = tables.into_iter().find(has_alias("routes")).expect("in the program").id;
    let actions = info.actions.iter().flat_map(|it| &it.preamble);
    let forward = actions
        .into_iter()
        .find(has_alias("forward"))
        .expect("in the program")
        .id;
    let (mut client, _stream) = connect(server).await;
    for first in (0..ENTRIES).step_by(BATCH as usize) {
        let insert = |number| Update {
            r#type: update::Type::Insert.into(),
            entity: Some(route(table, forward, number)),
        };
        let request = WriteRequest {
            device_id: 1,
            election_id: ELECTION_ID,
            updates: (first..first + BATCH).map(insert).collect(),
            ..WriteRequest::default()
        };
        client.write(request).await.expect("every update is right");
    }
    let reset = || {
        *watch.pauses() = Pauses::default();
        watch.longest_call_ns.store(0, Ordering::Relaxed);
        watch.longest_call_cpu_ns.store(0, Ordering::Relaxed);
    };
    let us = |value: &AtomicU64| value.load(Ordering::Relaxed) / 1000;
    reset();
    tokio::time::sleep(IDLE).await;
    println!("nothing is read for {} s: {}", IDLE.as_secs(), *watch.pauses());
    for (round, times) in (1..=READS).map(|round| (round, 1)).chain([(READS + 1, NAMED)]) {
        reset();
        let (start, packets) = (Instant::now(), watch.packets.load(Ordering::Relaxed));
        let entries = read(&mut client, table, times).await;
        let elapsed = start.elapsed();
        assert_eq!(entries, times * ENTRIES as usize);
        let packets = (watch.packets.load(Ordering::Relaxed) - packets) as f64 / elapsed.as_secs_f64();
        println!(
            "read {round}: {entries} entries in {:.0} ms, {packets:.0} packets a second, longest slice {} us ({} us running), {}",
            elapsed.as_secs_f64() * 1e3,
            us(&watch.longest_call_ns),
            us(&watch.longest_call_cpu_ns),
            *watch.pauses(),
        );
    }
}

fn main() {
    let program = InitialProgram {
        p4info: parse_p4info(P4INFO, false).expect("P4Info"),
        json: with_room(JSON).into_bytes(),
    };
    let pipeline = PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
        executor: Executor::default(),
    };
    let device = DeviceConfig {
        device_id: 1,
        pipeline,
        tells_ports: false,
        program: Some(program),
    };
    let config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"), vec![device]);
    let (server, hub) = Server::start(config, Arc::new(|| {})).expect("a port is free");
    let watch = Watch::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    thread::scope(|scope| {
        let owner = scope.spawn(|| own(hub, &watch));
        runtime.block_on(measure(&server, &watch));
        watch.stop.store(true, Ordering::Relaxed);
        let device = owner.join().expect("the owner runs to its end");
        let pipeline = device.0.expect("it has a program");
        let start = Instant::now();
        let states = pipeline
            .entry_states("EntitiesIngress.routes")
            .expect("the table is there");
        println!(
            "in one go: {} entries would stop forwarding for {:.0} us",
            states.len(),
            start.elapsed().as_secs_f64() * 1e6
        );
    });
}

/// The program with a larger table.
fn with_room(json: &str) -> String {
    let (from, to) = ("\"max_size\" : 65536", format!("\"max_size\" : {ENTRIES}"));
    assert!(json.contains(from), "the table of routes has 65536 entries");
    json.replace(from, &to)
}
