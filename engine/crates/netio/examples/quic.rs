// SPDX-License-Identifier: Apache-2.0
//! A file over QUIC (quinn), the rival of `slotwise gtp` in `scripts/bench-gtp`: one stream, quinn's defaults but for windows that fill the link.
//!
//! ```text
//! quic receive ADDRESS:PORT CERTIFICATE FILE    writes its certificate, says "ready", prints {bytes, seconds}
//! quic send ADDRESS:PORT CERTIFICATE FILE SECONDS    no longer than that
//! ```

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const NAME: &str = "quic.example";
/// 16 times what 200 Mb/s have under way in 60 ms.
const WINDOW_BYTES: u32 = 24 << 20;
const CHUNK_BYTES: usize = 1 << 16;

#[derive(Parser)]
enum Args {
    /// Take one file
    Receive(End),
    /// Send one, or as much of it as goes within some seconds
    Send {
        #[command(flatten)]
        end: End,
        seconds: u64,
    },
}

#[derive(clap::Args)]
struct End {
    address: SocketAddr,
    certificate: PathBuf,
    file: PathBuf,
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(WINDOW_BYTES));
    transport.receive_window(VarInt::from_u32(WINDOW_BYTES));
    transport.send_window(WINDOW_BYTES.into());
    Arc::new(transport)
}

async fn receive(end: &End) -> Result<(), Failure> {
    let own = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    std::fs::write(&end.certificate, own.cert.pem())?;
    let key = PrivateKeyDer::from_pem_slice(own.signing_key.serialize_pem().as_bytes())?;
    let mut config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key)?;
    config.transport_config(transport());
    let endpoint = Endpoint::server(config, end.address)?;
    println!("ready");
    let connection = endpoint.accept().await.ok_or("closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let began = Instant::now();
    let mut file = File::create(&end.file).await?;
    let mut bytes = 0;
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
        bytes += chunk.bytes.len();
        file.write_all(&chunk.bytes).await?;
    }
    file.flush().await?;
    println!("{{\"bytes\": {bytes}, \"seconds\": {}}}", began.elapsed().as_secs_f64());
    connection.close(VarInt::from_u32(0), b"whole");
    endpoint.wait_idle().await;
    Ok(())
}

async fn send(end: &End, seconds: u64) -> Result<(), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&end.certificate)?)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let mut endpoint = Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0)))?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(end.address, NAME)?.await?;
    let mut stream = connection.open_uni().await?;
    let mut file = File::open(&end.file).await?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let began = Instant::now();
    loop {
        let length = file.read(&mut chunk).await?;
        if length == 0 || began.elapsed().as_secs() >= seconds {
            break;
        }
        stream.write_all(&chunk[..length]).await?;
    }
    stream.finish()?;
    let lost = connection.closed().await;
    let stats = connection.stats().path;
    println!("{{\"retransmits\": {}, \"why\": \"{lost}\"}}", stats.lost_packets);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    match Args::parse() {
        Args::Receive(end) => receive(&end).await,
        Args::Send { end, seconds } => send(&end, seconds).await,
    }
}
