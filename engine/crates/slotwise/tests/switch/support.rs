// SPDX-License-Identifier: Apache-2.0
//! What the tests share: a network namespace with two cables, a running switch, a controller.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use slotwise_netio::Ports;
use slotwise_p4runtime::parse_p4info;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::*;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

pub const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../p4runtime/tests/programs/tables.json");
pub const P4INFO: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../p4runtime/tests/programs/tables.p4info.txtpb"
);

pub fn ip(arguments: &str) {
    command("ip", arguments);
}

pub fn command(name: &str, arguments: &str) {
    let status = Command::new(name)
        .args(arguments.split(' '))
        .status()
        .expect("iproute2 is installed");
    assert!(status.success(), "{name} {arguments}");
}

/// Puts this thread into namespaces of its own, with cables `one` to `far-one` and `two` to `far-two`. Mounts made later
/// are its own, too.
pub fn in_new_namespace() -> bool {
    if unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).is_err() {
        eprintln!("skipped: namespaces need root");
        return false;
    }
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None::<&str>,
    )
    .unwrap();
    ip("link set lo up");
    // Or the kernel's own frames become packet-ins. /proc/sys shows the namespace of who looks.
    std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    plug("one");
    plug("two");
    true
}

/// Makes a cable.
pub fn plug(name: &str) {
    ip(&format!("link add {name} type veth peer name far-{name}"));
    ip(&format!("link set {name} up"));
    ip(&format!("link set far-{name} up"));
}

/// A running switch. Killed if the test fails.
pub struct Switch {
    process: Child,
    pub output: BufReader<ChildStdout>,
    /// Of its P4Runtime server.
    pub address: String,
    /// Standard error that has been read.
    errors: String,
}

impl Switch {
    /// Starts it and waits until it says that it is ready.
    pub fn start(command: &mut Command) -> Switch {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut ready = String::new();
        output.read_line(&mut ready).unwrap();
        let address = ready
            .split("P4Runtime on ")
            .nth(1)
            .and_then(|rest| rest.split(',').next())
            .expect(&ready)
            .to_owned();
        Switch {
            process,
            output,
            address,
            errors: String::new(),
        }
    }

    /// Waits for a line with `text` on a standard error that is a pipe.
    pub fn await_error(&mut self, text: &str) {
        let stderr = self.process.stderr.as_mut().unwrap();
        loop {
            let mut line = Vec::new();
            while line.last() != Some(&b'\n') {
                let mut byte = [0];
                assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", self.errors);
                line.push(byte[0]);
            }
            let line = String::from_utf8(line).unwrap();
            self.errors += &line;
            if line.contains(text) {
                return;
            }
        }
    }

    /// Ends it, which it has to do well.
    pub fn stop(&mut self) {
        kill(Pid::from_raw(self.process.id() as i32), Signal::SIGTERM).unwrap();
        assert!(self.process.wait().unwrap().success());
    }

    /// Asks it to end, and returns when it has, well or by the signal.
    pub fn end(&mut self) {
        kill(Pid::from_raw(self.process.id() as i32), Signal::SIGTERM).unwrap();
        self.process.wait().unwrap();
    }

    /// As [`Switch::stop`], and gives what it wrote to a standard error that is a pipe.
    pub fn stop_and_read_errors(&mut self) -> String {
        self.stop();
        let mut errors = std::mem::take(&mut self.errors);
        self.process.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        errors
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub const ELECTION_ID: Option<Uint128> = Some(Uint128 { high: 0, low: 1 });

/// The primary controller of a device.
pub struct Controller {
    pub client: P4RuntimeClient<Channel>,
    pub responses: Streaming<StreamMessageResponse>,
    requests: mpsc::Sender<StreamMessageRequest>,
}

impl Controller {
    pub async fn connect(address: &str, device_id: u64) -> Controller {
        let mut client = P4RuntimeClient::connect(format!("http://{address}")).await.unwrap();
        let (requests, receiver) = mpsc::channel(4);
        let stream = client.stream_channel(ReceiverStream::new(receiver)).await;
        let mut controller = Controller {
            responses: stream.unwrap().into_inner(),
            client,
            requests,
        };
        let arbitration = MasterArbitrationUpdate {
            device_id,
            election_id: ELECTION_ID,
            ..MasterArbitrationUpdate::default()
        };
        controller.send(Request::Arbitration(arbitration)).await;
        controller.responses.message().await.unwrap().unwrap();
        controller
    }

    pub async fn send(&self, update: Request) {
        let request = StreamMessageRequest { update: Some(update) };
        self.requests.send(request).await.unwrap();
    }
}

/// For gRPC, in a thread's own namespace.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

pub fn slotwise() -> Command {
    Command::new(env!("CARGO_BIN_EXE_slotwise"))
}

/// A link to the command by BMv2's name, in `directory`.
pub fn simple_switch_grpc(directory: &Path) -> Command {
    let link = directory.join("simple_switch_grpc");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_slotwise"), &link).unwrap();
    Command::new(link)
}

/// An Ethernet frame to a destination MAC.
pub fn frame(dst: u8) -> Vec<u8> {
    let mut frame = vec![0u8; 60];
    frame[5] = dst;
    frame[11] = 99;
    frame[12..14].copy_from_slice(&[0x88, 0xb6]);
    frame
}

/// The next frame of ours, whatever the kernel sends besides.
pub fn receive(ports: &mut Ports) -> (usize, Vec<u8>) {
    let mut got = None;
    for _ in 0..100 {
        let mut take = |port, frame: &[u8]| {
            if frame[12..14] == [0x88, 0xb6] {
                got = Some((port, frame.to_vec()));
            }
        };
        ports.poll(Some(Duration::from_millis(100)), &mut take).unwrap();
        if got.is_some() {
            break;
        }
    }
    got.expect("a frame arrives")
}

/// For a device with the tables program.
pub fn forward_mac_1_to_port_2(device_id: u64) -> WriteRequest {
    let p4info = parse_p4info(&std::fs::read(P4INFO).unwrap(), false).unwrap();
    let table = p4info
        .tables
        .iter()
        .filter_map(|table| table.preamble.as_ref())
        .find(|it| it.alias == "mac")
        .unwrap();
    let forward = p4info
        .actions
        .iter()
        .filter_map(|it| it.preamble.as_ref())
        .find(|it| it.alias == "forward")
        .unwrap();
    let exact = field_match::Exact { value: vec![1] };
    let param = action::Param {
        param_id: 1,
        value: vec![2],
    };
    let entry = TableEntry {
        table_id: table.id,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Exact(exact)),
        }],
        action: Some(TableAction {
            r#type: Some(table_action::Type::Action(Action {
                action_id: forward.id,
                params: vec![param],
            })),
        }),
        ..TableEntry::default()
    };
    let entity = Some(Entity {
        entity: Some(entity::Entity::TableEntry(entry)),
    });
    let updates = vec![Update {
        r#type: update::Type::Insert.into(),
        entity,
    }];
    WriteRequest {
        device_id,
        election_id: ELECTION_ID,
        updates,
        ..WriteRequest::default()
    }
}
