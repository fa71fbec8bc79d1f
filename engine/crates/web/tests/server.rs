// SPDX-License-Identifier: Apache-2.0
//! The server as its clients see it, over real connections.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use slotwise_web::{Answer, Asked, Backend, Config, Method, Nobody, WebServer};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

const TOKEN: &str = "0123456789abcdef";

/// Answers what it was asked.
struct Echo;

impl Backend for Echo {
    fn call(&self, asked: Asked) -> Answer {
        let Asked { method, path, body } = asked;
        let text = format!("{method:?} {path} {}", String::from_utf8_lossy(&body));
        Answer {
            status: if method == Method::Get { 200 } else { 202 },
            body: text.into_bytes(),
        }
    }
}

fn config() -> Config {
    Config::new("127.0.0.1:0".parse().unwrap(), TOKEN.into())
}

fn server(backend: impl Backend) -> WebServer {
    WebServer::start(config(), Arc::new(backend)).unwrap()
}

/// One that soon has had enough of a client.
fn impatient() -> WebServer {
    let config = Config {
        patience: Duration::from_millis(100),
        ..config()
    };
    WebServer::start(config, Arc::new(Echo)).unwrap()
}

/// What a client that sends `text` and then nothing hears until it is sent away.
fn until_sent_away(server: &WebServer, text: &str) -> String {
    let mut connection = TcpStream::connect(host(server)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    connection
        .write_all(text.replace("HOST", &host(server)).as_bytes())
        .unwrap();
    let mut heard = Vec::new();
    let end = connection.read_to_end(&mut heard);
    assert!(
        end.as_ref()
            .err()
            .is_none_or(|error| error.kind() == ErrorKind::ConnectionReset),
        "{end:?}"
    );
    String::from_utf8_lossy(&heard).into_owned()
}

fn host(server: &WebServer) -> String {
    let url = server.url();
    url.strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned()
}

/// Status and text of the answer to a request by hand.
fn ask(server: &WebServer, head: &str, body: &str) -> (u16, String) {
    let mut connection = TcpStream::connect(host(server)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let host = host(server);
    let head = head.replace("HOST", &host);
    // Who is refused by a part of the request may find the connection reset behind the answer, before all is written.
    let _ = write!(
        connection,
        "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), answer)
}

fn read(server: &WebServer) -> WebSocket<TcpStream> {
    let host = host(server);
    let connection = TcpStream::connect(&host).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let request = format!("ws://{host}/stream?token={TOKEN}")
        .into_client_request()
        .unwrap();
    tungstenite::client(request, connection).unwrap().0
}

fn text(socket: &mut WebSocket<TcpStream>) -> String {
    socket.read().unwrap().into_text().unwrap().to_string()
}

#[test]
fn the_page_is_for_who_has_the_token() {
    let server = server(Nobody);
    let (status, page) = ask(&server, &format!("GET /?token={TOKEN} HTTP/1.1\r\nHost: HOST"), "");
    assert_eq!(status, 200);
    assert!(page.contains("<title>Slotwise</title>"), "{page}");
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(page.contains(header), "{header}: {page}");
    }
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: HOST", 401),
        ("GET /?token=other HTTP/1.1\r\nHost: HOST", 401),
        ("GET /stream HTTP/1.1\r\nHost: HOST", 401),
        ("GET /api/fibre HTTP/1.1\r\nHost: HOST", 401),
        ("GET /assets/page.js HTTP/1.1\r\nHost: HOST", 200),
        ("GET /assets/page.css HTTP/1.1\r\nHost: HOST", 200),
        ("GET /assets/other.js HTTP/1.1\r\nHost: HOST", 404),
        ("GET /assets/../secret HTTP/1.1\r\nHost: HOST", 404),
        ("GET /assets/page.js HTTP/1.1\r\nHost: evil.example", 421),
        (
            "GET /?token=0123456789abcdef HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example",
            403,
        ),
        ("POST /?token=0123456789abcdef HTTP/1.1\r\nHost: HOST", 405),
    ] {
        assert_eq!(ask(&server, request, "").0, expected, "{request}");
    }
}

#[test]
fn only_loopback_is_listened_on() {
    let config = Config::new("0.0.0.0:0".parse().unwrap(), TOKEN.into());
    let error = WebServer::start(config, Arc::new(Nobody)).err().unwrap();
    assert_eq!(error.to_string(), "0.0.0.0:0 is not a loopback address");
}

#[test]
fn the_backend_is_asked_and_bodies_are_bounded() {
    let server = server(Echo);
    let shown = format!("Host: HOST\r\nAuthorization: Bearer {TOKEN}");
    let (status, answer) = ask(
        &server,
        &format!("GET /api/slotwise/v1/star/status HTTP/1.1\r\n{shown}"),
        "",
    );
    assert!(
        status == 200 && answer.ends_with("Get slotwise/v1/star/status "),
        "{answer}"
    );
    let (status, answer) = ask(&server, &format!("PUT /api/fibre HTTP/1.1\r\n{shown}"), "{}");
    assert!(status == 202 && answer.ends_with("Put fibre {}"), "{answer}");
    let large = "x".repeat((16 << 10) + 1);
    assert_eq!(
        ask(&server, &format!("PUT /api/fibre HTTP/1.1\r\n{shown}"), &large).0,
        413
    );
    assert_eq!(
        ask(&server, &format!("DELETE /api/fibre HTTP/1.1\r\n{shown}"), "").0,
        405
    );
}

#[test]
fn problems_are_json_whatever_they_say() {
    let Answer { status, body } = Answer::problem(400, "Bad \"Request\"", "line 1\nback\\slash");
    let text = String::from_utf8(body).unwrap();
    assert_eq!(status, 400);
    assert_eq!(
        text,
        r#"{"type":"about:blank","title":"Bad \"Request\"","status":400,"detail":"line 1 back\\slash"}"#
    );
}

#[test]
fn readers_get_what_was_said_and_what_comes() {
    let server = server(Nobody);
    server.hub().hello("hello".into());
    server.hub().publish("first".into());
    let mut early = read(&server);
    assert_eq!([text(&mut early), text(&mut early)], ["hello", "first"]);
    server.hub().publish("second".into());
    assert_eq!(text(&mut early), "second");
    let mut late = read(&server);
    assert_eq!(
        [text(&mut late), text(&mut late), text(&mut late)],
        ["hello", "first", "second"]
    );
    server.hub().replace(["whole".to_owned(), "run".to_owned()]);
    server.hub().tell("end".into());
    assert_eq!([text(&mut early), text(&mut late)], ["end", "end"]);
    let mut last = read(&server);
    assert_eq!([text(&mut last), text(&mut last)], ["whole", "run"]);
}

#[test]
fn a_reader_that_does_not_keep_up_is_dropped_and_holds_nobody_up() {
    let server = server(Nobody);
    server.hub().hello("hello".into());
    let mut slow = read(&server);
    assert_eq!(text(&mut slow), "hello");
    // More than the kernel takes for a reader that does not read: publishing goes on all the same.
    for _ in 0..200 {
        server.hub().publish("x".repeat(1 << 20));
    }
    let mut taken = 0;
    let end = loop {
        match slow.read() {
            Ok(Message::Text(_)) => taken += 1,
            Ok(Message::Close(frame)) => break frame.map(|frame| u16::from(frame.code)),
            Ok(_) => {}
            Err(_) => break None,
        }
    };
    assert!(taken < 200, "it took {taken}");
    assert_eq!(end, Some(1013));
}

#[test]
fn a_reader_that_talks_too_much_is_dropped_and_readers_are_bounded() {
    let server = server(Nobody);
    server.hub().hello("hello".into());
    let mut loud = read(&server);
    assert_eq!(text(&mut loud), "hello");
    let _ = loud.send(Message::text("x".repeat(4 << 10)));
    while loud.read().is_ok() {}
    let mut readers: Vec<_> = (0..15).map(|_| read(&server)).collect();
    assert!(readers.iter_mut().all(|reader| text(reader) == "hello"));
    // The loud one's place may be free by now, or not yet.
    let refused = (0..2).any(|_| {
        let host = host(&server);
        let connection = TcpStream::connect(&host).unwrap();
        let request = format!("ws://{host}/stream?token={TOKEN}")
            .into_client_request()
            .unwrap();
        match tungstenite::client(request, connection) {
            Ok((reader, _)) => {
                readers.push(reader);
                false
            }
            Err(_) => true,
        }
    });
    assert!(refused, "{} readers", readers.len());
}

#[test]
fn who_stops_in_the_middle_is_sent_away() {
    let server = impatient();
    server.hub().hello("hello".into());
    assert_eq!(until_sent_away(&server, ""), "");
    assert_eq!(until_sent_away(&server, "GET / HTTP/1.1\r\nHost: HO"), "");
    let shown = format!("Host: HOST\r\nAuthorization: Bearer {TOKEN}");
    let half = until_sent_away(
        &server,
        &format!("PUT /api/fibre HTTP/1.1\r\n{shown}\r\nContent-Length: 9\r\n\r\n{{"),
    );
    assert!(half.starts_with("HTTP/1.1 408 "), "{half}");
    // It keeps its connection, and then asks for nothing.
    let whole = until_sent_away(&server, &format!("GET /api/fibre HTTP/1.1\r\n{shown}\r\n\r\n"));
    assert!(whole.starts_with("HTTP/1.1 200 "), "{whole}");
    // A reader of the stream who never says that it is there.
    let silent = until_sent_away(
        &server,
        &format!(
            "GET /stream HTTP/1.1\r\n{shown}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ),
    );
    assert!(
        silent.starts_with("HTTP/1.1 101 ") && silent.contains("hello"),
        "{silent}"
    );
}

#[test]
fn who_asks_and_does_not_take_the_answers_is_sent_away() {
    let server = impatient();
    let mut connection = TcpStream::connect(host(&server)).unwrap();
    let request = format!("GET /assets/page.js HTTP/1.1\r\nHost: {}\r\n\r\n", host(&server));
    // Once answers fill all buffers on the way nothing more is read of what is asked, until the connection ends.
    while connection.write_all(request.as_bytes()).is_ok() {}
}

#[test]
fn many_who_say_nothing_do_not_keep_others_out_for_ever() {
    let server = impatient();
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(host(&server)).unwrap()).collect();
    let (status, _) = ask(&server, &format!("GET /?token={TOKEN} HTTP/1.1\r\nHost: HOST"), "");
    assert_eq!(status, 200);
    drop(silent);
}

#[test]
fn a_reader_that_answers_pings_stays_though_nothing_is_said() {
    let server = impatient();
    server.hub().hello("hello".into());
    let mut reader = read(&server);
    assert_eq!(text(&mut reader), "hello");
    for _ in 0..20 {
        // Reading one answers it.
        assert!(reader.read().unwrap().is_ping());
    }
    server.hub().publish("still there".into());
    while !matches!(reader.read().unwrap(), Message::Text(text) if text == "still there") {}
}

#[test]
fn heads_are_bounded() {
    let server = server(Nobody);
    let large = format!("GET / HTTP/1.1\r\nHost: HOST\r\nX: {}", "x".repeat(64 << 10));
    assert_eq!(ask(&server, &large, "").0, 431);
    let many = format!("GET / HTTP/1.1\r\nHost: HOST{}", "\r\nX: x".repeat(200));
    assert_eq!(ask(&server, &many, "").0, 431);
}
