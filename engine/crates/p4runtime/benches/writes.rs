// SPDX-License-Identifier: Apache-2.0
//! Table entries written a second, over gRPC on loopback, while packets run without a pause.
//!
//! Each batch also moves the traffic from one multicast group to another: it empties the group in use, writes its routes,
//! fills the other group and points the rule at it. A packet that saw half of a batch would find an empty group: the bench fails.
//! It compares its figures with those in `writes.json`; `SAVE=1` keeps new ones there.

#[path = "../../p4/benches/throughput/record.rs"]
#[allow(dead_code)] // these rates are of elapsed time
mod record;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use record::Record;
use slotwise_p4::{Executor, Output, Pipeline, PipelineConfig, Port, TimestampUnit};
use slotwise_p4runtime::proto::p4::config::v1::Preamble;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::*;
use slotwise_p4runtime::{
    DeviceAccess, DeviceCommand, DeviceConfig, DeviceHub, InitialProgram, Server, ServerConfig, Work, parse_p4info,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

const JSON: &[u8] = include_bytes!("../tests/programs/entities.json");
const P4INFO: &[u8] = include_bytes!("../tests/programs/entities.p4info.txtpb");
const ROUTES: u32 = 50_000;
const ELECTION_ID: Option<Uint128> = Some(Uint128 { high: 0, low: 1 });

#[derive(Default)]
struct Copies(Vec<u8>);

impl Output for Copies {
    fn packet(&mut self, _port: Port, frame: &[u8]) {
        // The program writes the instance of a copy there.
        self.0.push(frame[11]);
    }
}

#[derive(Default)]
struct Traffic {
    packets: AtomicU64,
    halves: AtomicU64,
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

/// The owner's thread: packets, and commands between them.
fn own(mut hub: DeviceHub, traffic: &Traffic) {
    let mut device = Device::default();
    let mut frame = [0; 64];
    frame[5] = 1;
    let mut copies = Copies::default();
    let mut counting = false;
    while !traffic.stop.load(Ordering::Relaxed) {
        while let Some(DeviceCommand { work, .. }) = hub.try_recv() {
            if let Work::Call(call) = work {
                call.run(&mut device);
            }
        }
        let Some(pipeline) = &mut device.0 else { continue };
        for _ in 0..32 {
            copies.0.clear();
            pipeline.process(slotwise_units::Instant::ZERO, 1, &frame, &mut copies);
            // Until the first batch, packets go nowhere.
            counting |= copies.0.len() == 2;
            let is_whole = matches!(copies.0[..], [one, other] if one == other);
            traffic
                .halves
                .fetch_add(u64::from(counting && !is_whole), Ordering::Relaxed);
        }
        traffic.packets.fetch_add(32, Ordering::Relaxed);
    }
}

struct Ids {
    routes: u32,
    rules: u32,
    forward: u32,
    flood: u32,
}

fn ids() -> Ids {
    let info = parse_p4info(P4INFO, false).expect("the program's P4Info");
    let id = |preambles: Vec<&Option<Preamble>>, alias: &str| {
        preambles
            .into_iter()
            .flatten()
            .find(|it| it.alias == alias)
            .expect("in the program")
            .id
    };
    let table = |alias| id(info.tables.iter().map(|it| &it.preamble).collect(), alias);
    let action = |alias| id(info.actions.iter().map(|it| &it.preamble).collect(), alias);
    Ids {
        routes: table("routes"),
        rules: table("rules"),
        forward: action("forward"),
        flood: action("flood"),
    }
}

fn update(kind: update::Type, entity: entity::Entity) -> Update {
    Update {
        r#type: kind.into(),
        entity: Some(Entity { entity: Some(entity) }),
    }
}

fn action(action_id: u32, value: u32) -> Option<TableAction> {
    let params = vec![action::Param {
        param_id: 1,
        value: value.to_be_bytes().to_vec(),
    }];
    Some(TableAction {
        r#type: Some(table_action::Type::Action(Action { action_id, params })),
    })
}

fn route(ids: &Ids, number: u32) -> entity::Entity {
    let lpm = field_match::Lpm {
        value: (number << 8).to_be_bytes().to_vec(),
        prefix_len: 24,
    };
    entity::Entity::TableEntry(TableEntry {
        table_id: ids.routes,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Lpm(lpm)),
        }],
        action: action(ids.forward, number & 0xff),
        ..TableEntry::default()
    })
}

fn rule(ids: &Ids, group: u32) -> entity::Entity {
    let ternary = field_match::Ternary {
        value: vec![1, 0],
        mask: vec![0xff, 0],
    };
    let destination = FieldMatch {
        field_id: 1,
        field_match_type: Some(field_match::FieldMatchType::Ternary(ternary)),
    };
    entity::Entity::TableEntry(TableEntry {
        table_id: ids.rules,
        r#match: vec![destination],
        priority: 1,
        action: action(ids.flood, group),
        ..TableEntry::default()
    })
}

