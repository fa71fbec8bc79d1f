// SPDX-License-Identifier: Apache-2.0
//! The live page: a server on loopback that gives a browser the page, the stream of a run's state, and a way to the run's controller.
//!
//! It knows nothing of networks. Messages of the stream are text that somebody else makes (schema/stream.schema.json), kept and sent by the
//! [`Hub`]; what is asked of the controller goes to a [`Backend`]. Nothing here waits for a reader: who publishes is never held up,
//! and a reader that does not keep up is dropped.

mod access;
mod hub;
mod pages;
mod server;

pub use hub::Hub;
pub use server::{Answer, Asked, Backend, Config, Method, Nobody, WebServer};
