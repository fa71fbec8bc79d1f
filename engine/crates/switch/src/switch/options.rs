// SPDX-License-Identifier: Apache-2.0
//! Arguments of `slotwise switch`: its own, and those of simple_switch_grpc.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use slotwise_netio::is_interface_name;
use slotwise_p4::Port;
use slotwise_p4runtime::Tls;

use super::bmv2_options::Bmv2Options;
use super::limits::LimitOptions;
use super::queues::QueueOptions;
use crate::executor::ExecutorChoice;
use crate::program_files::read;

/// Ports are 9 bits wide, as in v1model.
pub const LAST_PORT: Port = 511;

/// Run a P4 switch between Linux interfaces, controlled over P4Runtime
///
/// With `--bmv2-compat`, or started as simple_switch_grpc, it accepts the command line of BMv2 with its meaning and
/// defaults. Otherwise options of BMv2 without a counterpart are accepted, reported and ignored.
#[derive(clap::Args)]
pub struct Args {
    /// Program in p4c's BMv2 JSON; without it the switch waits for a controller's
    pub program: Option<PathBuf>,
    /// P4Info of PROGRAM (text; binary if the name ends in .bin)
    ///
    /// Controllers can then write tables at once.
    #[arg(long, value_name = "FILE", requires = "program")]
    pub p4info: Option<PathBuf>,
    /// Interface of a port, e.g. 1@veth0; may be repeated
    #[arg(short, long = "interface", value_name = "PORT@IFACE")]
    pub interfaces: Vec<Interface>,
    /// Device ID in P4Runtime (default: 1; BMv2: 0)
    #[arg(long, value_name = "N")]
    pub device_id: Option<u64>,
    /// Address of the P4Runtime server (default: 127.0.0.1:9559; BMv2: 0.0.0.0:9559)
    #[arg(long, value_name = "HOST:PORT")]
    pub grpc_server_addr: Option<String>,
    #[command(flatten)]
    pub(super) tls: TlsOptions,
    #[command(flatten)]
    pub(super) limits: LimitOptions,
    /// CPU port: packets from and to the controller (default: 510; BMv2: none)
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(0..=511))]
    pub cpu_port: Option<Port>,
    /// Drop port
    #[arg(long, value_name = "PORT", default_value_t = 511, value_parser = clap::value_parser!(u16).range(0..=511))]
    pub drop_port: Port,
    /// Packet executor
    #[arg(long, value_enum, default_value_t = ExecutorChoice::Jit)]
    pub executor: ExecutorChoice,
    /// Unit of timestamps in the program (default: ns; BMv2: us)
    #[arg(long, value_enum)]
    pub timestamps: Option<Timestamps>,
    /// Capture each interface to IFACE_in.pcap and IFACE_out.pcap in DIR (default: .)
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Trace each packet to FILE
    ///
    /// P4 file and line, branches, tables, entries and actions.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) queues: QueueOptions,
    #[command(flatten)]
    pub(super) bmv2: Bmv2Options,
}

/// Unit of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    /// Server certificate (PEM)
    #[arg(long, value_name = "FILE")]
    grpc_server_cert: Option<PathBuf>,
    /// Server private key (PEM)
    #[arg(long, value_name = "FILE")]
    grpc_server_key: Option<PathBuf>,
    /// CA certificates for client authentication (PEM)
    #[arg(long, value_name = "FILE")]
    grpc_server_cacert: Option<PathBuf>,
    /// Require client certificates
    #[arg(long, requires = "grpc_server_cacert")]
    grpc_server_with_client_auth: bool,
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
        let wanted = || format!("expected PORT@IFACE with a port in 0..={LAST_PORT}, e.g. 1@veth0, got {text:?}");
        let (port, name) = text.split_once('@').ok_or_else(wanted)?;
        let port = parse_port(port).ok_or_else(wanted)?;
        if name.is_empty() {
            return Err(wanted());
        }
        if !is_interface_name(name) {
            return Err(format!(
                "{name:?}: no interface can have this name; expected 1 to 15 bytes without '/', ':' and spaces, not '.' or '..'"
            ));
        }
        Ok(Interface {
            port,
            name: name.to_owned(),
        })
    }
}

/// A port of the switch.
pub fn parse_port(text: &str) -> Option<Port> {
    text.parse().ok().filter(|port| *port <= LAST_PORT)
}

/// Checks that no interface has the CPU port or the drop port, and that none is there twice.
pub fn check_ports(interfaces: &[Interface], cpu_port: Option<Port>, drop_port: Port) -> Result<(), String> {
    for (index, Interface { port, name }) in interfaces.iter().enumerate() {
        if Some(*port) == cpu_port || *port == drop_port {
            return Err(format!("port {port} ({name}): reserved as CPU port or drop port"));
        }
        if interfaces[..index]
            .iter()
            .any(|other| other.port == *port || other.name == *name)
        {
            return Err(format!("{port}@{name}: duplicate port or interface"));
        }
    }
    Ok(())
}

/// Where to listen.
pub fn resolve(address: &str) -> Result<SocketAddr, String> {
    let mut found = address
        .to_socket_addrs()
        .map_err(|error| format!("--grpc-server-addr {address}: {error}"))?;
    found
        .next()
        .ok_or_else(|| format!("--grpc-server-addr {address}: unknown address"))
}

impl TlsOptions {
    /// The options that were given and mean nothing without `--grpc-server-ssl`, which was not.
    pub fn without_effect(&self) -> Vec<&'static str> {
        let all = [
            ("--grpc-server-cert", self.grpc_server_cert.is_some()),
            ("--grpc-server-key", self.grpc_server_key.is_some()),
            ("--grpc-server-cacert", self.grpc_server_cacert.is_some()),
            ("--grpc-server-with-client-auth", self.grpc_server_with_client_auth),
        ];
        all.into_iter()
            .filter(|(_, given)| *given && !self.grpc_server_ssl)
            .map(|(name, _)| name)
            .collect()
    }

    /// Reads the certificates; `None` without `--grpc-server-ssl`.
    pub fn load(&self) -> Result<Option<Tls>, String> {
        let (true, Some(certificate), Some(key)) =
            (self.grpc_server_ssl, &self.grpc_server_cert, &self.grpc_server_key)
        else {
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
        for wrong in ["1@a/b", "1@.", "1@..", "1@a b", "1@a:b", "1@a\t", "1@0123456789abcdef"] {
            let refusal = wrong.parse::<Interface>().unwrap_err();
            assert!(
                refusal.contains("no interface can have this name"),
                "{wrong}: {refusal}"
            );
        }
        assert!("1@0123456789abcde".parse::<Interface>().is_ok());
        for wrong in ["veth0", "512@veth0", "-1@veth0", "1@", "x@veth0"] {
            assert!(wrong.parse::<Interface>().is_err(), "{wrong}");
        }
    }
}
