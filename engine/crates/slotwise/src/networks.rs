// SPDX-License-Identifier: Apache-2.0
//! Runs the networks of an experiment: each with a controller of its own, in lock step.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use slotwise_control::controller::{Addresses, program_names};
use slotwise_control::home::Home;
use slotwise_control::lockstep::RunPlan;
use slotwise_control::schedulers::unscheduled;
use slotwise_kinds::{HostMode, World, WorldOptions};
use slotwise_observe::Recording;
use slotwise_reproduce::setup::{Network, Runner, RunnerError};
use slotwise_scenario::Scenario;
use slotwise_units::Duration;

use slotwise_cli::RunError;
use slotwise_run::driver::{Run, Spectators, State};
use slotwise_run::run::violations;
use slotwise_run::virtual_time::{Orders, Results, VirtualTime};

/// Last lines of the controller's log that an error shows.
const LINES_SHOWN: usize = 10;

/// Runs networks with what an installation has.
pub struct Networks {
    home: Home,
    /// Of files of it.
    digests: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
}

impl Networks {
    /// With the controller and the P4 programs of `home`.
    pub fn new(home: Home) -> Networks {
        let digests = Mutex::default();
        Networks { home, digests }
    }

    /// SHA-256 of a file, which is read once: many runs have the same.
    fn digest(&self, file: PathBuf) -> Result<Vec<u8>, RunError> {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = digests.get(&file) {
            return Ok(digest.clone());
        }
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let digest = Sha256::digest(bytes).to_vec();
        digests.insert(file, digest.clone());
        Ok(digest)
    }

    fn run_logged(
        &self,
        network: &Network,
        seed: u64,
        log: File,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recording, RunError> {
        let scenario = &network.scenario;
        // The system chooses ports: several networks run at once.
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let addresses = Addresses {
            p4runtime: anywhere,
            rest: anywhere,
            own: BTreeMap::new(),
            token: None,
        };
        let options = WorldOptions {
            seed,
            host_mode: HostMode::Simulated,
            captures: None,
            frame_records: false,
        };
        // Who interrupts an experiment ends it.
        let outside = Orders::none();
        let fabric = World::new(scenario, options);
        let plan = RunPlan::of(scenario, &fabric);
        let results = Results {
            sample_frames: Some(network.sample_frames),
            ..Results::default()
        };
        let parts = (addresses, log.into());
        let clock = VirtualTime::start(&self.home, scenario, (fabric, plan), parts, results, outside)?;
        let mut run = Run::new(clock, scenario, Spectators::none());
        let ended = loop {
            let state = run.advance();
            progress(run.since_start() / Duration::from_ms(1));
            match state {
                Ok(State::Going) => {}
                ended => break ended,
            }
        };
        let ended = run.end(ended)?;
        let unscheduled = unscheduled(ended.earlier.statistics().chain([&ended.controller]));
        let mut failures = ended
            .failures
            .into_iter()
            .chain(violations(&ended.fabric))
            .chain(unscheduled.failures)
            .chain(ended.earlier.notes);
        match failures.next() {
            Some(failure) => Err(failure.into()),
            None => Ok(ended.recording),
        }
    }
}

impl Runner for Networks {
    fn run(&self, network: &Network, seed: u64, progress: &mut dyn FnMut(u64)) -> Result<Recording, RunnerError> {
        // Without a name: nothing stays of it, however this ends.
        let mut log = tempfile::tempfile()?;
        self.run_logged(network, seed, log.try_clone()?, progress)
            .map_err(|error| {
                let mut text = String::new();
                let _ = log.rewind().and_then(|()| log.read_to_string(&mut text));
                let lines: Vec<&str> = text.lines().collect();
                let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n");
                format!("{error}\nend of the controller's log:\n{last}").into()
            })
    }

    fn inputs(&self, scenario: &Scenario) -> Result<Vec<u8>, RunnerError> {
        let mut files = vec![self.home.controller_jar()?];
        for name in program_names(scenario) {
            let (json, p4info) = self.home.p4(name)?;
            files.extend([json, p4info]);
        }
        let digests: Result<Vec<_>, _> = files.into_iter().map(|file| self.digest(file)).collect();
        Ok(digests?.concat())
    }
}
