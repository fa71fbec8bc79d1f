// SPDX-License-Identifier: Apache-2.0
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use slotwise_p4::Memory;
use slotwise_units::Instant;
use tokio_stream::{Stream, StreamExt};

use super::*;
use crate::learning::{Event, due, learn};
use crate::outbox::{Bounds, Budget, Inbox, outbox};
use crate::testing::unserved_in_lock_step;

const WAITS: DigestConfig = DigestConfig {
    max_timeout_ns: i64::MAX,
    max_list_size: 0,
    ack_timeout_ns: i64::MAX,
};

/// A device with the digest of this name, and so many roles besides the one without a name.
fn learning(link: &mut Link, roles: u64) -> String {
    let (name, id) = {
        let config = crate::parse_p4info(crate::testing::ENTITIES_P4INFO, false).unwrap();
        let info = Arc::new(P4Info::new(&config, &|_| None).unwrap());
        link.install(info.clone(), &Books::within(&Memory::unlimited()), Instant::ZERO);
        let (name, id) = info.objects.digest_ids.iter().next().unwrap();
        (name.clone(), *id)
    };
    link.configure_digests(&BTreeMap::from([(id, WAITS)]));
    for stream in 0..roles {
        let role = format!("role {stream}");
        link.arbitrate(&role, stream, Some(1), Access::default(), &client())
            .unwrap();
    }
    name
}

fn held(link: &Link) -> usize {
    let roles = link.digest_roles();
    roles.iter().map(|role| role.state().digests.bytes()).sum()
}

#[test]
fn digests_of_all_roles_are_bounded_together() {
    let mut link = Link::new(1, false);
    let name = learning(&mut link, 8);
    for number in 0..100u8 {
        let learned = link.learned(&name, &[vec![number; 1 << 20]], Instant::ZERO).unwrap();
        learn(&link.digest_roles(), &learned, SHARED_DIGEST_BYTES);
    }
    let most = held(&link);
    assert!(most <= DEVICE_DIGEST_BYTES - QUEUE_BYTES, "{most} bytes");
    assert!(most > DEVICE_DIGEST_BYTES / 2, "{most} bytes");
    for stream in 0..8 {
        link.leave(&format!("role {stream}"), stream);
    }
    assert_eq!(held(&link), 0);
}

#[test]
fn a_digest_costs_the_owners_thread_the_same_with_any_number_of_roles() {
    for roles in [1, MAX_ROLES as u64 - 1] {
        let (_server, hub) = unserved_in_lock_step();
        let device = &hub.devices()[&1];
        let name = learning(&mut device.link(), roles);
        hub.digest(1, &name, &[vec![1]], Instant::from_ns(5));
        assert_eq!(held(&device.link()), 0, "no role has learned it");
        let events = hub.runtime.block_on(device.learning.next());
        let [Event::Learned(learned)] = &events[..] else {
            panic!("expected one digest, got {events:?}")
        };
        assert_eq!((learned.message.holders(), learned.now), (1, Instant::from_ns(5)));
        learn(&device.link().digest_roles(), learned, SHARED_DIGEST_BYTES);
        // Each role has it in what waits and in what is known.
        assert_eq!(learned.message.holders() as u64, 1 + 2 * roles);
    }
}

#[test]
fn a_program_in_force_hears_nothing_of_the_one_before() {
    let mut link = Link::new(1, false);
    let name = learning(&mut link, 1);
    let learned = link.learned(&name, &[vec![1]], Instant::ZERO).unwrap();
    learning(&mut link, 1);
    learn(&link.digest_roles(), &learned, SHARED_DIGEST_BYTES);
    assert_eq!(held(&link), 0);
    link.configure_digests(&BTreeMap::new());
    assert!(
        link.learned(&name, &[vec![1]], Instant::ZERO).is_none(),
        "nobody asks for it"
    );
}

