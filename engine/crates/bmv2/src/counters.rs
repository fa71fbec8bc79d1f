// SPDX-License-Identifier: Apache-2.0
//! Counters and tables over P4Runtime. Reading needs no primary's rights.

use std::net::SocketAddr;
use std::time::Duration;

use slotwise_p4runtime::proto::p4::v1::entity::Entity as Kind;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::{CounterEntry, Entity, ReadRequest, TableEntry};
use tonic::Status;
use tonic::transport::Endpoint;

use crate::Bmv2Error;

const PATIENCE: Duration = Duration::from_secs(5);

/// A cell of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Its place.
    pub index: usize,
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Reads all cells of the counter that P4Info gives the number `counter_id`.
///
/// # Errors
/// [`Bmv2Error::Refused`] with what the switch said; [`Bmv2Error::Silent`] if it said nothing in 5 s.
pub fn read_counter(address: SocketAddr, device_id: u64, counter_id: u32) -> Result<Vec<Cell>, Bmv2Error> {
    let counter = CounterEntry {
        counter_id,
        ..Default::default()
    };
    let entities = read(address, device_id, Kind::CounterEntry(counter), "reading a counter")?;
    Ok(entities.into_iter().filter_map(cell).collect())
}

/// Whether the table that P4Info gives the number `table_id` has entries, the default one not counted.
///
/// # Errors
/// As those of [`read_counter`].
pub fn has_entries(address: SocketAddr, device_id: u64, table_id: u32) -> Result<bool, Bmv2Error> {
    let table = TableEntry {
        table_id,
        ..Default::default()
    };
    Ok(!read(address, device_id, Kind::TableEntry(table), "reading a table")?.is_empty())
}

fn read(address: SocketAddr, device_id: u64, wanted: Kind, what: &'static str) -> Result<Vec<Kind>, Bmv2Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(async { tokio::time::timeout(PATIENCE, ask(address, device_id, wanted)).await }) {
        Ok(Ok(entities)) => Ok(entities),
        Ok(Err(status)) => Err(Bmv2Error::Refused {
            address,
            what,
            reason: format!("{:?}: {}", status.code(), status.message()),
        }),
        Err(_) => Err(Bmv2Error::Silent {
            address,
            reason: format!("{what}: no response within {} s", PATIENCE.as_secs()),
        }),
    }
}

async fn ask(address: SocketAddr, device_id: u64, wanted: Kind) -> Result<Vec<Kind>, Status> {
    let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(unavailable)?;
    let channel = endpoint.connect().await.map_err(unavailable)?;
    let request = ReadRequest {
        device_id,
        entities: vec![Entity { entity: Some(wanted) }],
        ..Default::default()
    };
    let mut answers = P4RuntimeClient::new(channel).read(request).await?.into_inner();
    let mut entities = Vec::new();
    while let Some(answer) = answers.message().await? {
        entities.extend(answer.entities.into_iter().filter_map(|entity| entity.entity));
    }
    Ok(entities)
}

fn cell(entity: Kind) -> Option<Cell> {
    let Kind::CounterEntry(entry) = entity else {
        return None;
    };
    let data = entry.data?;
    Some(Cell {
        index: usize::try_from(entry.index?.index).ok()?,
        packets: u64::try_from(data.packet_count).ok()?,
        bytes: u64::try_from(data.byte_count).ok()?,
    })
}
