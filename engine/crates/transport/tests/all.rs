// SPDX-License-Identifier: Apache-2.0
//! Senders and receivers in virtual time: one program, since each would be linked with all that it tests.

mod common;
mod gtp;
mod hostile;
mod rack;
mod sources;
mod tcp;
mod xcp;
