// SPDX-License-Identifier: Apache-2.0
//! `slotwise xfer`: a file from one Linux network namespace to another, over XCP.
//!
//! ```text
//! args -> Exchange (socket, clock) <-> Role: SendSide | ReceiveSide (pure) -> Report
//! ```

mod content;
mod exchange;
mod message;
mod receive;
mod report;
mod role;
mod send;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use slotwise_netio::RawIpSocket;
use slotwise_transport::xcp;
use slotwise_units::Bytes;

use self::content::FileSource;
pub(crate) use self::content::Hashing;
use self::exchange::Exchange;
pub(crate) use self::exchange::Stop;
use self::message::{Digest, Offer};
use self::receive::{ReceiveConfig, ReceiveSide};
use self::report::{Ending, Report};
use self::role::{Role, XferError};
use self::send::{SendConfig, SendSide};
use slotwise_cli::RunError;
use slotwise_cli::notes::note;

const DEFAULT_PORT: u16 = 5253;

/// Transfer a file over XCP (IP protocol 253) and verify its SHA-256 (needs root)
///
/// Prints a report in JSON. The exit status is 0 only if the file arrived intact and the sender has the confirmation.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    direction: Direction,
}

#[derive(clap::Subcommand)]
enum Direction {
    /// Send FILE to a host that runs `slotwise xfer receive`
    Send(SendArgs),
    /// Receive one file and store it as FILE, which must not exist
    Receive(ReceiveArgs),
}

#[derive(clap::Args)]
struct SendArgs {
    /// File to send
    file: PathBuf,
    /// Address of the receiver
    #[arg(value_name = "ADDRESS[:PORT]")]
    to: Place,
    /// Length of full-size IP packets, at most the path MTU
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..))]
    packet_bytes: u16,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(clap::Args)]
struct ReceiveArgs {
    /// Local IPv4 address to listen on
    #[arg(value_name = "ADDRESS[:PORT]")]
    at: Place,
    /// Name of the stored file
    file: PathBuf,
    /// Accept packets only from this address
    #[arg(long, value_name = "ADDRESS")]
    from: Option<Ipv4Addr>,
    /// Maximum file size
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    max_bytes: u64,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(clap::Args)]
struct CommonArgs {
    /// Idle timeout of the peer, in seconds
    ///
    /// A receiver waits for its sender without a limit.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout_s: u64,
}

/// `ADDRESS[:PORT]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(SocketAddrV4);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let place = text
            .parse()
            .or_else(|_| text.parse().map(|address| SocketAddrV4::new(address, DEFAULT_PORT)));
        match place {
            Ok(place) if place.port() > 0 => Ok(Place(place)),
            _ => Err(format!(
                "expected an IPv4 address or ADDRESS:PORT, e.g. 10.0.0.2:{DEFAULT_PORT}, got {text:?}"
            )),
        }
    }
}

/// Runs one side; true if the transfer succeeded.
pub fn run(args: &Args) -> Result<bool, RunError> {
    let (result, report) = match &args.direction {
        Direction::Send(args) => send(args)?,
        Direction::Receive(args) => receive(args)?,
    };
    writeln!(io::stdout(), "{}", serde_json::to_string(&report)?)?;
    if let Err(error) = &result {
        note!("slotwise xfer: {error}");
    }
    Ok(result.is_ok())
}

type Outcome = (Result<(), XferError>, Report);

fn send(args: &SendArgs) -> Result<Outcome, RunError> {
    let stop = Stop::on_signal()?;
    let Place(peer) = args.to;
    let socket = RawIpSocket::connect(xcp::PROTOCOL, *peer.ip())?;
    let (file, bytes, digest) = read(&args.file, &stop)?;
    let [port, answer_port] = draw_ports()?;
    let offer = Offer {
        id: draw()?,
        answer_port,
        bytes,
        digest,
    };
    let config = SendConfig {
        local: socket.local(),
        peer,
        port,
        packet_bytes: args.packet_bytes,
        initial_sequences: [draw_u32()?, draw_u32()?],
    };
    let source = FileSource::new(&offer, file);
    let mut side = SendSide::new(&config, offer, source)?;
    let mut exchange = Exchange::new(&socket, &stop, args.common.patience());
    let result = exchange.run(&mut side);
    let stats = side.stats();
    let ending = Ending {
        result: &result,
        bytes: stats.acked.saturating_sub(Bytes::of(Offer::SIZE)),
        duration: side.duration(exchange.now()),
        digest: Some(digest),
        socket: exchange.stats,
        stack: side.stack().stats(),
    };
    let report = Report::of_sender(&ending, &stats);
    Ok((result, report))
}

fn receive(args: &ReceiveArgs) -> Result<Outcome, RunError> {
    let stop = Stop::on_signal()?;
    if args.file.symlink_metadata().is_ok() {
        return Err(XferError::Exists(args.file.clone()).into());
    }
    let Place(local) = args.at;
    let socket = RawIpSocket::listen(xcp::PROTOCOL, *local.ip(), args.from)?;
    let config = ReceiveConfig {
        local,
        path: args.file.clone(),
        max_bytes: Bytes::new(args.max_bytes),
    };
    let mut side = ReceiveSide::new(config, Box::new(draw_u32))?;
    note!("slotwise xfer: listening at {local}");
    let mut exchange = Exchange::new(&socket, &stop, args.common.patience());
    let result = exchange.run(&mut side);
    let stats = side.stats();
    let ending = Ending {
        result: &result,
        bytes: stats.in_order.saturating_sub(Bytes::of(Offer::SIZE)),
        duration: side.duration(exchange.now()),
        digest: side.digest(),
        socket: exchange.stats,
        stack: side.stack().stats(),
    };
    let report = Report::of_receiver(&ending, &stats, side.turned_away());
    Ok((result, report))
}

impl CommonArgs {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout_s)
    }
}

/// Opens a file and reads it once: length and SHA-256.
fn read(path: &Path, stop: &Stop) -> Result<(File, Bytes, Digest), XferError> {
    let failed = |source| XferError::File {
        path: path.to_owned(),
        source,
    };
    // Before it is opened: that would wait for the other end of a pipe.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(XferError::NotAFile(path.to_owned()));
    }
    let file = File::open(path).map_err(failed)?;
    let bytes = Bytes::new(file.metadata().map_err(failed)?.len());
    let mut hashing = Hashing::default();
    while !hashing.advance(&file, bytes).map_err(failed)? {
        if stop.is_requested() {
            return Err(XferError::Interrupted);
        }
    }
    Ok((file, bytes, hashing.digest()))
}

/// Random bytes that nobody can guess.
pub fn draw<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn draw_u32() -> io::Result<u32> {
    draw().map(u32::from_be_bytes)
}

/// Two ports, neighbours, in the dynamic range (RFC 6335 section 6).
fn draw_ports() -> io::Result<[u16; 2]> {
    const DYNAMIC: u16 = 0xc000;
    let port = u16::from_be_bytes(draw()?) | DYNAMIC;
    Ok([port, port ^ 1])
}
