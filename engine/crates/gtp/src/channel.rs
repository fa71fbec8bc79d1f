// SPDX-License-Identifier: Apache-2.0
//! Noise: the handshake of two that have the same key, and what they seal afterwards.

use ring::hmac;
use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, StatelessTransportState};

use crate::key::Key;
use crate::packet::{MAC_BYTES, NOISE_ACCEPT_BYTES, NOISE_OPEN_BYTES, Nonce, Packet, SEALED_HEADER_BYTES, TAG_BYTES};
use crate::window::Window;

/// Both ends prove that they have the key, and each session has keys of its own that nobody can find out from it later.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

fn builder<'a>(key: &'a Key, prologue: &'a [u8]) -> Builder<'a> {
    let params: NoiseParams = PATTERN.parse().expect("the pattern is one of Noise's");
    let builder = Builder::new(params).psk(0, key.bytes());
    builder
        .and_then(|builder| builder.prologue(prologue))
        .expect("each is set once")
}

/// What both must have seen alike.
fn prologue(channel: u32, nonce: &Nonce) -> Vec<u8> {
    [&b"slotwise gtp 1"[..], &channel.to_be_bytes(), nonce].concat()
}

/// The handshake of who asks, until it is answered.
pub(crate) struct Asking(Box<HandshakeState>);

impl Asking {
    /// Begins, with the first message.
    pub(crate) fn new(key: &Key, channel: u32, nonce: &Nonce) -> Option<(Asking, [u8; NOISE_OPEN_BYTES])> {
        let mut state = builder(key, &prologue(channel, nonce)).build_initiator().ok()?;
        let mut message = [0; NOISE_OPEN_BYTES];
        let length = state.write_message(&[], &mut message).ok()?;
        (length == message.len()).then_some((Asking(Box::new(state)), message))
    }

    /// Takes the answer; gives the channel, or itself again if the answer is not from who has the key.
    pub(crate) fn finish(mut self, answer: &[u8; NOISE_ACCEPT_BYTES]) -> Result<Channel, Asking> {
        let mut peer = [0; 4];
        match self.0.read_message(answer, &mut peer) {
            Ok(4) => {}
            _ => return Err(self),
        }
        let transport = self.0.into_stateless_transport_mode();
        let transport = transport.expect("both messages are through");
        Ok(Channel::new(transport, u32::from_be_bytes(peer)))
    }
}

/// Answers the first message with the number of the own channel; none if its sender has another key.
pub(crate) fn answer(
    key: &Key,
    (peer, nonce): (u32, &Nonce),
    first: &[u8; NOISE_OPEN_BYTES],
    own: u32,
) -> Option<(Channel, [u8; NOISE_ACCEPT_BYTES])> {
    let mut state = builder(key, &prologue(peer, nonce)).build_responder().ok()?;
    // Nothing is in it, but its tag shows the key: who has none costs no more than that.
    state.read_message(first, &mut []).ok()?;
    let mut message = [0; NOISE_ACCEPT_BYTES];
    let length = state.write_message(&own.to_be_bytes(), &mut message).ok()?;
    let transport = state.into_stateless_transport_mode().ok()?;
    (length == message.len()).then(|| (Channel::new(transport, peer), message))
}

/// What tells who sent the first message, and has the key, that there is no room; none if its sender has another key. No key exchange is
/// calculated for it.
pub(crate) fn refuse(
    key: &Key,
    (peer, nonce): (u32, &Nonce),
    first: &[u8; NOISE_OPEN_BYTES],
) -> Option<[u8; MAC_BYTES]> {
    let mut state = builder(key, &prologue(peer, nonce)).build_responder().ok()?;
    state.read_message(first, &mut []).ok()?;
    let tag = hmac::sign(&full_key(key), &prologue(peer, nonce));
    tag.as_ref().try_into().ok()
}

/// Whether who has the key says that it has no room for this handshake.
pub(crate) fn is_refusal(key: &Key, (own, nonce): (u32, &Nonce), mac: &[u8; MAC_BYTES]) -> bool {
    hmac::verify(&full_key(key), &prologue(own, nonce), mac).is_ok()
}

/// A key for nothing but refusals.
fn full_key(key: &Key) -> hmac::Key {
    let from = hmac::Key::new(hmac::HMAC_SHA256, key.bytes());
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&from, b"slotwise gtp 1 full").as_ref())
}

