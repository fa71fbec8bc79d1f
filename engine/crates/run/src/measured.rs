// SPDX-License-Identifier: Apache-2.0
//! What is written down while a network runs in virtual time: of its star, of its routers, or of both.

use slotwise_kinds::World;
use slotwise_observe::Recording;
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_observe::recorders::star;
use slotwise_scenario::Scenario;
use slotwise_units::Instant;

use slotwise_cli::RunError;
use slotwise_control::lockstep::Session;

/// The recorders of a run.
pub struct Recorders {
    star: Option<star::Recorder>,
    /// Of links between routers, stations of a ring, and flows over the whole run.
    pub routed: Option<RoutedRecorder>,
}

impl Recorders {
    /// Of a scenario whose fabric is at time 0; of a star a row every `sample_frames`, nothing without.
    pub fn new(scenario: &Scenario, fabric: &World, sample_frames: Option<u32>) -> Recorders {
        let sample_frames = sample_frames.filter(|_| scenario.has_star());
        Recorders {
            star: sample_frames.map(|frames| star::Recorder::new(scenario, frames)),
            routed: scenario.has_groups().then(|| RoutedRecorder::new(scenario, fabric)),
        }
    }

    /// Runs a session up to and at `until`, and writes down what is due.
    ///
    /// # Errors
    /// When the controller fails.
    pub fn run_until(&mut self, session: &mut Session, until: Instant) -> Result<(), RunError> {
        while let Some(at) = self.next().filter(|at| *at <= until) {
            session.run_until(at)?;
            if let Some(star) = self.star.as_mut().filter(|star| star.next() == Some(at)) {
                session.sample(star);
            }
            if let Some(routed) = self.routed.as_mut().filter(|routed| routed.next() == Some(at)) {
                routed.sample(&mut session.fabric);
            }
        }
        session.run_until(until)
    }

    /// When something is to be written down next.
    pub fn next(&self) -> Option<Instant> {
        let star = self.star.as_ref().and_then(star::Recorder::next);
        let routed = self.routed.as_ref().and_then(RoutedRecorder::next);
        star.into_iter().chain(routed).min()
    }

    /// All that was written down.
    pub fn finish(self) -> Recording {
        let star = self.star.map(star::Recorder::finish).unwrap_or_default();
        match self.routed.map(RoutedRecorder::finish) {
            Some(routed) => star.with(routed),
            None => star,
        }
    }
}
