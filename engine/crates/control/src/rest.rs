// SPDX-License-Identifier: Apache-2.0
//! The REST interface of a run's controller, as the run itself calls it: by a token of its own, so that nobody else's requests use
//! up its share.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use slotwise_p4::Port;
use slotwise_scenario::{Device, SchedulerChoice};
use slotwise_units::Rate;

use crate::controller::{ControllerError, REST_TOKEN, choice_json};
use slotwise_cli::http;

/// How often a call is tried that is turned away for a while, or whose connection is.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);
/// How long virtual time waits for an answer: the machine may be busy.
pub const PATIENCE_OF_VIRTUAL_TIME: Duration = Duration::from_mins(1);
/// How long a live run does, on a thread of its own.
pub const PATIENCE_OF_LIVE_RUNS: Duration = Duration::from_secs(5);
/// Time for the last call of a run, which holds nothing up any more.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(20);
const TOO_MANY_REQUESTS: u16 = 429;
/// Slot tables of a thousand edges are some megabytes.
const MOST_PASSED_BYTES: u64 = 64 << 20;

/// Where it is and how to be let in.
#[derive(Debug, Clone)]
pub struct Rest {
    address: SocketAddr,
    token: String,
    patience: Duration,
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Rest {
    /// That of a controller which was started in `directory` and has said that it is ready; an answer may take so long.
    ///
    /// # Errors
    /// When it does not say where, or its token is not in the directory any more.
    pub fn new(ready: &Value, directory: &Path, patience: Duration) -> Result<Rest, ControllerError> {
        let address = ready["rest"].as_str().and_then(|url| url.rsplit("//").next());
        let address = address
            .and_then(|address| address.parse().ok())
            .ok_or_else(|| ControllerError::NoRest(ready.to_string()))?;
        let token = std::fs::read_to_string(directory.join(REST_TOKEN))?;
        Ok(Rest {
            address,
            token,
            patience,
        })
    }

    /// Has the controller use another scheduler from the next frame on that it schedules; gives it with all its settings.
    ///
    /// # Errors
    /// What the controller, or the way to it, has against it.
    pub fn choose(&self, choice: &SchedulerChoice) -> Result<Value, ControllerError> {
        self.call(Some(&choice_json(choice)), "star/scheduler", self.patience)
            .map_err(|error| untold(format!("scheduler '{}'", choice.scheduler), &error))
    }

    /// Has the controller tell XCP another capacity of a router's port.
    ///
    /// # Errors
    /// What the controller, or the way to it, has against it.
    pub fn set_capacity(&self, device_id: u64, port: Port, xcp: Rate) -> Result<(), ControllerError> {
        let resource = format!("routes/capacities/{device_id}/{port}");
        let answer = self.call(Some(&json!({"xcp_bps": xcp.bps()})), &resource, self.patience);
        answer.map(drop).map_err(|error| untold(resource, &error))
    }

    /// Tells the controller whether a switch's port has light: of one that cannot tell itself.
    ///
    /// # Errors
    /// What the controller, or the way to it, has against it.
    pub fn set_light(&self, device_id: u64, port: Port, is_up: bool) -> Result<(), ControllerError> {
        let system = Device::from_id(device_id).map_or("", |device| device.kind().app);
        let resource = format!("{system}/ports/{device_id}/{port}");
        let answer = self.call(Some(&json!({"up": is_up})), &resource, self.patience);
        answer.map(drop).map_err(|error| untold(resource, &error))
    }

    /// Reads what the controller has to say at the end (of a star `statistics`).
    ///
    /// # Errors
    /// When it does not answer in time, or refuses.
    pub fn statistics(&self, resource: &str) -> Result<Value, ControllerError> {
        self.call(None, resource, self.patience.max(PATIENCE_AT_THE_END))
            .map_err(|error| untold(resource.to_owned(), &error))
    }

    /// Passes on what somebody else wants to read, or change by `body`; gives status and body of the answer, whatever it is.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn pass(&self, body: Option<&[u8]>, resource: &str) -> Result<(u16, Vec<u8>), ureq::Error> {
        let url = format!("http://{}/slotwise/v1/{resource}", self.address);
        let authorization = format!("Bearer {}", self.token);
        let config = http::direct(PATIENCE_OF_LIVE_RUNS).http_status_as_error(false);
        let agent = ureq::Agent::from(config.build());
        let mut answer = match body {
            Some(body) => agent
                .put(url)
                .header("Authorization", authorization)
                .header("Content-Type", "application/json")
                .send(body),
            None => agent.get(url).header("Authorization", authorization).call(),
        }?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(MOST_PASSED_BYTES).read_to_vec()?;
        Ok((status, body))
    }

    /// Reads a resource, or replaces it; either may be done again without harm.
    fn call(&self, body: Option<&Value>, resource: &str, patience: Duration) -> Result<Value, ureq::Error> {
        let mut tries_left = TRIES;
        loop {
            tries_left -= 1;
            match self.call_once(body, resource, patience) {
                Err(error) if tries_left > 0 && is_for_a_while(&error) => thread::sleep(PAUSE),
                result => return result,
            }
        }
    }

    fn call_once(&self, body: Option<&Value>, resource: &str, patience: Duration) -> Result<Value, ureq::Error> {
        let url = format!("http://{}/slotwise/v1/{resource}", self.address);
        let authorization = format!("Bearer {}", self.token);
        let agent = ureq::Agent::from(http::direct(patience).build());
        let mut answer = match body {
            Some(body) => agent.put(url).header("Authorization", authorization).send_json(body),
            None => agent.get(url).header("Authorization", authorization).call(),
        }?;
        answer.body_mut().read_json()
    }
}

