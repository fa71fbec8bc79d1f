// SPDX-License-Identifier: Apache-2.0
//! The rate that the controller's application `lambda` grants a session, which this host paces by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use slotwise_gtp::CAPACITIES_BPS;

use super::GtpError;

/// How often it is asked for.
const PERIOD: Duration = Duration::from_secs(1);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What `GET sessions` of the application answers, as far as it is of use here.
#[derive(Debug, Deserialize)]
struct Sessions {
    sessions: Vec<Session>,
}

#[derive(Debug, Deserialize)]
struct Session {
    session: String,
    granted_bps: u64,
}

/// What a session is granted, b/s. It is asked for each second for as long as this is there; while nobody answers, or the session is not there
/// any more, it stays as it was.
pub struct Granted {
    bps: Arc<AtomicU64>,
    told_bps: Option<u64>,
}

impl Granted {
    /// Asks for it once, and again from then on.
    ///
    /// # Errors
    /// When nobody answers at `url`, or there is no such session.
    pub fn to(session: &str, url: &str) -> Result<Granted, GtpError> {
        Granted::asked_each(PERIOD, session, url)
    }

    fn asked_each(period: Duration, session: &str, url: &str) -> Result<Granted, GtpError> {
        let bps = Arc::new(AtomicU64::new(ask(session, url)?));
        let (seen, session, url) = (Arc::downgrade(&bps), session.to_owned(), url.to_owned());
        thread::spawn(move || {
            loop {
                thread::sleep(period);
                let Some(bps) = seen.upgrade() else { return };
                if let Ok(granted) = ask(&session, &url) {
                    bps.store(granted, Ordering::Relaxed);
                }
            }
        });
        Ok(Granted { bps, told_bps: None })
    }

    /// The rate, if it is another one than the last time, within what a node can share.
    pub fn changed(&mut self) -> Option<u64> {
        let bps = self.bps.load(Ordering::Relaxed);
        let bps = bps.clamp(*CAPACITIES_BPS.start(), *CAPACITIES_BPS.end());
        (self.told_bps.replace(bps) != Some(bps)).then_some(bps)
    }
}

fn ask(session: &str, url: &str) -> Result<u64, GtpError> {
    let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build();
    let answer = ureq::Agent::from(config).get(format!("{url}/sessions")).call();
    let read = answer.and_then(|mut answer| answer.body_mut().read_json::<Sessions>());
    let read = read.map_err(|error| GtpError::Controller {
        url: url.to_owned(),
        reason: error.to_string(),
    })?;
    let found = read.sessions.iter().find(|each| each.session == session);
    found
        .map(|each| each.granted_bps)
        .ok_or_else(|| GtpError::NoSession(session.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers as often, at the address that is given back.
    fn serve(answers: &'static [&'static str]) -> String {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/slotwise/v1/apps/lambda", server.local_addr().unwrap());
        thread::spawn(move || {
            for body in answers {
                let (mut caller, _) = server.accept().unwrap();
                let (mut request, mut byte) = (Vec::new(), [0]);
                while !request.ends_with(b"\r\n\r\n") && caller.read(&mut byte).unwrap() > 0 {
                    request.push(byte[0]);
                }
                assert!(request.starts_with(b"GET /slotwise/v1/apps/lambda/sessions "));
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                caller.write_all((head + body).as_bytes()).unwrap();
            }
        });
        url
    }

    #[test]
    fn the_rate_is_the_sessions_own_and_follows_it() {
        let url = serve(&[
            r#"{"sessions": [{"session": "other", "granted_bps": 7}, {"session": "film", "granted_bps": 9000000, "limited_by": null}]}"#,
            r#"{"sessions": []}"#,
            r#"{"sessions": [{"session": "film", "granted_bps": 0}]}"#,
        ]);
        let mut granted = Granted::asked_each(Duration::from_millis(1), "film", &url).unwrap();
        assert_eq!(granted.changed(), Some(9_000_000));
        assert_eq!(granted.changed(), None);
        // It left, and came back with nothing: the least that a node can share.
        let next = loop {
            thread::yield_now();
            if let Some(next) = granted.changed() {
                break next;
            }
        };
        assert_eq!(next, *CAPACITIES_BPS.start());
    }

    #[test]
    fn nobody_and_no_such_session_are_told() {
        let url = serve(&[r#"{"sessions": []}"#]);
        let refused = |url: &str| Granted::to("film", url).err().unwrap().to_string();
        assert_eq!(refused(&url), GtpError::NoSession("film".into()).to_string());
        assert!(refused("http://127.0.0.1:1/x").contains("http://127.0.0.1:1/x"));
        assert!(refused("not a url").contains("not a url"));
    }
}
