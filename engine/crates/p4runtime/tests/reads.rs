// SPDX-License-Identifier: Apache-2.0
//! Large reads: in slices between packets and writes, bounded, and sent as the client takes them.

use crate::support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use slotwise_p4::Pipeline;
use slotwise_p4runtime::proto::p4::v1::entity::Entity as E;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use slotwise_p4runtime::{DeviceAccess, DeviceCommand, Server, Work};
use support::*;
use tonic::{Code, Streaming};

const ROUTES: u32 = 20_000;

/// Table and action of the routes: looking them up reads the whole P4Info.
static IDS: LazyLock<(u32, u32)> = LazyLock::new(|| (ENTITIES.id("routes"), ENTITIES.id("forward")));

fn route(number: u32) -> TableEntry {
    let (table_id, forward) = *IDS;
    TableEntry {
        table_id,
        r#match: vec![lpm(1, &(number << 8).to_be_bytes(), 24)],
        action: action(forward, &[&[1]]),
        ..TableEntry::default()
    }
}

fn number_of(entry: &TableEntry) -> u32 {
    let Some(field_match::FieldMatchType::Lpm(lpm)) = &entry.r#match[0].field_match_type else {
        panic!("expected a prefix")
    };
    lpm.value.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)) >> 8
}

fn all_routes() -> ReadRequest {
    let entry = TableEntry {
        table_id: ENTITIES.id("routes"),
        ..TableEntry::default()
    };
    let entity = Some(E::TableEntry(entry));
    ReadRequest {
        device_id: 1,
        role: String::new(),
        entities: vec![Entity { entity }],
    }
}

async fn fill(primary: &mut Primary) {
    let inserts = (1..=ROUTES).map(|number| insert(route(number))).collect();
    primary.write(inserts).await.unwrap();
}