/// Whether a call may do better a little later: others may have taken all connections.
fn is_for_a_while(error: &ureq::Error) -> bool {
    matches!(
        error,
        ureq::Error::StatusCode(TOO_MANY_REQUESTS) | ureq::Error::Io(_) | ureq::Error::ConnectionFailed
    )
}

/// Why it was not told `what`.
fn untold(what: String, error: &ureq::Error) -> ControllerError {
    let reason = match error {
        ureq::Error::Timeout(_) => "no response in time".to_owned(),
        error => error.to_string(),
    };
    match is_for_a_while(error) {
        true => ControllerError::Unreachable { what, reason },
        false => ControllerError::Refused { what, reason },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::choices::Choices;
    use crate::network::Network;

    /// Serves one connection with each answer; gives what each was asked.
    fn serve<T: AsRef<str> + Sync>(answers: &'static [T]) -> (SocketAddr, thread::JoinHandle<Vec<String>>) {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let asked = thread::spawn(move || {
            let one = |answer: &T| {
                let (mut caller, _) = server.accept().unwrap();
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && caller.read(&mut byte).unwrap() > 0 {
                    request.push(byte[0]);
                }
                caller.write_all(answer.as_ref().as_bytes()).unwrap();
                String::from_utf8(request).unwrap()
            };
            answers.iter().map(one).collect()
        });
        (address, asked)
    }

    fn rest(address: SocketAddr) -> Rest {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(REST_TOKEN), "secret").unwrap();
        let ready = json!({"rest": format!("http://{address}")});
        Rest::new(&ready, directory.path(), PATIENCE_OF_LIVE_RUNS).unwrap()
    }

    #[test]
    fn calls_show_the_token_and_are_tried_again_when_turned_away() {
        let (address, asked) = serve(&[
            "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"frames\":7}",
        ]);
        assert_eq!(
            rest(address).statistics("star/statistics").unwrap(),
            json!({"frames": 7})
        );
        let asked = asked.join().unwrap();
        assert_eq!(asked.len(), 3);
        for request in asked {
            assert!(request.starts_with("GET /slotwise/v1/star/statistics "), "{request}");
            assert!(
                request
                    .to_ascii_lowercase()
                    .contains("authorization: bearer secret\r\n"),
                "{request}"
            );
        }
    }

    #[test]
    fn what_a_controller_that_has_gone_was_not_told_is_due_for_the_next_one() {
        let text = include_str!("../../../../topologies/routers4.yaml")
            .replace("name: north-west,", "name: north-west, xcp_capacity_bps: 100000000,")
            .replace(
                "changes:\n",
                "changes:\n- {at_ms: 2500, link: north-west, xcp_capacity_bps: 30000000}\n",
            );
        let network = Network::parse(text.as_bytes()).unwrap();
        let mut choices = Choices::new(&network.scenario, &network.empty_fabric());
        let at = choices.next().unwrap();
        let (gone, asked) = serve(&[""; TRIES]);
        let mut tell = |rest: &Rest| {
            let due = choices.take_due(at).unwrap();
            let answer = due.tell(rest);
            (
                choices
                    .told(due, slotwise_units::Instant::ZERO + at, answer)
                    .unwrap_err(),
                choices.next(),
            )
        };
        let (error, next) = tell(&rest(gone));
        assert!(matches!(error, ControllerError::Unreachable { .. }), "{error}");
        assert_eq!(next, Some(at));
        assert_eq!(asked.join().unwrap().len(), TRIES);
        let (refuses, _) = serve(&["HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"]);
        assert_eq!(tell(&rest(refuses)).1, None, "refused for good");
    }

    #[test]
    fn what_is_refused_for_good_is_not_tried_again() {
        let (address, asked) = serve(&["HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"]);
        let error = rest(address).statistics("star/statistics").unwrap_err();
        assert_eq!(error.to_string(), "controller: star/statistics: http status: 400");
        assert_eq!(asked.join().unwrap().len(), 1);
    }

    #[test]
    fn a_controller_that_does_not_answer_in_time_is_an_error() {
        // Nobody accepts its connections.
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let rest = Rest {
            patience: Duration::from_millis(50),
            ..rest(server.local_addr().unwrap())
        };
        let error = rest.set_light(1001, 3, false).unwrap_err().to_string();
        assert!(error.starts_with("controller: star/ports/1001/3: "), "{error}");
        assert!(error.ends_with(": no response in time"), "{error}");
    }

    #[test]
    fn calls_follow_no_redirect() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
        elsewhere.set_nonblocking(true).unwrap();
        let answer = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
            elsewhere.local_addr().unwrap()
        );
        let (address, asked) = serve(vec![answer.clone(), answer].leak());
        rest(address).statistics("star/statistics").unwrap_err();
        assert_eq!(rest(address).pass(None, "statistics").unwrap().0, 302);
        assert_eq!(asked.join().unwrap().len(), 2);
        assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn calls_use_no_proxy_of_the_environment() {
        const WITH_PROXY: &str = "SLOTWISE_TEST_WITH_PROXY";
        if std::env::var_os(WITH_PROXY).is_some() {
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
            let (address, asked) = serve(vec![answer, answer].leak());
            rest(address).statistics("star/statistics").unwrap();
            rest(address).pass(None, "statistics").unwrap();
            assert_eq!(asked.join().unwrap().len(), 2);
            return;
        }
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        proxy.set_nonblocking(true).unwrap();
        let url = format!("http://{}", proxy.local_addr().unwrap());
        // Variables of this process are those of other tests, too.
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", "rest::tests::calls_use_no_proxy_of_the_environment"])
            .env(WITH_PROXY, "");
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            again.env(name, &url);
        }
        let done = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        assert_eq!(proxy.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}
