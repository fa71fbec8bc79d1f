// SPDX-License-Identifier: Apache-2.0
//! The controller as a child process: its configuration, its start, its statistics.

mod lambda;
mod ops;
mod ring;
mod routes;
mod star;
mod tables;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use slotwise_kinds::World;
use slotwise_netio::{CpuPlan, be_realtime};
use slotwise_scenario::{OwnScheduler, Scenario, SchedulerChoice, SchedulerSource, SettingValue};

use crate::child::{ChildEvent, JsonChild};
use crate::home::{Home, HomeError, java};
use crate::run_directory::MARK;

/// Which clock the controller lives by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Its own.
    Wall,
    /// The fabric's: it moves only when told.
    Lockstep,
}

/// Level from which on the controller logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Its default.
    Info,
    /// Warnings and errors only.
    Warning,
}

/// Addresses on which a run's servers listen.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// The engine's P4Runtime server.
    pub p4runtime: SocketAddr,
    /// The controller's REST server.
    pub rest: SocketAddr,
    /// P4Runtime servers of BMv2 switches by device id; they have one each.
    pub own: BTreeMap<u64, SocketAddr>,
    /// The engine's P4Runtime server is for those only who show this.
    pub token: Option<String>,
}

/// Why the controller cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// Not built.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Its configuration could not be written, or the process not started.
    #[error("controller: {0}")]
    Io(#[from] std::io::Error),
    /// It does not take an order.
    #[error("controller: {what}: {reason}")]
    Refused {
        /// Which.
        what: String,
        /// Why.
        reason: String,
    },
    /// It cannot be told, since it has gone or others have all connections: whoever takes over may be.
    #[error("controller: {what}: {reason}")]
    Unreachable {
        /// What it would have been told.
        what: String,
        /// Why not.
        reason: String,
    },
    /// It does not say where its REST server is.
    #[error("controller: REST address missing; expected HOST:PORT, got {0}")]
    NoRest(String),
}

/// In the run's directory: by this token the run calls its controller.
pub const REST_TOKEN: &str = "rest.token";

/// Heap is small and collected by one thread: the controller shares two cores with the fabric. The quick compiler only, since the
/// thorough one takes the cores away from it just when the first requests come.
const JVM_OPTIONS: [&str; 7] = [
    "-Xms64m",
    "-Xmx1g",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    // Its file in /tmp would stay after SIGKILL.
    "-XX:-UsePerfData",
    // Standard output is the controller's; a recorded start that does not fit it, and is left aside, is told of elsewhere.
    "-Xlog:disable",
    "-Xlog:all=warning,cds*=off:stderr",
];

/// Real-time priority of whatever answers within frames, the controller and the P4Runtime server: below the fabric's, above the hosts'.
pub const CONTROL_PRIORITY: i32 = 10;

/// An application of the controller that a scenario may be for.
struct App {
    /// Its name in the document.
    name: &'static str,
    /// The REST resource that says at the end what it did.
    statistics: &'static str,
    /// Whether a scenario has what it controls.
    is_for: fn(&Scenario) -> bool,
    /// What it is told of that, as schema/network.schema.json has it; the fabric is the scenario's.
    network: fn(&Scenario, &World, Circumstances) -> Value,
}

/// All of them. What a run asks at its end is the first one that it has.
static APPS: &[&App] = &[
    &star::APP,
    &routes::APP,
    &ring::APP,
    &ops::APP,
    &lambda::APP,
    &tables::APP,
];

/// What a controller is told of the network that it is for.
#[derive(Debug, Clone)]
pub struct ControllerPlan {
    /// Names of the programs that it gives the switches.
    pub programs: Vec<&'static str>,
    /// The REST resource that says at the end what it did.
    pub statistics: &'static str,
    /// The network as schema/network.schema.json has it.
    pub network: Value,
    /// Schedulers that are not the controller's own.
    pub schedulers: Value,
    /// Level of its log.
    pub log_level: LogLevel,
}

