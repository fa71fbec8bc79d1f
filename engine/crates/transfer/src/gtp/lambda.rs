// SPDX-License-Identifier: Apache-2.0
//! The controller's application `lambda` over REST, as a host asks it what a session is granted.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use serde::Deserialize;
use serde_json::json;
use slotwise_wire::limits::TOKEN_CHARS;
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Body, RequestBuilder};
use zeroize::Zeroizing;

use super::{GtpError, file_error, open_regular, open_secret};
use slotwise_cli::http;
use slotwise_cli::notes::one_line;

/// How long a session that this host has asked for is there if it does not ask again.
pub const LEASE: Duration = Duration::from_secs(10);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// A session, or what is wrong with it, is less.
const MAX_ANSWER_BYTES: u64 = 64 << 10;
const MAX_CA_BYTES: u64 = 1 << 20;
/// Bits of a file's mode by which others than owner and group read it, or others than the owner write it.
const TOO_MUCH: u32 = 0o027;
const UNAUTHORIZED: u16 = 401;
const NOT_FOUND: u16 = 404;

// Where a rate comes from that is not said. No text of its own: it would be that of the command which it is a part of.
#[derive(Debug, clap::Args)]
pub struct GrantArgs {
    /// URL of the controller's `lambda` application, which grants the capacity
    ///
    /// http://HOST:PORT/slotwise/v1/lambda. The rate granted to --session, shared by all transfers per direction
    /// at this host, is followed as it changes.
    #[arg(long, value_name = "URL", requires = "session", conflicts_with = "rate_bps")]
    pub granted_by: Option<String>,
    /// Session that receives the grant
    #[arg(long, value_name = "NAME", requires = "granted_by")]
    session: Option<String>,
    /// Join the session from this node to --sink at the start; leave at the end
    ///
    /// A killed command leaves when its lease expires.
    #[arg(long, value_name = "NODE", requires = "sink", requires = "granted_by")]
    source: Option<String>,
    /// Sink node of the session
    #[arg(long, value_name = "NODE", requires = "source")]
    sink: Option<String>,
    /// File with the token of the controller's `rest.token_file`
    #[arg(long, value_name = "FILE", requires = "granted_by")]
    token_file: Option<PathBuf>,
    /// CA certificate (PEM) that signed the controller's; for https
    #[arg(long, value_name = "FILE", requires = "granted_by")]
    ca: Option<PathBuf>,
}

/// The application, asked for one session.
pub struct Lambda {
    url: String,
    agent: ureq::Agent,
    authorization: Option<Zeroizing<String>>,
    session: String,
    /// Source and sink, where it is this host's own to join and leave.
    ends: Option<(String, String)>,
}

/// Session, as far as it is of use here.
#[derive(Debug, Deserialize)]
struct Session {
    granted_bps: u64,
}

/// What the controller says against something (RFC 9457).
#[derive(Debug, Deserialize)]
struct Problem {
    detail: String,
}

impl Lambda {
    /// As the arguments say; `None` if they name no controller. Nobody is asked yet.
    ///
    /// # Errors
    /// What is wrong with the URL, or the files.
    pub fn of(args: &GrantArgs) -> Result<Option<Lambda>, GtpError> {
        let Some((url, session)) = args.granted_by.as_ref().zip(args.session.as_ref()) else {
            return Ok(None);
        };
        let url = url.trim_end_matches('/').to_owned();
        let place: Uri = url.parse().map_err(|_| no_controller(&url, "invalid URL".into()))?;
        let token = args.token_file.as_deref().map(read_token).transpose()?;
        let mut tls =
            TlsConfig::builder().unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        match (place.scheme_str(), &args.ca) {
            (Some("https"), Some(ca)) => tls = tls.root_certs(read_authorities(ca)?),
            (Some("https"), None) => return Err(GtpError::NoAuthority(url)),
            (Some("http"), Some(_)) => return Err(no_controller(&url, "--ca needs https".into())),
            (Some("http"), None) if token.is_some() && !is_here(&place) => return Err(GtpError::TokenInClear(url)),
            (Some("http"), None) => {}
            _ => return Err(no_controller(&url, "unsupported scheme".into())),
        }
        let config = http::direct(PATIENCE)
            .http_status_as_error(false)
            .tls_config(tls.build())
            .build();
        Ok(Some(Lambda {
            url,
            agent: config.into(),
            authorization: token.map(|token| Zeroizing::new(format!("Bearer {}", *token))),
            session: session.clone(),
            ends: args.source.clone().zip(args.sink.clone()),
        }))
    }

