// SPDX-License-Identifier: Apache-2.0
//! Packets to and from several switches.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use crate::Bmv2Error;
use crate::dataplane::PacketStreamRequest;
use crate::dataplane::dataplane_interface_client::DataplaneInterfaceClient;

/// Time for a switch to take packets, once it has a program.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(20);
/// Packets on their way to one switch; more are lost.
const QUEUE_PACKETS: usize = 4096;
const THREADS: usize = 2;

/// A packet that left a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The switch.
    pub device_id: u64,
    /// The port.
    pub port: u32,
    /// The number of the packet that it was, or 0.
    pub id: u64,
    /// The packet.
    pub packet: Vec<u8>,
}

enum Heard {
    Output(Output),
    /// A switch has ended its stream, with the reason if it was an error.
    Ended(u64, Option<String>),
}

/// Streams to switches that have their programs already.
pub struct Packets {
    // Before `runtime`, so that the streams end before their threads.
    inputs: BTreeMap<u64, mpsc::Sender<PacketStreamRequest>>,
    heard: Receiver<Heard>,
    open: usize,
    lost: u64,
    _runtime: Runtime,
}

impl Packets {
    /// Opens a stream to each switch (device id, address of its packet interface). `prepare` is run by each thread that is
    /// started; `wake` is called whenever a packet has come.
    ///
    /// # Errors
    /// [`Bmv2Error::Silent`] if a switch takes no packets after 10 s, [`Bmv2Error::Threads`].
    pub fn connect(
        switches: &[(u64, SocketAddr)],
        prepare: impl Fn() + Send + Sync + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Result<Packets, Bmv2Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("bmv2-packets")
            .on_thread_start(prepare)
            .enable_all()
            .build()?;
        let (sender, heard) = channel();
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
        let mut inputs = BTreeMap::new();
        for &(device_id, address) in switches {
            let client = runtime.block_on(await_packets(address))?;
            let (input, requests) = mpsc::channel(QUEUE_PACKETS);
            inputs.insert(device_id, input);
            runtime.spawn(serve(device_id, client, requests, sender.clone(), wake.clone()));
        }
        Ok(Packets {
            open: inputs.len(),
            inputs,
            heard,
            lost: 0,
            _runtime: runtime,
        })
    }

    /// Sends a packet to a port of a switch. What leaves because of it has the same `id`. simple_switch keeps a few bytes for each id
    /// that is not 0 as long as it runs.
    pub fn send(&mut self, device_id: u64, port: u16, id: u64, packet: &[u8]) {
        let request = PacketStreamRequest {
            id,
            device_id,
            port: port.into(),
            packet: packet.to_vec(),
        };
        let taken = self
            .inputs
            .get(&device_id)
            .is_some_and(|input| input.try_send(request).is_ok());
        self.lost += u64::from(!taken);
    }

    /// Packets that did not find room on their way to a switch.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The next packet that has left a switch.
    ///
    /// # Errors
    /// The reason, when a switch has ended its stream.
    pub fn try_recv(&mut self) -> Result<Option<Output>, String> {
        match self.heard.try_recv() {
            Ok(Heard::Output(output)) => Ok(Some(output)),
            Ok(Heard::Ended(device_id, reason)) => {
                self.open -= 1;
                let reason = reason.unwrap_or_else(|| "stream closed by the switch".into());
                Err(format!("packet stream of device {device_id}: {reason}"))
            }
            Err(_) => Ok(None),
        }
    }

    /// Sends nothing more and gives what the switches still put out. A switch ends its stream when it has done with all packets;
    /// one that has not done so in `patience` is left.
    pub fn finish(mut self, patience: Duration) -> Vec<Output> {
        self.inputs.clear();
        let deadline = Instant::now() + patience;
        let mut rest = Vec::new();
        while self.open > 0 {
            match self
                .heard
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(Heard::Output(output)) => rest.push(output),
                Ok(Heard::Ended(..)) => self.open -= 1,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        rest
    }
}

/// Whether the packet interfaces at all these addresses take packets now.
///
/// # Errors
/// [`Bmv2Error::Threads`].
pub fn take_packets(addresses: &[SocketAddr]) -> Result<bool, Bmv2Error> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok(addresses
        .iter()
        .all(|&address| runtime.block_on(try_packets(address)).is_ok()))
}

/// A client of a switch that takes packets: it does not before it has a program.
async fn await_packets(address: SocketAddr) -> Result<DataplaneInterfaceClient<Channel>, Bmv2Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reason = match try_packets(address).await {
            Ok(client) => return Ok(client),
            Err(reason) => reason,
        };
        if Instant::now() > deadline {
            return Err(Bmv2Error::Silent { address, reason });
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn try_packets(address: SocketAddr) -> Result<DataplaneInterfaceClient<Channel>, String> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| error.to_string())?;
    let channel = endpoint.connect().await.map_err(|error| error.to_string())?;
    let mut client = DataplaneInterfaceClient::new(channel);
    // A stream without packets ends at once, well or not.
    let asked = client.packet_stream(tokio_stream::empty()).await;
    asked.map_err(|status| format!("{:?}: {}", status.code(), status.message()))?;
    Ok(client)
}

async fn serve(
    device_id: u64,
    mut client: DataplaneInterfaceClient<Channel>,
    requests: mpsc::Receiver<PacketStreamRequest>,
    heard: Sender<Heard>,
    wake: Arc<dyn Fn() + Send + Sync>,
) {
    let served = async {
        let mut answers = client.packet_stream(ReceiverStream::new(requests)).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            let output = Output {
                device_id,
                port: answer.port,
                id: answer.id,
                packet: answer.packet,
            };
            // Nobody listens only while the run is being stopped.
            let _ = heard.send(Heard::Output(output));
            wake();
        }
        Ok::<(), tonic::Status>(())
    };
    let reason = served.await.err().map(|status| match status.code() {
        Code::ResourceExhausted => format!("in use by another client: {}", status.message()),
        code => format!("{code:?}: {}", status.message()),
    });
    let _ = heard.send(Heard::Ended(device_id, reason));
    wake();
}
