// SPDX-License-Identifier: Apache-2.0
//! What clients may not do with connections, messages and tokens.

use crate::support;

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request};

/// For what should come soon: a test that waits in vain fails.
const SOON: Duration = Duration::from_secs(60);

fn impatient(patience: Duration) -> slotwise_p4runtime::ServerConfig {
    let mut config = server_config(false);
    config.limits.patience = patience;
    config
}

/// Returns when the server has closed the connection.
async fn closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    // Closed or reset, but not left alone.
    let _ = tokio::time::timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
}

#[tokio::test]
async fn connections_without_a_call_are_closed() {
    let bench = Bench::with(impatient(Duration::from_millis(50)));
    let silent = TcpStream::connect(bench.server.address()).await.unwrap();
    closed(silent).await;
    let half = TcpStream::connect(bench.server.address()).await.unwrap();
    half.writable().await.unwrap();
    half.try_write(b"PRI * HTTP/2.0\r\n").unwrap();
    closed(half).await;
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_places_come_free() {
    let mut config = server_config(false);
    config.limits.connections = 2;
    let bench = Bench::with(config);
    let first = Primary::of(&bench.server, 1, 1).await;
    let _second = Primary::of(&bench.server, 2, 1).await;
    closed(TcpStream::connect(bench.server.address()).await.unwrap()).await;
    drop(first);
    let address = format!("http://{}", bench.server.address());
    let next = async {
        loop {
            if let Ok(mut client) = P4RuntimeClient::connect(address.clone()).await
                && client.capabilities(CapabilitiesRequest::default()).await.is_ok()
            {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, next).await.unwrap();
}

#[tokio::test]
async fn connections_without_a_primary_make_room() {
    let mut config = server_config(false);
    config.limits.connections = 2;
    let bench = Bench::with(config);
    let mut primary = bench.ready(&TABLES).await;
    for _ in 0..3 {
        // Each takes the place of the one before, although that has called and answers.
        let stranger = connect(bench.server.address()).await;
        assert_eq!(
            half_sent_on(&stranger, "Read", begun(2, 0)).await,
            Code::ResourceExhausted
        );
        let mut newcomer = bench.client().await;
        newcomer.capabilities(CapabilitiesRequest::default()).await.unwrap();
        let gone = async {
            while stranger.clone().ready().await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(SOON, gone).await.unwrap();
    }
    primary.write(vec![insert(mac_entry(&TABLES, 1, &[1]))]).await.unwrap();
}

#[tokio::test]
async fn one_connection_has_a_stream_for_each_device_and_calls_beside() {
    let mut config = server_config(false);
    config.limits.calls_a_connection = 1;
    let bench = Bench::with(config);
    let mut client = bench.client().await;
    let all = async {
        let mut streams = Vec::new();
        for device_id in [1, 2] {
            let mut stream = Stream::open(&mut client).await;
            stream.arbitrate(device_id, "", Some(1)).await;
            assert_eq!(stream.advisory().await, (Code::Ok, Some(1)));
            streams.push(stream);
        }
        client.capabilities(CapabilitiesRequest::default()).await.unwrap();
    };
    tokio::time::timeout(SOON, all).await.unwrap();
}

type Connection = h2::client::SendRequest<Bytes>;

async fn connect(address: SocketAddr) -> Connection {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// Sends the beginning of a message and nothing more; gives the status of the answer.
async fn half_sent(address: SocketAddr, method: &'static str, bytes: impl Into<Bytes>) -> Code {
    let connection = connect(address).await;
    half_sent_on(&connection, method, bytes.into()).await
}

/// The same on a connection that is there: sent when this returns, answered later.
fn half_sent_on(connection: &Connection, method: &str, bytes: Bytes) -> impl Future<Output = Code> + Send + use<> {
    let request = http::Request::post(format!("http://switch/p4.v1.P4Runtime/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (response, mut body) = connection.clone().send_request(request, false).unwrap();
    body.send_data(bytes, false).unwrap();
    let answer = async move {
        // Dropped, it would end the call.
        let _body = body;
        let response = response.await.unwrap();
        let status = |headers: &http::HeaderMap| headers.get("grpc-status").map(|it| it.as_bytes().to_vec());
        if let Some(status) = status(response.headers()) {
            return status;
        }
        let mut answer = response.into_body();
        while answer.data().await.is_some() {}
        let trailers = answer.trailers().await.unwrap();
        status(&trailers.unwrap()).unwrap()
    };
    async move { Code::from_bytes(&tokio::time::timeout(SOON, answer).await.unwrap()) }
}

/// What comes of a whole Write of `bytes`, if it is received: there is no such device.
async fn write_of(bytes: usize, bench: &Bench) -> Code {
    let request = WriteRequest {
        device_id: 99,
        role: "x".repeat(bytes),
        ..WriteRequest::default()
    };
    bench.client().await.write(request).await.unwrap_err().code()
}

/// The first `sent` bytes of a message of so many MiB.
fn begun(mebibytes: u8, sent: usize) -> Bytes {
    let mut bytes = vec![0, 0, mebibytes << 4, 0, 0];
    bytes.resize(5 + sent, 0);
    bytes.into()
}

#[tokio::test]
async fn half_sent_messages_are_not_waited_for() {
    // Long enough for a call to come at all on a busy machine.
    let bench = Bench::with(impatient(Duration::from_secs(3)));
    let address = bench.server.address();
    let mut cases = Vec::new();
    for method in ["Write", "Read", "StreamChannel"] {
        cases.extend([&[0, 0, 0][..], &[0, 0, 0, 3, 0, 1, 2]].map(|part| (method, part)));
    }
    // Nothing; and a whole message, but no end of the call.
    cases.extend([("Write", &[][..]), ("Read", &[0, 0, 0, 0, 0])]);
    let sent = cases.into_iter().map(|(method, part)| {
        let code = tokio::spawn(half_sent(address, method, part));
        (method, part, code)
    });
    for (method, part, code) in sent.collect::<Vec<_>>() {
        assert_eq!(code.await.unwrap(), Code::DeadlineExceeded, "{method} {part:?}");
    }
}

#[tokio::test]
async fn messages_are_bounded_alone_and_together() {
    let mut config = server_config(false);
    config.limits.message_bytes = 8 << 20;
    config.limits.receiving_bytes = 4 << 20;
    let bench = Bench::with(config);
    let address = bench.server.address();
    assert_eq!(half_sent(address, "Write", begun(9, 0)).await, Code::ResourceExhausted);
    assert_eq!(
        half_sent(address, "Write", begun(7, 5 << 20)).await,
        Code::ResourceExhausted
    );
    assert_eq!(half_sent(address, "Read", begun(2, 0)).await, Code::ResourceExhausted);
}

#[tokio::test]
async fn what_has_not_come_takes_no_room() {
    let mut config = server_config(false);
    config.limits.message_bytes = 2 << 20;
    config.limits.receiving_bytes = 2 << 20;
    let bench = Bench::with(config);
    let connection = connect(bench.server.address()).await;
    let _begun: Vec<_> = (0..4)
        .map(|_| half_sent_on(&connection, "Write", begun(2, 0)))
        .collect();
    // Whose refusal comes after these.
    assert_eq!(
        half_sent_on(&connection, "Read", begun(2, 0)).await,
        Code::ResourceExhausted
    );
    assert_eq!(write_of(1_000_000, &bench).await, Code::NotFound);
}

#[tokio::test]
async fn a_connection_has_a_share_of_what_is_received() {
    let mut config = server_config(false);
    config.limits.message_bytes = 1 << 20;
    config.limits.receiving_bytes = 8 << 20;
    let bench = Bench::with(config);
    let connection = connect(bench.server.address()).await;
    let mut begun_messages = JoinSet::new();
    for _ in 0..5 {
        begun_messages.spawn(half_sent_on(&connection, "Write", begun(1, 1_000_000)));
    }
    let refused = begun_messages.join_next().await.unwrap().unwrap();
    assert_eq!(refused, Code::ResourceExhausted);
    assert_eq!(write_of(1_000_000, &bench).await, Code::NotFound);
}

/// The beginning of a Write of empty updates.
fn empty_updates(count: usize) -> Bytes {
    let mut bytes = vec![0, 0, 16, 0, 0];
    bytes.extend([0x22, 0].repeat(count));
    bytes.into()
}

#[tokio::test]
async fn updates_count_as_what_they_become() {
    let mut config = server_config(false);
    config.limits.receiving_bytes = 4 << 20;
    let bench = Bench::with(config);
    let address = bench.server.address();
    assert_eq!(
        half_sent(address, "Write", empty_updates(60_000)).await,
        Code::ResourceExhausted
    );
    let bench = Bench::start();
    let address = bench.server.address();
    assert_eq!(
        half_sent(address, "Write", empty_updates(65_537)).await,
        Code::ResourceExhausted
    );
}

#[tokio::test]
async fn who_may_not_write_is_told_so_whatever_it_sends() {
    let bench = Bench::start();
    let _primary = bench.ready(&TABLES).await;
    let mut message = vec![0, 0, 0, 0, 6];
    // Device 1, and updates that nothing can be decoded from.
    message.extend([8, 1, 0x22, 2, 0x12, 0x0f]);
    let denied = half_sent(bench.server.address(), "Write", message.clone()).await;
    assert_eq!(denied, Code::InvalidArgument);
    message.truncate(7);
    message[4] = 2;
    let denied = half_sent(bench.server.address(), "Write", message).await;
    assert_eq!(
        denied,
        Code::PermissionDenied,
        "without waiting for the end of the call"
    );
}

#[tokio::test]
async fn who_may_not_configure_is_told_so_before_the_program_is_decoded() {
    let bench = Bench::start();
    let _primary = bench.ready(&TABLES).await;
    // Device 1, and a configuration whose P4Info has a name that is no UTF-8: well-formed for all but a decoder.
    let message = [8, 1, 0x2a, 7, 0x0a, 5, 0x0a, 3, 0x0a, 1, 0xff];
    assert!(SetForwardingPipelineConfigRequest::decode(&message[..]).is_err());
    let bytes = [&[0, 0, 0, 0, message.len() as u8], &message[..]].concat();
    let denied = half_sent(bench.server.address(), "SetForwardingPipelineConfig", bytes).await;
    assert_eq!(
        denied,
        Code::PermissionDenied,
        "without waiting for the end of the call"
    );
}

#[tokio::test]
async fn primaries_write_although_strangers_send() {
    let mut config = server_config(false);
    config.limits.message_bytes = 1 << 20;
    config.limits.receiving_bytes = 2 << 20;
    let bench = Bench::with(config);
    let mut primary = bench.ready(&TABLES).await;
    let mut strangers = JoinSet::new();
    for _ in 0..4 {
        strangers.spawn(half_sent(bench.server.address(), "Write", begun(1, 500_000)));
    }
    // Three of them have come then.
    let full = async { while write_of(1_000_000, &bench).await != Code::ResourceExhausted {} };
    tokio::time::timeout(SOON, full).await.unwrap();
    let entry = TableEntry {
        metadata: vec![1; 900_000],
        ..mac_entry(&TABLES, 1, &[1])
    };
    primary.write(vec![insert(entry)]).await.unwrap();
    let ended = strangers.join_next().await.unwrap().unwrap();
    assert_eq!(ended, Code::ResourceExhausted);
}

#[tokio::test]
async fn a_message_counts_until_what_it_asks_for_is_done() {
    static MAY_COMPILE: OnceLock<()> = OnceLock::new();
    let mut config = server_config(false);
    config.limits.message_bytes = 1 << 20;
    config.limits.receiving_bytes = 3 << 19;
    config.prepare_compiler = Some(|| {
        MAY_COMPILE.wait();
    });
    let bench = Bench::with(config);
    let mut primary = Primary::of(&bench.server, 1, 1).await;
    let program = ForwardingPipelineConfig {
        p4_device_config: vec![b' '; 800_000],
        ..TABLES.config(1)
    };
    let compiled = tokio::spawn(async move {
        let action = set_forwarding_pipeline_config_request::Action::Verify;
        primary.set_config(action, Some(program)).await
    });
    let refused = async { while write_of(1_000_000, &bench).await != Code::ResourceExhausted {} };
    tokio::time::timeout(SOON, refused).await.unwrap();
    MAY_COMPILE.set(()).unwrap();
    assert_eq!(compiled.await.unwrap().unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(write_of(1_000_000, &bench).await, Code::NotFound);
}

#[tokio::test]
async fn who_has_the_token_may_call() {
    let mut config = server_config(false);
    config.token = Some("secret".to_owned());
    let bench = Bench::with(config);
    let mut client = bench.client().await;
    let with = |token: Option<&'static str>| {
        let mut request = Request::new(CapabilitiesRequest::default());
        if let Some(token) = token {
            request
                .metadata_mut()
                .insert("authorization", MetadataValue::from_static(token));
        }
        request
    };
    for wrong in [
        None,
        Some("secret"),
        Some("Bearer secre"),
        Some("Bearer secrets"),
        Some("Bearer sacret"),
        Some("Bearer "),
    ] {
        let status = client.capabilities(with(wrong)).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{wrong:?}");
    }
    client.capabilities(with(Some("Bearer secret"))).await.unwrap();
}
