// SPDX-License-Identifier: Apache-2.0
//! Cookies: an address that gets its own back is where it says. Nothing is kept of who has none.

use std::net::SocketAddr;

use ring::hmac;
use slotwise_units::{Duration, Instant};

use crate::packet::{Cookie, Nonce};

/// How long cookies are made alike; they hold for this one and the next.
const PERIOD: Duration = Duration::from_s(10);

/// Makes and checks them.
pub(crate) struct Cookies(hmac::Key);

impl Cookies {
    pub(crate) fn new(secret: &[u8; 32]) -> Cookies {
        Cookies(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    fn mac(&self, period: u64, from: SocketAddr, channel: u32, nonce: &Nonce) -> [u8; 16] {
        let mut context = hmac::Context::with_key(&self.0);
        match from.ip() {
            std::net::IpAddr::V4(ip) => context.update(&ip.to_ipv6_mapped().octets()),
            std::net::IpAddr::V6(ip) => context.update(&ip.octets()),
        }
        context.update(&from.port().to_be_bytes());
        context.update(&period.to_be_bytes());
        context.update(&channel.to_be_bytes());
        context.update(nonce);
        let tag = context.sign();
        std::array::from_fn(|at| tag.as_ref()[at])
    }

    pub(crate) fn make(&self, now: Instant, from: SocketAddr, channel: u32, nonce: &Nonce) -> Cookie {
        let period = now.since_start() / PERIOD;
        let mac = self.mac(period, from, channel, nonce);
        Cookie { period, mac }
    }

    pub(crate) fn is_right(
        &self,
        now: Instant,
        from: SocketAddr,
        channel: u32,
        (nonce, cookie): (&Nonce, &Cookie),
    ) -> bool {
        let age = (now.since_start() / PERIOD).checked_sub(cookie.period);
        let expected = self.mac(cookie.period, from, channel, nonce);
        // All bytes are compared, whichever differ.
        let differs = expected.iter().zip(&cookie.mac).fold(0, |sum, (a, b)| sum | a ^ b);
        age.is_some_and(|age| age <= 1) && differs == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a period.
    fn at(period: u64) -> Instant {
        Instant::ZERO + period * PERIOD
    }

    #[test]
    fn a_cookie_holds_for_its_address_channel_nonce_and_time_only() {
        let cookies = Cookies::new(&[1; 32]);
        let from: SocketAddr = "10.0.0.1:7".parse().unwrap();
        let other: SocketAddr = "10.0.0.1:8".parse().unwrap();
        let nonce = [2; 16];
        let cookie = cookies.make(at(5), from, 3, &nonce);
        assert!(cookies.is_right(at(5), from, 3, (&nonce, &cookie)));
        assert!(cookies.is_right(at(7) - Duration::from_ns(1), from, 3, (&nonce, &cookie)));
        assert!(!cookies.is_right(at(7), from, 3, (&nonce, &cookie)));
        assert!(!cookies.is_right(at(5) - Duration::from_ns(1), from, 3, (&nonce, &cookie)));
        assert!(!cookies.is_right(at(5), other, 3, (&nonce, &cookie)));
        assert!(!cookies.is_right(at(5), from, 4, (&nonce, &cookie)));
        assert!(!cookies.is_right(at(5), from, 3, (&[3; 16], &cookie)));
        let newer = Cookie { period: 6, ..cookie };
        assert!(!cookies.is_right(at(6), from, 3, (&nonce, &newer)));
        assert!(!Cookies::new(&[2; 32]).is_right(at(5), from, 3, (&nonce, &cookie)));
    }
}
