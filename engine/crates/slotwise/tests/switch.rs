// SPDX-License-Identifier: Apache-2.0
//! `slotwise switch` between two veth pairs, with a P4Runtime client, in a network namespace of the test's own. Needs root.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use slotwise_netio::Ports;
use slotwise_p4runtime::parse_p4info;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::p4::v1::*;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../p4runtime/tests/programs/tables.json");
const P4INFO: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../p4runtime/tests/programs/tables.p4info.txtpb"
);

fn ip(arguments: &str) {
    let status = Command::new("ip")
        .args(arguments.split(' '))
        .status()
        .expect("ip(8) is installed");
    assert!(status.success(), "ip {arguments}");
}

fn in_new_namespace() -> bool {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return false;
    }
    true
}

/// Killed if the test fails.
struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An Ethernet frame to a destination MAC.
fn frame(dst: u8) -> Vec<u8> {
    let mut frame = vec![0u8; 60];
    frame[5] = dst;
    frame[11] = 99;
    frame[12..14].copy_from_slice(&[0x88, 0xb6]);
    frame
}

/// The next frame of ours, whatever the kernel sends besides.
fn receive(ports: &mut Ports) -> (usize, Vec<u8>) {
    let mut got = None;
    for _ in 0..100 {
        let mut take = |port, frame: &[u8]| {
            if frame[12..14] == [0x88, 0xb6] {
                got = Some((port, frame.to_vec()));
            }
        };
        ports.poll(Some(Duration::from_millis(100)), &mut take).unwrap();
        if got.is_some() {
            break;
        }
    }
    got.expect("a frame arrives")
}

