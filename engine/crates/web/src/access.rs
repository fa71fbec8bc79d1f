// SPDX-License-Identifier: Apache-2.0
//! Who may see the page: whoever shows the token, under a name that is this machine's own.
//!
//! A page of somebody else's that a browser has open may send requests here, and by a name of its own that leads to 127.0.0.1 (DNS
//! rebinding) even read the answers. It cannot know the token, and its name is in `Host` and `Origin`.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use subtle::ConstantTimeEq;

/// What a request has to show.
pub(crate) struct Access {
    token: String,
    hosts: [String; 3],
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub StatusCode, pub &'static str);

impl Access {
    pub(crate) fn new(address: SocketAddr, token: String) -> Access {
        let port = address.port();
        Access {
            token,
            hosts: [
                format!("127.0.0.1:{port}"),
                format!("localhost:{port}"),
                format!("[::1]:{port}"),
            ],
        }
    }

    /// Whether it comes under a name of this machine, and from a page of ours if from any.
    pub(crate) fn check_names(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let host = only(headers, HOST).unwrap_or_default();
        if !self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)) {
            return Err(Refused(
                StatusCode::MISDIRECTED_REQUEST,
                "only 127.0.0.1 and localhost are served; open the address printed by slotwise",
            ));
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        match origin.is_some_and(|origin| self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(origin))) {
            true => Ok(()),
            false => Err(Refused(
                StatusCode::FORBIDDEN,
                "requests from other origins are rejected",
            )),
        }
    }

    /// Whether the token is shown, as `Authorization: Bearer TOKEN` or `?token=TOKEN`.
    pub(crate) fn check_token(&self, headers: &HeaderMap, query: Option<&str>) -> Result<(), Refused> {
        let by_header = only(headers, AUTHORIZATION).and_then(|shown| shown.strip_prefix("Bearer "));
        let by_query = || query?.split('&').find_map(|part| part.strip_prefix("token="));
        let shown = by_header.or_else(by_query).unwrap_or_default();
        // The time does not tell how much was right.
        match bool::from(shown.as_bytes().ct_eq(self.token.as_bytes())) {
            true => Ok(()),
            false => Err(Refused(
                StatusCode::UNAUTHORIZED,
                "missing or invalid access token; open the address printed by slotwise",
            )),
        }
    }
}

/// A header that is there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(list: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn access() -> Access {
        Access::new("127.0.0.1:8080".parse().unwrap(), "secret".into())
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let names =
            |list: &[(HeaderName, &'static str)]| access().check_names(&headers(list)).map_err(|refused| refused.0);
        for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"] {
            assert_eq!(names(&[(HOST, host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:8081",
            "localhost.evil.example:8080",
            "",
        ] {
            assert_eq!(names(&[(HOST, host)]), Err(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
        assert_eq!(names(&[]), Err(StatusCode::MISDIRECTED_REQUEST));
        let twice = [(HOST, "localhost:8080"), (HOST, "evil.example")];
        assert_eq!(names(&twice), Err(StatusCode::MISDIRECTED_REQUEST));
    }

    #[test]
    fn pages_of_others_are_not_answered() {
        let from = |origin| access().check_names(&headers(&[(HOST, "localhost:8080"), (ORIGIN, origin)]));
        assert_eq!(from("http://localhost:8080"), Ok(()));
        assert_eq!(from("http://127.0.0.1:8080"), Ok(()));
        for origin in [
            "null",
            "http://evil.example",
            "https://localhost:8080",
            "http://localhost:8081",
            "http://localhost:8080.evil.example",
        ] {
            assert_eq!(from(origin).unwrap_err().0, StatusCode::FORBIDDEN, "{origin}");
        }
    }

    #[test]
    fn the_token_is_shown_by_header_or_address() {
        let shown = |list: &[(HeaderName, &'static str)], query| access().check_token(&headers(list), query).is_ok();
        assert!(shown(&[(AUTHORIZATION, "Bearer secret")], None));
        assert!(shown(&[], Some("token=secret")));
        assert!(shown(&[], Some("view=ring&token=secret")));
        assert!(!shown(&[(AUTHORIZATION, "Bearer secre")], None));
        assert!(!shown(&[(AUTHORIZATION, "Bearer other")], Some("token=secret")));
        assert!(!shown(&[], Some("token=")));
        assert!(!shown(&[], Some("xtoken=secret")));
        assert!(!shown(&[], None));
    }
}
