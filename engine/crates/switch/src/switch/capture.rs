// SPDX-License-Identifier: Apache-2.0
//! What passes the interfaces, as pcap files: IFACE_in.pcap and IFACE_out.pcap, as BMv2 names them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use slotwise_netio::MAX_FRAME_BYTES;
use slotwise_units::Instant;

use super::options::Interface;
use slotwise_cli::RunError;
use slotwise_cli::notes::note;

/// Which way a frame goes, seen from the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

const FILE_HEADER_BYTES: u64 = 24;
const PACKET_HEADER_BYTES: u64 = 16;

/// One file. Without a buffer: whoever looks sees every packet at once.
struct Writer {
    path: PathBuf,
    pcap: PcapWriter<File>,
    /// Up to the last whole packet.
    bytes: u64,
}

/// The files of a switch.
pub struct Capture {
    /// In and out, by place of the interface; what could not be written ended.
    writers: Vec<[Option<Writer>; 2]>,
    /// Unix time of the switch's time 0.
    start: Duration,
}

impl Capture {
    /// Makes the files; `now` is the switch's time.
    pub fn create(
        directory: &Path,
        interfaces: &[Interface],
        resolution: TsResolution,
        now: Instant,
    ) -> Result<Capture, RunError> {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let open = |interface: &Interface, direction: &str| {
            let path = directory.join(format!("{}_{direction}.pcap", interface.name));
            let failed = |error: String| format!("{}: {error}", path.display());
            let file = File::create(&path).map_err(|error| failed(error.to_string()))?;
            let header = PcapHeader {
                snaplen: MAX_FRAME_BYTES as u32,
                datalink: DataLink::ETHERNET,
                ts_resolution: resolution,
                endianness: Endianness::Little,
                ..PcapHeader::default()
            };
            let pcap = PcapWriter::with_header(file, header).map_err(|error| failed(reason(&error)))?;
            let bytes = FILE_HEADER_BYTES;
            Ok::<_, String>(Some(Writer { path, pcap, bytes }))
        };
        let writers = interfaces.iter().map(|it| Ok([open(it, "in")?, open(it, "out")?]));
        let unix = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Capture {
            writers: writers.collect::<Result<_, String>>()?,
            start: unix.saturating_sub(Duration::from_nanos(now.ns())),
        })
    }

    /// Adds a frame of the interface at `place`. A file that cannot be written, on a full disk for example, ends with
    /// its last whole frame and a note; the switch and the other files go on.
    pub fn record(&mut self, place: usize, direction: Direction, now: Instant, frame: &[u8]) {
        let slot = &mut self.writers[place][usize::from(direction == Direction::Out)];
        let Some(writer) = slot else {
            return;
        };
        let at = self.start + Duration::from_nanos(now.ns());
        let written = writer
            .pcap
            .write_packet(&PcapPacket::new(at, frame.len() as u32, frame));
        match written {
            Ok(_) => writer.bytes += PACKET_HEADER_BYTES + frame.len() as u64,
            Err(error) => {
                note!(
                    "slotwise switch: {}: {}; capture stopped, the switch continues",
                    writer.path.display(),
                    reason(&error)
                );
                if let Some(Writer { pcap, bytes, .. }) = slot.take() {
                    // If even that fails, readers find the last frame cut short.
                    let _ = pcap.into_writer().set_len(bytes);
                }
            }
        }
    }
}

/// What the system said.
fn reason(error: &PcapError) -> String {
    match error {
        PcapError::IoError(error) => error.to_string(),
        other => other.to_string(),
    }
}