impl ControllerPlan {
    /// Of a scenario, whose fabric this is; the switches are the fabric's own, or BMv2 processes.
    pub fn of(scenario: &Scenario, fabric: &World, clock: Clock, has_bmv2: bool) -> ControllerPlan {
        let timestamps = if has_bmv2 { BMV2 } else { EXACT };
        let circumstances = Circumstances { clock, timestamps };
        let apps: Vec<&App> = APPS.iter().copied().filter(|app| (app.is_for)(scenario)).collect();
        let network = |app: &App| (app.network)(scenario, fabric, circumstances);
        let network = match apps[..] {
            // A star alone is told as it was before there was anything else.
            [app] if *app.name == *star::APP.name => network(app),
            _ => {
                let parts = apps.iter().map(|app| (app.name.to_owned(), network(app)));
                json!({"apps": parts.collect::<serde_json::Map<_, _>>()})
            }
        };
        ControllerPlan {
            programs: program_names(scenario),
            statistics: apps.first().map_or(star::APP.statistics, |app| app.statistics),
            network,
            schedulers: schedulers(scenario),
            log_level: LogLevel::Info,
        }
    }
}

/// Names of the programs that the switches of a scenario run.
pub fn program_names(scenario: &Scenario) -> Vec<&'static str> {
    scenario.device_kinds().map(|kind| kind.program).collect()
}

/// Digests of the programs of these names.
///
/// # Errors
/// When one is not there.
pub fn programs(home: &Home, names: &[&'static str]) -> Result<BTreeMap<&'static str, String>, ControllerError> {
    let digest = |&name: &&'static str| {
        let (json, _) = home.p4(name)?;
        let digest = Sha256::digest(std::fs::read(json)?);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((name, format!("sha256:{hex}")))
    };
    names.iter().map(digest).collect()
}

/// `name` and `path` as one argument, whatever bytes the path has.
fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Starts the controller for what `plan` says; its state and configuration live in `directory`, what it logs goes to `log`.
pub fn start<E: Send + 'static>(
    home: &Home,
    plan: &ControllerPlan,
    addresses: &Addresses,
    (clock, log): (Clock, Stdio),
    directory: &Path,
    events: Sender<E>,
    wrap: impl Fn(ChildEvent) -> E + Send + 'static,
) -> Result<JsonChild, ControllerError> {
    let mut pipelines = serde_json::Map::new();
    for &name in &plan.programs {
        let (json, p4info) = home.p4(name)?;
        pipelines.insert(name.to_owned(), json!({"json": json, "p4info": p4info}));
    }
    let own = addresses
        .own
        .iter()
        .map(|(id, server)| (id.to_string(), json!(server.to_string())));
    let mut p4runtime = json!({
        "address": addresses.p4runtime.to_string(),
        "devices": own.collect::<serde_json::Map<_, _>>(),
    });
    if let Some(token) = &addresses.token {
        let file = directory.join("p4runtime.token");
        write_secret(&file, token)?;
        p4runtime["token_file"] = json!(file);
    }
    let rest_token = directory.join(REST_TOKEN);
    write_secret(&rest_token, &fresh_token()?)?;
    let config = json!({
        "p4runtime": p4runtime,
        "rest": {"host": addresses.rest.ip().to_string(), "port": addresses.rest.port(), "reserved_token_file": rest_token},
        "store": directory.join("controller"),
        "clock": match clock { Clock::Wall => "wall", Clock::Lockstep => "lockstep" },
        "pipelines": pipelines,
        "schedulers": plan.schedulers,
        "network": plan.network,
    });
    let file = directory.join("controller.json");
    std::fs::write(
        &file,
        serde_json::to_vec_pretty(&config).expect("a JSON value can be written"),
    )?;
    let mut command = Command::new(java());
    command
        .args(JVM_OPTIONS)
        .args((plan.log_level == LogLevel::Warning).then_some("-Dslotwise.log.level=WARN"))
        // What it would leave elsewhere if it were killed.
        .arg(option("-Djava.io.tmpdir=", directory))
        .args(
            home.controller_start()
                .map(|recorded| option("-XX:SharedArchiveFile=", &recorded)),
        )
        .arg("-jar")
        .arg(home.controller_jar()?)
        .arg("--config")
        .arg(&file)
        .env(MARK, directory)
        .stderr(log);
    if clock == Clock::Wall {
        let cpus = CpuPlan::new();
        // SAFETY: system calls only between fork and exec. Without the priority it is later, not wrong.
        unsafe {
            command.pre_exec(move || {
                cpus.avoid_fabric();
                let _ = be_realtime(CONTROL_PRIORITY);
                Ok(())
            });
        }
    }
    Ok(JsonChild::spawn("controller", command, events, wrap)?)
}

