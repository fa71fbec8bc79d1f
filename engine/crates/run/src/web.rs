// SPDX-License-Identifier: Apache-2.0
//! The live page of a run (`--web`): what it shows comes from where the terminal's view has it, what it changes goes the way that
//! others' changes go.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use slotwise_control::controller::fresh_token;
use slotwise_control::network::{Fibre, Network};
use slotwise_control::rest::Rest;
use slotwise_kinds::FrameRecord;
use slotwise_observe::live::Snapshot;
use slotwise_observe::progress::Progress;
use slotwise_observe::report::Report;
use slotwise_observe::stream::{Controls, End, Hello, Message, NetworkShape, News, Update, finished};
use slotwise_web::{Answer, Asked, Backend, Config, Method, WebServer};

use crate::commands::{CommandError, FibreCommand, Order};
use crate::hold::HoldOrder;
use crate::run::{frame_shape, port};
use slotwise_cli::RunError;
use slotwise_cli::notes::{note, say};

/// From one update to the next.
const PERIOD: Duration = Duration::from_millis(100);
/// The controller's resources.
const REST_PATH: &str = "slotwise/v1/";
const FIBRE_PATH: &str = "fibre";
const HOLD_PATH: &str = "hold";

/// The page, if it is asked for.
#[derive(Debug, Clone, clap::Args)]
pub struct WebArgs {
    /// Show the run in a browser, on 127.0.0.1 (default: any free port)
    ///
    /// The address, which contains an access token, is printed. The page stays after the run until SIGINT
    /// (docs/page.md).
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = port)]
    pub web: Option<u16>,
}

/// Listens on loopback.
///
/// # Errors
/// When the port is taken.
pub fn serve(port: u16, option: &str, backend: Arc<dyn Backend>) -> Result<WebServer, RunError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    WebServer::start(Config::new(address, fresh_token()?), backend).map_err(|error| {
        format!("page: cannot listen on {address}: {error}; expected a free port with {option}").into()
    })
}

/// A run that somebody may look at.
pub struct Watch {
    server: WebServer,
    steering: Arc<Steering>,
    progress: Progress,
    next: Instant,
}

impl Watch {
    /// Starts the page's server, if it is asked for; says whether there is a controller that it may ask, and whether hosts of Linux play
    /// flows of the scenario. Orders of its readers go to `tell`, which returns false when the run is over; `is_held` of a run that may be
    /// held.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn start(
        args: &WebArgs,
        command: &str,
        network: &Network,
        (has_controller, has_linux): (bool, bool),
        (tell, is_held): (impl Fn(Order) -> bool + Send + 'static, Option<Arc<AtomicBool>>),
    ) -> Result<Option<Watch>, RunError> {
        let Some(port) = args.web else { return Ok(None) };
        let steering = Arc::new(Steering {
            rest: Mutex::default(),
            fibres: network.fibres(),
            tell: Mutex::new(Some(Box::new(tell))),
            is_held,
        });
        let server = serve(port, "--web=PORT", steering.clone())?;
        let scenario = &network.scenario;
        server.hub().hello(
            Message::Hello(Hello {
                phases: scenario.phases.iter().map(|phase| phase.name.clone()).collect(),
                network: NetworkShape::of(scenario),
                frame: frame_shape(scenario),
                controls: Controls {
                    rest: has_controller,
                    fibres: steering.fibre_names(),
                },
                linux_flows: Some(scenario.linux_flows()).filter(|count| has_linux && *count > 0),
                ..Hello::new(command, &scenario.name, scenario.seed)
            })
            .text(),
        );
        say!("page: {}", server.url());
        Ok(Some(Watch {
            server,
            steering,
            progress: Progress::new(scenario),
            next: Instant::now() + PERIOD,
        }))
    }

    /// Where the controller's REST server is from now on, if anywhere.
    pub fn reach(&self, rest: Option<&Rest>) {
        *self.steering.rest.lock().unwrap_or_else(PoisonError::into_inner) = rest.cloned();
    }

    /// Counts a frame.
    pub fn add(&mut self, record: &FrameRecord) {
        self.progress.add(record);
    }

    /// When the next update is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Whether it is.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Sends an update: `snapshot` makes of what was counted what there is to see.
    pub fn update(&mut self, news: Vec<News>, snapshot: impl FnOnce(&mut Progress) -> Snapshot) {
        self.next = Instant::now() + PERIOD;
        let now = snapshot(&mut self.progress);
        self.server
            .hub()
            .publish(Message::Update(Update::of(&now, news)).text());
    }

