// SPDX-License-Identifier: Apache-2.0
//! Packets that wait in a pipeline, bounded in number and bytes, and the memory of those that have gone.

use crate::api::Port;
use crate::state::Packet;
use std::collections::VecDeque;

/// Most packets that one arriving packet may become, by cloning, multicast, resubmission and recirculation.
pub(crate) const MAX_OFFSPRING: usize = 4096;
/// Most bytes of those of them that wait.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// Most bytes of memory that are kept for the copies of packets to come.
const MAX_IDLE_BYTES: usize = 8 << 20;

/// A packet that waits: a copy, or one that goes round again.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Where it goes on: at the parser, or at egress to this port.
    pub egress_port: Option<Port>,
    pub ingress_port: Port,
    pub packet: Packet,
    pub frame: Vec<u8>,
    /// Where the payload starts in `frame`.
    pub payload_at: usize,
    /// At the parser: the type of instance, and the state of the packet that it was, with a field list to keep.
    pub instance_type: u64,
    pub previous: Vec<u64>,
    pub field_list: u64,
}

impl Job {
    /// Bytes that it has to do with, of those that differ from job to job.
    pub fn bytes(&self) -> usize {
        let words = self.packet.words.len() + self.previous.len();
        self.frame.len() + words * size_of::<u64>()
    }

    /// Bytes of memory that it has.
    fn capacity(&self) -> usize {
        let words = self.packet.words.capacity() + self.packet.stack.capacity() + self.previous.capacity();
        self.frame.capacity() + self.packet.bytes.capacity() + words * size_of::<u64>()
    }
}

/// Jobs in order.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: VecDeque<Job>,
    /// Of all of them: jobs do not change in size while they are here.
    bytes: usize,
}

impl Jobs {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether one of so many bytes may wait, too.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.jobs.len() < MAX_OFFSPRING && self.bytes + bytes <= MAX_WAITING_BYTES
    }

    pub fn push_back(&mut self, job: Job) -> &mut Job {
        self.bytes += job.bytes();
        let place = self.jobs.len();
        self.jobs.push_back(job);
        &mut self.jobs[place]
    }

    pub fn pop_front(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        self.bytes -= job.bytes();
        Some(job)
    }

    /// The last becomes the first.
    pub fn last_first(&mut self) {
        self.jobs.rotate_right(1);
    }
}

/// Jobs whose memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    jobs: Vec<Job>,
    /// Memory of all of them.
    bytes: usize,
}

impl Idle {
    pub fn take(&mut self) -> Job {
        let job = self.jobs.pop().unwrap_or_default();
        self.bytes -= job.capacity();
        job
    }

    /// Keeps a job, unless there is enough memory already.
    pub fn put(&mut self, job: Job) {
        let bytes = self.bytes + job.capacity();
        if bytes <= MAX_IDLE_BYTES && self.jobs.len() < MAX_OFFSPRING {
            self.bytes = bytes;
            self.jobs.push(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(bytes: usize) -> Job {
        Job {
            frame: vec![0; bytes],
            ..Job::default()
        }
    }

    #[test]
    fn jobs_are_bounded_in_number_and_bytes() {
        let mut jobs = Jobs::default();
        for _ in 0..MAX_WAITING_BYTES / (1 << 20) {
            assert!(jobs.has_room(1 << 20));
            jobs.push_back(job(1 << 20));
        }
        assert!(!jobs.has_room(1));
        jobs.pop_front().unwrap();
        assert!(jobs.has_room(1 << 20));
        while jobs.has_room(1) {
            jobs.push_back(job(1));
        }
        assert_eq!(jobs.jobs.len(), MAX_OFFSPRING);
        while jobs.pop_front().is_some() {}
        assert_eq!(jobs.bytes, 0);
    }

    #[test]
    fn little_is_kept_of_jobs_that_have_gone() {
        let mut idle = Idle::default();
        for _ in 0..100 {
            idle.put(job(1 << 20));
        }
        assert_eq!((idle.jobs.len(), idle.bytes), (MAX_IDLE_BYTES >> 20, MAX_IDLE_BYTES));
        while !idle.jobs.is_empty() {
            idle.take();
        }
        assert_eq!((idle.bytes, idle.take().capacity()), (0, 0));
    }
}
