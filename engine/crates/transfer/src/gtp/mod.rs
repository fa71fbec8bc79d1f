// SPDX-License-Identifier: Apache-2.0
//! `slotwise gtp`: files between hosts over GTP, sealed.
//!
//! ```text
//! args -> Drive (socket, clock) <-> Node (pure) ; Desk (files, SHA-256) -> Report
//! ```

mod desk;
mod disk;
mod drive;
mod granted;
mod hasher;
mod lambda;
mod report;
mod store;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use nix::fcntl::OFlag;
use slotwise_gtp::{CAPACITIES, Digest, Key, KeyError, MAX_CHANNELS, Node, NodeConfig, NodeError, Said};
use slotwise_lambda::{Crowd, KnifeEdge, LambdaError, Rule, Start, Steps};
use slotwise_netio::UdpPort;
use slotwise_units::{Bytes, Duration, Rate};
use zeroize::Zeroizing;

use self::desk::{Desk, News, Taking};
use self::disk::DiskSource;
use self::drive::Drive;
use self::granted::Granted;
use self::hasher::Hasher;
use self::lambda::{GrantArgs, Lambda};
use self::report::Report;
use self::store::Directory;
use crate::xfer::{Hashing, Stop, draw};
use slotwise_cli::RunError;
use slotwise_cli::notes::{note, say};

const DEFAULT_PORT: u16 = 5254;
/// A key file is no longer.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// Transfer files over the Group Transport Protocol (GTP)
///
/// GTP is receiver-driven UDP whose rates are shared fairly at the receiving host (not 3GPP's GTP); transfers are
/// authenticated and encrypted. Both ends need the same key file. Prints a report in JSON; the exit status is 0 only
/// if the file arrived intact.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Generate a key file, readable only by its owner; FILE must not exist
    Key {
        /// The file
        file: PathBuf,
    },
    /// Serve the files of a directory until interrupted; one JSON line per transfer
    Serve(ServeArgs),
    /// Receive a file from a host that runs `slotwise gtp serve`
    Receive(ReceiveArgs),
    /// Send a file to a host that runs `slotwise gtp serve --take`
    Send(SendArgs),
}

#[derive(clap::Args)]
struct ServeArgs {
    /// Directory to serve
    directory: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "0.0.0.0")]
    bind: Place,
    /// Accept uploads; existing files are never overwritten
    #[arg(long)]
    take: bool,
    /// Maximum size of an uploaded file
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 40)]
    max_bytes: u64,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(clap::Args)]
struct ReceiveArgs {
    /// Host that serves the file
    #[arg(value_name = "HOST[:PORT]")]
    host: String,
    /// Name of the file in the served directory
    file: String,
    /// Local name, which must not exist; a partial file is resumed
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(clap::Args)]
struct SendArgs {
    /// The file
    file: PathBuf,
    /// Host to send to
    #[arg(value_name = "HOST[:PORT]")]
    host: String,
    /// Name of the file in the served directory [default: that of FILE]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(clap::Args)]
struct CommonArgs {
    /// Key file of both ends (`slotwise gtp key`)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Capacity shared by all transfers per direction, bit/s of IP packets
    ///
    /// At most 90 % of the link rate of this host.
    #[arg(long, value_name = "BPS", default_value = "900000000", value_parser = rate)]
    rate_bps: Rate,
    #[command(flatten)]
    grant: GrantArgs,
    /// Interval of rate computation; above the longest round-trip time
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    interval_ms: u64,
    /// Length of full-size IP packets, at most the path MTU
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(300..=9000))]
    packet_bytes: u16,
    /// Longest backlog a delayed sender may send at once
    ///
    /// Traffic beyond it lowers the rate that the receiver measures.
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=10))]
    catch_up_ms: u64,
    /// Initial rate of a session: its fair share, or 0 with an increase by alpha
    #[arg(long, value_enum, default_value_t = Begins::FairShare)]
    start: Begins,
    /// Rate increase per interval: fraction of the gap to the target rate (0 to 1)
    #[arg(long, value_name = "FRACTION", default_value_t = Steps::default().alpha(), value_parser = part)]
    alpha: f64,
    /// Gap to the target rate below which it is reached in one step (0 to 1)
    #[arg(long, value_name = "FRACTION", default_value_t = Steps::default().beta(), value_parser = part)]
    beta: f64,
    /// Idle timeout of a peer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout_s: u64,
    /// Do not show progress on standard error
    #[arg(long)]
    quiet: bool,
}

/// [`Start`] as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Begins {
    FairShare,
    AsPrinted,
}

impl From<Begins> for Start {
    fn from(begins: Begins) -> Start {
        match begins {
            Begins::FairShare => Start::FairShare,
            Begins::AsPrinted => Start::AsPrinted,
        }
    }
}