    /// The run is over: who looks is told, and whoever comes later sees all of it, as its report has it.
    pub fn end(&self, report: &Report) {
        self.reach(None);
        self.steering.tell.lock().unwrap_or_else(PoisonError::into_inner).take();
        let whole = finished::of_report(report);
        match whole.and_then(|messages| Ok((finished::head(report)?, messages))) {
            Ok((report_head, messages)) => {
                self.server.hub().replace(messages);
                let end = End {
                    ok: report.verdict.ok,
                    failures: report.verdict.failures.clone(),
                    report: report_head,
                };
                self.server.hub().tell(Message::End(end).text());
            }
            Err(reason) => note!("slotwise: page: report not shown: {reason}"),
        }
        say!("page: {} until SIGINT (Ctrl-C)", self.server.url());
    }
}

/// Targets of changes from the page: the controller's resources, fibres, and the time of a held run.
struct Steering {
    rest: Mutex<Option<Rest>>,
    fibres: Vec<(String, Fibre)>,
    /// None when the run is over.
    tell: Mutex<Option<Tell>>,
    /// `None` for a run that cannot be held.
    is_held: Option<Arc<AtomicBool>>,
}

type Tell = Box<dyn Fn(Order) -> bool + Send>;

/// What `api/fibre` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FibreWanted {
    name: String,
    up: bool,
}

/// Body of `api/hold`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldWanted {
    order: String,
}

fn done(answer: &Value) -> Answer {
    Answer {
        status: 200,
        body: answer.to_string().into_bytes(),
    }
}

impl Steering {
    /// One name of each.
    fn fibre_names(&self) -> Vec<String> {
        let mut known: Vec<&Fibre> = Vec::new();
        let mut names = Vec::new();
        for (name, fibre) in &self.fibres {
            if !known.contains(&fibre) {
                known.push(fibre);
                names.push(name.clone());
            }
        }
        names
    }

    fn set_fibre(&self, asked: &Asked) -> Answer {
        if asked.method != Method::Put {
            return Answer::problem(405, "Method Not Allowed", "expected PUT");
        }
        let wanted: FibreWanted = match serde_json::from_slice(&asked.body) {
            Ok(wanted) => wanted,
            Err(error) => {
                let name = self.fibres.first().map_or("edge0-core0", |(name, _)| name);
                let detail = format!("{error}; expected {{\"name\": \"{name}\", \"up\": false}}");
                return Answer::problem(400, "Bad Request", &detail);
            }
        };
        let (name, is_up) = (wanted.name.clone(), wanted.up);
        let command = match FibreCommand::new(wanted.name, is_up, &self.fibres) {
            Ok(command) => command,
            Err(error @ CommandError::NoFibre { .. }) => {
                return Answer::problem(422, "Unprocessable Content", &error.to_string());
            }
            Err(error) => return Answer::problem(400, "Bad Request", &error.to_string()),
        };
        self.order(Order::Fibre(command), &json!({"name": name, "up": is_up}))
    }

    /// Forwards an order. Returns `answer`, or a problem after the end of the run.
    fn order(&self, order: Order, answer: &Value) -> Answer {
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        match tell.as_ref().is_some_and(|tell| tell(order)) {
            true => done(answer),
            false => Answer::problem(409, "Conflict", "the run is over"),
        }
    }

    fn hold(&self, asked: &Asked, is_held: &AtomicBool) -> Answer {
        if asked.method == Method::Get {
            return done(&json!({"held": is_held.load(Ordering::Relaxed)}));
        }
        let wanted: HoldWanted = match serde_json::from_slice(&asked.body) {
            Ok(wanted) => wanted,
            Err(error) => {
                let detail = format!("{error}; expected {{\"order\": \"step 10 us\"}}");
                return Answer::problem(400, "Bad Request", &detail);
            }
        };
        match HoldOrder::parse(&wanted.order) {
            Err(error) => Answer::problem(422, "Unprocessable Content", &error.to_string()),
            Ok(_) if !is_held.load(Ordering::Relaxed) => Answer::problem(409, "Conflict", "the run is not held"),
            Ok(order) => self.order(Order::Hold(order), &json!({"order": wanted.order})),
        }
    }

    fn rest(&self, asked: &Asked) -> Answer {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
        let resource = asked.path.strip_prefix(REST_PATH);
        let Some(resource) = resource.filter(|path| path.bytes().all(is_plain) && !path.contains("..")) else {
            return Answer::problem(404, "Not Found", "expected slotwise/v1/SYSTEM/RESOURCE, or fibre");
        };
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(rest) = rest else {
            return Answer::problem(503, "Service Unavailable", "no controller");
        };
        let body = match asked.method {
            Method::Get => None,
            Method::Put => Some(asked.body.as_slice()),
        };
        match rest.pass(body, resource) {
            Ok((status, body)) => Answer { status, body },
            Err(error) => Answer::problem(502, "Bad Gateway", &format!("controller: {error}")),
        }
    }
}

