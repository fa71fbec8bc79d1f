// SPDX-License-Identifier: Apache-2.0
//! Packet-in and packet-out, and what a stream answers to messages that it cannot use.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

fn metadata(metadata_id: u32, value: &[u8]) -> PacketMetadata {
    PacketMetadata {
        metadata_id,
        value: value.to_vec(),
    }
}

#[tokio::test]
async fn packet_out_leaves_by_its_port_and_packet_in_says_where_it_came_from() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let payload = frame(9, 0x0800, b"hello");
    let packet = PacketOut {
        payload: payload.clone(),
        metadata: vec![metadata(1, &[1, 4])],
    };
    primary.stream.send(Request::Packet(packet)).await;
    assert_eq!(bench.left.recv().await.unwrap(), (1, 260, payload.clone()));

    bench.inject(1, 260, &payload);
    let expected = PacketIn {
        payload,
        metadata: vec![metadata(1, &[1, 4]), metadata(2, &[0])],
    };
    assert_eq!(primary.stream.next().await.unwrap(), Response::Packet(expected));
}

/// `TABLES` with the ports in its controller headers as numbers of 32 bits for controllers.
fn translated() -> ForwardingPipelineConfig {
    let mut program = TABLES.config(1);
    let info = program.p4info.as_mut().unwrap();
    let port_t = translated_type(info, SdnType::SdnBitwidth(32));
    for header in &mut info.controller_packet_metadata {
        let port = &mut header.metadata[0];
        assert_eq!(port.bitwidth, 9);
        (port.bitwidth, port.type_name) = (32, port_t.clone());
    }
    program
}

/// `TABLES` with the parameter of `forward`, ports in controller headers and match fields but one as strings for controllers.
fn with_strings() -> ForwardingPipelineConfig {
    let mut program = TABLES.config(1);
    let info = program.p4info.as_mut().unwrap();
    let string_t = translated_type(info, SdnType::SdnString(SdnString {}));
    for header in &mut info.controller_packet_metadata {
        let port = &mut header.metadata[0];
        (port.bitwidth, port.type_name) = (0, string_t.clone());
    }
    let forward = info.actions.iter_mut().find(|action| !action.params.is_empty());
    let port = &mut forward.unwrap().params[0];
    assert_eq!(port.name, "port");
    (port.bitwidth, port.type_name) = (0, string_t.clone());
    for field in info.tables.iter_mut().flat_map(|table| &mut table.match_fields) {
        if field.name != "hdr.probe.port" {
            (field.bitwidth, field.type_name) = (0, string_t.clone());
        }
    }
    program
}

