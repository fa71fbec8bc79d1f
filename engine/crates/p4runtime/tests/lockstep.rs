// SPDX-License-Identifier: Apache-2.0
//! Lock step, with a controller that keeps the rules and ones that do not.

use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prost::Message;
use slotwise_p4::Pipeline;
use slotwise_p4runtime::proto::p4::v1::entity::Entity;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::p4::v1::{
    CapabilitiesRequest, DigestEntry, PacketMetadata, PacketOut, SetForwardingPipelineConfigRequest, WriteRequest,
    digest_entry, update,
};
use slotwise_p4runtime::proto::slotwise::v1::{Advance, Done, PortStatus};
use slotwise_p4runtime::{
    Arrival, ControllerPacket, DeviceAccess, DeviceCommand, LockstepError, LockstepLink, Server, ServerConfig, Turn,
    Work,
};
use slotwise_units::Instant;
use support::*;
use tonic::Code;

const PATIENCE: Duration = Duration::from_secs(30);

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

/// The fabric's side: a link and its devices.
struct Fabric {
    link: LockstepLink,
    devices: BTreeMap<u64, Device>,
    writes: usize,
}

impl Fabric {
    fn new(patience: Duration) -> (Server, Fabric) {
        Fabric::start(server_config(true), patience)
    }

    fn start(config: ServerConfig, patience: Duration) -> (Server, Fabric) {
        let (server, hub) = Server::start(config, Arc::new(|| {})).unwrap();
        let devices = BTreeMap::from([(1, Device::default()), (2, Device::default())]);
        (
            server,
            Fabric {
                link: LockstepLink::new(hub, patience),
                devices,
                writes: 0,
            },
        )
    }

    /// Does something with the link, whose commands are carried out.
    fn with<R>(&mut self, call: impl FnOnce(&mut LockstepLink, &mut dyn FnMut(DeviceCommand)) -> R) -> R {
        let Fabric { link, devices, writes } = self;
        let mut execute = |DeviceCommand { device_id, work }: DeviceCommand| {
            if let Work::Call(call) = work {
                *writes += 1;
                call.run(devices.get_mut(&device_id).unwrap());
            }
        };
        call(link, &mut execute)
    }

    /// A port of a device has a link, or not: whether its primaries are to hear of it.
    fn port_status(&mut self, device_id: u64, port: u16, is_up: bool) -> bool {
        self.with(|link, execute| link.port_status(device_id, port, is_up, execute))
            .unwrap()
    }

    fn listen(&mut self) -> bool {
        self.with(|link, execute| link.listen(execute)).unwrap()
    }

    fn turn(&mut self, at: Option<(u64, &[Arrival])>) -> Result<Turn, LockstepError> {
        self.with(|link, execute| match at {
            None => link.ready(execute),
            Some((now_ns, arrivals)) => link.exchange(Instant::from_ns(now_ns), arrivals, execute),
        })
    }
}

/// A controller on a thread of its own.
fn controller<F: Future<Output = ()>>(
    server: &Server,
    script: impl FnOnce(Primary, Primary) -> F + Send + 'static,
) -> JoinHandle<()> {
    let address = server.address();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let one = Primary::at(address, 1, 1).await;
            let two = Primary::at(address, 2, 1).await;
            script(one, two).await;
        });
    })
}

async fn done(primary: &Primary, sequence: u64, packet_outs: u64, next_deadline_ns: u64) {
    let done = Done {
        sequence,
        packet_outs,
        next_deadline_ns,
    };
    let other = prost_types::Any {
        type_url: "type.googleapis.com/slotwise.v1.Done".to_owned(),
        value: done.encode_to_vec(),
    };
    primary.stream.send(Request::Other(other)).await;
}

async fn advance(primary: &mut Primary) -> Advance {
    match primary.stream.next().await.unwrap() {
        Response::Other(any) if any.type_url == "type.googleapis.com/slotwise.v1.Advance" => {
            Advance::decode(any.value.as_slice()).unwrap()
        }
        other => panic!("expected Advance, got {other:?}"),
    }
}

async fn packet_out(primary: &Primary, port: &[u8], payload: &[u8]) {
    let metadata = vec![PacketMetadata {
        metadata_id: 1,
        value: port.to_vec(),
    }];
    primary
        .stream
        .send(Request::Packet(PacketOut {
            payload: payload.to_vec(),
            metadata,
        }))
        .await;
}

