// SPDX-License-Identifier: Apache-2.0
//! Arguments of `slotwise switch`: its own, and those of simple_switch_grpc.

use std::ffi::OsString;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgAction, ValueEnum};
use slotwise_p4::Port;
use slotwise_p4runtime::Tls;

use crate::executor::ExecutorChoice;

/// Ports are 9 bits wide, as in v1model.
const LAST_PORT: Port = 511;

/// Run one P4 switch between Linux interfaces, controlled over P4Runtime.
///
/// Options of simple_switch_grpc that concern BMv2 only are accepted and named as ignored.
#[derive(clap::Args)]
pub struct Args {
    /// Program in p4c's BMv2 JSON; without it the switch waits for a controller's
    pub program: Option<PathBuf>,
    /// P4Info of PROGRAM (text format, or binary when it ends in .bin): lets controllers write tables at once
    #[arg(long, value_name = "FILE", requires = "program")]
    pub p4info: Option<PathBuf>,
    /// Interface behind a port of the switch, e.g. 1@veth0; any number of times
    #[arg(short, long = "interface", value_name = "PORT@IFACE")]
    pub interfaces: Vec<Interface>,
    /// Id in P4Runtime messages
    #[arg(long, default_value_t = 1)]
    pub device_id: u64,
    /// Where the P4Runtime server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559")]
    pub grpc_server_addr: String,
    #[command(flatten)]
    pub tls: TlsOptions,
    /// Port whose packets go to and come from the controller
    #[arg(long, value_name = "PORT", default_value_t = 510, value_parser = clap::value_parser!(u16).range(0..=511))]
    pub cpu_port: Port,
    /// Port of dropped packets
    #[arg(long, value_name = "PORT", default_value_t = 511, value_parser = clap::value_parser!(u16).range(0..=511))]
    pub drop_port: Port,
    /// What runs the packets
    #[arg(long, value_enum, default_value_t = ExecutorChoice::Jit)]
    pub executor: ExecutorChoice,
    /// Do as BMv2 where it is odd: ingress_port 0 after resubmit and recirculate, packets after their ingress clones
    #[arg(long)]
    pub bmv2_compat: bool,
    /// Unit of the program's timestamps: BMv2's is us
    #[arg(long, value_enum, default_value_t = Timestamps::Ns)]
    pub timestamps: Timestamps,
    /// Write what passes each interface to IFACE_in.pcap and IFACE_out.pcap in DIR (default: here)
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Write which way each packet takes: P4 file and line, branches, tables, entries, actions
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub ignored: Bmv2Options,
}

/// Unit of timestamps.
#[derive(Clone, Copy, ValueEnum)]
pub enum Timestamps {
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// TLS, as simple_switch_grpc has it.
#[derive(clap::Args)]
pub struct TlsOptions {
    /// Encrypt P4Runtime connections
    #[arg(long, requires_all = ["grpc_server_cert", "grpc_server_key"])]
    grpc_server_ssl: bool,
    /// Certificate of the server, in PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_ssl")]
    grpc_server_cert: Option<PathBuf>,
    /// Private key of the server, in PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_ssl")]
    grpc_server_key: Option<PathBuf>,
    /// Certificates of those who sign clients' certificates, in PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_ssl")]
    grpc_server_cacert: Option<PathBuf>,
    /// Take only clients that show a certificate
    #[arg(long, requires_all = ["grpc_server_ssl", "grpc_server_cacert"])]
    grpc_server_with_client_auth: bool,
}

/// Options that have a meaning for BMv2 and none here.
#[derive(clap::Args)]
pub struct Bmv2Options {
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    pub no_p4: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    log_console: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    log_flush: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    debugger: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    enable_swap: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    disable_swap: bool,
    #[arg(long, hide = true)]
    thrift_port: Option<String>,
    #[arg(long, hide = true)]
    log_file: Option<String>,
    #[arg(long, hide = true)]
    log_file_max_size: Option<String>,
    #[arg(long, hide = true)]
    log_file_max_files: Option<String>,
    #[arg(long, short = 'L', hide = true)]
    log_level: Option<String>,
    #[arg(long, hide = true)]
    nanolog: Option<String>,
    #[arg(long, hide = true)]
    notifications_addr: Option<String>,
    #[arg(long, hide = true)]
    debugger_addr: Option<String>,
    #[arg(long, hide = true)]
    dump_packet_data: Option<String>,
    #[arg(long, hide = true)]
    dp_grpc_server_addr: Option<String>,
    #[arg(long, hide = true)]
    priority_queues: Option<String>,
    #[arg(long, hide = true)]
    max_port_count: Option<String>,
    #[arg(long, hide = true)]
    max_mc_groups: Option<String>,
    #[arg(long, hide = true)]
    max_l1_entries: Option<String>,
    #[arg(long, hide = true)]
    max_l2_entries: Option<String>,
}

impl Bmv2Options {
    /// Those that were given. `--no-p4` is not among them: without PROGRAM it says what happens anyway.
    pub fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--log-console", self.log_console),
            ("--log-flush", self.log_flush),
            ("--debugger", self.debugger),
            ("--enable-swap", self.enable_swap),
            ("--disable-swap", self.disable_swap),
            ("--thrift-port", self.thrift_port.is_some()),
            ("--log-file", self.log_file.is_some()),
            ("--log-file-max-size", self.log_file_max_size.is_some()),
            ("--log-file-max-files", self.log_file_max_files.is_some()),
            ("--log-level", self.log_level.is_some()),
            ("--nanolog", self.nanolog.is_some()),
            ("--notifications-addr", self.notifications_addr.is_some()),
            ("--debugger-addr", self.debugger_addr.is_some()),
            ("--dump-packet-data", self.dump_packet_data.is_some()),
            ("--dp-grpc-server-addr", self.dp_grpc_server_addr.is_some()),
            ("--priority-queues", self.priority_queues.is_some()),
            ("--max-port-count", self.max_port_count.is_some()),
            ("--max-mc-groups", self.max_mc_groups.is_some()),
            ("--max-l1-entries", self.max_l1_entries.is_some()),
            ("--max-l2-entries", self.max_l2_entries.is_some()),
        ];
        all.into_iter()
            .filter(|(_, given)| *given)
            .map(|(name, _)| name)
            .collect()
    }
}

