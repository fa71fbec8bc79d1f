// SPDX-License-Identifier: Apache-2.0
//! The server.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::access::{Access, Refused};
use crate::hub::{Hub, NextMessage};
use crate::pages::{File, INDEX, asset};

/// Connections at once.
const MOST_CONNECTIONS: usize = 64;
/// Readers of the stream at once.
const MOST_READERS: usize = 16;
/// Calls to the backend at once.
const MOST_CALLS: usize = 4;
/// What [`Config::patience`] is unless somebody has a reason for another one.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection is closed behind the request that it has after so many times the patience, and a reader that has not said a word, not even
/// that it is there, is dropped.
const PATIENCES: u32 = 6;
/// As much as the controller takes.
const MOST_BODY_BYTES: usize = 16 << 10;
/// Of a request's head.
const MOST_HEAD_BYTES: usize = 16 << 10;
/// Readers have nothing to say.
const MOST_SAID_BYTES: usize = 1 << 10;
/// WebSocket's code for "try again later".
const TRY_AGAIN_LATER: u16 = 1013;

/// All that the page needs is in this program, and it talks to nobody else.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                              base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a page may do to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read it.
    Get,
    /// Change it.
    Put,
}

/// What a page asks of the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What is to be done.
    pub method: Method,
    /// Path below `/api/`.
    pub path: String,
    /// JSON, at most 16 KiB; empty where something is read.
    pub body: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// JSON.
    pub body: Vec<u8>,
}

impl Answer {
    /// What is wrong, in the controller's form (RFC 9457).
    pub fn problem(status: u16, title: &str, detail: &str) -> Answer {
        let quoted = |text: &str| {
            let mut quoted = String::from("\"");
            for character in text.chars() {
                match character {
                    '"' | '\\' => quoted.extend(['\\', character]),
                    control if control < ' ' => quoted.push(' '),
                    other => quoted.push(other),
                }
            }
            quoted + "\""
        };
        let body = format!(
            "{{\"type\":\"about:blank\",\"title\":{},\"status\":{status},\"detail\":{}}}",
            quoted(title),
            quoted(detail)
        );
        Answer {
            status,
            body: body.into_bytes(),
        }
    }
}

/// Who answers what is asked below `/api/`. Calls may take long; four are made at once.
pub trait Backend: Send + Sync + 'static {
    /// Answers.
    fn call(&self, asked: Asked) -> Answer;
}

/// Nobody answers: of a finished run there is nothing to ask.
pub struct Nobody;

impl Backend for Nobody {
    fn call(&self, _: Asked) -> Answer {
        Answer::problem(404, "Not Found", "run is over: no controller")
    }
}

/// Where to listen, and what to ask for.
#[derive(Debug, Clone)]
pub struct Config {
    /// An address of loopback; with port 0 the system chooses one.
    pub address: SocketAddr,
    /// What a reader has to show: letters and digits.
    pub token: String,
    /// A request is there after this, and a reader takes a message within it, or they are dropped.
    pub patience: Duration,
}

impl Config {
    /// With the patience that people and browsers need.
    pub fn new(address: SocketAddr, token: String) -> Config {
        Config {
            address,
            token,
            patience: PATIENCE,
        }
    }
}

/// A server that runs until it is dropped.
pub struct WebServer {
    address: SocketAddr,
    token: String,
    hub: Arc<Hub>,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

struct Shared {
    access: Access,
    hub: Arc<Hub>,
    backend: Arc<dyn Backend>,
    readers: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    patience: Duration,
}

impl WebServer {
    /// Starts it on threads of its own.
    ///
    /// # Errors
    /// When it cannot listen there, or it is not loopback.
    pub fn start(config: Config, backend: Arc<dyn Backend>) -> io::Result<WebServer> {
        if !config.address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is not a loopback address", config.address),
            ));
        }
        let listener = TcpListener::bind(config.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(MOST_CALLS)
            .thread_name("web")
            .enable_all()
            .build()?;
        let hub = Arc::new(Hub::new());
        let app = router(Arc::new(Shared {
            access: Access::new(address, config.token.clone()),
            hub: hub.clone(),
            backend,
            readers: Arc::new(Semaphore::new(MOST_READERS)),
            calls: Arc::new(Semaphore::new(MOST_CALLS)),
            patience: config.patience,
        }));
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, app, config.patience));
        Ok(WebServer {
            address,
            token: config.token,
            hub,
            runtime: Some(runtime),
        })
    }

    /// The stream.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Where the page is, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Takes connections while there is room for them.
