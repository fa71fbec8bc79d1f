// SPDX-License-Identifier: Apache-2.0
//! Captures in pcap's nanosecond format: one for each direction of a fibre and each port of a switch.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use slotwise_scenario::Device;
use slotwise_wire::{PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD};

/// What a pcap file says of packets that were not cut.
const SNAPLEN: u32 = 65_535;

/// Where frames are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapturePoint {
    /// Where light enters a fibre, before anything is lost in it.
    Fibre {
        /// Where light enters.
        from: Device,
        /// Where it leaves.
        to: Device,
    },
    /// A port of a switch that is no fibre, both directions.
    Port {
        /// The switch.
        device: Device,
        /// Its port.
        port: u16,
    },
}

impl CapturePoint {
    /// A name for a file, without extension, e.g. `edge0-core0` or `edge0-port1`.
    pub fn name(self) -> String {
        match self {
            CapturePoint::Fibre { from, to } => format!("{from}-{to}"),
            CapturePoint::Port {
                device,
                port: PORT_LINECARD,
            } => format!("{device}-linecard"),
            CapturePoint::Port {
                device,
                port: PORT_CORE_CONTROL,
            } => format!("{device}-control"),
            CapturePoint::Port { device, port: PORT_CPU } => format!("{device}-cpu"),
            CapturePoint::Port { device, port } => format!("{device}-port{port}"),
        }
    }
}

/// Gives the fabric somewhere to write captures; called once for each point, when its first frame comes.
pub type OpenCapture = Box<dyn FnMut(CapturePoint) -> io::Result<Box<dyn Write + Send>> + Send>;

/// Writes captures until the first error.
pub(crate) struct Captures {
    open: OpenCapture,
    writers: BTreeMap<CapturePoint, PcapWriter<Box<dyn Write + Send>>>,
    error: Option<io::Error>,
}

impl Captures {
    pub(crate) fn new(open: OpenCapture) -> Captures {
        Captures {
            open,
            writers: BTreeMap::new(),
            error: None,
        }
    }

    pub(crate) fn record(&mut self, point: CapturePoint, at_ns: u64, frame: &[u8]) {
        if self.error.is_none() {
            self.error = self.write(point, at_ns, frame).err();
        }
    }

    fn write(&mut self, point: CapturePoint, at_ns: u64, frame: &[u8]) -> io::Result<()> {
        if !self.writers.contains_key(&point) {
            let header = PcapHeader {
                snaplen: SNAPLEN,
                datalink: DataLink::ETHERNET,
                ts_resolution: TsResolution::NanoSecond,
                endianness: Endianness::Little,
                ..PcapHeader::default()
            };
            let writer = PcapWriter::with_header((self.open)(point)?, header).map_err(io_error)?;
            self.writers.insert(point, writer);
        }
        let Some(writer) = self.writers.get_mut(&point) else {
            return Ok(());
        };
        let cut = &frame[..frame.len().min(SNAPLEN as usize)];
        let packet = PcapPacket::new(Duration::from_nanos(at_ns), frame.len() as u32, cut);
        writer.write_packet(&packet).map_err(io_error)?;
        Ok(())
    }

    /// Ends all captures.
    pub(crate) fn finish(self) -> io::Result<()> {
        for writer in self.writers.into_values() {
            writer.into_writer().flush()?;
        }
        self.error.map_or(Ok(()), Err)
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