    /// Whether the session is this host's own: there as long as it [joins](Self::join) again within [`LEASE`].
    pub fn is_own(&self) -> bool {
        self.ends.is_some()
    }

    /// What the session is granted now, b/s.
    ///
    /// # Errors
    /// [`GtpError::NoSession`], or that there was no answer, or none of this kind.
    pub fn ask(&self) -> Result<u64, GtpError> {
        let place = self.place();
        let answer = authorized(self.agent.get(&place), self.token()).call();
        let mut answer = answer.map_err(|error| unreached(&self.url, &error))?;
        if answer.status().as_u16() == NOT_FOUND && self.has_sessions()? {
            return Err(GtpError::NoSession(self.session.clone()));
        }
        self.accepted(&mut answer, false)?;
        self.granted(&mut answer)
    }

    /// Whether there is an application with sessions at all.
    fn has_sessions(&self) -> Result<bool, GtpError> {
        let answer = authorized(self.agent.get(format!("{}/sessions", self.url)), self.token()).call();
        let answer = answer.map_err(|error| unreached(&self.url, &error))?;
        Ok(answer.status().is_success())
    }

    fn place(&self) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let letters = self.session.bytes().map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        });
        format!("{}/sessions/{}", self.url, letters.collect::<String>())
    }

    fn token(&self) -> Option<&str> {
        self.authorization.as_ref().map(|value| value.as_str())
    }

    fn granted(&self, answer: &mut Response<Body>) -> Result<u64, GtpError> {
        let body = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES);
        let session: Session = body.read_json().map_err(|error| unreached(&self.url, &error))?;
        Ok(session.granted_bps)
    }

    /// Joins with the session, or stays for another [`LEASE`], if it is this host's own; gives what it is granted then, b/s.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask), and [`GtpError::Refused`].
    pub fn join(&self) -> Result<u64, GtpError> {
        let Some((source, sink)) = &self.ends else {
            return self.ask();
        };
        let lease_ms = LEASE.as_millis() as u64;
        let body = json!({"source": source, "sink": sink, "lease_ms": lease_ms});
        let answer = authorized(self.agent.put(self.place()), self.token()).send_json(body);
        let mut answer = answer.map_err(|error| unreached(&self.url, &error))?;
        self.accepted(&mut answer, true)?;
        self.granted(&mut answer)
    }

    /// Leaves with a session of this host's own.
    ///
    /// # Errors
    /// As of [`join`](Self::join); it is gone soon then.
    pub fn leave(&self) -> Result<(), GtpError> {
        let answer = authorized(self.agent.delete(self.place()), self.token()).call();
        let mut answer = answer.map_err(|error| unreached(&self.url, &error))?;
        self.accepted(&mut answer, true)
    }

    /// Checks the status of an answer; what is said against a change is said against the session.
    fn accepted(&self, answer: &mut Response<Body>, is_change: bool) -> Result<(), GtpError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        if status.as_u16() == UNAUTHORIZED {
            return Err(match &self.authorization {
                Some(_) => GtpError::OtherToken(self.url.clone()),
                None => GtpError::NoToken(self.url.clone()),
            });
        }
        let problem = answer
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER_BYTES)
            .read_json::<Problem>();
        match problem.ok().map(|problem| problem.detail) {
            Some(reason) if is_change => {
                let session = self.session.clone();
                let reason = one_line(&reason);
                Err(GtpError::Refused { session, reason })
            }
            detail => Err(no_controller(
                &self.url,
                detail.unwrap_or_else(|| format!("status {status}")),
            )),
        }
    }
}