#[test]
fn a_digest_list_is_for_the_primary_for_which_it_was_made() {
    let mut link = Link::new(1, false);
    let name = learning(&mut link, 1);
    let learned = link.learned(&name, &[vec![1]], Instant::ZERO).unwrap();
    learn(&link.digest_roles(), &learned, SHARED_DIGEST_BYTES);
    let ready = due(&link.digest_roles(), Instant::MAX)
        .pop()
        .expect("its time has come");
    let (role, primary) = (ready.role.name.clone(), ready.primary);
    let (id, _) = ready.encode(0).unwrap();
    assert!(link.receiver(&role, primary, id).is_some());
    link.arbitrate(&role, 77, Some(2), Access::default(), &client())
        .unwrap();
    assert!(link.receiver(&role, primary, id).is_none(), "another has come");
    assert!(link.receiver(&role, 77, id).is_some());
    link.leave(&role, 77);
    assert!(link.receiver(&role, 77, id).is_none());
}

fn client() -> Client {
    let (client, inbox) = client_and_inbox();
    // Nobody reads what it is sent.
    std::mem::forget(inbox);
    client
}

fn client_and_inbox() -> (Client, Inbox<v1::StreamMessageResponse>) {
    let bounds = Bounds {
        messages: STREAM_QUEUE,
        bytes: 1 << 20,
    };
    let (sender, inbox) = outbox(bounds, &Budget::new(1 << 20));
    let caller = Caller::default();
    (Client { sender, caller }, inbox)
}

#[tokio::test]
async fn who_reads_slowly_hears_how_ports_are_when_it_reads() {
    let mut link = Link::new(1, true);
    let (client, mut inbox) = client_and_inbox();
    link.arbitrate("", 1, Some(1), Access::default(), &client).unwrap();
    let error = v1::StreamError::default;
    while client
        .sender
        .try_send(message_of(Update::Error(error())), NOTICE)
        .is_ok()
    {}
    for turn in 0..10_000u32 {
        let port = (turn % 3) as Port;
        assert!(link.set_port(port, turn / 3 % 2 == 1));
        link.tell_port(port);
    }
    assert!(!link.tell_ports());
    while link.roles[""].streams[&1].untold.len() == 3 {
        inbox.next().await.unwrap().unwrap();
        link.tell_ports();
    }
    let mut heard = Vec::new();
    while heard.len() < 3 {
        if let Some(Update::Other(told)) = inbox.next().await.unwrap().unwrap().update {
            heard.push(PortStatus::decode(told.value.as_slice()).unwrap());
        }
        link.tell_ports();
    }
    // 9999 was the last, which is the 3334th of port 0.
    let expected = [(0, true), (1, false), (2, false)].map(|(port, up)| PortStatus { port, up });
    assert_eq!(heard, expected);
    link.set_port(2, true);
    link.tell_port(2);
    assert!(link.tell_ports());
}

#[test]
fn strangers_do_not_keep_a_controller_out() {
    let mut link = Link::new(1, false);
    let join = |link: &mut Link, role: &str, stream: StreamId, id: Option<u128>, client: &Client| {
        link.arbitrate(role, stream, id, Access::default(), client)
    };
    let controller = client();
    join(&mut link, "", 0, Some(5), &controller).unwrap();
    assert!(controller.caller.is_primary());
    let strangers: Vec<_> = (1..).map(|stream| (stream, client())).take(MAX_STREAMS + 9).collect();
    for (stream, stranger) in &strangers {
        join(&mut link, "", *stream, None, stranger).unwrap();
    }
    let ended = strangers
        .iter()
        .take_while(|(_, client)| client.sender.is_over())
        .count();
    assert_eq!(ended, 10, "the oldest");
    assert!(!controller.sender.is_over());
    link.leave("", 0);
    assert!(!controller.caller.is_primary());
    // Another takes the place before it is back.
    join(&mut link, "", 1000, None, &client()).unwrap();
    let back = client();
    join(&mut link, "", 1001, Some(6), &back).unwrap();
    assert!(link.is_primary("", 1001) && back.caller.is_primary());
    assert!(link.roles[""].streams.len() == MAX_STREAMS && link.roles[""].election.len() == MAX_STREAMS);
}

