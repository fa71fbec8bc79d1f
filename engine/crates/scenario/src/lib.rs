// SPDX-License-Identifier: Apache-2.0
//! Scenario files: the model, its checks, and the facts that follow from it.
//!
//! ```text
//! YAML bytes -> tree (text and lines) -> bases -> repetition, defaults -> shape (keys, types, bounds) -> cross checks
//! ```
//!
//! `schema/scenario.schema.json` describes the same shape for other languages; files in `schema/examples` are
//! tested against both. Everything here but `ScenarioFile::open` is pure: reading files is the caller's business.

mod address;
mod base;
mod check;
mod clocks;
mod defaults;
mod doc;
mod faults;
mod file;
mod flows;
mod live;
mod model;
mod ops;
mod optics;
mod out_of_band;
mod own;
mod own_scheduler;
mod parse;
mod paths;
mod phases;
mod problem;
mod reader;
mod renamed;
mod repeat;
mod reserved;
mod ring;
mod routed;
mod scheduler;
mod schema;
mod section;
mod sources;
mod spelling;
mod stars;
mod tables;
mod timing;
mod workloads;

pub use address::{
    Device, DeviceKind, Endpoint, HostId, MacAddress, edge_mac, group_host_ip, group_host_mac, optical_port,
};
pub use base::{ScenarioFile, read_other};
pub use clocks::Clocks;
pub use faults::{FaultKind, Faults, Treatment};
pub use flows::{Flow, FlowPorts, GroupFlow};
pub use live::NotLive;
pub use model::{
    Controller, Core, Edge, Fibre, Frame, Hosts, LinkChange, OnOff, Process, Queues, Scenario, Signaling, Traffic,
    TrafficKind, Transport, Web,
};
pub use ops::{
    Aggregation, DelayProcess, DirectLink, IngressBuffer, Macroflows, Ops, OpsClass, OpsEdge, OpsFibre, OpsLink,
    OpsMatch, Probes, Scheme, Share, TrainTimer, UNLIMITED,
};
pub use optics::{Light, Optics, splitting_loss_mdb};
pub use own_scheduler::{OwnScheduler, SchedulerSource};
pub use paths::Paths;
pub use phases::Phase;
pub use problem::{Problem, ScenarioError};
pub use ring::{Ingress, RING_OVERHEAD, Ring, RingTiming, Station, StationClass};
pub use routed::{
    Changed, FlowGroup, GtpFlow, GtpHost, HostGroup, Metric, Party, Routed, RoutedChange, RoutedLink, Source, Tcp,
};
pub use scheduler::{SchedulerChange, SchedulerChoice, SettingValue};
pub use schema::schema;
pub use stars::request_blocks;
pub use tables::{Match, Notation, Number, TableEntry};
pub use timing::{TooShort, WIRE_OVERHEAD};
pub use workloads::{FileFormat, FlowFile, FlowTransport, OpenFile, Workload, WorkloadSource};

/// Largest file that is read as a scenario.
pub const MAX_FILE_BYTES: usize = *slotwise_wire::limits::FILE_BYTES.end() as usize;