/// What transfers share.
fn rate(text: &str) -> Result<Rate, String> {
    let rate = text.parse().ok().map(Rate::from_bps);
    let rate = rate.filter(|rate| CAPACITIES.contains(rate));
    let expected = || {
        format!(
            "expected bit/s, an integer from {} to {}",
            CAPACITIES.start().bps(),
            CAPACITIES.end().bps()
        )
    };
    rate.ok_or_else(expected)
}

/// A step size.
fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().map_err(|_| "not a number".to_owned())?;
    Steps::new(part, part).map(|_| part).map_err(|error| error.to_string())
}

/// `ADDRESS[:PORT]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(SocketAddr);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let alone = || {
            text.parse()
                .map(|address: IpAddr| SocketAddr::new(address, DEFAULT_PORT))
        };
        text.parse()
            .or_else(|_| alone())
            .map(Place)
            .map_err(|_| format!("expected an IP address or ADDRESS:PORT, e.g. 10.0.0.2:{DEFAULT_PORT}, got {text:?}"))
    }
}

/// A command did not succeed.
#[derive(Debug, thiserror::Error)]
enum GtpError {
    #[error("interrupted")]
    Interrupted,
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{0}: not a regular file")]
    NotAFile(PathBuf),
    #[error("{0}: file exists already and is never overwritten")]
    Exists(PathBuf),
    #[error(
        "{0}: invalid file name; expected one without control characters that does not end with '/', '.gtp-part' or '.gtp-state'"
    )]
    NoName(PathBuf),
    #[error("{0}: name is not UTF-8; expected --name with a UTF-8 name")]
    NotUtf8(PathBuf),
    #[error("{path}: {source}")]
    Key { path: PathBuf, source: KeyError },
    #[error("{path}: key readable by others; expected mode 600, got {mode:03o}")]
    KeyIsOpen { path: PathBuf, mode: u32 },
    #[error("{local}: {source}; expected an address of this host and a free port")]
    Bind { local: SocketAddr, source: io::Error },
    #[error("{host}: {source}; expected HOST or HOST:PORT")]
    Host { host: String, source: io::Error },
    #[error("{peer}: no response for {seconds} s; expected a host that runs `slotwise gtp serve`")]
    Silence { peer: SocketAddr, seconds: u64 },
    #[error(
        "{peer}: stopped before the transfer was complete; the partial file is retained and the next attempt resumes"
    )]
    Stopped { peer: SocketAddr },
    #[error("{peer}: key mismatch; expected the same key file at both ends")]
    OtherKey { peer: SocketAddr },
    #[error("{peer}: server busy ({MAX_CHANNELS} channels; idle ones expire after its --timeout-s); try again later")]
    Full { peer: SocketAddr },
    #[error("{url}: {reason}; expected the `lambda` application of a controller, http://HOST:PORT/slotwise/v1/lambda")]
    Controller { url: String, reason: String },
    #[error(
        "{url}: certificate rejected: {reason}; expected a certificate for this HOST (not a CA certificate) signed by a CA in --ca"
    )]
    Certificate { url: String, reason: String },
    #[error("unknown session '{0}'; expected one that has joined (PUT sessions/NAME, or --source and --sink)")]
    NoSession(String),
    #[error("session '{session}': {reason}")]
    Refused { session: String, reason: String },
    #[error("{0}: token required; expected --token-file with the token of the controller's 'rest.token_file'")]
    NoToken(String),
    #[error("{0}: token rejected; expected the token of the controller's 'rest.token_file'")]
    OtherToken(String),
    #[error("{0}: token over http is allowed only on this machine; expected https with --ca")]
    TokenInClear(String),
    #[error(
        "{0}: server identity not verified; expected --ca with the certificate of the CA that signed the controller's"
    )]
    NoAuthority(String),
    #[error("{0}: invalid token; expected one line of 16 to 4096 letters, digits or ._~+/=-")]
    Token(PathBuf),
    #[error("{path}: token accessible to others; expected mode 600, got {mode:03o}")]
    TokenIsOpen { path: PathBuf, mode: u32 },
    #[error("{path}: {reason}; expected CA certificates in PEM, at most 1 MiB")]
    Authority { path: PathBuf, reason: &'static str },
    #[error("packets exceed the interface MTU; expected a smaller --packet-bytes")]
    PacketTooLong,
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Steps(#[from] LambdaError),
    #[error("socket: {0}")]
    Socket(io::Error),
}

/// Runs a command; true if the transfer succeeded.
pub fn run(args: &Args) -> Result<bool, RunError> {
    match &args.command {
        Command::Key { file } => {
            write_key(file)?;
            Ok(true)
        }
        Command::Serve(args) => {
            serve(args)?;
            Ok(true)
        }
        Command::Receive(args) => receive(args),
        Command::Send(args) => send(args),
    }
}

/// Prints what became of a transfer; true if it succeeded.
fn tell(report: &Report) -> Result<bool, RunError> {
    writeln!(io::stdout(), "{}", serde_json::to_string(report)?)?;
    if let Some(error) = &report.error {
        note!("slotwise gtp: {error}");
    }
    Ok(report.ok)
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> GtpError {
    move |source| GtpError::File {
        path: path.to_owned(),
        source,
    }
}

fn write_key(path: &Path) -> Result<(), GtpError> {
    let key = Key::generate().map_err(|source| GtpError::Key {
        path: path.to_owned(),
        source,
    })?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => GtpError::Exists(path.to_owned()),
            _ => file_error(path)(error),
        })?;
    let written = file.write_all(key.to_text().as_bytes());
    if written.is_err() {
        // It holds no key, and would be in the way of the next one.
        let _ = std::fs::remove_file(path);
    }
    written.map_err(file_error(path))
}