/// Keys of one session, and the packet numbers that came.
pub(crate) struct Channel {
    transport: StatelessTransportState,
    /// Number of the channel at the other end.
    peer: u32,
    /// Of the next packet.
    next_number: u64,
    window: Window,
}

impl Channel {
    fn new(transport: StatelessTransportState, peer: u32) -> Channel {
        Channel {
            transport,
            peer,
            next_number: 0,
            window: Window::default(),
        }
    }

    /// Writes the datagram of a message into `out`, which it clears; false if there are no more numbers.
    pub(crate) fn seal(&mut self, message: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let number = self.next_number;
        // The last number is not for packets (Noise, section 5.1).
        if number == u64::MAX {
            return false;
        }
        let channel = self.peer;
        Packet::Sealed {
            channel,
            number,
            body: &[],
        }
        .encode(out);
        out.resize(SEALED_HEADER_BYTES + message.len() + TAG_BYTES, 0);
        let sealed = self
            .transport
            .write_message(number, message, &mut out[SEALED_HEADER_BYTES..]);
        self.next_number += 1;
        sealed.is_ok()
    }

    /// Opens what was sealed into `message`, which it clears; false if it is forged, or came before.
    pub(crate) fn open(&mut self, number: u64, body: &[u8], message: &mut Vec<u8>) -> bool {
        message.clear();
        if !self.window.is_new(number) {
            return false;
        }
        message.resize(body.len(), 0);
        let Ok(length) = self.transport.read_message(number, body, message) else {
            message.clear();
            return false;
        };
        message.truncate(length);
        self.window.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, Channel) {
        let key = Key::of([5; 32]);
        let nonce = [1; 16];
        let (asking, first) = Asking::new(&key, 7, &nonce).unwrap();
        let (theirs, second) = answer(&key, (7, &nonce), &first, 9).unwrap();
        let Ok(ours) = asking.finish(&second) else {
            panic!("refused")
        };
        assert_eq!((ours.peer, theirs.peer), (9, 7));
        (ours, theirs)
    }

    fn sealed(from: &mut Channel, message: &[u8]) -> (u64, Vec<u8>) {
        let mut out = Vec::new();
        assert!(from.seal(message, &mut out));
        match Packet::decode(&out).unwrap() {
            Packet::Sealed { number, body, .. } => (number, body.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_sealed_is_opened_once_in_any_order_and_only_at_the_other_end() {
        let (mut ours, mut theirs) = pair();
        let packets: Vec<_> = (0..5u8).map(|n| sealed(&mut ours, &[n, 1, 2])).collect();
        let mut message = Vec::new();
        for at in [3, 0, 4, 1, 2] {
            let (number, body) = &packets[at];
            assert!(!ours.open(*number, body, &mut message), "sent back");
            let mut forged = body.clone();
            forged[1] ^= 1;
            assert!(!theirs.open(*number, &forged, &mut message));
            assert!(!theirs.open(*number + 100, body, &mut message), "another number");
            assert!(theirs.open(*number, body, &mut message));
            assert_eq!(message, [at as u8, 1, 2]);
            assert!(!theirs.open(*number, body, &mut message), "again");
        }
        assert!(
            packets
                .iter()
                .all(|(_, body)| !body.windows(3).any(|three| three == [3, 1, 2]))
        );
    }

    #[test]
    fn another_key_channel_or_nonce_is_refused() {
        let (key, other) = (Key::of([5; 32]), Key::of([6; 32]));
        let nonce = [1; 16];
        let (asking, first) = Asking::new(&key, 7, &nonce).unwrap();
        assert!(answer(&other, (7, &nonce), &first, 9).is_none());
        assert!(answer(&key, (8, &nonce), &first, 9).is_none());
        assert!(answer(&key, (7, &[2; 16]), &first, 9).is_none());
        let (_, mut second) = answer(&key, (7, &nonce), &first, 9).unwrap();
        second[40] ^= 1;
        assert!(asking.finish(&second).is_err());
    }

    #[test]
    fn each_session_has_keys_of_its_own() {
        let (mut one, _) = pair();
        let (_, mut other) = pair();
        let (number, body) = sealed(&mut one, b"secret");
        assert!(!other.open(number, &body, &mut Vec::new()));
    }

    #[test]
    fn without_a_number_nothing_is_sent() {
        let (mut ours, _) = pair();
        ours.next_number = u64::MAX;
        assert!(!ours.seal(b"x", &mut Vec::new()));
    }
}