#[test]
fn forwards_takes_entries_and_talks_to_the_controller() {
    if !in_new_namespace() {
        return;
    }
    ip("link set lo up");
    // Or the kernel's own frames become packet-ins.
    std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    for pair in ["one", "two"] {
        ip(&format!("link add {pair} type veth peer name far-{pair}"));
        ip(&format!("link set {pair} up"));
        ip(&format!("link set far-{pair} up"));
    }
    let captures = tempfile::tempdir().unwrap();
    let pcap = format!("--pcap={}", captures.path().display());
    let arguments = [
        "--device-id",
        "5",
        "-i",
        "1@one",
        "-i",
        "2@two",
        "--thrift-port",
        "9090",
        PROGRAM,
        "--p4info",
        P4INFO,
        &pcap,
    ];
    let trace = tempfile::NamedTempFile::new().unwrap();
    let mut switch = Switch(
        Command::new(env!("CARGO_BIN_EXE_slotwise"))
            .arg("switch")
            .args(arguments)
            .arg("--trace")
            .arg(trace.path())
            .args(["--", "--grpc-server-addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut ready = String::new();
    BufReader::new(switch.0.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let address = ready
        .split("P4Runtime on ")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .expect(&ready)
        .to_owned();
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut client = P4RuntimeClient::connect(format!("http://{address}")).await.unwrap();
        let (requests, receiver) = mpsc::channel(4);
        let mut responses = client
            .stream_channel(ReceiverStream::new(receiver))
            .await
            .unwrap()
            .into_inner();
        let election_id = Some(Uint128 { high: 0, low: 1 });
        let arbitration = MasterArbitrationUpdate {
            device_id: 5,
            election_id,
            ..MasterArbitrationUpdate::default()
        };
        let send = async |update| {
            requests
                .send(StreamMessageRequest { update: Some(update) })
                .await
                .unwrap()
        };
        send(Request::Arbitration(arbitration)).await;
        responses.message().await.unwrap().unwrap();
        client.write(forward_mac_1_to_port_2(election_id)).await.unwrap();

        far.send(0, &frame(1));
        far.flush();
        assert_eq!(receive(&mut far), (1, frame(1)));

        far.send(1, &frame(7));
        far.flush();
        let message = responses.message().await.unwrap().unwrap();
        let Some(Response::Packet(packet)) = message.update else {
            panic!("expected a packet-in, got {message:?}")
        };
        assert_eq!(
            (packet.payload, packet.metadata[0].value.as_slice()),
            (frame(7), &[2][..])
        );

        let metadata = vec![PacketMetadata {
            metadata_id: 1,
            value: vec![1],
        }];
        send(Request::Packet(PacketOut {
            payload: frame(8),
            metadata,
        }))
        .await;
        // An answer to a later message: the packet-out is on its way, though our port is read without awaiting.
        send(Request::Other(prost_types::Any::default())).await;
        responses.message().await.unwrap();
        assert_eq!(receive(&mut far), (0, frame(8)));
    });

    let captured = |file: &str, wanted: &[u8]| {
        let bytes = std::fs::read(captures.path().join(file)).unwrap();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    };
    assert!(captured("one_in.pcap", &frame(1)) && captured("two_out.pcap", &frame(1)));
    assert!(captured("one_out.pcap", &frame(8)) && !captured("two_out.pcap", &frame(8)));

    kill(Pid::from_raw(switch.0.id() as i32), Signal::SIGTERM).unwrap();
    assert!(switch.0.wait().unwrap().success());
    let trace = std::fs::read_to_string(trace.path()).unwrap();
    for step in [
        "arrives on port 1",
        "table TablesIngress.mac",
        "tables.p4:",
        "leaves by port 2",
    ] {
        assert!(trace.contains(step), "{step}: {trace}");
    }
}

fn forward_mac_1_to_port_2(election_id: Option<Uint128>) -> WriteRequest {
    let p4info = parse_p4info(&std::fs::read(P4INFO).unwrap(), false).unwrap();
    let table = p4info
        .tables
        .iter()
        .filter_map(|table| table.preamble.as_ref())
        .find(|it| it.alias == "mac")
        .unwrap();
    let forward = p4info
        .actions
        .iter()
        .filter_map(|it| it.preamble.as_ref())
        .find(|it| it.alias == "forward")
        .unwrap();
    let exact = field_match::Exact { value: vec![1] };
    let param = action::Param {
        param_id: 1,
        value: vec![2],
    };
    let entry = TableEntry {
        table_id: table.id,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Exact(exact)),
        }],
        action: Some(TableAction {
            r#type: Some(table_action::Type::Action(Action {
                action_id: forward.id,
                params: vec![param],
            })),
        }),
        ..TableEntry::default()
    };
    let entity = Some(Entity {
        entity: Some(entity::Entity::TableEntry(entry)),
    });
    let updates = vec![Update {
        r#type: update::Type::Insert.into(),
        entity,
    }];
    WriteRequest {
        device_id: 5,
        election_id,
        updates,
        ..WriteRequest::default()
    }
}

#[test]
fn says_what_is_wrong_and_fails() {
    let not_pem = [
        "--grpc-server-ssl",
        "--grpc-server-cert",
        P4INFO,
        "--grpc-server-key",
        P4INFO,
    ];
    let not_pem = [&not_pem[..], &["--grpc-server-addr", "127.0.0.1:0"]].concat();
    let cases: [(&[&str], &str); 9] = [
        (&["--grpc-server-ssl"], "--grpc-server-cert"),
        (&["--grpc-server-with-client-auth"], "--grpc-server-cacert"),
        (&not_pem, "TLS"),
        (&["--use-files", "1"], "unexpected argument"),
        (&["-i", "veth0"], "is not PORT@IFACE"),
        (&["-i", "1@a", "-i", "1@b"], "port or interface is there twice"),
        (&["-i", "510@a"], "is the CPU port"),
        (&["-i", "1@no-such-if"], "interface no-such-if"),
        (&[P4INFO], "not JSON"),
    ];
    for (arguments, message) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_slotwise"))
            .arg("switch")
            .args(arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}