#[tokio::test]
async fn strings_for_controllers_are_numbers_in_decimal() {
    use set_forwarding_pipeline_config_request::Action::VerifyAndCommit;
    let mut bench = Bench::start();
    let mut primary = Primary::of(&bench.server, 1, 1).await;
    primary.set_config(VerifyAndCommit, Some(with_strings())).await.unwrap();
    let to_port = |port: &[u8]| action(TABLES.action("forward"), &[port]);
    let mac = |mac: &[u8], port: &[u8]| TableEntry {
        r#match: vec![exact(1, mac)],
        action: to_port(port),
        ..table("mac")
    };
    let written = mac(b"7", b"260");
    primary.write(vec![insert(written.clone())]).await.unwrap();
    assert_eq!(primary.read_entries(table("mac")).await, [written]);
    let fallback = primary.read_entries(default_of("fallback", None)).await;
    assert_eq!(fallback[0].action, to_port(b"510"));
    let tagged = acl(1, vec![optional(3, b"15")]);
    primary.write(vec![insert(tagged.clone())]).await.unwrap();
    assert_eq!(primary.read_entries(table("acl")).await, [tagged]);
    let constant = primary.read_entries(table("kinds")).await;
    assert_eq!(constant[0].r#match, [exact(1, b"3")]);
    let refused = vec![
        insert(mac(&[7], b"260")),
        insert(mac(b"8", b"512")),
        insert(acl(2, vec![ternary(1, b"1", b"3")])),
        insert(route(vec![lpm(1, b"1", 32)])),
    ];
    let expected = [
        Code::InvalidArgument,
        Code::InvalidArgument,
        Code::Unimplemented,
        Code::Unimplemented,
    ];
    assert_eq!(batch_codes(&primary.write(refused).await.unwrap_err()), expected);

    let payload = frame(7, 0x0800, b"hello");
    bench.inject(1, 5, &payload);
    assert_eq!(bench.left.recv().await.unwrap(), (1, 260, payload.clone()));
    let packet = PacketOut {
        payload: payload.clone(),
        metadata: vec![metadata(1, b"261")],
    };
    primary.stream.send(Request::Packet(packet)).await;
    assert_eq!(bench.left.recv().await.unwrap(), (1, 261, payload));
    let unknown = frame(9, 0x0800, b"hello");
    bench.inject(1, 260, &unknown);
    let expected = PacketIn {
        payload: unknown,
        metadata: vec![metadata(1, b"260"), metadata(2, &[0])],
    };
    assert_eq!(primary.stream.next().await.unwrap(), Response::Packet(expected));
}

#[tokio::test]
async fn headers_with_translated_types_are_laid_out_as_the_program_has_them() {
    use set_forwarding_pipeline_config_request::Action::VerifyAndCommit;
    let mut bench = Bench::start();
    let mut primary = Primary::of(&bench.server, 1, 1).await;
    primary.set_config(VerifyAndCommit, Some(translated())).await.unwrap();
    let payload = frame(9, 0x0800, b"hello");
    let packet = PacketOut {
        payload: payload.clone(),
        metadata: vec![metadata(1, &[0, 0, 1, 4])],
    };
    primary.stream.send(Request::Packet(packet)).await;
    assert_eq!(bench.left.recv().await.unwrap(), (1, 260, payload.clone()));
    bench.inject(1, 260, &payload);
    let expected = PacketIn {
        payload,
        metadata: vec![metadata(1, &[1, 4]), metadata(2, &[0])],
    };
    assert_eq!(primary.stream.next().await.unwrap(), Response::Packet(expected));

    let mut strange = translated();
    let info = strange.p4info.as_mut().unwrap();
    info.controller_packet_metadata[0].metadata[0].name = "nowhere".to_owned();
    let refused = primary.set_config(VerifyAndCommit, Some(strange)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("unique header type"), "{refused}");
}

#[tokio::test]
async fn only_primaries_take_part_in_packet_io() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let mut client = bench.client().await;
    let mut backup = Stream::open(&mut client).await;
    let packet = || PacketOut {
        payload: frame(9, 0x0800, b"x"),
        metadata: vec![metadata(1, &[1])],
    };
    for before_arbitration in [true, false] {
        if !before_arbitration {
            backup.arbitrate(1, "", None).await;
            assert_eq!(backup.advisory().await.0, Code::AlreadyExists);
        }
        backup.send(Request::Packet(packet())).await;
        let Response::Error(error) = backup.next().await.unwrap() else {
            panic!("expected an error")
        };
        assert_eq!(Code::from(error.canonical_code), Code::PermissionDenied);
    }
    bench.inject(1, 5, &frame(9, 0x0800, b"in"));
    assert!(matches!(primary.stream.next().await.unwrap(), Response::Packet(_)));
    backup.arbitrate(1, "", None).await;
    assert!(
        matches!(backup.next().await.unwrap(), Response::Arbitration(_)),
        "the packet-in was not for the backup"
    );
}

#[tokio::test]
async fn useless_messages_are_answered_and_the_stream_goes_on() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let packet = |metadata| {
        Request::Packet(PacketOut {
            payload: frame(9, 0x0800, b"x"),
            metadata,
        })
    };
    let huge = PacketOut {
        payload: vec![0; 1 << 17],
        metadata: vec![metadata(1, &[1])],
    };
    let other = |type_url: &str| prost_types::Any {
        type_url: type_url.to_owned(),
        value: vec![0xff],
    };
    let messages = [
        (packet(vec![]), Code::InvalidArgument),
        (packet(vec![metadata(7, &[1])]), Code::InvalidArgument),
        (packet(vec![metadata(1, &[2, 0])]), Code::OutOfRange),
        (
            packet(vec![metadata(1, &[1]), metadata(1, &[1])]),
            Code::InvalidArgument,
        ),
        (Request::Packet(huge), Code::InvalidArgument),
        (Request::DigestAck(DigestListAck::default()), Code::NotFound),
        (
            Request::Other(other("type.googleapis.com/nobody.Knows")),
            Code::Unimplemented,
        ),
        (
            Request::Other(other("type.googleapis.com/slotwise.v1.Done")),
            Code::FailedPrecondition,
        ),
    ];
    for (message, code) in messages {
        primary.stream.send(message.clone()).await;
        let Response::Error(error) = primary.stream.next().await.unwrap() else {
            panic!("expected an error")
        };
        assert_eq!(Code::from(error.canonical_code), code, "{}", error.message);
        match (message, error.details.unwrap()) {
            (Request::Packet(sent), stream_error::Details::PacketOut(back)) => assert_eq!(back.packet_out, Some(sent)),
            (Request::DigestAck(sent), stream_error::Details::DigestListAck(back)) => {
                assert_eq!(back.digest_list_ack, Some(sent));
            }
            (Request::Other(sent), stream_error::Details::Other(back)) => assert_eq!(back.other, Some(sent)),
            (_, details) => panic!("wrong details {details:?}"),
        }
    }
    primary.stream.send(packet(vec![metadata(1, &[3])])).await;
    assert_eq!(bench.left.recv().await.unwrap().1, 3);
}