/// `PORT@IFACE`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Of the switch.
    pub port: Port,
    /// Of the Linux interface.
    pub name: String,
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Interface, String> {
        let wanted = || format!("{text:?} is not PORT@IFACE with a port in 0..={LAST_PORT}, e.g. 1@veth0");
        let (port, name) = text.split_once('@').ok_or_else(wanted)?;
        let port = port.parse().ok().filter(|port| *port <= LAST_PORT).ok_or_else(wanted)?;
        if name.is_empty() {
            return Err(wanted());
        }
        Ok(Interface {
            port,
            name: name.to_owned(),
        })
    }
}

impl Args {
    /// Port numbers and interface names, in the same order.
    pub fn plan_ports(&self) -> Result<(Vec<Port>, Vec<String>), String> {
        for (index, Interface { port, name }) in self.interfaces.iter().enumerate() {
            if *port == self.cpu_port || *port == self.drop_port {
                return Err(format!("port {port} ({name}) is the CPU port or the drop port"));
            }
            if self.interfaces[..index]
                .iter()
                .any(|other| other.port == *port || other.name == *name)
            {
                return Err(format!("{port}@{name}: port or interface is there twice"));
            }
        }
        Ok(self.interfaces.iter().map(|it| (it.port, it.name.clone())).unzip())
    }

    /// Where to listen.
    pub fn address(&self) -> Result<SocketAddr, String> {
        let address = &self.grpc_server_addr;
        let mut found = address
            .to_socket_addrs()
            .map_err(|error| format!("--grpc-server-addr {address}: {error}"))?;
        found
            .next()
            .ok_or_else(|| format!("--grpc-server-addr {address}: no such address"))
    }
}

impl TlsOptions {
    /// Reads the certificates; `None` without `--grpc-server-ssl`.
    pub fn load(&self) -> Result<Option<Tls>, String> {
        let (Some(certificate), Some(key)) = (&self.grpc_server_cert, &self.grpc_server_key) else {
            return Ok(None);
        };
        // As in simple_switch_grpc, the authorities count only where clients have to show a certificate.
        let authorities = self
            .grpc_server_cacert
            .as_ref()
            .filter(|_| self.grpc_server_with_client_auth);
        Ok(Some(Tls {
            certificate_pem: read(certificate)?,
            key_pem: read(key)?,
            client_authorities_pem: authorities.map(|path| read(path)).transpose()?,
        }))
    }
}

/// Reads a file; the error names it.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The arguments of `switch` without BMv2's `--`, which parts the options of bmv2 from those of its gRPC target.
pub fn without_separator(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    if args.get(1).is_some_and(|command| command == "switch")
        && let Some(separator) = args.iter().position(|arg| arg == "--")
    {
        args.remove(separator);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_port_at_name() {
        assert_eq!(
            "1@veth0".parse(),
            Ok(Interface {
                port: 1,
                name: "veth0".to_owned()
            })
        );
        for wrong in ["veth0", "512@veth0", "-1@veth0", "1@", "x@veth0"] {
            assert!(wrong.parse::<Interface>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_separator_of_bmv2_is_dropped() {
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = args("slotwise switch -i 1@a x.json -- --cpu-port 255");
        assert_eq!(
            without_separator(given.into_iter()),
            args("slotwise switch -i 1@a x.json --cpu-port 255")
        );
        let other = args("slotwise simulate -- x.yaml");
        assert_eq!(without_separator(other.clone().into_iter()), other);
    }
}
