// SPDX-License-Identifier: Apache-2.0
//! Stock BMv2 as the switches of a run, of stars, of routers, of both or of rings: one `simple_switch_grpc` for each, on loopback.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use slotwise_bmv2::{Bmv2Error, Packets, has_entries, read_counter, take_packets};
use slotwise_control::controller::CONTROL_PRIORITY;
use slotwise_control::devices::routes_of;
use slotwise_control::home::Home;
use slotwise_control::network::Network;
use slotwise_control::run_directory::MARK;
use slotwise_kinds::{P4Drop, World};
use slotwise_netio::{CpuPlan, Waker, be_realtime};
use slotwise_p4runtime::parse_p4info;
use slotwise_scenario::Device;
use slotwise_units::{Bytes, Duration};
use slotwise_wire::{DropReason, PORT_CPU, PORT_DROP};

use crate::run::check_free;
use slotwise_cli::RunError;

/// The shortest slot that is tried. A process answers in tenths of milliseconds, and in several when it has to wait for a processor.
const SHORTEST_SLOT: Duration = Duration::from_ms(10);
/// Ports of one switch: P4Runtime, packets, Thrift (which some builds serve and none needs here).
pub const PORTS_A_SWITCH: usize = 3;
/// Bytes of a switch's last words in an error.
const LAST_WORDS: usize = 2000;

/// Why BMv2 cannot run a scenario.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Too fast for it.
    #[error(
        "/frame/slot_ns: slots of {slot} are too short for BMv2; expected at least {}, as in topologies/star3-bmv2.yaml and mixed-bmv2.yaml",
        SHORTEST_SLOT.ns()
    )]
    ShortSlot {
        /// The scenario's.
        slot: Duration,
    },
    /// Edges of a star whose cards ask for the VOQ of a train and wait for it.
    #[error(
        "/aggregation: not supported with --target bmv2 in a star; expected no 'aggregation' or scheme 'none', as in topologies/star3-bmv2.yaml"
    )]
    TrainsInStar,
    /// Edges of optical packet switches whose cards ask for labels and wait for them.
    #[error(
        "/ops: burst assembly, pacing and output choice are not supported with --target bmv2; expected no 'aggregation', no 'macroflows', no 'ingress.trains' and no fibres between edges, as in topologies/mesh4-bmv2.yaml"
    )]
    TrainsAtEdges,
    /// Not installed.
    #[error("{program}: not found; expected simple_switch_grpc on the PATH, or --bmv2 PATH")]
    NoProgram {
        /// What was looked for.
        program: String,
    },
    /// A switch has ended.
    #[error("simple_switch_grpc of {device}: exited ({status}); end of its output:\n{last_words}")]
    Ended {
        /// The switch.
        device: Device,
        /// How.
        status: std::process::ExitStatus,
        /// The end of its output.
        last_words: String,
    },
    /// A program is not the one that is expected.
    #[error("P4Info of {program} has no counter or table '{name}'")]
    NoObject {
        /// The program.
        program: &'static str,
        /// What was looked for.
        name: &'static str,
    },
}

struct Switch {
    device: Device,
    process: Child,
    log: PathBuf,
    p4runtime: SocketAddr,
    packets: SocketAddr,
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The switches of a run. They end with it.
pub struct Bmv2 {
    switches: Vec<Switch>,
}

/// Looks at what can be known before anything starts; gives the program to start.
pub fn check(network: &Network, program: Option<&Path>, first_port: u16) -> Result<PathBuf, RunError> {
    let slot = network.scenario.frame.slot;
    if network.scenario.has_star() && slot < SHORTEST_SLOT {
        return Err(TargetError::ShortSlot { slot }.into());
    }
    if network.scenario.aggregation.is_some() {
        return Err(TargetError::TrainsInStar.into());
    }
    if let Some(ops) = &network.scenario.ops
        && (0..ops.edges.len() as u16).any(|edge| ops.has_train_card(edge))
    {
        return Err(TargetError::TrainsAtEdges.into());
    }
    let program = program.unwrap_or(Path::new("simple_switch_grpc"));
    // As exec does: a name with a slash is a path.
    let candidates: Vec<PathBuf> = if program.components().count() > 1 {
        vec![program.to_path_buf()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|directory| directory.join(program))
            .collect()
    };
    let found = candidates.into_iter().find(|candidate| candidate.is_file());
    let found = found.ok_or_else(|| TargetError::NoProgram {
        program: program.display().to_string(),
    })?;
    free_ports(first_port, network.empty_fabric().devices().count() * PORTS_A_SWITCH)?;
    Ok(found)
}

impl Bmv2 {
    /// Starts a switch for each of these devices, without a program. Their ports on loopback count from `first_port`, or are
    /// the system's choice if that is 0; their output goes to files in `directory`.
    pub fn start(program: &Path, devices: &[Device], first_port: u16, directory: &Path) -> Result<Bmv2, RunError> {
        let ports = free_ports(first_port, devices.len() * PORTS_A_SWITCH)?;
        let has_thrift = serves_thrift(program)?;
        let mut switches = Vec::new();
        for (&device, ports) in devices.iter().zip(ports.chunks_exact(PORTS_A_SWITCH)) {
            let log = directory.join(format!("{device}.log"));
            let process = spawn(program, device, ports, has_thrift, (directory, &log))
                .map_err(|error| format!("{}: cannot start: {error}", program.display()))?;
            switches.push(Switch {
                device,
                process,
                log,
                p4runtime: ports[0],
                packets: ports[1],
            });
        }
        Ok(Bmv2 { switches })
    }