#[test]
fn roles_without_a_primary_make_room() {
    let mut link = Link::new(1, false);
    let (backups, primaries) = (client(), client());
    for number in 1..MAX_ROLES as u64 {
        let (id, client) = if number == 9 {
            (None, &backups)
        } else {
            (Some(1), &primaries)
        };
        link.arbitrate(&format!("role {number}"), number, id, Access::default(), client)
            .unwrap();
    }
    link.arbitrate("another", 1000, Some(1), Access::default(), &client())
        .unwrap();
    assert!(backups.sender.is_over() && !primaries.sender.is_over());
    let refused = link.arbitrate("one more", 1001, Some(1), Access::default(), &client());
    assert_eq!(refused.unwrap_err().code, tonic::Code::ResourceExhausted);
    link.arbitrate("", 1002, Some(1), Access::default(), &client()).unwrap();
}

/// What clients and ports do.
#[derive(Debug, Clone)]
enum Step {
    /// The stream of this number asks to be primary, with a higher id than all before.
    Join(StreamId),
    Leave(StreamId),
    Port(Port, bool),
    /// Its client's queue becomes full.
    Fill(StreamId),
    /// Its client reads so many messages.
    Read(StreamId, usize),
    Tick,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 0..3u64;
    prop_oneof![
        2 => stream.clone().prop_map(Step::Join),
        1 => stream.clone().prop_map(Step::Leave),
        6 => (0..5 as Port, proptest::bool::ANY).prop_map(|(port, is_up)| Step::Port(port, is_up)),
        1 => stream.clone().prop_map(Step::Fill),
        2 => (stream, 0..9000usize).prop_map(|(stream, count)| Step::Read(stream, count)),
        1 => Just(Step::Tick),
    ]
}

/// A client and what it knows of ports since it came.
struct Reader {
    client: Client,
    inbox: Inbox<v1::StreamMessageResponse>,
    ports: BTreeMap<u32, bool>,
}

impl Reader {
    fn read(&mut self, count: usize) {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..count {
            let Poll::Ready(Some(Ok(message))) = Pin::new(&mut self.inbox).poll_next(&mut context) else {
                return;
            };
            if let Some(Update::Other(told)) = message.update {
                let PortStatus { port, up } = PortStatus::decode(told.value.as_slice()).unwrap();
                self.ports.insert(port, up);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whoever_is_primary_and_reads_knows_how_all_ports_are(steps in vec(step(), 1..120)) {
        let mut link = Link::new(1, true);
        let mut readers: BTreeMap<StreamId, Reader> = BTreeMap::new();
        let mut truth = BTreeMap::new();
        for (id, step) in steps.into_iter().enumerate() {
            match step {
                Step::Join(stream) => {
                    let reader = readers.entry(stream).or_insert_with(|| {
                        let (client, inbox) = client_and_inbox();
                        Reader { client, inbox, ports: BTreeMap::new() }
                    });
                    let id = Some(id as u128 + 1);
                    link.arbitrate("", stream, id, Access::default(), &reader.client).unwrap();
                }
                Step::Leave(stream) => {
                    link.leave("", stream);
                    readers.remove(&stream);
                }
                Step::Port(port, is_up) => {
                    if link.set_port(port, is_up) {
                        link.tell_port(port);
                        truth.insert(u32::from(port), is_up);
                    }
                }
                Step::Fill(stream) => {
                    if let Some(reader) = readers.get(&stream) {
                        let error = || message_of(Update::Error(v1::StreamError::default()));
                        while reader.client.sender.try_send(error(), NOTICE).is_ok() {}
                    }
                }
                Step::Read(stream, count) => {
                    if let Some(reader) = readers.get_mut(&stream) {
                        reader.read(count);
                    }
                }
                Step::Tick => {
                    link.tell_ports();
                }
            }
        }
        if let Some(primary) = link.roles[""].election.primary() {
            let reader = readers.get_mut(&primary).unwrap();
            loop {
                reader.read(usize::MAX);
                if link.tell_ports() {
                    break;
                }
            }
            reader.read(usize::MAX);
            prop_assert_eq!(&reader.ports, &truth);
        }
    }
}