#[test]
fn turns_carry_packets_time_writes_and_deadlines() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let controller = controller(&server, |mut one, mut two| async move {
        one.set_config(ConfigAction::VerifyAndCommit, Some(TABLES.config(1)))
            .await
            .unwrap();
        two.set_config(ConfigAction::VerifyAndCommit, Some(TABLES.config(1)))
            .await
            .unwrap();
        done(&two, 0, 0, 500).await;

        let Response::Packet(packet) = two.stream.next().await.unwrap() else {
            panic!("expected a packet-in")
        };
        assert_eq!(packet.payload, b"up");
        let expected = Advance {
            sequence: 1,
            now_ns: 400,
            absent_devices: Vec::new(),
        };
        assert_eq!(advance(&mut one).await, expected);
        assert_eq!(advance(&mut two).await, expected);
        one.write(vec![insert(mac_entry(&TABLES, 1, &[3]))]).await.unwrap();
        done(&one, 1, 4, 0).await;
        packet_out(&two, &[2], b"second").await;
        packet_out(&one, &[1], b"first").await;
        packet_out(&two, &[0xff, 0xff], b"refused, but counted").await;
        packet_out(&two, &[3], b"third").await;

        assert_eq!(
            advance(&mut one).await,
            Advance {
                sequence: 2,
                now_ns: 900,
                absent_devices: Vec::new(),
            }
        );
        done(&one, 2, 4, 1200).await;
        one.stream.next().await.unwrap_err();
    });

    let ready = fabric.turn(None).unwrap();
    assert_eq!(
        ready,
        Turn {
            packet_outs: vec![],
            next_deadline: Some(Instant::from_ns(500))
        }
    );
    assert!(
        fabric.devices.values().all(|device| device.0.is_some()),
        "configured before the controller was ready"
    );

    let packet_in = ControllerPacket {
        device_id: 2,
        frame: [&[0x80, 0][..], b"up"].concat(),
    };
    let writes_before = fabric.writes;
    let turn = fabric.turn(Some((400, &[Arrival::Packet(packet_in)]))).unwrap();
    assert_eq!(fabric.writes, writes_before + 1);
    let out = |device_id, header: [u8; 2], payload: &[u8]| ControllerPacket {
        device_id,
        frame: [&header[..], payload].concat(),
    };
    let expected = vec![
        out(1, [0, 0x80], b"first"),
        out(2, [1, 0], b"second"),
        out(2, [1, 0x80], b"third"),
    ];
    assert_eq!(
        turn,
        Turn {
            packet_outs: expected,
            next_deadline: None
        }
    );

    assert_eq!(
        fabric.turn(Some((900, &[]))).unwrap(),
        Turn {
            packet_outs: vec![],
            next_deadline: Some(Instant::from_ns(1200))
        }
    );
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn notifications_come_before_their_turn_and_links_change_at_once() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let (digest, source) = (ENTITIES.id("learn_t"), vec![0, 0, 0, 0, 0, 9]);
    let controller = controller(&server, move |mut one, mut two| async move {
        one.set_config(ConfigAction::VerifyAndCommit, Some(ENTITIES.config(1)))
            .await
            .unwrap();
        let config = Some(digest_entry::Config {
            max_timeout_ns: 500,
            max_list_size: 2,
            ack_timeout_ns: 0,
        });
        let wanted = Entity::DigestEntry(DigestEntry {
            digest_id: digest,
            config,
        });
        one.write(vec![update(update::Type::Insert, wanted)]).await.unwrap();
        done(&two, 0, 0, 0).await;

        for (sequence, messages) in [(1, 2), (2, 1)] {
            let Response::Digest(list) = one.stream.next().await.unwrap() else {
                panic!("expected a digest list")
            };
            assert_eq!((list.list_id, list.data.len()), (sequence, messages));
            // In lock step, messages tell the fabric's time.
            assert_eq!(list.timestamp, [100, 700][sequence as usize - 1]);
            assert_eq!(advance(&mut one).await.sequence, sequence);
            assert_eq!(advance(&mut two).await.sequence, sequence);
            done(&one, sequence, 0, 0).await;
        }
        one.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();

    let learn = |fabric: &Fabric, port: u8, now_ns| {
        let fields = [source.clone(), vec![port]];
        fabric.link.learn(1, "learn_t", &fields, Instant::from_ns(now_ns))
    };
    assert_eq!(learn(&fabric, 1, 90), []);
    let full = learn(&fabric, 2, 100).pop().expect("the list is full");
    assert_eq!(learn(&fabric, 3, 200), []);
    fabric.turn(Some((150, &[Arrival::Notification(full)]))).unwrap();

    let mut due = Vec::new();
    let Fabric { link, devices, .. } = &mut fabric;
    let pipeline = devices.get_mut(&1).unwrap().0.as_mut().unwrap();
    assert_eq!(
        link.due(1, Instant::from_ns(699), pipeline, &mut due),
        Some(Instant::from_ns(700))
    );
    assert!(due.is_empty());
    assert_eq!(link.due(1, Instant::from_ns(700), pipeline, &mut due), None);
    let writes_before = fabric.writes;
    fabric.port_status(1, 3, false);
    fabric.port_status(1, 3, false);
    assert_eq!(fabric.writes, writes_before + 1, "the second one is no news");
    let late: Vec<Arrival> = due.into_iter().map(Arrival::Notification).collect();
    fabric.turn(Some((900, &late))).unwrap();
    drop((fabric, server));
    controller.join().unwrap();
}

/// The next message, which says how a port is.
async fn status(primary: &mut Primary) -> (u32, bool) {
    match primary.stream.next().await.unwrap() {
        Response::Other(any) if any.type_url == "type.googleapis.com/slotwise.v1.PortStatus" => {
            let PortStatus { port, up } = PortStatus::decode(any.value.as_slice()).unwrap();
            (port, up)
        }
        other => panic!("expected a status, got {other:?}"),
    }
}

fn port(device_id: u64, port: u16, is_up: bool) -> Arrival {
    Arrival::Port { device_id, port, is_up }
}

#[test]
fn the_status_of_a_port_comes_before_its_turn_on_its_devices_stream_if_that_tells_of_ports() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let controller = controller(&server, move |mut one, mut two| async move {
        done(&two, 0, 0, 0).await;
        assert_eq!(status(&mut two).await, (3, false));
        assert_eq!(advance(&mut one).await.now_ns, 150);
        assert_eq!(advance(&mut two).await.now_ns, 150);
        done(&one, 1, 0, 0).await;
        one.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    assert!(!fabric.port_status(1, 3, false), "it does not tell of ports");
    assert!(fabric.port_status(2, 3, false));
    assert!(!fabric.port_status(2, 3, false), "no news");
    let arrivals = [port(1, 3, false), port(2, 3, false)];
    fabric.turn(Some((150, &arrivals))).unwrap();
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn who_becomes_primary_hears_of_all_ports_that_have_changed() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let address = server.address();
    let controller = controller(&server, move |mut one, mut two| async move {
        done(&one, 0, 0, 0).await;
        assert_eq!(status(&mut two).await, (3, false));
        assert_eq!(advance(&mut one).await.sequence, 1);
        assert_eq!(advance(&mut two).await.sequence, 1);
        done(&one, 1, 0, 0).await;
        two.stream.next().await.unwrap_err();
        let mut back = Primary::at(address, 2, 1).await;
        assert_eq!(status(&mut back).await, (3, true), "mended while it was away");
        assert_eq!(status(&mut back).await, (4, false));
        assert_eq!(status(&mut back).await, (4, false), "what was on its way comes, too");
        assert_eq!(advance(&mut back).await.sequence, 2);
        assert_eq!(advance(&mut one).await.sequence, 2);
        done(&one, 2, 0, 0).await;
        one.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    fabric.port_status(2, 3, false);
    fabric.turn(Some((100, &[port(2, 3, false)]))).unwrap();
    fabric.with(|link, execute| link.device_down(2, execute)).unwrap();
    fabric.port_status(2, 3, true);
    fabric.port_status(2, 4, false);
    fabric.with(|link, execute| link.device_up(2, execute)).unwrap();
    fabric.turn(Some((200, &[port(2, 4, false)]))).unwrap();
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn while_no_device_is_there_turns_are_skipped_and_the_next_one_says_who_is_still_away() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let address = server.address();
    let controller = controller(&server, move |mut one, mut two| async move {
        done(&one, 0, 0, 50).await;
        assert_eq!(advance(&mut one).await.sequence, 1);
        assert_eq!(advance(&mut two).await.sequence, 1);
        done(&one, 1, 0, 300).await;
        one.stream.next().await.unwrap_err();
        two.stream.next().await.unwrap_err();
        let mut back = Primary::at(address, 2, 1).await;
        assert_eq!(
            status(&mut back).await,
            (3, false),
            "of what happened while it was away"
        );
        let turn = advance(&mut back).await;
        assert_eq!((turn.sequence, turn.now_ns, turn.absent_devices), (2, 500, vec![1]));
        done(&back, 2, 0, 0).await;
        back.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    assert_eq!(
        fabric.turn(Some((50, &[]))).unwrap().next_deadline,
        Some(Instant::from_ns(300))
    );
    for device_id in [1, 2] {
        fabric
            .with(|link, execute| link.device_down(device_id, execute))
            .unwrap();
    }
    fabric.port_status(2, 3, false);
    let lost = Arrival::Packet(ControllerPacket {
        device_id: 1,
        frame: vec![0; 20],
    });
    for (now_ns, arrivals) in [(250, vec![lost, port(2, 3, false)]), (300, Vec::new())] {
        let nothing = fabric.turn(Some((now_ns, &arrivals))).unwrap();
        assert_eq!((nothing.packet_outs.len(), nothing.next_deadline), (0, None));
    }
    fabric.with(|link, execute| link.device_up(2, execute)).unwrap();
    fabric.turn(Some((500, &[]))).unwrap();
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn a_controller_that_begins_has_a_turn_to_hear_of_ports() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let (end, ended) = tokio::sync::oneshot::channel();
    let first = controller(&server, |one, _two| async move {
        done(&one, 0, 0, 0).await;
        ended.await.unwrap();
    });
    fabric.turn(None).unwrap();
    end.send(()).unwrap();
    first.join().unwrap();
    fabric.link.forget_controller().unwrap();
    assert!(!fabric.link.has_told_ports());
    fabric.port_status(2, 7, false);
    let second = controller(&server, |mut one, mut two| async move {
        done(&one, 0, 0, 0).await;
        assert_eq!(status(&mut two).await, (7, false));
        assert_eq!(advance(&mut one).await.sequence, 1);
        done(&one, 1, 0, 0).await;
        one.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    assert!(fabric.link.has_told_ports());
    fabric.turn(Some((1, &[]))).unwrap();
    drop((fabric, server));
    second.join().unwrap();
}

#[test]
fn of_a_port_that_changes_often_in_one_turn_only_the_last_is_told() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let controller = controller(&server, |mut one, mut two| async move {
        done(&one, 0, 0, 0).await;
        // It reads nothing before the turn is announced.
        assert_eq!(advance(&mut one).await.sequence, 1);
        assert_eq!(status(&mut two).await, (4, true));
        assert_eq!(status(&mut two).await, (3, false));
        assert_eq!(advance(&mut two).await.sequence, 1);
        done(&one, 1, 0, 0).await;
        one.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    let mut arrivals: Vec<Arrival> = (0..20_000).map(|turn| port(2, 3, turn % 2 == 0)).collect();
    arrivals.insert(9_999, port(2, 4, true));
    fabric.turn(Some((100, &arrivals))).unwrap();
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn a_controller_that_leaves_in_its_turn_is_noticed() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let controller = controller(&server, |one, mut two| async move {
        done(&one, 0, 0, 0).await;
        advance(&mut two).await;
    });
    fabric.turn(None).unwrap();
    let error = fabric.turn(Some((1, &[]))).unwrap_err();
    assert!(
        matches!(error, LockstepError::ControllerLeft { sequence: 1 }),
        "{error}"
    );
    controller.join().unwrap();
}

#[test]
fn wrong_answers_are_errors() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let controller = controller(&server, |one, mut two| async move {
        done(&one, 0, 0, 0).await;
        advance(&mut two).await;
        done(&one, 7, 0, 0).await;
        two.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    let error = fabric.turn(Some((1, &[]))).unwrap_err();
    assert!(
        matches!(error, LockstepError::WrongTurn { given: 7, expected: 1 }),
        "{error}"
    );
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn a_controller_that_is_told_something_between_turns_is_answered_and_called() {
    let (server, mut fabric) = Fabric::new(PATIENCE);
    let (told, tell) = channel();
    let (step, mut steps) = tokio::sync::mpsc::unbounded_channel();
    let controller = controller(&server, |mut one, mut two| async move {
        one.set_config(ConfigAction::VerifyAndCommit, Some(TABLES.config(1)))
            .await
            .unwrap();
        done(&one, 0, 0, 0).await;
        steps.recv().await.unwrap();
        one.write(vec![insert(mac_entry(&TABLES, 1, &[3]))]).await.unwrap();
        told.send(()).unwrap();
        advance(&mut one).await;
        assert_eq!(advance(&mut two).await.sequence, 1);
        done(&one, 1, 0, 0).await;
        steps.recv().await.unwrap();
        // It wants something now, and says so twice: once in time, once after the next turn has begun.
        done(&one, 1, 0, 700).await;
        told.send(()).unwrap();
        assert_eq!(advance(&mut two).await.sequence, 2);
        done(&one, 1, 0, 800).await;
        done(&one, 2, 0, 900).await;
        two.stream.next().await.unwrap_err();
    });
    fabric.turn(None).unwrap();
    assert!(!fabric.listen(), "nobody has told it anything");
    let writes_before = fabric.writes;
    step.send(()).unwrap();
    // The write is not answered before it is listened to.
    let is_called = std::iter::repeat_with(|| fabric.listen()).find(|is_called| *is_called);
    assert_eq!((is_called, fabric.writes), (Some(true), writes_before + 1));
    tell.recv().unwrap();
    assert!(fabric.listen(), "until it has its turn");
    fabric.turn(Some((400, &[]))).unwrap();
    assert!(!fabric.listen());
    step.send(()).unwrap();
    tell.recv().unwrap();
    while !fabric.listen() {}
    let turn = fabric.turn(Some((500, &[]))).unwrap();
    assert_eq!(
        turn.next_deadline,
        Some(Instant::from_ns(900)),
        "what crosses a turn is void"
    );
    assert!(!fabric.listen());
    drop((fabric, server));
    controller.join().unwrap();
}

#[test]
fn a_silent_controller_is_not_waited_for_for_ever() {
    let (_server, mut fabric) = Fabric::new(Duration::from_millis(10));
    let error = fabric.turn(None).unwrap_err();
    assert!(matches!(error, LockstepError::Timeout { sequence: 0, .. }), "{error}");
}

#[test]
fn a_packet_in_without_controller_is_an_error() {
    let (_server, mut fabric) = Fabric::new(PATIENCE);
    let packet_in = ControllerPacket {
        device_id: 2,
        frame: vec![0; 60],
    };
    let error = fabric.turn(Some((1, &[Arrival::Packet(packet_in)]))).unwrap_err();
    assert!(
        matches!(error, LockstepError::Undelivered { device_id: 2, .. }),
        "{error}"
    );
}

#[test]
fn who_does_not_show_the_token_may_look_on_and_is_no_controller() {
    let config = ServerConfig {
        token: Some("secret".to_owned()),
        takes_guests: true,
        ..server_config(true)
    };
    let (server, mut fabric) = Fabric::start(config, PATIENCE);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let streams = runtime.block_on(async {
        let mut client = client(server.address()).await;
        client.capabilities(CapabilitiesRequest::default()).await.unwrap();
        let write = WriteRequest {
            device_id: 1,
            ..WriteRequest::default()
        };
        let refusal = client.write(write).await.unwrap_err();
        assert_eq!(refusal.code(), Code::PermissionDenied);
        let config = SetForwardingPipelineConfigRequest::default();
        let refusal = client.set_forwarding_pipeline_config(config).await.unwrap_err();
        assert_eq!(refusal.code(), Code::PermissionDenied);

        let mut guest = Stream::open(&mut client).await;
        guest.arbitrate(1, "", Some(9)).await;
        assert_eq!(guest.advisory().await.0, Code::NotFound, "never primary");
        let done = |packet_outs| {
            let done = Done {
                sequence: 0,
                packet_outs,
                next_deadline_ns: 0,
            };
            Request::Other(prost_types::Any {
                type_url: "type.googleapis.com/slotwise.v1.Done".to_owned(),
                value: done.encode_to_vec(),
            })
        };
        for request in [Request::Packet(PacketOut::default()), done(1)] {
            guest.send(request).await;
            assert!(matches!(guest.next().await, Ok(Response::Error(_))));
        }

        let mut controller = Stream::open_with(&mut client, Some("Bearer secret")).await;
        controller.arbitrate(1, "", Some(1)).await;
        assert_eq!(controller.advisory().await.0, Code::Ok);
        // It counts what it has sent itself: nothing.
        controller.send(done(0)).await;
        (guest, controller)
    });
    let turn = fabric.turn(None).unwrap();
    assert_eq!((turn.packet_outs, turn.next_deadline), (vec![], None));
    drop(streams);
}
