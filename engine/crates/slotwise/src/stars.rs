// SPDX-License-Identifier: Apache-2.0
//! Runs the stars of an experiment: each with a controller of its own, in lock step.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, SocketAddr};

use slotwise_fabric::{Fabric, FabricOptions, HostMode};
use slotwise_reproduce::Recording;
use slotwise_reproduce::setup::{Star, StarRunner};

use crate::controller::Addresses;
use crate::home::Home;
use crate::interrupts::Interrupts;
use crate::lockstep::{RunPlan, Session, wrong_bytes};
use crate::measured::Recorders;
use crate::run::RunError;

const NS_PER_MS: u64 = 1_000_000;
/// Last lines of the controller's log that an error shows.
const LINES_SHOWN: usize = 10;

/// Runs stars with what an installation has.
pub struct Stars {
    home: Home,
}

impl Stars {
    /// With the controller and the P4 programs of `home`.
    pub fn new(home: Home) -> Stars {
        Stars { home }
    }

    fn run_logged(
        &self,
        star: &Star,
        seed: u64,
        log: File,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recording, RunError> {
        let scenario = &star.scenario;
        // The system chooses ports: several stars run at once.
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let addresses = Addresses {
            p4runtime: anywhere,
            rest: anywhere,
            own: BTreeMap::new(),
            token: None,
        };
        let options = FabricOptions {
            seed,
            host_mode: HostMode::Simulated,
            captures: None,
            frame_records: false,
        };
        // Who interrupts an experiment ends it.
        let interrupts = Interrupts::default();
        let fabric = Fabric::new(scenario, options);
        let plan = RunPlan::of(scenario, &fabric);
        let mut recorders = Recorders::new(scenario, &fabric, Some(star.sample_frames));
        let run = (fabric, plan);
        let mut session = Session::start(&self.home, run, addresses, log.into(), &interrupts)?;
        while let Some(at_ns) = recorders.next_ns() {
            recorders.run_until(&mut session, at_ns)?;
            progress((at_ns - scenario.epoch_ns()) / NS_PER_MS);
        }
        let fabric = session.stop()?;
        match violations(&fabric).into_iter().chain(wrong_bytes(&fabric)).next() {
            Some(failure) => Err(failure.into()),
            None => Ok(recorders.finish()),
        }
    }
}

impl StarRunner for Stars {
    fn run(
        &self,
        star: &Star,
        seed: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recording, Box<dyn Error + Send + Sync>> {
        // Without a name: nothing stays of it, however this ends.
        let mut log = tempfile::tempfile()?;
        self.run_logged(star, seed, log.try_clone()?, progress)
            .map_err(|error| {
                let mut text = String::new();
                let _ = log.rewind().and_then(|()| log.read_to_string(&mut text));
                let lines: Vec<&str> = text.lines().collect();
                let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n");
                format!("{error}\nthe controller's log ends with:\n{last}").into()
            })
    }

    fn inputs(&self) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let files = [
            self.home.p4("edge")?.0,
            self.home.p4("core")?.0,
            self.home.controller_jar()?,
        ];
        let mut inputs = Vec::new();
        for file in files {
            inputs.extend(fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?);
        }
        Ok(inputs)
    }
}

/// What must not happen in light, and losses that fabric and P4 count differently.
fn violations(fabric: &Fabric) -> Vec<String> {
    let found = fabric.invariants();
    let broken = found.checked().iter().filter(|kind| found.count(**kind) > 0);
    let mut violations: Vec<String> = broken
        .map(|kind| format!("{} violations of the invariant '{}'", found.count(*kind), kind.name()))
        .collect();
    for core in (0..).map_while(|core| fabric.core_losses(core)) {
        if core.fabric != core.p4 {
            violations.push(format!(
                "the fabric counted {} packets lost in a core, P4 {}",
                core.fabric, core.p4
            ));
        }
    }
    violations
}