/// A token that nobody can guess.
///
/// # Errors
/// When the system gives no random bytes.
pub fn fresh_token() -> io::Result<String> {
    const BYTES: usize = 32;
    let mut random = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes what only the owner may read.
fn write_secret(file: &Path, secret: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(file)?.write_all(secret.as_bytes())
}

/// Properties of a run that its scenario does not state.
#[derive(Debug, Clone, Copy)]
struct Circumstances {
    clock: Clock,
    timestamps: Timestamps,
}

/// What the switches' own timestamps are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Timestamps {
    unit: &'static str,
    tolerance_ns: u64,
}

/// The fabric's own switches live in fabric time.
const EXACT: Timestamps = Timestamps {
    unit: "ns",
    tolerance_ns: 0,
};

/// A process sees a packet when it gets a processor. The fabric stands still for tens of ms now and then, and sends afterwards at once
/// what was due in that time. The tolerance is much longer than that, so that only a core without ticks is noticed.
const BMV2: Timestamps = Timestamps {
    unit: "us",
    tolerance_ns: 1_000_000_000,
};

/// A scheduler as the controller reads it.
pub fn choice_json(choice: &SchedulerChoice) -> Value {
    json!({"name": choice.scheduler, "settings": settings_json(&choice.settings)})
}

fn settings_json(settings: &BTreeMap<String, SettingValue>) -> Value {
    let values = settings.iter().map(|(name, value)| {
        let value = match value {
            SettingValue::Integer(number) => json!(number),
            SettingValue::Text(text) => json!(text),
        };
        (name.clone(), value)
    });
    Value::Object(values.collect())
}

