// SPDX-License-Identifier: Apache-2.0
//! Calls to the controller of a live run, on a thread of their own: one that does not answer holds up nothing else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::choices::{Due, Told};
use crate::controller::ControllerError;
use crate::port_news::PortNews;
use crate::rest::Rest;

/// What a controller is to be told.
#[derive(Debug)]
pub enum Call {
    /// What the scenario wants.
    Order(Due),
    /// What cannot be seen by whom it is about.
    Light(PortNews),
}

/// A call that is over.
#[derive(Debug)]
pub struct Called {
    /// What it was.
    pub call: Call,
    /// What came of it; `None` if the controller had gone before.
    pub answer: Option<Result<Told, ControllerError>>,
    generation: u64,
}

/// A call on its way to the thread.
struct Request {
    rest: Rest,
    call: Call,
    generation: u64,
}

/// The controllers of a run, one after the other, and what they are told, in its order.
pub struct Calls {
    requests: Sender<Request>,
    rest: Option<Rest>,
    /// Counts controllers: calls of those before are not made any more.
    generation: Arc<AtomicU64>,
    under_way: usize,
    has_order_under_way: bool,
}

impl Calls {
    /// Starts the thread, which says by `tell` what has become of each call.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(tell: impl Fn(Called) + Send + 'static) -> io::Result<Calls> {
        let (requests, received) = channel::<Request>();
        let generation = Arc::new(AtomicU64::new(0));
        let current = generation.clone();
        let run = move || {
            for Request { rest, call, generation } in received {
                let is_wanted = current.load(Ordering::Relaxed) == generation;
                let answer = is_wanted.then(|| match &call {
                    Call::Order(due) => due.tell(&rest),
                    Call::Light(news) => news.tell(&rest).map(|()| Told::Taken),
                });
                tell(Called {
                    call,
                    answer,
                    generation,
                });
            }
        };
        thread::Builder::new().name("calls".into()).spawn(run)?;
        Ok(Calls {
            requests,
            rest: None,
            generation,
            under_way: 0,
            has_order_under_way: false,
        })
    }

    /// There is a controller, of which calls are told from now on, or none.
    pub fn reach(&mut self, rest: Option<Rest>) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.rest = rest;
    }

    /// The controller that there is.
    pub fn rest(&self) -> Option<&Rest> {
        self.rest.as_ref()
    }

    /// Tells the controller, if there is one; gives back what nobody hears.
    pub fn call(&mut self, call: Call) -> Option<Call> {
        let Some(rest) = self.rest.clone() else {
            return Some(call);
        };
        let is_order = matches!(call, Call::Order(_));
        let generation = self.generation.load(Ordering::Relaxed);
        let sent = self.requests.send(Request { rest, call, generation });
        if let Err(unsent) = sent {
            return Some(unsent.0.call);
        }
        self.under_way += 1;
        self.has_order_under_way |= is_order;
        None
    }

    /// Whether an order has not been answered yet: the next one waits for that.
    pub fn has_order_under_way(&self) -> bool {
        self.has_order_under_way
    }

    /// Whether anything has not been answered yet.
    pub fn is_calling(&self) -> bool {
        self.under_way > 0
    }

    /// A call is over. True if it is of the controller that there is.
    pub fn over(&mut self, called: &Called) -> bool {
        self.under_way = self.under_way.saturating_sub(1);
        self.has_order_under_way &= !matches!(called.call, Call::Order(_));
        called.generation == self.generation.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::Receiver;

    use serde_json::json;

    use super::*;
    use crate::controller::REST_TOKEN;
    use crate::rest::PATIENCE_OF_LIVE_RUNS;

    fn rest(server: &TcpListener) -> Rest {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(REST_TOKEN), "secret").unwrap();
        let ready = json!({"rest": format!("http://{}", server.local_addr().unwrap())});
        Rest::new(&ready, directory.path(), PATIENCE_OF_LIVE_RUNS).unwrap()
    }

    fn light(port: u16) -> Call {
        Call::Light(PortNews::new(3001, port, false))
    }

    fn calls() -> (Calls, Sender<Option<Called>>, Receiver<Option<Called>>) {
        let (heard, hears) = channel();
        let tell = heard.clone();
        let calls = Calls::start(move |called| drop(tell.send(Some(called)))).unwrap();
        (calls, heard, hears)
    }

    #[test]
    fn a_controller_that_does_not_answer_holds_nothing_up() {
        // It takes the connection, and says nothing.
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut calls, heard, hears) = calls();
        calls.reach(Some(rest(&server)));
        assert!(calls.call(light(256)).is_none() && calls.call(light(257)).is_none());
        let connection = server.accept().unwrap();
        // What else the main loop hears comes before what never answers.
        heard.send(None).unwrap();
        assert!(hears.recv().unwrap().is_none() && calls.is_calling());
        // A new controller takes over: what was for the old one is over without being tried.
        let next = TcpListener::bind("127.0.0.1:0").unwrap();
        calls.reach(Some(rest(&next)));
        drop((server, connection));
        for port in [256, 257] {
            let called = hears.recv().unwrap().unwrap();
            assert!(matches!(&called.call, Call::Light(news) if *news == PortNews::new(3001, port, false)));
            assert_eq!(called.answer.is_none(), port == 257, "{called:?}");
            assert!(!calls.over(&called), "the answer is not from the present controller");
        }
        assert!(!calls.is_calling());
    }

    #[test]
    fn nobody_is_told_where_there_is_no_controller() {
        let (mut calls, _, _hears) = calls();
        assert!(calls.call(light(256)).is_some() && !calls.is_calling());
    }
}