fn authorized<B>(request: RequestBuilder<B>, token: Option<&str>) -> RequestBuilder<B> {
    match token {
        Some(token) => request.header("Authorization", token),
        None => request,
    }
}

fn no_controller(url: &str, reason: String) -> GtpError {
    let url = url.to_owned();
    let reason = one_line(&reason);
    GtpError::Controller { url, reason }
}

/// Why there was no answer.
fn unreached(url: &str, error: &ureq::Error) -> GtpError {
    let within = match error {
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    match within {
        Some(rustls::Error::InvalidCertificate(reason)) => GtpError::Certificate {
            url: url.to_owned(),
            reason: one_line(&reason.to_string()),
        },
        _ => no_controller(url, error.to_string()),
    }
}

/// Whether what is sent there does not leave this machine.
fn is_here(place: &Uri) -> bool {
    let host = place.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// What a file has, of so many bytes at most.
fn read_bounded(path: &Path, file: File, most: u64) -> Result<Zeroizing<Vec<u8>>, GtpError> {
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(most + 1).read_to_end(&mut bytes).map_err(file_error(path))?;
    Ok(bytes)
}

/// The token of a file that the controller would take as `rest.token_file`.
fn read_token(path: &Path) -> Result<Zeroizing<String>, GtpError> {
    let file = open_secret(path, TOO_MUCH, |path, mode| GtpError::TokenIsOpen { path, mode })?;
    let bytes = read_bounded(path, file, *TOKEN_CHARS.end())?;
    let token = bytes.trim_ascii();
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(byte);
    match std::str::from_utf8(token) {
        Ok(token)
            if bytes.len() as u64 <= *TOKEN_CHARS.end()
                && TOKEN_CHARS.contains(&(token.len() as u64))
                && token.bytes().all(|byte| is_of_token(&byte)) =>
        {
            Ok(Zeroizing::new(token.to_owned()))
        }
        _ => Err(GtpError::Token(path.to_owned())),
    }
}

fn read_authorities(path: &Path) -> Result<RootCerts, GtpError> {
    let refused = |reason| GtpError::Authority {
        path: path.to_owned(),
        reason,
    };
    let bytes = read_bounded(path, open_regular(path)?, MAX_CA_BYTES)?;
    if bytes.len() as u64 > MAX_CA_BYTES {
        return Err(refused("too large"));
    }
    let certificates: Vec<_> = parse_pem(&bytes)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match certificates[..] {
        [] => Err(refused("no certificate")),
        // Else it would be left out without a word, and who it is of be a stranger.
        _ if !certificates.iter().all(is_of_authority) => Err(refused("unreadable certificate")),
        _ => Ok(RootCerts::new_with_certs(&certificates)),
    }
}

fn is_of_authority(certificate: &Certificate) -> bool {
    RootCertStore::empty().add(certificate.der().to_vec().into()).is_ok()
}

#[cfg(test)]
pub mod tests {
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use clap::Parser;

    use super::*;

    const TOKEN: &str = "0123456789abcdef-token";

    #[derive(Parser)]
    struct Command {
        #[arg(long)]
        rate_bps: Option<u64>,
        #[command(flatten)]
        grant: GrantArgs,
    }

    /// Answers a connection each, with status and body; where it is, and what it is asked: head and body.
    pub fn serve(answers: &'static [(u16, &'static str)]) -> (String, Receiver<String>) {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/slotwise/v1/lambda", server.local_addr().unwrap());
        let (tell, asked) = channel();
        thread::spawn(move || {
            for (status, body) in answers {
                let (mut caller, _) = server.accept().unwrap();
                let (mut request, mut byte) = (Vec::new(), [0]);
                while !request.ends_with(b"\r\n\r\n") && caller.read(&mut byte).unwrap() > 0 {
                    request.push(byte[0]);
                }
                let head = String::from_utf8(request.clone()).unwrap().to_lowercase();
                let length = head
                    .split("content-length: ")
                    .nth(1)
                    .map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
                let mut sent = vec![0; length];
                caller.read_exact(&mut sent).unwrap();
                request.extend(sent);
                let answer = format!(
                    "HTTP/1.1 {status} x\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                caller.write_all(answer.as_bytes()).unwrap();
                let _ = tell.send(String::from_utf8(request).unwrap());
            }
        });
        (url, asked)
    }

    /// As the command would be called.
    pub fn called(url: &str, more: &[&str]) -> Result<Lambda, GtpError> {
        let words = ["x", "--granted-by", url, "--session", "film"].into_iter();
        let command = Command::try_parse_from(words.chain(more.iter().copied())).unwrap();
        assert_eq!(command.rate_bps, None);
        Lambda::of(&command.grant).map(Option::unwrap)
    }

    fn refused(url: &str, more: &[&str]) -> String {
        called(url, more)
            .and_then(|lambda| lambda.join())
            .unwrap_err()
            .to_string()
    }

    fn file(directory: &tempfile::TempDir, text: &str, mode: u32) -> String {
        let path = directory.path().join("token");
        let _ = fs::remove_file(&path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_token_is_shown_with_each_request_and_said_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let token = file(&directory, &format!("{TOKEN}\n"), 0o640);
        let (url, asked) = serve(&[
            (200, r#"{"session": "film", "granted_bps": 5}"#),
            (200, r#"{"session": "film", "granted_bps": 6}"#),
            (401, r#"{"detail": "an Authorization header is needed"}"#),
            (401, "{}"),
            (302, ""),
        ]);
        let lambda = called(&url, &["--token-file", &token, "--source", "a", "--sink", "b"]).unwrap();
        assert!(lambda.is_own());
        assert_eq!(lambda.join().unwrap(), 5);
        let request = asked.recv().unwrap();
        assert!(
            request.starts_with("PUT /slotwise/v1/lambda/sessions/film "),
            "{request}"
        );
        assert!(request.contains(&format!("Bearer {TOKEN}\r\n")), "{request}");
        let body: serde_json::Value = serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body, json!({"source": "a", "sink": "b", "lease_ms": 10_000}));
        assert_eq!(lambda.ask().unwrap(), 6);
        let request = asked.recv().unwrap();
        assert!(request.contains(TOKEN));
        assert!(
            request.starts_with("GET /slotwise/v1/lambda/sessions/film "),
            "no more than it needs: {request}"
        );
        let error = lambda.ask().unwrap_err();
        assert!(
            matches!(error, GtpError::OtherToken(_)) && !error.to_string().contains(TOKEN),
            "{error}"
        );
        let without = called(&url, &[]).unwrap();
        assert!(matches!(without.join().unwrap_err(), GtpError::NoToken(_)));
        assert!(asked.recv().unwrap().contains(TOKEN));
        assert!(!asked.recv().unwrap().to_lowercase().contains("authorization"));
        assert!(refused(&url, &["--token-file", &token]).contains("status 302"));
    }

    #[test]
    fn what_the_controller_has_against_a_session_is_told() {
        let (url, _) = serve(&[
            (409, r#"{"detail": "there is no room"}"#),
            (404, r#"{"detail": "no such thing"}"#),
            (404, ""),
            (200, "junk"),
            (404, r#"{"detail": "unknown session 'film'"}"#),
            (200, r#"{"sessions": []}"#),
        ]);
        let own = ["--source", "a", "--sink", "b"];
        assert_eq!(refused(&url, &own), "session 'film': there is no room");
        assert!(refused(&url, &[]).contains("no such thing"));
        assert!(refused(&url, &[]).contains(&url));
        assert_eq!(refused(&url, &[]), GtpError::NoSession("film".into()).to_string());
        assert!(refused("http://127.0.0.1:1/x", &[]).contains("http://127.0.0.1:1/x"));
        assert!(refused("not a url", &[]).contains("not a url"));
        assert!(refused("ftp://127.0.0.1/x", &[]).contains("http"));
    }

    #[test]
    fn a_token_that_others_could_have_is_refused_before_anybody_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = "http://10.255.255.1:8182/slotwise/v1/lambda";
        let refused = |url: &str, text: &str, mode| {
            let token = file(&directory, text, mode);
            called(url, &["--token-file", &token]).err()
        };
        for mode in [0o604, 0o660, 0o602, 0o601] {
            assert!(
                matches!(
                    refused("http://localhost:1", TOKEN, mode),
                    Some(GtpError::TokenIsOpen { .. })
                ),
                "{mode:o}"
            );
        }
        for wrong in [
            "short",
            "two lines of\ntext, longer",
            &"x".repeat(4097),
            "",
            "with a space in it, long",
        ] {
            assert!(
                matches!(refused("http://localhost:1", wrong, 0o600), Some(GtpError::Token(_))),
                "{wrong}"
            );
        }
        assert!(matches!(
            refused(elsewhere, TOKEN, 0o600),
            Some(GtpError::TokenInClear(_))
        ));
        for here in ["http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1"] {
            assert!(refused(here, TOKEN, 0o600).is_none(), "{here}");
        }
        let secure = elsewhere.replace("http", "https");
        assert!(matches!(refused(&secure, TOKEN, 0o600), Some(GtpError::NoAuthority(_))));
        let token = file(&directory, TOKEN, 0o600);
        assert!(matches!(
            called(&secure, &["--ca", &token]).err(),
            Some(GtpError::Authority { .. })
        ));
        assert!(matches!(
            called("http://127.0.0.1:1", &["--ca", &token]).err(),
            Some(GtpError::Controller { .. })
        ));
        assert!(matches!(
            called("http://127.0.0.1:1", &["--token-file", "/none"]).err(),
            Some(GtpError::File { .. })
        ));
    }

    #[test]
    fn what_somebody_else_says_is_one_line_that_ends() {
        let (url, _) = serve(&[(409, r#"{"detail": "no\nslotwise gtp: serving at\u001b[2J"}"#)]);
        assert_eq!(
            refused(&url, &["--source", "a", "--sink", "b"]),
            "session 'film': no slotwise gtp: serving at\\u{1b}[2J"
        );
    }

    #[test]
    fn a_file_that_is_none_or_has_what_would_be_left_out_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        let fifo = fifo.to_str().unwrap();
        for option in ["--token-file", "--ca"] {
            // It would be waited for.
            let refused = called("https://127.0.0.1:1", &[option, fifo]).err();
            assert!(matches!(refused, Some(GtpError::NotAFile(_))), "{option}");
        }
        let junk = "-----BEGIN CERTIFICATE-----\nanVuaw==\n-----END CERTIFICATE-----\n";
        let authority = |text: &str| {
            let ca = file(&directory, text, 0o600);
            read_authorities(Path::new(&ca))
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert!(authority(junk).contains("unreadable certificate"));
        assert!(authority(&format!("{}{junk}", "#".repeat(1 << 20))).contains("too large"));
        assert!(authority("no PEM").contains("no certificate"));
    }

    #[test]
    fn arguments_that_lack_each_other_are_refused() {
        let url = "http://127.0.0.1:1";
        for wrong in [
            &["--granted-by", url][..],
            &["--session", "film"],
            &["--granted-by", url, "--session", "film", "--rate-bps", "5"],
            &["--granted-by", url, "--session", "film", "--source", "a"],
            &["--granted-by", url, "--session", "film", "--sink", "a"],
            &["--token-file", "x"],
            &["--ca", "x"],
            &["--source", "a", "--sink", "b"],
        ] {
            assert!(Command::try_parse_from(["x"].iter().chain(wrong)).is_err(), "{wrong:?}");
        }
        assert!(
            Lambda::of(&Command::try_parse_from(["x"]).unwrap().grant)
                .unwrap()
                .is_none()
        );
    }
}
