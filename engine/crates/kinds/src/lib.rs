// SPDX-License-Identifier: Apache-2.0
//! Types of networks, and a running network: discrete events of P4 switches, line cards, fibres and hosts.
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
mod faults;
mod hosts;
mod kind;
mod list;
pub mod lockstep;
mod measure;
mod ops;
mod ring;
mod routed;
mod star;
mod world;

pub use api::{HostFrame, WorldError, WorldOptions};
pub use kind::{View, ViewMut};
pub use list::{Kinds, Listed};
pub use measure::AccessReport;
pub use ops::{BurstUse, Ops, OpsEdgeUse, OpsOutput, OpsOutputUse, OpsSwitchUse, OpsTrains, OpsTransit};
pub use ring::{Ring, RingLinkState};
pub use routed::{Routed, RouterPort};
pub use slotwise_cards::fifo::FifoUse;
pub use slotwise_cards::measure::{AccessUse, QueueUse};
pub use slotwise_cards::optical_ram::RamUse;
pub use slotwise_cards::packet::Frame;
pub use slotwise_cards::slotted::SyncError;
pub use slotwise_cards::station::RingLinkUse;
pub use slotwise_net::capture::{CaptureFailure, CapturePoint, Capturing, LONGEST_SNAPLEN, OpenCapture};
pub use slotwise_net::capture_filter::{CaptureFilter, CaptureFilterError};
pub use slotwise_net::control_event::{ControlEvent, ControlMessage};
pub use slotwise_net::drops::{DropCause, DropCount, Drops, P4Drop, Place};
pub use slotwise_net::fault::FaultRecord;
pub use slotwise_net::invariants::{Invariant, Invariants, Violation};
pub use slotwise_net::outside::SwitchInput;
pub use slotwise_net::standstill::{Standstill, StandstillCause};
pub use slotwise_traffic::{
    DelaySummary, DelayUse, FlowProgress, FlowResult, FlowTrains, FlowUse, HostMode, OrderUse, RoutedFlow, SessionUse,
    StreamResult, WorkloadUse, framing,
};
pub use slotwise_wire::{DropReason, RingPhase, TrainFate};
pub use star::{CoreLosses, Delivered, FrameRecord, GrantLatency, LinkReport, LinkUse, Star, VoqRecord};
pub use world::{Ran, World};
