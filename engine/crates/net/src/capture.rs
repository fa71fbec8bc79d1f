// SPDX-License-Identifier: Apache-2.0
//! Captures in pcap's nanosecond format: one for each direction of a fibre and each port of a switch.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use slotwise_scenario::Device;
use slotwise_wire::{PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD, limits};

use crate::capture_filter::CaptureFilter;

/// What a pcap file says of packets that were not cut.
pub const LONGEST_SNAPLEN: u32 = *limits::SNAPLEN.end() as u32;

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
    /// A port of a switch that is no fibre and leads to no other switch, both directions.
    Port {
        /// The switch.
        device: Device,
        /// Its port.
        port: u16,
    },
    /// A port of a router that leads to another one, both directions.
    Link {
        /// The router.
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
            CapturePoint::Port { device, port } | CapturePoint::Link { device, port } => format!("{device}-port{port}"),
        }
    }
}

/// Creates the writer of a capture; called once per capture point, at its first frame.
pub type OpenCapture = Box<dyn FnMut(CapturePoint) -> io::Result<Box<dyn Write + Send>> + Send>;

/// A capture that ended before the run.
#[derive(Debug)]
pub struct CaptureFailure {
    /// What it was of.
    pub point: CapturePoint,
    /// Why nothing more could be written.
    pub error: io::Error,
}

/// What is captured, and where to.
pub struct Capturing {
    /// Where captures go.
    pub open: OpenCapture,
    /// Which frames are captured.
    pub filter: CaptureFilter,
    /// Bytes of each frame that are kept, 1 to [`LONGEST_SNAPLEN`].
    pub snaplen: u32,
}

/// Writes captures, each until its first error: one that cannot go on ends, and nothing else does.
pub struct Captures {
    capturing: Capturing,
    writers: BTreeMap<CapturePoint, io::Result<PcapWriter<Box<dyn Write + Send>>>>,
}

impl Captures {
    /// Creates captures without frames.
    pub(crate) fn new(capturing: Capturing) -> Captures {
        Captures {
            capturing,
            writers: BTreeMap::new(),
        }
    }

    /// Captures a frame, if the filter accepts it.
    pub(crate) fn record(&mut self, point: CapturePoint, at_ns: u64, frame: &[u8]) {
        let Captures { capturing, writers } = self;
        let Capturing { open, filter, snaplen } = capturing;
        if !filter.takes(point, frame) {
            return;
        }
        let capture = writers.entry(point).or_insert_with(|| begin(open(point)?, *snaplen));
        let Ok(writer) = capture else { return };
        let cut = &frame[..frame.len().min(*snaplen as usize)];
        let packet = PcapPacket::new(Duration::from_nanos(at_ns), frame.len() as u32, cut);
        if let Err(error) = writer.write_packet(&packet) {
            *capture = Err(io_error(error));
        }
    }

    /// Ends all captures; gives those that had ended before.
    pub fn finish(self) -> Vec<CaptureFailure> {
        let end = |(point, capture): (CapturePoint, io::Result<PcapWriter<Box<dyn Write + Send>>>)| {
            let flushed = capture.and_then(|writer| writer.into_writer().flush());
            flushed.err().map(|error| CaptureFailure { point, error })
        };
        self.writers.into_iter().filter_map(end).collect()
    }
}

fn begin(file: Box<dyn Write + Send>, snaplen: u32) -> io::Result<PcapWriter<Box<dyn Write + Send>>> {
    let header = PcapHeader {
        snaplen,
        datalink: DataLink::ETHERNET,
        ts_resolution: TsResolution::NanoSecond,
        endianness: Endianness::Little,
        ..PcapHeader::default()
    };
    PcapWriter::with_header(file, header).map_err(io_error)
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A file on a disk with room for so many bytes more.
    struct Disk {
        room: usize,
        file: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            self.file.lock().unwrap().extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_capture_that_cannot_go_on_ends_alone() {
        let point = |port| CapturePoint::Port {
            device: Device::Edge(0),
            port,
        };
        let file = Arc::new(Mutex::new(Vec::new()));
        let whole = file.clone();
        let open: OpenCapture = Box::new(move |of| match of {
            CapturePoint::Port { port: 1, .. } => Ok(Box::new(Disk {
                room: 100,
                file: Arc::default(),
            })),
            CapturePoint::Port { port: 2, .. } => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(Box::new(Disk {
                room: 10_000,
                file: whole.clone(),
            })),
        });
        let mut captures = Captures::new(Capturing {
            open,
            filter: CaptureFilter::default(),
            snaplen: LONGEST_SNAPLEN,
        });
        for _ in 0..10 {
            (1..=3).for_each(|port| captures.record(point(port), 0, &[0; 60]));
        }
        let failed = captures.finish();
        let failed: Vec<_> = failed
            .iter()
            .map(|failure| (failure.point, failure.error.kind()))
            .collect();
        assert_eq!(
            failed,
            [
                (point(1), io::ErrorKind::StorageFull),
                (point(2), io::ErrorKind::PermissionDenied)
            ]
        );
        const FILE_HEADER: usize = 24;
        const PACKET_HEADER: usize = 16;
        assert_eq!(file.lock().unwrap().len(), FILE_HEADER + 10 * (PACKET_HEADER + 60));
    }
}
