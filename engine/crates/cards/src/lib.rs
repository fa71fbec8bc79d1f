// SPDX-License-Identifier: Apache-2.0
//! Line cards as values: queues, gates, timers and bursts between a switch and its links.
//!
//! Pure: time is passed in, effects are returned. Nothing here knows a network, a scenario or P4.

pub mod admission;
pub mod aggregation;
pub mod alone;
mod assembly;
pub mod burst;
pub mod burst_memory;
pub mod burst_queue;
pub mod card;
mod cause;
pub mod demand;
pub mod drawn_delay;
pub mod ecn;
pub mod edge_card;
pub mod fifo;
pub mod gate_card;
pub mod gates;
mod interval;
mod invariant;
pub mod linecard;
pub mod links;
pub mod macroflows;
pub mod measure;
pub mod message;
pub mod optical_ram;
mod pacing;
pub mod packet;
mod ports;
mod resequencer;
pub mod slotted;
pub mod station;
pub mod switch_card;
mod ticks;
mod time_difference;
mod timer;
pub mod transit_first;
pub mod wavelength;

pub use cause::DropCause;
pub use invariant::Invariant;

/// Port of a switch.
pub type Port = u16;