    /// P4Runtime servers by device id.
    pub fn servers(&self) -> BTreeMap<u64, SocketAddr> {
        let server = |switch: &Switch| (switch.device.id(), switch.p4runtime);
        self.switches.iter().map(server).collect()
    }

    /// Whether all switches have a program: none takes packets before.
    pub fn have_programs(&self) -> Result<bool, Bmv2Error> {
        let addresses: Vec<SocketAddr> = self.switches.iter().map(|switch| switch.packets).collect();
        take_packets(&addresses)
    }

    /// Whether every router or station has a route. One that leads to no host never has; nobody asks for it then.
    pub fn have_routes(&self, home: &Home, fabric: &World) -> Result<bool, RunError> {
        for switch in &self.switches {
            let (device, kind) = (switch.device, switch.device.kind());
            if let Some(table) = routes_of(fabric, device)
                && !has_entries(switch.p4runtime, device.id(), id_of(home, kind.program, table)?)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens the packet streams, once all switches have their programs; `waker` wakes who serves them.
    pub fn packets(&self, waker: Waker) -> Result<Packets, Bmv2Error> {
        let streams: Vec<(u64, SocketAddr)> = self
            .switches
            .iter()
            .map(|switch| (switch.device.id(), switch.packets))
            .collect();
        Packets::connect(&streams, share_controls_place, move || waker.wake())
    }

    /// An error if a switch has ended.
    pub fn check(&mut self) -> Result<(), TargetError> {
        for switch in &mut self.switches {
            if let Ok(Some(status)) = switch.process.try_wait() {
                let output = std::fs::read(&switch.log).unwrap_or_default();
                let tail = &output[output.len().saturating_sub(LAST_WORDS)..];
                return Err(TargetError::Ended {
                    device: switch.device,
                    status,
                    last_words: String::from_utf8_lossy(tail).into_owned(),
                });
            }
        }
        Ok(())
    }

    /// Tells the fabric what the switches' programs have dropped.
    pub fn read_drops(&self, home: &Home, fabric: &mut World) -> Result<(), RunError> {
        for switch in &self.switches {
            let kind = switch.device.kind();
            let id = id_of(home, kind.program, kind.drop_counter)?;
            let cells = read_counter(switch.p4runtime, switch.device.id(), id)?;
            let drops = DropReason::ALL.iter().filter_map(|&reason| {
                let cell = cells.iter().find(|cell| cell.index == reason as usize)?;
                (cell.packets > 0).then_some(P4Drop {
                    reason,
                    packets: cell.packets,
                    bytes: Bytes::new(cell.bytes),
                })
            });
            fabric.set_p4_drops(switch.device, drops.collect());
        }
        Ok(())
    }
}

/// The number that the P4Info of a program gives a counter or table.
fn id_of(home: &Home, program: &'static str, name: &'static str) -> Result<u32, RunError> {
    let (_, path) = home.p4(program)?;
    let info = parse_p4info(&std::fs::read(&path)?, false).map_err(|error| format!("{}: {error}", path.display()))?;
    let counters = info.counters.iter().filter_map(|counter| counter.preamble.as_ref());
    let tables = info.tables.iter().filter_map(|table| table.preamble.as_ref());
    let found = counters.chain(tables).find(|preamble| preamble.name == name);
    Ok(found.ok_or(TargetError::NoObject { program, name })?.id)
}

/// A build with Thrift listens on a port of it that must not be another switch's; one without does not know the option.
fn serves_thrift(program: &Path) -> Result<bool, RunError> {
    let help = Command::new(program)
        .arg("--help")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: cannot start: {error}", program.display()))?;
    let text = [help.stdout, help.stderr].concat();
    Ok(String::from_utf8_lossy(&text).contains("--thrift-port"))
}

fn spawn(
    program: &Path,
    device: Device,
    ports: &[SocketAddr],
    has_thrift: bool,
    (directory, log): (&Path, &Path),
) -> io::Result<Child> {
    let output = File::create(log)?;
    let errors = output.try_clone()?;
    let mut command = Command::new(program);
    command.args(["--no-p4", "--device-id", &device.id().to_string()]);
    if has_thrift {
        command.args(["--thrift-port", &ports[2].port().to_string()]);
    }
    command
        .arg("--")
        .args(["--grpc-server-addr", &ports[0].to_string()])
        .args(["--dp-grpc-server-addr", &ports[1].to_string()])
        .args([
            "--cpu-port",
            &PORT_CPU.to_string(),
            "--drop-port",
            &PORT_DROP.to_string(),
        ])
        .env(MARK, directory)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    // SAFETY: system calls only between fork and exec.
    unsafe {
        command.pre_exec(|| {
            share_controls_place();
            Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
        });
    }
    command.spawn()
}

/// Off the fabric's CPU and before the hosts, as the controller. Without the priority it is later, not wrong.
fn share_controls_place() {
    CpuPlan::new().avoid_fabric();
    let _ = be_realtime(CONTROL_PRIORITY);
}

fn free_ports(first: u16, count: usize) -> Result<Vec<SocketAddr>, RunError> {
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if first == 0 {
        // All at once, so that they differ.
        let listeners: Vec<TcpListener> = (0..count)
            .map(|_| TcpListener::bind(loopback(0)))
            .collect::<io::Result<_>>()?;
        return Ok(listeners
            .iter()
            .map(TcpListener::local_addr)
            .collect::<io::Result<_>>()?);
    }
    let ports = (0..count).map(|index| {
        let port = u16::try_from(index).ok().and_then(|index| first.checked_add(index));
        let port = port.ok_or_else(|| format!("fewer than {count} ports available from {first} on"))?;
        check_free(loopback(port), "simple_switch_grpc", "--p4runtime-port")?;
        Ok(loopback(port))
    });
    ports.collect()
}

#[cfg(test)]
mod tests {
    use slotwise_scenario::Scenario;

    use super::*;

    fn star(slot_ns: u64) -> Network {
        let text = include_bytes!("../../../../topologies/star3-bmv2.yaml");
        let mut scenario = Scenario::parse(text).unwrap();
        scenario.frame.slot = Duration::from_ns(slot_ns);
        Network { scenario }
    }

    #[test]
    fn short_slots_are_refused_before_a_missing_program() {
        let nowhere = Path::new("/nonexistent/simple_switch_grpc");
        let reason = check(&star(9_999_999), Some(nowhere), 0).unwrap_err().to_string();
        assert!(
            reason.starts_with("/frame/slot_ns: slots of 9999999 ns are too short for BMv2"),
            "{reason}"
        );
        let reason = check(&star(10_000_000), Some(nowhere), 0).unwrap_err().to_string();
        assert!(
            reason.contains("/nonexistent/simple_switch_grpc: not found"),
            "{reason}"
        );
    }

    #[test]
    fn a_star_with_trains_is_refused_before_a_missing_program() {
        let nowhere = Path::new("/nonexistent/simple_switch_grpc");
        let with = |aggregation: &str| {
            let text = include_str!("../../../../topologies/star3-bmv2.yaml");
            let text = text.replacen("\nhosts:", &format!("\naggregation: {aggregation}\nhosts:"), 1);
            let scenario = Scenario::parse(text.as_bytes()).unwrap();
            check(&Network { scenario }, Some(nowhere), 0).unwrap_err().to_string()
        };
        let reason = with("{scheme: full, interval_ns: 20000000}");
        assert!(
            reason.starts_with("/aggregation: ") && reason.contains("star3-bmv2.yaml"),
            "{reason}"
        );
        let reason = with("{scheme: none}");
        assert!(
            reason.contains("/nonexistent/simple_switch_grpc: not found"),
            "{reason}"
        );
    }

    #[test]
    fn ports_count_from_the_first_or_are_chosen() {
        let chosen = free_ports(0, 12).unwrap();
        let different: std::collections::BTreeSet<_> = chosen.iter().collect();
        assert_eq!(different.len(), 12);
        assert!(free_ports(65530, 12).unwrap_err().to_string().contains("65530"));
    }
}
