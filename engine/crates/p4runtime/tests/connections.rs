// SPDX-License-Identifier: Apache-2.0
//! What clients may not do with connections, messages and tokens.

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
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
    let mut first = bench.client().await;
    let mut second = bench.client().await;
    for client in [&mut first, &mut second] {
        client.capabilities(CapabilitiesRequest::default()).await.unwrap();
    }
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

/// Sends the beginning of a message and nothing more; gives the status of the answer.
async fn half_sent(address: SocketAddr, method: &'static str, bytes: &'static [u8]) -> Code {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post(format!("http://{address}/p4.v1.P4Runtime/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (response, mut body) = sender.send_request(request, false).unwrap();
    body.send_data(bytes.into(), false).unwrap();
    let answer = async {
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
    Code::from_bytes(&tokio::time::timeout(SOON, answer).await.unwrap())
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
    cases.extend([("Write", &[][..]), ("Write", &[0, 0, 0, 0, 0])]);
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
    let long = |megabytes: u8| -> &'static [u8] { Box::leak(Box::new([0, 0, megabytes << 4, 0, 1])) };
    let address = bench.server.address();
    assert_eq!(half_sent(address, "Write", long(8)).await, Code::ResourceExhausted);
    assert_eq!(half_sent(address, "Write", long(7)).await, Code::ResourceExhausted);
    assert_eq!(half_sent(address, "Read", long(1)).await, Code::ResourceExhausted);
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