/// Opens a regular file, and nothing else: who opens a FIFO would wait for its other end, and signals would not end that.
fn open_regular(path: &Path) -> Result<File, GtpError> {
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path).map_err(file_error(path))?;
    match file.metadata().map_err(file_error(path))?.is_file() {
        true => Ok(file),
        false => Err(GtpError::NotAFile(path.to_owned())),
    }
}

/// Opens a file with a secret; with a bit of `too_much` its mode is refused.
fn open_secret(path: &Path, too_much: u32, refused: fn(PathBuf, u32) -> GtpError) -> Result<File, GtpError> {
    let file = open_regular(path)?;
    let mode = file.metadata().map_err(file_error(path))?.mode() & 0o777;
    match mode & too_much {
        0 => Ok(file),
        _ => Err(refused(path.to_owned(), mode)),
    }
}

fn read_key(path: &Path) -> Result<Key, GtpError> {
    let file = open_secret(path, 0o077, |path, mode| GtpError::KeyIsOpen { path, mode })?;
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_KEY_FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(file_error(path))?;
    Key::parse(&text).map_err(|source| GtpError::Key {
        path: path.to_owned(),
        source,
    })
}

impl CommonArgs {
    fn node(&self, answers: bool, is_v6: bool) -> Result<desk::FileNode, GtpError> {
        let key = read_key(&self.key)?;
        let config = NodeConfig {
            capacity: self.rate_bps,
            interval: Duration::from_ms(self.interval_ms),
            rule: Rule {
                knife_edge: KnifeEdge::Capped,
                crowd: Crowd::RisesShare,
                start: self.start.into(),
            },
            steps: Steps::new(self.alpha, self.beta)?,
            // An IPv6 header has 20 bytes more.
            packet_bytes: self.packet_bytes - if is_v6 { 20 } else { 0 },
            catch_up: Duration::from_ms(self.catch_up_ms),
            answers,
            patience: Duration::from_s(self.timeout_s),
            secret: draw().map_err(file_error(Path::new("/dev/urandom")))?,
        };
        Ok(Node::new(&config, key)?)
    }

    /// What drives a node; `serves` if it is there for others.
    fn drive(&self, node: desk::FileNode, desk: Desk, port: UdpPort, serves: bool) -> Result<Drive, GtpError> {
        let granted = Lambda::of(&self.grant)?.map(Granted::by).transpose()?;
        Ok(Drive::new(node, desk, port, (!self.quiet, serves), granted))
    }
}

fn serve(args: &ServeArgs) -> Result<(), RunError> {
    let stop = Stop::on_signal()?;
    let Place(local) = args.bind;
    let node = args.common.node(true, local.is_ipv6())?;
    let directory = Directory::open(&args.directory).map_err(file_error(&args.directory))?;
    let taking = match args.take {
        true => Taking::Files {
            max_bytes: Bytes::new(args.max_bytes),
        },
        false => Taking::Nothing,
    };
    let desk = Desk::serving(Hasher::start()?, directory, taking);
    let port = drive::bind(local)?;
    let local = port.local()?;
    let mut drive = args.common.drive(node, desk, port, true)?;
    note!("slotwise gtp: serving at {local}");
    let result: Result<(), GtpError> = drive.run(&stop, |_, news| {
        if let News::Ended(report) = news {
            say_report(&report);
        }
        None
    });
    match result {
        Err(GtpError::Interrupted) => Ok(()),
        other => Ok(other?),
    }
}

fn say_report(report: &Report) {
    if let Ok(text) = serde_json::to_string(report) {
        say!("{text}");
    }
}

