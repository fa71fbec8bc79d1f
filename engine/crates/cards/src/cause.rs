// SPDX-License-Identifier: Apache-2.0
//! Reasons of losses.

/// Cause of the loss of a frame in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The device has no pipeline yet.
    NoPipeline,
    /// P4 sent it to a port that the device does not have.
    NoSuchPort,
    /// The queue is at its byte limit.
    QueueFull,
    /// It names a queue that the line card does not have.
    NoSuchQueue,
    /// It is longer than the MTU allows.
    TooLong,
    /// A line card cannot read it.
    Malformed,
    /// The fibre is down.
    LinkDown,
    /// The fibre's random loss took it.
    LinkLoss,
    /// Two packets met in a core output.
    Collision,
    /// It waited in a queue when its switch got a new pipeline, or stopped.
    PipelineReplaced,
    /// It waited for a slot of an edge that lost its time.
    Stopped,
    /// An external switch made it from a slot's tick, too late for that slot.
    Late,
    /// It reached a host that it is not for.
    NotForHost,
    /// A message that a newer one of the same station replaced.
    Outdated,
    /// P4 had no label for its burst, or blocked it at an output.
    Refused,
    /// Lost by an injected fault.
    Fault,
}

impl DropCause {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::NoPipeline => "no_pipeline",
            DropCause::NoSuchPort => "no_such_port",
            DropCause::QueueFull => "queue_full",
            DropCause::NoSuchQueue => "no_such_queue",
            DropCause::TooLong => "too_long",
            DropCause::Malformed => "malformed",
            DropCause::LinkDown => "link_down",
            DropCause::LinkLoss => "link_loss",
            DropCause::Collision => "collision",
            DropCause::PipelineReplaced => "pipeline_replaced",
            DropCause::Stopped => "stopped",
            DropCause::Late => "late",
            DropCause::NotForHost => "not_for_host",
            DropCause::Outdated => "outdated",
            DropCause::Refused => "refused",
            DropCause::Fault => "fault",
        }
    }
}
