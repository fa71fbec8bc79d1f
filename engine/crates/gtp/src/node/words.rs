// SPDX-License-Identifier: Apache-2.0
//! What the ends of a transfer say to each other of it, beside GTP.

use slotwise_transport::content::{Sink, Source};
use slotwise_units::{Bytes, Duration, Instant};

use super::{Ended, Event, Node, TransferId};
use crate::control::{Control, Digest, Reason, Verdict};
use crate::peers::Said;

/// Who asked asks again when it has heard nothing for so long.
const AGAIN: Duration = Duration::from_s(1);
/// Times that the end of a transfer is said without an answer.
const MAX_DONE: u32 = 20;

/// How far a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It was asked for.
    Asking,
    /// The caller is asked.
    Deciding,
    Sending,
    Receiving,
    /// The caller compares.
    Checking,
    /// The end was said so often, and is not heard yet.
    Concluding(Verdict, u32),
}

/// A transfer at one of its ends.
pub(super) struct Transfer {
    /// Whether this end asks.
    pub(super) is_own: bool,
    pub(super) is_sink: bool,
    pub(super) stage: Stage,
    pub(super) name: String,
    /// Of the file, once they are known.
    pub(super) entry: Option<(Bytes, Digest)>,
    /// Most bytes in a data message.
    pub(super) block_bytes: u16,
    /// When it last said something by itself.
    pub(super) said_at: Instant,
}

impl<S: Source, K: Sink> Node<S, K> {
    /// Says what this end wants, again or for the first time.
    pub(super) fn ask(&mut self, id: TransferId) {
        let Some(transfer) = self.transfers.get(&id) else {
            return;
        };
        let mut message = Vec::new();
        let control = match (transfer.is_sink, transfer.entry) {
            (false, Some((bytes, digest))) => Control::Put {
                block_bytes: transfer.block_bytes,
                bytes,
                digest,
                name: &transfer.name,
            },
            _ => Control::Get { name: &transfer.name },
        };
        control.encode(id.number, &mut message);
        self.controls.push_back((id.channel, message));
    }

    pub(super) fn say(&mut self, id: TransferId, control: Control) {
        let mut message = Vec::new();
        control.encode(id.number, &mut message);
        self.controls.push_back((id.channel, message));
    }

    /// Says what has become of a transfer, as an answer to who asks for it.
    pub(super) fn say_state(&mut self, id: TransferId) {
        let Some(transfer) = self.transfers.get(&id) else {
            return;
        };
        let control = match (transfer.stage, transfer.entry) {
            (Stage::Sending, Some((bytes, digest))) if !transfer.is_own => Control::Have {
                block_bytes: transfer.block_bytes,
                bytes,
                digest,
            },
            (Stage::Concluding(verdict, _), _) => Control::Done { verdict },
            (Stage::Receiving, _) if !transfer.is_own => Control::Take { offset: 0 },
            _ if transfer.is_own => return,
            _ => Control::Wait,
        };
        self.say(id, control);
    }

    pub(super) fn on_control(&mut self, now: Instant, id: TransferId, control: Control) {
        match control {
            Control::Get { name } => self.on_request(now, id, name, None),
            Control::Put {
                block_bytes,
                bytes,
                digest,
                name,
            } => self.on_request(now, id, name, Some((block_bytes, (bytes, digest)))),
            Control::Wait => {}
            Control::Have {
                block_bytes,
                bytes,
                digest,
            } => {
                if let Ok(transfer) = self.at(id, true, &[Stage::Asking]) {
                    transfer.stage = Stage::Deciding;
                    transfer.entry = Some((bytes, digest));
                    transfer.block_bytes = transfer.block_bytes.min(block_bytes);
                    let name = String::new();
                    self.events.push_back(Event::Offered {
                        id,
                        name,
                        bytes,
                        digest,
                    });
                }
            }
            Control::Take { .. } => {
                if let Ok(transfer) = self.at(id, false, &[Stage::Asking]) {
                    transfer.stage = Stage::Sending;
                }
            }
            Control::No { reason } => {
                let is_asked = self.transfers.get(&id).is_some_and(|transfer| transfer.is_own);
                if is_asked {
                    self.end(id, Ended::Refused(reason));
                }
            }
            Control::Done { verdict } => {
                self.say(id, Control::Heard);
                if self.transfers.get(&id).is_some_and(|transfer| !transfer.is_sink) {
                    self.end(id, Ended::Done(verdict));
                }
            }
            Control::Close => self.lost(id.channel, Said::Close),
            Control::Heard => {
                if let Some(Stage::Concluding(verdict, _)) = self.transfers.get(&id).map(|transfer| transfer.stage) {
                    self.end(id, Ended::Done(verdict));
                }
            }
        }
    }

    /// The other end asks for the first time, or again.
    fn on_request(&mut self, now: Instant, id: TransferId, name: &str, file: Option<(u16, (Bytes, Digest))>) {
        if self.transfers.contains_key(&id) {
            return self.say_state(id);
        }
        if !self.has_room(id.channel) {
            let reason = Reason::Busy;
            return self.say(id, Control::No { reason });
        }
        let own = self.host.block_bytes();
        let transfer = Transfer {
            is_own: false,
            is_sink: file.is_some(),
            stage: Stage::Deciding,
            name: name.into(),
            entry: file.map(|(_, entry)| entry),
            block_bytes: file.map_or(own, |(theirs, _)| own.min(theirs)),
            said_at: now,
        };
        self.transfers.insert(id, transfer);
        let name = name.into();
        self.events.push_back(match file {
            Some((_, (bytes, digest))) => Event::Offered {
                id,
                name,
                bytes,
                digest,
            },
            None => Event::Wanted { id, name },
        });
    }

    /// Says again what may have been lost.
    pub(super) fn tick(&mut self, now: Instant, id: TransferId) {
        let heard = self.peers.heard(id.channel).unwrap_or(now);
        let Some(transfer) = self.transfers.get_mut(&id) else {
            return;
        };
        let since = now.saturating_since(transfer.said_at);
        match &mut transfer.stage {
            Stage::Concluding(verdict, said) => {
                *said += 1;
                let verdict = *verdict;
                // Whoever does not answer has heard it, or is gone.
                if *said > MAX_DONE {
                    return self.end(id, Ended::Done(verdict));
                }
                self.say(id, Control::Done { verdict });
            }
            _ if transfer.is_own && since >= AGAIN => {
                let is_silent = now.saturating_since(heard) >= AGAIN;
                if is_silent || transfer.stage == Stage::Asking {
                    transfer.said_at = now;
                    self.ask(id);
                }
            }
            _ => {}
        }
    }
}
