// SPDX-License-Identifier: Apache-2.0
//! The same cases on BMv2's `simple_switch`.
//!
//! It reads the frames from pcap files and writes to pcap files, in a memory file system if there is one, with logging
//! off. The entries go into the JSON as const entries, so that nothing but the switch itself runs. What it took is read
//! from the kernel's account of its threads.

use crate::cases::Case;
use serde_json::{Value, json};
use slotwise_p4::{ActionCall, Executor, KeyField, Output, Port};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Packets that `simple_switch` gets: it takes seconds.
const PACKETS: usize = 200_000;
/// Time that it waits before it reads the files.
const WAIT: Duration = Duration::from_secs(2);
const PCAP_HEADER: [u8; 24] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0,
];
const RECORD_HEADER: usize = 16;

/// Packets per second, and how many packets.
pub struct Rates {
    /// Of the processor time of the thread that took most: what it could do with a core for each of its threads.
    pub busiest_thread: f64,
    /// Of the processor time of all threads.
    pub one_core: f64,
    pub elapsed: f64,
    pub packets_in: usize,
    pub packets_out: usize,
}

/// Stops the switch and removes its files, whatever happens.
struct Run {
    child: Child,
    directory: PathBuf,
}

impl Drop for Run {
    fn drop(&mut self) {
        // Both may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Ports by which the case's packets leave, and bytes of their records in a pcap file.
#[derive(Default)]
struct Ports(BTreeSet<Port>, usize);

impl Output for Ports {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        self.0.insert(port);
        self.1 = RECORD_HEADER + frame.len();
    }
}

/// Runs the case; `None` if there is no `simple_switch`.
pub fn measure(case: &Case) -> io::Result<Option<Rates>> {
    if !on_path("simple_switch") {
        return Ok(None);
    }
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let directory = parent.join(format!("slotwise-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;

    let mut pipeline = case.pipeline(Executor::Interpreter);
    let mut ports = Ports::default();
    for (now_ns, (port, frame)) in (0..).zip(&case.frames) {
        pipeline.process(slotwise_units::Instant::from_ns(now_ns), *port, frame, &mut ports);
    }
    let Ports(outputs, record_bytes) = ports;
    let inputs: BTreeSet<Port> = case.frames.iter().map(|(port, _)| *port).collect();
    let mut command = switch_command();
    command.args(["--use-files", &WAIT.as_secs().to_string(), "--log-level", "off"]);
    for port in inputs.union(&outputs) {
        std::fs::write(directory.join(format!("p{port}_in.pcap")), pcap(case, *port))?;
        command.args(["-i", &format!("{port}@p{port}")]);
    }
    std::fs::write(directory.join("program.json"), program(case).to_string())?;
    command.arg("program.json").current_dir(&directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let run = Run {
        child: command.spawn()?,
        directory,
    };
    let start = Instant::now() + WAIT;
    let (end, packets_out) = wait(&run, outputs, record_bytes)?;
    let threads = thread_times(run.child.id())?;
    let busiest = threads.iter().max().copied().unwrap_or_default();
    let all: Duration = threads.iter().sum();
    let rate = |time: Duration| PACKETS as f64 / time.as_secs_f64();
    Ok(Some(Rates {
        busiest_thread: rate(busiest),
        one_core: rate(all),
        elapsed: rate(end.saturating_duration_since(start)),
        packets_in: PACKETS,
        packets_out,
    }))
}

/// `simple_switch` opens a port for its run-time interface: in a network namespace of its own nothing else sees it.
fn switch_command() -> Command {
    let own_namespace = Command::new("unshare")
        .args(["--net", "true"])
        .stderr(Stdio::null())
        .status();
    if own_namespace.is_ok_and(|status| status.success()) {
        let mut command = Command::new("unshare");
        command.args(["--net", "simple_switch"]);
        return command;
    }
    Command::new("simple_switch")
}

/// Waits until nothing comes out any more and nothing is computed; when the last packet came, and how many did.
fn wait(run: &Run, outputs: BTreeSet<Port>, record_bytes: usize) -> io::Result<(Instant, usize)> {
    const QUIET: Duration = Duration::from_secs(1);
    let files: Vec<PathBuf> = outputs
        .iter()
        .map(|port| run.directory.join(format!("p{port}_out.pcap")))
        .collect();
    let started = Instant::now();
    let (mut packets, mut busy) = (0, Duration::ZERO);
    let (mut last_packet, mut last_change) = (started, started);
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let bytes: usize = files
            .iter()
            .filter_map(|file| std::fs::metadata(file).ok())
            .map(|file| (file.len() as usize).saturating_sub(PCAP_HEADER.len()))
            .sum();
        let now = Instant::now();
        if bytes / record_bytes != packets {
            packets = bytes / record_bytes;
            last_packet = now;
        }
        // A thread that only polls takes a few per cent.
        let times = thread_times(run.child.id())?.into_iter().sum::<Duration>();
        if times > busy + QUIET / 50 {
            busy = times;
            last_change = now;
        }
        if now > started + WAIT + QUIET && now > last_packet.max(last_change) + QUIET {
            return Ok((last_packet, packets));
        }
    }
}

/// Processor time of each thread of a process.
fn thread_times(process: u32) -> io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let schedstat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let nanoseconds = schedstat.split_whitespace().next().and_then(|ns| ns.parse().ok());
        times.push(Duration::from_nanos(nanoseconds.unwrap_or(0)));
    }
    Ok(times)
}

/// The port's share of the packets.
fn pcap(case: &Case, port: Port) -> Vec<u8> {
    let mut file = PCAP_HEADER.to_vec();
    let packets = case.frames.iter().cycle().take(PACKETS);
    for (_, frame) in packets.filter(|(input, _)| *input == port) {
        let length = (frame.len() as u32).to_le_bytes();
        file.extend([0; 8]);
        file.extend(length);
        file.extend(length);
        file.extend(frame);
    }
    file
}

/// The case's program with its entries and default actions in it.
fn program(case: &Case) -> Value {
    let mut json: Value = serde_json::from_slice(&case.json()).expect("the program is JSON");
    let original = json.clone();
    for (table, action) in &case.defaults {
        let mut default = action_entry(&original, table_of(&mut json, table), action);
        default["action_const"] = json!(false);
        default["action_entry_const"] = json!(false);
        table_of(&mut json, table)["default_entry"] = default;
    }
    for (name, entry) in &case.entries {
        let table = table_of(&mut json, name);
        let parts = table["key"].as_array().cloned().unwrap_or_default();
        let key: Vec<Value> = parts
            .iter()
            .zip(&entry.key)
            .map(|(part, field)| match_key(field, key_bytes(&original, part)))
            .collect();
        let entry = json!({
            "match_key": key,
            "action_entry": action_entry(&original, table, &entry.action),
            "priority": 1_000_000 - entry.priority,
        });
        match &mut table["entries"] {
            Value::Array(entries) => entries.push(entry),
            entries => *entries = json!([entry]),
        }
    }
    json
}

fn table_of<'a>(json: &'a mut Value, name: &str) -> &'a mut Value {
    let pipelines = json["pipelines"].as_array_mut().expect("a list of pipelines");
    let mut tables = pipelines
        .iter_mut()
        .flat_map(|p| p["tables"].as_array_mut().expect("a list of tables"));
    tables.find(|t| t["name"] == name).expect("the program has the table")
}