/// Schedulers that are not the controller's own, as it reads them.
fn schedulers(scenario: &Scenario) -> Value {
    let entry = |own: &OwnScheduler| {
        let entry = match &own.source {
            SchedulerSource::Jar(file) => json!({"jar": file}),
            SchedulerSource::Command {
                words,
                limit_ms,
                settings,
                directory,
            } => {
                let mut entry = json!({"command": words, "settings": settings_json(settings)});
                if let Some(limit_ms) = limit_ms {
                    entry["limit_ms"] = json!(limit_ms);
                }
                if !directory.as_os_str().is_empty() {
                    entry["directory"] = json!(directory);
                }
                entry
            }
        };
        (own.name.clone(), entry)
    };
    Value::Object(scenario.schedulers.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;

    fn network_of(text: &str) -> Value {
        let network = Network::parse(text.as_bytes()).unwrap();
        network.plan(&network.empty_fabric()).controller.network
    }

    /// What the schema has against a network.
    fn wrong_with(network: &Value) -> Vec<String> {
        let schema = include_str!("../../../../schema/network.schema.json");
        let schema = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        validator.iter_errors(network).map(|error| error.to_string()).collect()
    }

    /// The schema and the controller's own tests read these files.
    #[test]
    fn networks_of_the_examples_are_kept_and_fit_the_schema() {
        const UPDATE: &str = "SLOTWISE_UPDATE_NETWORKS";
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schema/examples");
        let mut files: Vec<_> = std::fs::read_dir(examples.join("valid"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty());
        for file in files {
            let network = network_of(&std::fs::read_to_string(&file).unwrap());
            assert_eq!(wrong_with(&network), [""; 0], "{}", file.display());
            let kept = examples
                .join("networks")
                .join(file.file_stem().unwrap())
                .with_extension("json");
            let text = format!("{network:#}\n");
            if std::env::var_os(UPDATE).is_some() {
                std::fs::write(&kept, &text).unwrap();
            }
            assert!(
                std::fs::read_to_string(&kept).is_ok_and(|before| before == text),
                "{}: differs from the scenario; {UPDATE}=1 cargo test -p slotwise networks_of_the_examples rewrites it",
                kept.display()
            );
        }
    }

    #[test]
    fn several_cores_and_shared_ports_are_told() {
        let twin = network_of(include_str!("../../../../topologies/star4-twin.yaml"));
        assert_eq!(twin["cores"][1], json!({"id": 1, "master": 1, "device_id": 1002}));
        assert_eq!(twin["edges"][0]["fibres"][1]["port"], 257);
        let combiner = network_of(include_str!("../../../../topologies/combiner.yaml"));
        assert_eq!(combiner["edges"][2]["fibres"][0]["core_port"], 1);
        assert_eq!(
            combiner["edges"][1]["fibres"][0].get("core_port"),
            None,
            "its own number"
        );
    }

    #[test]
    fn routers_are_told_with_peers_and_hosts() {
        let network = network_of(include_str!("../../../../topologies/routers4.yaml"));
        assert_eq!(wrong_with(&network), [""; 0]);
        let routes = &network["apps"]["routes"];
        assert_eq!(routes["routing"], json!({"mode": "shortest-path", "metric": "delay"}));
        let (west, north) = (&routes["nodes"][0], &routes["nodes"][1]);
        assert_eq!((&west["name"], &west["device_id"]), (&json!("west"), &json!(2001)));
        let to_north = json!({
            "port": 1, "rate_bps": 100_000_000, "delay_ns": 500_000,
            "peer": {"device_id": 2002, "port": 1, "mac": north["mac"]},
        });
        assert_eq!(west["ports"][0], to_north);
        let to_client = json!({
            "port": 3, "rate_bps": 1_000_000_000, "delay_ns": 10_000,
            "hosts": [{"name": "client.0", "ip": "10.1.0.1", "mac": "02:fc:00:00:00:00"}],
        });
        assert_eq!(west["ports"][2], to_client);
    }

    #[test]
    fn in_a_mix_no_two_have_one_address() {
        let network = network_of(include_str!("../../../../topologies/mixed.yaml"));
        let mac = |of: &Value| of["mac"].as_str().unwrap().to_owned();
        let each = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
        let edges = each(&network["apps"]["star"], "edges");
        let routers = each(&network["apps"]["routes"], "nodes");
        let own: Vec<String> = edges.iter().chain(&routers).map(mac).collect();
        let ports = routers.iter().flat_map(|router| each(router, "ports"));
        let at_routers: Vec<String> = ports
            .flat_map(|port| each(&port, "hosts"))
            .map(|host| mac(&host))
            .collect();
        let at_edges = edges.iter().flat_map(|edge| each(edge, "hosts")).map(|host| mac(&host));
        // Hosts behind a router stand at their edge with its address.
        let at_edges: Vec<String> = at_edges.filter(|mac| !own.contains(mac)).collect();
        let all = [own, at_routers, at_edges].concat();
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(all.len(), 4 + 3 + 5 + 5);
        assert_eq!(different.len(), all.len(), "{all:?}");
    }

    #[test]
    fn addresses_of_the_star_of_four() {
        let network = network_of(include_str!("../../../../topologies/star4.yaml"));
        assert_eq!(network["edges"][1]["hosts"][1]["ip"], "10.0.1.2");
        assert_eq!(network["edges"][3]["fibres"][0]["port"], 256);
        assert_eq!(network["cores"][0]["device_id"], 1001);
        assert_eq!(network["edges"][2]["mac"], "02:ff:00:02:00:00");
    }
}
