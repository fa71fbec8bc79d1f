// SPDX-License-Identifier: Apache-2.0
//! In BMv2's place.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use slotwise_netio::Ports;
use slotwise_p4runtime::parse_p4info;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::p4::v1::{
    ForwardingPipelineConfig, PacketMetadata, SetForwardingPipelineConfigRequest, stream_message_request,
};

use super::support::{
    Controller, ELECTION_ID, P4INFO, PROGRAM, Switch, command, forward_mac_1_to_port_2, frame, in_new_namespace,
    receive, runtime, simple_switch_grpc,
};

const QUEUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/queues.json");
const MICROSECOND_PCAP: [u8; 4] = 0xa1b2_c3d4_u32.to_le_bytes();

/// As p4lang/tutorials starts it, and as their controllers configure it.
#[test]
fn called_by_bmv2s_name_it_takes_bmv2s_command_line_and_configuration() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut switch = Switch::start(
        simple_switch_grpc(directory.path())
            .args(["-i", "1@one", "-i", "2@two", "--pcap"])
            .arg(directory.path())
            .args(["--nanolog", "ipc:///tmp/bm-0-log.ipc", PROGRAM, "--log-console"])
            .args([
                "--thrift-port",
                "9090",
                "--",
                "--grpc-server-addr",
                "127.0.0.1:0",
                "--cpu-port",
                "510",
            ]),
    );
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();
    let json = std::fs::read(PROGRAM).unwrap();
    // p4.tmp.P4DeviceConfig {reassign: true, device_data: JSON}
    let mut wrapped = vec![0x08, 0x01, 0x1a];
    prost::encode_length_delimiter(json.len(), &mut wrapped).unwrap();
    wrapped.extend(&json);
    runtime().block_on(async {
        let mut controller = Controller::connect(&switch.address, 0).await;
        let config = ForwardingPipelineConfig {
            p4info: Some(parse_p4info(&std::fs::read(P4INFO).unwrap(), false).unwrap()),
            p4_device_config: wrapped,
            cookie: None,
        };
        let request = SetForwardingPipelineConfigRequest {
            election_id: ELECTION_ID,
            action: Action::VerifyAndCommit.into(),
            config: Some(config),
            ..SetForwardingPipelineConfigRequest::default()
        };
        controller.client.set_forwarding_pipeline_config(request).await.unwrap();
        controller.client.write(forward_mac_1_to_port_2(0)).await.unwrap();
        far.send(0, &frame(1));
        far.flush();
        assert_eq!(receive(&mut far), (1, frame(1)));
        far.send(1, &frame(7));
        far.flush();
        let message = controller.responses.message().await.unwrap().unwrap();
        assert!(matches!(message.update, Some(Response::Packet(_))), "{message:?}");
    });
    switch.stop();
    let mut log = String::new();
    switch.output.read_to_string(&mut log).unwrap();
    assert!(
        log.contains("table TablesIngress.mac") && log.contains("leaves by port 2"),
        "{log}"
    );
    for file in ["one_in", "one_out", "two_in", "two_out"] {
        let pcap = std::fs::read(directory.path().join(format!("{file}.pcap"))).unwrap();
        assert_eq!(pcap[..4], MICROSECOND_PCAP, "{file}");
    }
}

/// A start script that forgets `-i` in front of further interfaces.
#[test]
fn surplus_words_are_named_and_ignored() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (program, words) in [
        (&["--no-p4"][..], "2@two last"),
        (&[PROGRAM, "router.json", "--no-p4"], "2@two router.json last"),
    ] {
        let link = tempfile::tempdir_in(directory.path()).unwrap();
        let (first, rest) = program.split_at(usize::from(program.len() > 1));
        let mut switch = Switch::start(
            simple_switch_grpc(link.path())
                .args(first)
                .args(["-i", "1@one", "2@two"])
                .args(rest)
                .args(["--", "last", "--grpc-server-addr", "127.0.0.1:0"])
                .stderr(Stdio::piped()),
        );
        let errors = switch.stop_and_read_errors();
        let note = format!("ignored arguments: {words}; expected one interface per -i, and one program");
        assert!(errors.contains(&note), "{errors}");
        let ignores_program = errors.contains("options without effect: the program, because of --no-p4");
        assert_eq!(ignores_program, program.len() > 1, "{errors}");
    }
}