async fn accept(listener: tokio::net::TcpListener, app: Router, patience: Duration) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, app.clone(), patience, permit))),
            // Out of descriptors, say: others may be closed meanwhile.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Answers on one connection. Its head is bounded in bytes and time by hyper; that somebody sends or takes bytes as slowly as can be
/// is bounded by the time that a connection may last.
async fn serve(stream: TcpStream, app: Router, patience: Duration, _permit: OwnedSemaphorePermit) {
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            .max_buf_size(MOST_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
            .with_upgrades()
    );
    // Who went away is not told.
    if timeout(PATIENCES * patience, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(patience, connection).await;
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/stream", get(stream))
        .route("/api/{*path}", get(call).put(call))
        .route_layer(middleware::from_fn_with_state(shared.clone(), with_token))
        // What everybody has who has Slotwise needs no token.
        .route("/assets/{name}", get(assets))
        .layer(middleware::from_fn_with_state(shared.clone(), with_names))
        .with_state(shared)
}

async fn with_names(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match shared.access.check_names(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn with_token(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.access.check_token(request.headers(), request.uri().query()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, format!("{}\n", self.1)).into_response()
    }
}

impl IntoResponse for &'static File {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, self.content_type)], self.bytes).into_response()
    }
}

async fn index() -> Response {
    (&INDEX).into_response()
}

async fn assets(Path(name): Path<String>) -> Response {
    match asset(&name) {
        Some(file) => file.into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn call(State(shared): State<Arc<Shared>>, Path(path): Path<String>, request: Request) -> Response {
    let method = match *request.method() {
        axum::http::Method::PUT => Method::Put,
        _ => Method::Get,
    };
    let body = match timeout(shared.patience, to_bytes(request.into_body(), MOST_BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return Refused(
                StatusCode::PAYLOAD_TOO_LARGE,
                "request body: malformed or longer than 16 KiB",
            )
            .into_response();
        }
        Err(_) => return Refused(StatusCode::REQUEST_TIMEOUT, "request body: not received in time").into_response(),
    };
    let Ok(permit) = shared.calls.clone().try_acquire_owned() else {
        return Answer::problem(
            503,
            "Service Unavailable",
            "too many concurrent requests to the controller",
        )
        .into_response();
    };
    let asked = Asked {
        method,
        path,
        body: body.to_vec(),
    };
    let answered = tokio::task::spawn_blocking(move || {
        let answer = shared.backend.call(asked);
        drop(permit);
        answer
    });
    match answered.await {
        Ok(answer) => answer.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY);
        (status, [(CONTENT_TYPE, "application/json")], Body::from(self.body)).into_response()
    }
}

async fn stream(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    let Ok(permit) = shared.readers.clone().try_acquire_owned() else {
        return Refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many stream clients; expected at most 16",
        )
        .into_response();
    };
    upgrade
        .max_message_size(MOST_SAID_BYTES)
        .max_frame_size(MOST_SAID_BYTES)
        .on_upgrade(move |socket| async move {
            read_out(socket, &shared.hub, shared.patience).await;
            drop(permit);
        })
}

/// Sends all that is kept and what comes, until the reader goes, does not keep up, or is not heard of.
async fn read_out(mut socket: WebSocket, hub: &Hub, patience: Duration) {
    let reader = hub.subscribe();
    // Of a run that is over there are no messages that would fail to arrive at who is gone.
    let mut ask = interval_at(Instant::now() + patience, patience);
    // Who was slow to take a message is not asked several times at once.
    ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unanswered = 0;
    loop {
        let message = match reader.next() {
            NextMessage::Message(message) => Message::Text(message),
            NextMessage::TooSlow => Message::Close(Some(CloseFrame {
                code: TRY_AGAIN_LATER,
                reason: "stream client too slow: disconnected".into(),
            })),
            NextMessage::Nothing => tokio::select! {
                said = socket.recv() => match said {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(_)) => {
                        unanswered = 0;
                        continue;
                    }
                },
                () = reader.news() => continue,
                _ = ask.tick() => {
                    if unanswered == PATIENCES {
                        return;
                    }
                    unanswered += 1;
                    Message::Ping(Bytes::new())
                }
            },
        };
        let is_last = matches!(message, Message::Close(_));
        if !send(&mut socket, message, patience).await || is_last {
            return;
        }
    }
}

/// Whether the reader took it in time.
async fn send(socket: &mut WebSocket, message: Message, patience: Duration) -> bool {
    matches!(timeout(patience, socket.send(message)).await, Ok(Ok(())))
}
