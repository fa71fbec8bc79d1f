// SPDX-License-Identifier: Apache-2.0
//! How much of the P4Runtime server its clients may have.

use std::time::Duration;

use slotwise_p4runtime::ServerLimits;

const MIB: usize = 1 << 20;

/// Limits on clients; `docs/p4runtime.md` has the defaults.
#[derive(clap::Args)]
pub struct LimitOptions {
    /// Maximum number of connections
    #[arg(long, value_name = "N", value_parser = number::<1, 65_536>)]
    max_connections: Option<usize>,
    /// Maximum size of a Write or SetForwardingPipelineConfig, in MB
    #[arg(long, value_name = "MB", value_parser = number::<1, 1024>)]
    max_message_mb: Option<usize>,
    /// Maximum number of entities in a Read
    #[arg(long, value_name = "N", value_parser = number::<1, 1_000_000>)]
    max_read_queries: Option<usize>,
    /// Maximum number of concurrent Reads
    #[arg(long, value_name = "N", value_parser = number::<1, 65_536>)]
    max_reads: Option<usize>,
    /// Maximum unread data of a client on a stream, in MB
    #[arg(long, value_name = "MB", value_parser = number::<1, 1024>)]
    max_unread_mb: Option<usize>,
    /// Maximum memory of a program, in MB
    #[arg(long, value_name = "MB", value_parser = number::<1, 65_536>)]
    max_program_mb: Option<usize>,
    /// Maximum memory of all programs and the state written by controllers, in MB
    #[arg(long, value_name = "MB", value_parser = number::<1, 1_048_576>)]
    max_memory_mb: Option<usize>,
    /// Timeout for a complete message, for a client to read, and for a first call
    #[arg(long, value_name = "SECONDS", value_parser = number::<1, 86_400>)]
    patience_s: Option<usize>,
}

/// Reads a number in LOW..=HIGH.
fn number<const LOW: usize, const HIGH: usize>(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (LOW..=HIGH).contains(number));
    number.ok_or_else(|| format!("expected a number in {LOW}..={HIGH}"))
}

impl LimitOptions {
    /// The defaults, where nothing else is asked for.
    pub fn limits(&self) -> ServerLimits {
        let mut limits = ServerLimits::default();
        let set = |place: &mut usize, wanted: Option<usize>, unit| {
            if let Some(wanted) = wanted {
                *place = wanted * unit;
            }
        };
        set(&mut limits.connections, self.max_connections, 1);
        set(&mut limits.message_bytes, self.max_message_mb, MIB);
        set(&mut limits.queries, self.max_read_queries, 1);
        set(&mut limits.reads, self.max_reads, 1);
        set(&mut limits.unread_bytes_a_stream, self.max_unread_mb, MIB);
        if let Some(megabytes) = self.max_program_mb {
            limits.program.memory_bytes = (megabytes * MIB) as u64;
        }
        // Without a bound of its own, it is enough for three of the programs that may be.
        limits.memory_bytes = match self.max_memory_mb {
            Some(megabytes) => (megabytes * MIB) as u64,
            None => limits.memory_bytes.max(3 * limits.program.memory_bytes),
        };
        // Together they may have what one may.
        limits.receiving_bytes = limits.receiving_bytes.max(limits.message_bytes);
        limits.unread_bytes = limits.unread_bytes.max(limits.unread_bytes_a_stream);
        if let Some(patience_s) = self.patience_s {
            limits.patience = Duration::from_secs(patience_s as u64);
        }
        limits
    }
}