#[test]
fn without_a_cpu_port_there_are_no_packets_to_and_from_the_controller() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut switch = Switch::start(
        simple_switch_grpc(directory.path())
            .args([
                "-i",
                "1@one",
                "-i",
                "2@two",
                PROGRAM,
                "--p4info",
                P4INFO,
                "--device-id",
                "3",
            ])
            .args(["--", "--grpc-server-addr", "127.0.0.1:0"])
            .stderr(Stdio::piped()),
    );
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();
    runtime().block_on(async {
        let mut controller = Controller::connect(&switch.address, 3).await;
        controller.client.write(forward_mac_1_to_port_2(3)).await.unwrap();
        // To the port that would be the controller's.
        far.send(1, &frame(7));
        let packet = slotwise_p4runtime::proto::p4::v1::PacketOut {
            payload: frame(8),
            metadata: vec![PacketMetadata {
                metadata_id: 1,
                value: vec![2],
            }],
        };
        controller.send(stream_message_request::Update::Packet(packet)).await;
        controller
            .send(stream_message_request::Update::Other(prost_types::Any::default()))
            .await;
        // The answer to what is no request, and no packet-in before it.
        let message = controller.responses.message().await.unwrap().unwrap();
        assert!(matches!(message.update, Some(Response::Error(_))), "{message:?}");
        far.send(0, &frame(1));
        far.flush();
        assert_eq!(
            receive(&mut far),
            (1, frame(1)),
            "and no frame of the packet-out before it"
        );
    });
    let errors = switch.stop_and_read_errors();
    assert!(errors.contains("1 packet-outs dropped: no CPU port"), "{errors}");
}

/// What the queues program says of a packet.
struct Report {
    enq_timestamp_us: u32,
    enq_qdepth: u32,
    deq_timedelta_us: u32,
    deq_qdepth: u32,
    ingress_timestamp_us: u64,
}

fn report(frame: &[u8]) -> Report {
    let word = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
    Report {
        enq_timestamp_us: word(14),
        enq_qdepth: word(18),
        deq_timedelta_us: word(22),
        deq_qdepth: word(26),
        ingress_timestamp_us: u64::from(word(30)) << 16 | u64::from(word(34) >> 16),
    }
}

#[test]
fn a_slow_link_fills_a_queue_of_which_the_program_knows() {
    if !in_new_namespace() {
        return;
    }
    // 1.4 ms a frame.
    command("tc", "qdisc add dev two root tbf rate 8mbit burst 10kb limit 10000000");
    let directory = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut switch = Switch::start(
        simple_switch_grpc(directory.path())
            .args(["-i", "1@one", "-i", "2@two", QUEUES, "--queue-depth", "8"])
            .args(["--", "--grpc-server-addr", "127.0.0.1:0"])
            .stderr(Stdio::piped()),
    );
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();
    let mut sent = frame(0);
    sent.resize(1400, 0);
    // More than the kernel's buffer, a batch and the queue hold.
    for _ in 0..1000 {
        far.send(0, &sent);
    }
    far.flush();
    let mut reports = Vec::new();
    let is_full = |reports: &[Report]| reports.iter().any(|it| it.enq_qdepth == 7);
    while !is_full(&reports) && start.elapsed() < Duration::from_secs(60) {
        let mut take = |port, frame: &[u8]| {
            if port == 1 && frame[12..14] == [0x88, 0xb6] {
                reports.push(report(frame));
            }
        };
        far.poll(Some(Duration::from_millis(100)), &mut take).unwrap();
    }
    let elapsed_us = start.elapsed().as_micros() as u64;
    assert!(
        is_full(&reports),
        "{} frames came, none from a full queue",
        reports.len()
    );
    for it in &reports {
        assert!(
            it.enq_qdepth <= 7 && it.deq_qdepth <= 7,
            "{} {}",
            it.enq_qdepth,
            it.deq_qdepth
        );
        assert!(
            it.ingress_timestamp_us <= elapsed_us,
            "{} is not in us",
            it.ingress_timestamp_us
        );
        assert!(u64::from(it.enq_timestamp_us) >= it.ingress_timestamp_us);
        assert!(
            it.enq_qdepth == 0 || it.deq_timedelta_us > 0,
            "who comes behind others waits"
        );
    }
    assert_eq!(
        (reports[0].enq_qdepth, reports[0].deq_qdepth),
        (0, 0),
        "the link was free"
    );
    let errors = switch.stop_and_read_errors();
    assert!(errors.contains("packets dropped: queue full or unknown"), "{errors}");
    assert!(!errors.contains("rejected by the kernel"), "{errors}");
}
