// SPDX-License-Identifier: Apache-2.0
//! What a switch is to be like, from the options and whose manner they have.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use slotwise_p4::{Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_p4runtime::{InitialProgram, Tls};

use super::bmv2_options::Manner;
use super::log::Logs;
use super::options::{Args, Interface, Timestamps, check_ports, resolve};
use super::queues::QueuePlan;
use crate::program_files;

const DEFAULT_CPU_PORT: Port = 510;

/// Everything that the options say, checked as far as it can be without opening ports.
pub struct Settings {
    pub interfaces: Vec<Interface>,
    pub device_id: u64,
    pub address: SocketAddr,
    pub tls: Option<Tls>,
    /// Without one there are no packets to and from the controller.
    pub cpu_port: Option<Port>,
    pub config: PipelineConfig,
    /// Where captures go.
    pub pcap: Option<PathBuf>,
    pub logs: Logs,
    /// Without a plan packets do not wait between ingress and egress.
    pub queues: Option<QueuePlan>,
    /// Options without effect.
    pub ignored: Vec<&'static str>,
    pub program: Loaded,
}

/// A program to begin with.
pub enum Loaded {
    /// A controller brings it.
    None,
    /// Only a controller that brings its own can write tables.
    Pipeline(Box<Pipeline>),
    /// The server installs it.
    WithP4Info(Box<InitialProgram>),
}

impl Args {
    /// What the options mean.
    pub fn settings(&self, manner: Manner) -> Result<Settings, String> {
        let like_bmv2 = manner == Manner::Bmv2;
        self.bmv2.refused()?;
        let mut ignored = self.bmv2.ignored(manner);
        match (&self.program, self.bmv2.no_p4) {
            (Some(_), true) if like_bmv2 => ignored.push("the program, because of --no-p4"),
            (Some(_), true) => return Err("--no-p4 and a program exclude each other".into()),
            (None, false) if like_bmv2 => {
                return Err(
                    "missing program; expected p4c's JSON, or --no-p4 to wait for a controller's program".into(),
                );
            }
            _ => {}
        }
        match self.tls.without_effect()[..] {
            [] => {}
            [option, ..] if !like_bmv2 => return Err(format!("{option} needs --grpc-server-ssl")),
            ref options => ignored.extend(options),
        }
        let cpu_port = match (self.cpu_port, manner) {
            (Some(0), Manner::Bmv2) => return Err("--cpu-port 0: invalid in BMv2; expected 1 to 511".into()),
            (None, Manner::Slotwise) => Some(DEFAULT_CPU_PORT),
            (port, _) => port,
        };
        check_ports(&self.interfaces, cpu_port, self.drop_port)?;
        let default_address = if like_bmv2 { "0.0.0.0:9559" } else { "127.0.0.1:9559" };
        let config = PipelineConfig {
            cpu_port: cpu_port.unwrap_or(DEFAULT_CPU_PORT),
            drop_port: self.drop_port,
            timestamp_unit: match (self.timestamps, manner) {
                (Some(Timestamps::Us), _) | (None, Manner::Bmv2) => TimestampUnit::Microseconds,
                _ => TimestampUnit::Nanoseconds,
            },
            seed: 0,
            executor: self.executor.into(),
        };
        let program = self.load(&config)?;
        if like_bmv2 && let Some(directory) = self.pcap.as_ref().filter(|it| !it.is_dir()) {
            return Err(format!("--pcap {}: no such directory", directory.display()));
        }
        let mut logs = Logs::default();
        if let Some(path) = &self.trace {
            logs.add_trace(path)?;
        }
        if like_bmv2 {
            logs.add_bmv2(&self.bmv2)?;
        }
        Ok(Settings {
            interfaces: self.interfaces.clone(),
            device_id: self.device_id.unwrap_or(u64::from(!like_bmv2)),
            address: resolve(self.grpc_server_addr.as_deref().unwrap_or(default_address))?,
            tls: self.tls.load()?,
            cpu_port,
            config,
            pcap: self.pcap.clone(),
            logs,
            queues: self.queues.plan()?.or_else(|| like_bmv2.then(QueuePlan::default)),
            ignored,
            program,
        })
    }

    fn load(&self, config: &PipelineConfig) -> Result<Loaded, String> {
        let Some(path) = self.program.as_ref().filter(|_| !self.bmv2.no_p4) else {
            return Ok(Loaded::None);
        };
        let json = program_files::program(path)?;
        let Some(p4info_path) = &self.p4info else {
            let limits = self.limits.limits().program;
            let program =
                Program::from_json_within(&json, &limits).map_err(|error| format!("{}: {error}", path.display()))?;
            let pipeline = Pipeline::new(Arc::new(program), config.clone());
            return Ok(Loaded::Pipeline(Box::new(pipeline)));
        };
        let p4info = program_files::p4info(p4info_path)?;
        if p4info == slotwise_p4runtime::proto::p4::config::v1::P4Info::default() {
            return Err(format!(
                "{}: an empty P4Info, from which no controller could write a table; p4c makes one beside the JSON: \
                 --p4runtime-files FILE",
                p4info_path.display()
            ));
        }
        Ok(Loaded::WithP4Info(Box::new(InitialProgram { p4info, json })))
    }
}
