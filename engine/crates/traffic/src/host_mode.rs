// SPDX-License-Identifier: Apache-2.0
//! Host modes: external hosts, simulated hosts, or both.

/// Player of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMode {
    /// The caller: frames go in and come out.
    External,
    /// Sources and sinks in the fabric, by the scenario's phases.
    Simulated,
    /// The caller, but for flows that hosts of Linux cannot play: those have sources and sinks in the fabric, at the same hosts, from
    /// the start of their phase on. What is not for these is the caller's.
    Shared,
}

impl HostMode {
    /// Whether the fabric plays a flow that hosts of Linux can play, or cannot.
    pub(crate) fn plays(self, is_of_linux: bool) -> bool {
        match self {
            HostMode::External => false,
            HostMode::Simulated => true,
            HostMode::Shared => !is_of_linux,
        }
    }
}