fn resolve(host: &str) -> Result<SocketAddr, GtpError> {
    let failed = |source| GtpError::Host {
        host: host.into(),
        source,
    };
    if let Ok(Place(place)) = host.parse() {
        return Ok(place);
    }
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()));
    let places = match has_port {
        true => host.to_socket_addrs(),
        false => (host, DEFAULT_PORT).to_socket_addrs(),
    };
    let mut places = places.map_err(failed)?;
    places.next().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// Any address and port of this host from which `peer` can be reached.
fn any(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
        SocketAddr::V6(_) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}

/// Where a file is, and its name there.
fn placed(path: &Path) -> Result<(&Path, &OsStr), GtpError> {
    let name = path.file_name().ok_or_else(|| GtpError::NoName(path.to_owned()))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((parent.unwrap_or(Path::new(".")), name))
}

/// Opens a channel, asks with `ask`, and waits for the end.
fn exchange(
    common: &CommonArgs,
    (peer, stop): (SocketAddr, &Stop),
    drive: &mut Drive,
    mut ask: impl FnMut(&mut Drive, u32) -> Result<(), NodeError>,
) -> Result<Report, GtpError> {
    let nonce = draw().map_err(file_error(Path::new("/dev/urandom")))?;
    let now = drive.now();
    drive.node.connect(now, peer, nonce);
    let mut opened = false;
    drive.run(stop, |drive, news| match news {
        News::Opened(channel) => {
            opened = true;
            ask(drive, channel).err().map(|error| Err(error.into()))
        }
        News::Lost(Said::Something) if !opened => Some(Err(GtpError::OtherKey { peer })),
        News::Lost(Said::Full) => Some(Err(GtpError::Full { peer })),
        News::Lost(Said::Close) => Some(Err(GtpError::Stopped { peer })),
        News::Lost(_) => {
            let seconds = common.timeout_s;
            Some(Err(GtpError::Silence { peer, seconds }))
        }
        // Why it was cut off comes next.
        News::Ended(report) if report.is_cut_off() => {
            say_report(&report);
            None
        }
        News::Ended(report) => Some(Ok(*report)),
    })?
}

fn receive(args: &ReceiveArgs) -> Result<bool, RunError> {
    let stop = Stop::on_signal()?;
    if args.out.symlink_metadata().is_ok() {
        return Err(GtpError::Exists(args.out.clone()).into());
    }
    let (parent, name) = placed(&args.out)?;
    if args.out.as_os_str().as_bytes().ends_with(b"/") || !store::is_name(name) {
        return Err(GtpError::NoName(args.out.clone()).into());
    }
    let directory = Directory::open(parent).map_err(file_error(parent))?;
    let peer = resolve(&args.host)?;
    let node = args.common.node(false, peer.is_ipv6())?;
    let desk = Desk::asking(Hasher::start()?, directory, Some(name.to_owned()));
    let mut drive = args.common.drive(node, desk, drive::bind(any(peer))?, false)?;
    let report = exchange(&args.common, (peer, &stop), &mut drive, |drive, channel| {
        let now = drive.now();
        let id = drive.node.get(now, channel, &args.file)?;
        drive.desk.asked(now, id, (&args.file, &peer.to_string()));
        Ok(())
    })?;
    // Before its session leaves, for which a controller may take its time.
    tell(&report)
}

fn send(args: &SendArgs) -> Result<bool, RunError> {
    let stop = Stop::on_signal()?;
    let (parent, own_name) = placed(&args.file)?;
    let name = match &args.name {
        Some(name) => name.as_str(),
        None => own_name.to_str().ok_or_else(|| GtpError::NotUtf8(args.file.clone()))?,
    };
    let peer = resolve(&args.host)?;
    let node = args.common.node(false, peer.is_ipv6())?;
    let (file, bytes, digest) = read(&args.file, &stop)?;
    let file = Arc::new(file);
    let directory = Directory::open(parent).map_err(file_error(parent))?;
    let desk = Desk::asking(Hasher::start()?, directory, None);
    let mut drive = args.common.drive(node, desk, drive::bind(any(peer))?, false)?;
    let report = exchange(&args.common, (peer, &stop), &mut drive, |drive, channel| {
        let now = drive.now();
        let source = DiskSource(Arc::clone(&file));
        let id = drive.node.put(now, (channel, name), (bytes, digest), source)?;
        drive.desk.sends(now, id, (name, &peer.to_string()), (bytes, digest));
        Ok(())
    })?;
    tell(&report)
}

/// Opens a file and reads it once: length and SHA-256.
fn read(path: &Path, stop: &Stop) -> Result<(File, Bytes, Digest), GtpError> {
    let file = open_regular(path)?;
    let bytes = Bytes::new(file.metadata().map_err(file_error(path))?.len());
    let mut hashing = Hashing::default();
    while !hashing.advance(&file, bytes).map_err(file_error(path))? {
        if stop.is_requested() {
            return Err(GtpError::Interrupted);
        }
    }
    Ok((file, bytes, hashing.digest()))
}