fn hex(value: &[u8], bytes: usize) -> String {
    let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    let padded = format!("{digits:0>width$}", width = 2 * bytes);
    format!("0x{}", &padded[padded.len() - 2 * bytes..])
}

fn action_entry(json: &Value, table: &Value, action: &ActionCall) -> Value {
    let ids = table["action_ids"].as_array().expect("a list of actions");
    let actions = json["actions"].as_array().expect("a list of actions");
    let named = |id: &&Value| {
        actions
            .iter()
            .any(|a| a["id"] == **id && a["name"] == action.name.as_str())
    };
    let id = ids.iter().find(named).expect("the table has the action");
    let args: Vec<String> = action.args.iter().map(|arg| hex(arg, 8)).collect();
    json!({"action_id": id, "action_data": args})
}

/// Bytes of a part of a key.
fn key_bytes(json: &Value, part: &Value) -> usize {
    let find = |list: &'static str, name: &Value| {
        let list = json[list].as_array().expect("a list");
        list.iter()
            .find(|item| item["name"] == *name)
            .expect("what the key names")
    };
    let header = find("headers", &part["target"][0]);
    let fields = find("header_types", &header["header_type"])["fields"].as_array();
    let mut fields = fields.expect("a list of fields").iter();
    let field = fields
        .find(|field| field[0] == part["target"][1])
        .expect("the key's field");
    let bits = field[1].as_u64().expect("a width");
    bits.div_ceil(8) as usize
}

fn match_key(field: &KeyField, bytes: usize) -> Value {
    match field {
        KeyField::Exact(value) => json!({"match_type": "exact", "key": hex(value, bytes)}),
        KeyField::Lpm { value, prefix_len } => {
            json!({"match_type": "lpm", "key": hex(value, bytes), "prefix_length": prefix_len})
        }
        KeyField::Ternary { value, mask } => {
            json!({"match_type": "ternary", "key": hex(value, bytes), "mask": hex(mask, bytes)})
        }
        other => panic!("no case has {other:?}"),
    }
}
