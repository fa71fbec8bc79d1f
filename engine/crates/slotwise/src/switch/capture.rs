// SPDX-License-Identifier: Apache-2.0
//! What passes the interfaces, as pcap files: IFACE_in.pcap and IFACE_out.pcap, as BMv2 names them.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use slotwise_netio::MAX_FRAME_BYTES;

use crate::run::RunError;

/// Which way a frame goes, seen from the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// Without a buffer: whoever looks sees every packet at once.
type Writer = PcapWriter<File>;

/// The files of a switch.
pub struct Capture {
    /// In and out, by place of the interface.
    writers: Vec<[Writer; 2]>,
    /// Unix time of the switch's time 0.
    start: Duration,
}

impl Capture {
    /// Makes the files; `now_ns` is the switch's time.
    pub fn create(directory: &Path, interfaces: &[String], now_ns: u64) -> Result<Capture, RunError> {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let open = |interface: &str, direction: &str| {
            let path = directory.join(format!("{interface}_{direction}.pcap"));
            let failed = |error: String| format!("{}: {error}", path.display());
            let file = File::create(&path).map_err(|error| failed(error.to_string()))?;
            let header = PcapHeader {
                snaplen: MAX_FRAME_BYTES as u32,
                datalink: DataLink::ETHERNET,
                ts_resolution: TsResolution::NanoSecond,
                endianness: Endianness::Little,
                ..PcapHeader::default()
            };
            PcapWriter::with_header(file, header).map_err(|error| failed(error.to_string()))
        };
        let writers = interfaces
            .iter()
            .map(|interface| Ok([open(interface, "in")?, open(interface, "out")?]));
        let unix = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Capture {
            writers: writers.collect::<Result<_, String>>()?,
            start: unix.saturating_sub(Duration::from_nanos(now_ns)),
        })
    }

    /// Adds a frame of the interface at `place`.
    pub fn record(&mut self, place: usize, direction: Direction, now_ns: u64, frame: &[u8]) -> Result<(), PcapError> {
        let at = self.start + Duration::from_nanos(now_ns);
        let packet = PcapPacket::new(at, frame.len() as u32, frame);
        self.writers[place][usize::from(direction == Direction::Out)].write_packet(&packet)?;
        Ok(())
    }
}
