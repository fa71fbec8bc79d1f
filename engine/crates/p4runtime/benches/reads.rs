// SPDX-License-Identifier: Apache-2.0
//! The longest pause of forwarding while 100,000 entries are read over gRPC on loopback: between two rounds of 32 packets of
//! 64 bytes, with what the owner of the pipeline does for the server between them.
//!
//! Beside it, what the same machine takes for all entries in one go, and the longest pause while nothing is read: a thread that
//! is not alone on its CPU is put aside now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
/// For the pause while nothing is read.
const IDLE: Duration = Duration::from_secs(1);

struct Nowhere;

impl Output for Nowhere {
    fn packet(&mut self, _port: Port, _frame: &[u8]) {}
}

/// What the owner's thread sees.
#[derive(Default)]
struct Watch {
    longest_ns: AtomicU64,
    /// Longest single command.
    longest_call_ns: AtomicU64,
    packets: AtomicU64,
    stop: AtomicBool,
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
    let mut forwarded = Instant::now();
    while !watch.stop.load(Ordering::Relaxed) {
        while let Some(DeviceCommand { work, .. }) = hub.try_recv() {
            if let Work::Call(call) = work {
                let start = Instant::now();
                call.run(&mut device);
                watch
                    .longest_call_ns
                    .fetch_max(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            }
        }
        let pause_ns = forwarded.elapsed().as_nanos() as u64;
        watch.longest_ns.fetch_max(pause_ns, Ordering::Relaxed);
        if let Some(pipeline) = &mut device.0 {
            for _ in 0..ROUND {
                pipeline.process(0, 1, &frame, &mut Nowhere);
            }
            watch.packets.fetch_add(ROUND as u64, Ordering::Relaxed);
        }
        forwarded = Instant::now();
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

async fn read(client: &mut P4RuntimeClient<Channel>, table_id: u32) -> usize {
    let entry = TableEntry {
        table_id,
        ..TableEntry::default()
    };
    let entity = Some(entity::Entity::TableEntry(entry));
    let request = ReadRequest {
        device_id: 1,
        entities: vec![Entity { entity }],
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
        watch.longest_ns.store(0, Ordering::Relaxed);
        watch.longest_call_ns.store(0, Ordering::Relaxed);
    };
    let pauses = || {
        let us = |value: &AtomicU64| value.load(Ordering::Relaxed) as f64 / 1e3;
        (us(&watch.longest_ns), us(&watch.longest_call_ns))
    };
    reset();
    tokio::time::sleep(IDLE).await;
    println!("nothing is read: longest pause of forwarding {:.0} us", pauses().0);
    for round in 1..=5 {
        reset();
        let (start, packets) = (Instant::now(), watch.packets.load(Ordering::Relaxed));
        let entries = read(&mut client, table).await;
        let elapsed = start.elapsed();
        let (pause_us, slice_us) = pauses();
        assert_eq!(entries, ENTRIES as usize);
        let packets = (watch.packets.load(Ordering::Relaxed) - packets) as f64 / elapsed.as_secs_f64();
        println!(
            "read {round}: {entries} entries in {:.0} ms, longest slice {slice_us:.0} us, longest pause {pause_us:.0} us, \
             {packets:.0} packets a second",
            elapsed.as_secs_f64() * 1e3
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
