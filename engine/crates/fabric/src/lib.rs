// SPDX-License-Identifier: Apache-2.0
//! The fabric: a discrete-event network of P4 switches, line cards, fibres and hosts.
//!
//! ```text
//! inject_host, packet_out, set_pipeline --> World::run_until(t) --> poll_host_output, poll_control, poll_frame
//! ```
//!
//! Pure: time is what the caller runs it to, randomness comes from the seed, nothing is read or written but the
//! captures that the caller asks for. The same inputs at the same times give the same outputs, to the byte.
//! Two drivers use it: one paces it by the wall clock, the other ([`lockstep`]) jumps from event to event.

mod api;
mod build;
mod capture;
mod capture_filter;
mod drops;
mod faults;
mod hosts;
mod invariants;
pub mod kinds;
pub mod lockstep;
mod measure;
mod net;
mod traffic;
mod world;

pub use api::{ControlEvent, ControlMessage, HostFrame, HostMode, P4Drop, WorldError, WorldOptions};
pub use capture::{CaptureFailure, CapturePoint, Capturing, LONGEST_SNAPLEN, OpenCapture};
pub use capture_filter::{CaptureFilter, CaptureFilterError};
pub use drops::{DropCause, DropCount, Drops, Place};
pub use faults::FaultRecord;
pub use invariants::{Invariant, Invariants, Violation};
pub use kinds::ops::{BurstUse, OpsEdgeUse, OpsOutput, OpsOutputUse, OpsSwitchUse, OpsTrains, OpsTransit};
pub use kinds::ring::RingLinkState;
pub use kinds::routed::RouterPort;
pub use kinds::star::{CoreLosses, Delivered, FirstLight, FrameRecord, LinkReport, LinkUse, VoqRecord};
pub use kinds::{View, ViewMut};
pub use measure::AccessReport;
pub use net::outside::SwitchInput;
pub use net::standstill::{Standstill, StandstillCause};
pub use slotwise_cards::fifo::FifoUse;
pub use slotwise_cards::measure::{AccessUse, QueueUse};
pub use slotwise_cards::optical_ram::RamUse;
pub use slotwise_cards::packet::Frame;
pub use slotwise_cards::slotted::SyncError;
pub use slotwise_cards::station::RingLinkUse;
pub use slotwise_wire::{DropReason, RingPhase, TrainFate};
pub use traffic::{
    DelaySummary, DelayUse, FlowResult, FlowTrains, FlowUse, OrderUse, RoutedFlow, SessionUse, StreamResult,
};
pub use world::{Ran, World};