async fn rest(responses: &mut Streaming<ReadResponse>) -> Vec<u32> {
    let mut numbers = Vec::new();
    while let Some(response) = responses.message().await.unwrap() {
        for entity in response.entities {
            let Some(E::TableEntry(entry)) = entity.entity else {
                panic!("expected a table entry")
            };
            numbers.push(number_of(&entry));
        }
    }
    numbers
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

#[tokio::test]
async fn the_owner_gets_one_slice_between_packets() {
    let (server, mut hub) = Server::start(server_config(false), Arc::new(|| {})).unwrap();
    let (most, rounds, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let shared = Arc::new((most, rounds, stop));
    let seen = shared.clone();
    let owner = thread::spawn(move || {
        let (most, rounds, stop) = &*seen;
        let mut device = Device::default();
        while !stop.load(Ordering::Relaxed) {
            let mut calls = 0;
            while let Some(DeviceCommand {
                device_id: 1,
                work: Work::Call(call),
            }) = hub.try_recv()
            {
                call.run(&mut device);
                calls += 1;
            }
            most.fetch_max(calls, Ordering::Relaxed);
            rounds.fetch_add(usize::from(calls > 0), Ordering::Relaxed);
        }
    });
    let (most, rounds, stop) = &*shared;
    let mut primary = Primary::of(&server, 1, 1).await;
    let program = Some(ENTITIES.config(1));
    primary
        .set_config(ConfigAction::VerifyAndCommit, program)
        .await
        .unwrap();
    fill(&mut primary).await;
    most.store(0, Ordering::Relaxed);
    rounds.store(0, Ordering::Relaxed);
    let mut readers = Vec::new();
    for _ in 0..4 {
        let mut client = client(server.address()).await;
        readers.push(tokio::spawn(async move {
            let mut responses = client.read(all_routes()).await.unwrap().into_inner();
            rest(&mut responses).await.len()
        }));
    }
    for reader in readers {
        assert_eq!(reader.await.unwrap(), ROUTES as usize);
    }
    stop.store(true, Ordering::Relaxed);
    owner.join().unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 1, "slices between two rounds of packets");
    assert!(
        rounds.load(Ordering::Relaxed) >= 4 * ROUTES as usize / 64,
        "each slice is small"
    );
}

#[tokio::test]
async fn writes_get_between_the_slices_of_a_read_whose_client_waits() {
    let mut config = server_config(false);
    config.limits.unread_bytes_a_stream = 1;
    let bench = Bench::with(config);
    let mut primary = bench.ready(&ENTITIES).await;
    fill(&mut primary).await;
    let mut client = near_client(bench.server.address()).await;
    let mut responses = client.read(all_routes()).await.unwrap().into_inner();
    let first = responses.message().await.unwrap().unwrap();
    assert!(first.entities.len() <= 256);

    // Far more than any window is still to be read.
    let changes = vec![
        delete(route(ROUTES)),
        delete(route(1)),
        insert(route(1)),
        insert(route(ROUTES + 1)),
        delete(route(ROUTES - 1)),
        insert(route(ROUTES - 1)),
    ];
    primary.write(changes).await.unwrap();
    let mut numbers = rest(&mut responses).await;
    numbers.extend((1..).take(first.entities.len()));
    numbers.sort_unstable();
    let expected: Vec<u32> = (1..ROUTES - 1).collect();
    assert_eq!(
        numbers, expected,
        "each entry that was there all the time, once; and none that came later"
    );
    let now: Vec<_> = primary
        .read_entries(TableEntry {
            table_id: ENTITIES.id("routes"),
            ..TableEntry::default()
        })
        .await;
    assert_eq!(now.len(), ROUTES as usize);
}

#[tokio::test]
async fn a_read_ends_when_another_program_comes() {
    let mut config = server_config(false);
    config.limits.unread_bytes_a_stream = 1;
    let bench = Bench::with(config);
    let mut primary = bench.ready(&ENTITIES).await;
    fill(&mut primary).await;
    let mut client = near_client(bench.server.address()).await;
    let mut responses = client.read(all_routes()).await.unwrap().into_inner();
    responses.message().await.unwrap().unwrap();
    primary
        .set_config(ConfigAction::VerifyAndCommit, Some(ENTITIES.config(2)))
        .await
        .unwrap();
    let status = loop {
        match responses.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the read came to its end"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::Aborted);
}

#[tokio::test]
async fn queries_and_reads_are_bounded() {
    let mut config = server_config(false);
    config.limits.unread_bytes_a_stream = 1;
    config.limits.queries = 3;
    config.limits.reads = 1;
    let bench = Bench::with(config);
    let mut primary = bench.ready(&ENTITIES).await;
    fill(&mut primary).await;
    let query = || E::TableEntry(route(1));
    assert_eq!(primary.read(vec![query(), query(), query()]).await.unwrap().len(), 3);
    let refused = primary
        .read(vec![query(), query(), query(), query()])
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("at most 3"), "{refused}");

    let mut client = near_client(bench.server.address()).await;
    let mut responses = client.read(all_routes()).await.unwrap().into_inner();
    responses.message().await.unwrap().unwrap();
    let refused = client.read(all_routes()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    rest(&mut responses).await;
    // The place is free when the last of the read has been taken, before its end is sent.
    let mut responses = client.read(all_routes()).await.unwrap().into_inner();
    responses.message().await.unwrap().unwrap();
    // Primaries take the places of others.
    assert_eq!(primary.read(vec![query()]).await.unwrap().len(), 1);
    let ended = loop {
        match responses.message().await {
            Ok(response) => assert!(response.is_some(), "it is not whole"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn everything_else_is_read_in_slices_too() {
    let bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let group = |multicast_group_id| {
        let group = MulticastGroupEntry {
            multicast_group_id,
            ..MulticastGroupEntry::default()
        };
        let kind = packet_replication_engine_entry::Type::MulticastGroupEntry(group);
        E::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
    };
    // Whole slices, one more, and one less.
    for count in [127, 128, 129, 256, 300] {
        let present = primary.read(vec![group(0)]).await.unwrap().len() as u32;
        let inserts = (present + 1..=count).map(|id| update(update::Type::Insert, group(id)));
        primary.write(inserts.collect()).await.unwrap();
        let expected: Vec<E> = (1..=count).map(group).collect();
        assert_eq!(primary.read(vec![group(0)]).await.unwrap(), expected);
    }
    assert_eq!(primary.read(vec![group(200)]).await.unwrap(), [group(200)]);
    assert_eq!(primary.read(vec![group(301)]).await.unwrap(), []);
}

static COMPILING: Mutex<Option<(std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<()>)>> = Mutex::new(None);

/// Says that it has begun, and waits until it may go on.
fn wait_for_leave() {
    let gate = COMPILING.lock().unwrap();
    if let Some((begun, leave)) = &*gate {
        begun.send(()).unwrap();
        leave.recv().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_on_while_a_program_is_compiled() {
    let mut config = server_config(false);
    config.prepare_compiler = Some(wait_for_leave);
    let bench = Bench::with(config);
    let mut primary = bench.ready(&TABLES).await;
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (leave, may_leave) = std::sync::mpsc::channel();
    *COMPILING.lock().unwrap() = Some((begun, may_leave));
    let mut compiling = primary.client.clone();
    let verify = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low: 1 }),
        action: ConfigAction::Verify.into(),
        config: Some(TABLES.config(2)),
        ..SetForwardingPipelineConfigRequest::default()
    };
    let verified = tokio::spawn(async move { compiling.set_forwarding_pipeline_config(verify).await });
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap())
        .await
        .unwrap();
    primary.write(vec![insert(mac_entry(&TABLES, 1, &[3]))]).await.unwrap();
    assert_eq!(primary.read_entries(table("mac")).await.len(), 1);
    let mut backup = Stream::open(&mut bench.client().await).await;
    backup.arbitrate(1, "", None).await;
    assert_eq!(backup.advisory().await.0, Code::AlreadyExists);
    leave.send(()).unwrap();
    verified.await.unwrap().unwrap();
}
