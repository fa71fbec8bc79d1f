// SPDX-License-Identifier: Apache-2.0
//! Which of a device's ports have a link, as its controllers hear it. Device 2 tells them, device 1 does not.

use crate::support;

use prost::Message;
use slotwise_p4runtime::proto::p4::v1::DigestListAck;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::slotwise::v1::PortStatus;
use support::*;
use tonic::Code;

/// What a stream hears of ports until it has an answer to what it sends now.
async fn heard(stream: &mut Stream) -> Vec<(u32, bool)> {
    stream.send(Request::DigestAck(DigestListAck::default())).await;
    let mut heard = Vec::new();
    loop {
        match stream.next().await.unwrap() {
            Response::Other(any) => {
                assert_eq!(any.type_url, "type.googleapis.com/slotwise.v1.PortStatus");
                let PortStatus { port, up } = PortStatus::decode(any.value.as_slice()).unwrap();
                heard.push((port, up));
            }
            Response::Error(_) => return heard,
            other => panic!("expected a status, got {other:?}"),
        }
    }
}

/// A stream that has asked to be the primary of device 2, and was.
async fn primary(bench: &Bench, role: &str, election_id: u64) -> Stream {
    let mut stream = Stream::open(&mut bench.client().await).await;
    stream.arbitrate(2, role, Some(election_id)).await;
    assert_eq!(stream.advisory().await.0, Code::Ok);
    stream
}

/// Returns when the owner of the devices has done what it was told before.
async fn settle(bench: &mut Bench) {
    let mut one = bench.ready(&TABLES).await;
    one.stream.send(Request::DigestAck(DigestListAck::default())).await;
    one.stream.next().await.unwrap();
    one.stream.close().await;
}

#[tokio::test]
async fn each_stream_that_becomes_primary_hears_of_all_ports_that_have_changed() {
    let mut bench = Bench::start();
    for (port, is_up) in [(7, false), (3, false), (7, true), (9, true)] {
        bench.port_status(2, port, is_up);
        bench.port_status(1, port, is_up);
    }
    settle(&mut bench).await;
    let mut first = primary(&bench, "", 1).await;
    assert_eq!(heard(&mut first).await, [(3, false), (7, true)], "9 has always been up");
    bench.port_status(2, 3, true);
    bench.port_status(2, 3, true);
    settle(&mut bench).await;
    assert_eq!(heard(&mut first).await, [(3, true)], "the second is no news");

    // The same primary with a higher id is no other one.
    first.arbitrate(2, "", Some(5)).await;
    assert_eq!(first.advisory().await.0, Code::Ok);
    assert_eq!(heard(&mut first).await, []);

    let mut backup = Stream::open(&mut bench.client().await).await;
    backup.arbitrate(2, "", Some(4)).await;
    assert_eq!(backup.advisory().await.0, Code::AlreadyExists);
    assert_eq!(heard(&mut backup).await, []);
    bench.port_status(2, 3, false);
    settle(&mut bench).await;
    assert_eq!(heard(&mut backup).await, []);
    assert_eq!(heard(&mut first).await, [(3, false)]);
    backup.arbitrate(2, "", Some(6)).await;
    assert_eq!(backup.advisory().await.0, Code::Ok);
    assert_eq!(heard(&mut backup).await, [(3, false), (7, true)]);
    assert_eq!(first.advisory().await.0, Code::AlreadyExists);

    let mut other = primary(&bench, "other", 1).await;
    assert_eq!(heard(&mut other).await, [(3, false), (7, true)]);
}