impl Backend for Steering {
    fn call(&self, asked: Asked) -> Answer {
        match (asked.path.as_str(), &self.is_held) {
            (FIBRE_PATH, _) => self.set_fibre(&asked),
            (HOLD_PATH, Some(is_held)) => self.hold(&asked, is_held),
            _ => self.rest(&asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn put(path: &str, body: &str) -> Asked {
        Asked {
            method: Method::Put,
            path: path.into(),
            body: body.into(),
        }
    }

    #[test]
    fn fibres_are_cut_by_name_and_all_else_is_refused() {
        let network = Network::parse(include_bytes!("../../../../topologies/star4.yaml")).unwrap();
        let (tell, told) = channel();
        let steering = Steering {
            rest: Mutex::default(),
            fibres: network.fibres(),
            tell: Mutex::new(Some(Box::new(move |order| tell.send(order).is_ok()))),
            is_held: None,
        };
        assert_eq!(steering.fibre_names().len(), 4, "one name each");
        let status = |asked: &Asked| steering.call(asked.clone()).status;
        assert_eq!(status(&put("fibre", r#"{"name": "edge1-core0", "up": false}"#)), 200);
        let Order::Fibre(command) = told.try_recv().unwrap() else {
            panic!("another order than was given");
        };
        assert!(!command.is_up && command.fibre == Fibre::Star { edge: 1, core: 0 });
        for (asked, expected) in [
            (put("fibre", r#"{"name": "edge9-core0", "up": false}"#), 422),
            (put("fibre", r#"{"name": "edge1-core0"}"#), 400),
            (put("fibre", r#"{"name": "edge1-core0", "up": false, "for": 3}"#), 400),
            (put("fibre", "cut it"), 400),
            (put("slotwise/v1/star/scheduler", "{}"), 503),
            (put("slotwise/v1/../../secret", "{}"), 404),
            (put("slotwise/v1/star/scheduler?x=http://evil", "{}"), 404),
            (put("hold", r#"{"order": "continue"}"#), 404),
            (put("other", "{}"), 404),
        ] {
            assert_eq!(status(&asked), expected, "{asked:?}");
        }
        let said = |answer: Answer| String::from_utf8(answer.body).unwrap();
        let mesh = Network::parse(include_bytes!("../../../../topologies/mesh5.yaml")).unwrap();
        let of_mesh = Steering {
            rest: Mutex::default(),
            fibres: mesh.fibres(),
            tell: Mutex::new(None),
            is_held: None,
        };
        assert_eq!(of_mesh.fibre_names().len(), 12, "one name each");
        assert!(
            said(of_mesh.call(put("fibre", "cut it"))).contains("s0-s1"),
            "a name that it has"
        );
        let read = Asked {
            method: Method::Get,
            ..put("fibre", "")
        };
        assert_eq!(status(&read), 405);
        assert!(told.try_recv().is_err());
        steering.tell.lock().unwrap().take();
        assert_eq!(status(&put("fibre", r#"{"name": "edge1-core0", "up": true}"#)), 409);
    }

    #[test]
    fn a_run_that_is_held_takes_orders_and_another_one_does_not() {
        let (tell, told) = channel();
        let is_held = Arc::new(AtomicBool::new(false));
        let steering = Steering {
            rest: Mutex::default(),
            fibres: Vec::new(),
            tell: Mutex::new(Some(Box::new(move |order| tell.send(order).is_ok()))),
            is_held: Some(is_held.clone()),
        };
        let status = |body: &str| steering.call(put("hold", body)).status;
        let get = || {
            let asked = Asked {
                method: Method::Get,
                ..put("hold", "")
            };
            String::from_utf8(steering.call(asked).body).unwrap()
        };
        assert_eq!(get(), r#"{"held":false}"#);
        assert_eq!(status(r#"{"order": "continue"}"#), 409);
        assert!(told.try_recv().is_err());
        is_held.store(true, Ordering::Relaxed);
        assert_eq!(get(), r#"{"held":true}"#);
        assert_eq!((status("step"), status(r#"{"order": "step 10"}"#)), (400, 422));
        assert_eq!(status(r#"{"order": "step 10 us"}"#), 200);
        let step = HoldOrder::Step(slotwise_units::Duration::from_us(10));
        assert_eq!(told.try_recv().unwrap(), Order::Hold(step));
    }
}
