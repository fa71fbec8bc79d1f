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
use slotwise_control::lockstep::{RunPlan, Session, wrong_bytes};
use slotwise_control::schedulers::unscheduled;
use slotwise_kinds::{self as kinds, HostMode, World, WorldOptions};
use slotwise_observe::Recording;
use slotwise_reproduce::setup::{Network, Runner, RunnerError};
use slotwise_scenario::Scenario;
use slotwise_units::Duration;

use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;
use slotwise_run::measured::Recorders;
use slotwise_run::simulate::strange_bytes;

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
        let interrupts = Interrupts::default();
        let fabric = World::new(scenario, options);
        let plan = RunPlan::of(scenario, &fabric);
        let mut recorders = Recorders::new(scenario, &fabric, Some(network.sample_frames));
        let run = (fabric, plan);
        let mut session = Session::start(&self.home, run, addresses, log.into(), &interrupts)?;
        while let Some(at) = recorders.next() {
            recorders.run_until(&mut session, at)?;
            progress((at - scenario.epoch()) / Duration::from_ms(1));
        }
        let last = session.statistics()?;
        let earlier = session.take_earlier();
        let unscheduled = unscheduled(earlier.statistics().chain(&last));
        // A controller that had to be killed had said all by then.
        let (fabric, _) = session.stop();
        let strange = recorders.routed.as_ref().and_then(strange_bytes);
        let mut failures = violations(&fabric)
            .into_iter()
            .chain(wrong_bytes(&fabric))
            .chain(strange)
            .chain(unscheduled.failures)
            .chain(earlier.notes);
        match failures.next() {
            Some(failure) => Err(failure.into()),
            None => Ok(recorders.finish()),
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

/// What must not happen in a network, and losses that fabric and P4 count differently.
fn violations(fabric: &World) -> Vec<String> {
    let found = fabric.invariants();
    let broken = found.checked().iter().filter(|kind| found.count(**kind) > 0);
    let mut violations: Vec<String> = broken
        .map(|kind| format!("invariant '{}' violated {} times", kind.name(), found.count(*kind)))
        .collect();
    let star = fabric.of_kind::<kinds::Star>();
    for core in (0..).map_while(|core| star.as_ref()?.core_losses(core)) {
        if core.fabric != core.p4 {
            violations.push(format!(
                "loss count mismatch in a core: network model {}, P4 {}",
                core.fabric, core.p4
            ));
        }
    }
    violations
}