fn group(multicast_group_id: u32, instance: Option<u32>) -> entity::Entity {
    let replica = |port: u8, instance| Replica {
        port_kind: Some(replica::PortKind::Port(vec![port])),
        instance,
        backup_replicas: Vec::new(),
    };
    let replicas = instance
        .into_iter()
        .flat_map(|instance| [replica(2, instance), replica(3, instance)])
        .collect();
    let group = MulticastGroupEntry {
        multicast_group_id,
        replicas,
        metadata: Vec::new(),
    };
    let kind = packet_replication_engine_entry::Type::MulticastGroupEntry(group);
    entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}

async fn write(client: &mut P4RuntimeClient<Channel>, updates: Vec<Update>) {
    let request = WriteRequest {
        device_id: 1,
        election_id: ELECTION_ID,
        updates,
        ..WriteRequest::default()
    };
    client.write(request).await.expect("every update is right");
}

/// Writes all routes in batches of `size`; gives entries a second.
async fn write_routes(client: &mut P4RuntimeClient<Channel>, ids: &Ids, kind: update::Type, size: u32) -> f64 {
    let batches = (0..ROUTES).step_by(size as usize).enumerate().map(|(batch, first)| {
        let (current, next) = (5 + batch as u32 % 2, 5 + (batch as u32 + 1) % 2);
        let mut updates = vec![update(update::Type::Modify, group(current, None))];
        updates.extend((first..ROUTES.min(first + size)).map(|number| update(kind, route(ids, number))));
        updates.push(update(update::Type::Modify, group(next, Some(batch as u32 % 255 + 1))));
        updates.push(update(update::Type::Modify, rule(ids, next)));
        updates
    });
    let batches: Vec<_> = batches.collect();
    // An even number of batches comes back to the group that the next round begins with.
    assert_eq!(batches.len() % 2, 0);
    let start = Instant::now();
    for updates in batches {
        write(client, updates).await;
    }
    f64::from(ROUTES) / start.elapsed().as_secs_f64()
}

async fn measure(server: &Server, traffic: &Traffic) {
    let ids = ids();
    let mut client = P4RuntimeClient::connect(format!("http://{}", server.address()))
        .await
        .expect("the server runs");
    let (requests, receiver) = mpsc::channel(1);
    let mut responses = client
        .stream_channel(ReceiverStream::new(receiver))
        .await
        .expect("a stream")
        .into_inner();
    let arbitration = MasterArbitrationUpdate {
        device_id: 1,
        election_id: ELECTION_ID,
        ..Default::default()
    };
    let arbitration = stream_message_request::Update::Arbitration(arbitration);
    requests
        .send(StreamMessageRequest {
            update: Some(arbitration),
        })
        .await
        .expect("the stream is open");
    responses.message().await.expect("an answer");
    let insert = |entity| update(update::Type::Insert, entity);
    write(
        &mut client,
        vec![insert(group(5, Some(1))), insert(group(6, None)), insert(rule(&ids, 5))],
    )
    .await;

    println!("{ROUTES} routes; entries a second");
    let mut record = Record::open(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/writes.json"));
    for size in [10, 100, 1000, 5000] {
        let before = (traffic.packets.load(Ordering::Relaxed), Instant::now());
        let inserted = write_routes(&mut client, &ids, update::Type::Insert, size).await;
        let modified = write_routes(&mut client, &ids, update::Type::Modify, size).await;
        let deleted = write_routes(&mut client, &ids, update::Type::Delete, size).await;
        let packets = traffic.packets.load(Ordering::Relaxed) - before.0;
        let packets_a_second = packets as f64 / before.1.elapsed().as_secs_f64();
        println!(
            "batches of {size:>4}: insert {inserted:>8.0}  modify {modified:>8.0}  delete {deleted:>8.0}  \
             meanwhile {packets_a_second:>8.0} packets a second"
        );
        let case = format!("batches of {size}");
        let rates = [("insert", inserted), ("modify", modified), ("delete", deleted)];
        for (what, rate) in rates.into_iter().chain([("packets meanwhile", packets_a_second)]) {
            record.add(&case, what, rate);
        }
    }
    let halves = traffic.halves.load(Ordering::Relaxed);
    println!(
        "{} packets, {halves} saw half a batch",
        traffic.packets.load(Ordering::Relaxed)
    );
    assert_eq!(halves, 0);
    record.finish();
}

fn main() {
    let program = InitialProgram {
        p4info: parse_p4info(P4INFO, false).expect("P4Info"),
        json: JSON.to_vec(),
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
    let traffic = Traffic::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    thread::scope(|scope| {
        scope.spawn(|| own(hub, &traffic));
        runtime.block_on(measure(&server, &traffic));
        traffic.stop.store(true, Ordering::Relaxed);
    });
}
