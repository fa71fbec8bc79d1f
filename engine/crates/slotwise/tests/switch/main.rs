// SPDX-License-Identifier: Apache-2.0
//! `slotwise switch` between two veth pairs, with a P4Runtime client, in a network namespace of the test's own. Needs root.

mod bmv2;
mod support;
mod trouble;

use slotwise_netio::Ports;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::p4::v1::{PacketMetadata, PacketOut};

use support::{
    Controller, P4INFO, PROGRAM, Switch, forward_mac_1_to_port_2, frame, in_new_namespace, receive, runtime, slotwise,
};

#[test]
fn forwards_takes_entries_and_talks_to_the_controller() {
    if !in_new_namespace() {
        return;
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
    let mut switch = Switch::start(
        slotwise()
            .arg("switch")
            .args(arguments)
            .arg("--trace")
            .arg(trace.path())
            .args(["--", "--grpc-server-addr", "127.0.0.1:0"]),
    );
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();

    runtime().block_on(async {
        let mut controller = Controller::connect(&switch.address, 5).await;
        controller.client.write(forward_mac_1_to_port_2(5)).await.unwrap();

        far.send(0, &frame(1));
        far.flush();
        assert_eq!(receive(&mut far), (1, frame(1)));

        far.send(1, &frame(7));
        far.flush();
        let message = controller.responses.message().await.unwrap().unwrap();
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
        let packet = PacketOut {
            payload: frame(8),
            metadata,
        };
        controller.send(Request::Packet(packet)).await;
        // An answer to a later message: the packet-out is on its way, though our port is read without awaiting.
        controller.send(Request::Other(prost_types::Any::default())).await;
        controller.responses.message().await.unwrap();
        assert_eq!(receive(&mut far), (0, frame(8)));
    });

    let captured = |file: &str, wanted: &[u8]| {
        let bytes = std::fs::read(captures.path().join(file)).unwrap();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    };
    assert!(captured("one_in.pcap", &frame(1)) && captured("two_out.pcap", &frame(1)));
    assert!(captured("one_out.pcap", &frame(8)) && !captured("two_out.pcap", &frame(8)));

    switch.stop();
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
    let cases: [(&[&str], &str); 10] = [
        (&["--grpc-server-ssl"], "--grpc-server-cert"),
        (&["--grpc-server-with-client-auth"], "--grpc-server-cacert"),
        (&not_pem, "TLS"),
        (&["--use-files", "1"], "--use-files: not supported"),
        (&["-i", "veth0"], "expected PORT@IFACE"),
        (&["-i", "1@a", "-i", "1@b"], "duplicate port or interface"),
        (&["-i", "510@a"], "reserved as CPU port or drop port"),
        (&["-i", "1@a-name-of-17-bytes"], "no interface can have this name"),
        (&[P4INFO], "P4Info; expected p4c's JSON"),
        (&[PROGRAM, "-i", "1@one", "2@two"], "unexpected argument '2@two'"),
    ];
    for (arguments, message) in cases {
        let output = slotwise().arg("switch").args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}
