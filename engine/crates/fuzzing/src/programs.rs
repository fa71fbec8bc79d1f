// SPDX-License-Identifier: Apache-2.0
//! Programs that inputs run on.

use slotwise_p4::{Executor, Output, Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_p4runtime::parse_p4info;
use slotwise_p4runtime::proto::p4::config::v1::P4Info;
use slotwise_stf::Schema;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A program as it lies in the repository.
pub struct Source {
    pub name: &'static str,
    pub json: &'static str,
    pub p4info: &'static str,
}

macro_rules! source {
    ($name:literal, $path:literal) => {
        Source {
            name: $name,
            json: include_str!(concat!($path, $name, ".json")),
            p4info: include_str!(concat!($path, $name, ".p4info.txtpb")),
        }
    };
}

pub const PROGRAMS: [Source; 6] = [
    source!("edge", "../../../../p4src/p4c-out/"),
    source!("core", "../../../../p4src/p4c-out/"),
    source!("matching", "../../stf/tests/programs/"),
    source!("copies", "../../stf/tests/programs/"),
    source!("ring", "../../../../p4src/p4c-out/"),
    source!("ops", "../../../../p4src/p4c-out/"),
];

/// A program that has been loaded.
pub struct Loaded {
    program: Arc<Program>,
    pub p4info: P4Info,
    pub schema: Schema,
}

/// One of [`PROGRAMS`], loaded once.
pub fn program(name: &str) -> &'static Loaded {
    static LOADED: OnceLock<BTreeMap<&'static str, Loaded>> = OnceLock::new();
    let load = |source: &Source| {
        let program = Program::from_json(source.json.as_bytes()).expect("a committed program loads");
        let p4info = parse_p4info(source.p4info.as_bytes(), false).expect("committed P4Info is right");
        let schema = Schema::new(&p4info);
        (
            source.name,
            Loaded {
                program: Arc::new(program),
                p4info,
                schema,
            },
        )
    };
    &LOADED.get_or_init(|| PROGRAMS.iter().map(load).collect())[name]
}

pub fn config() -> PipelineConfig {
    PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 0,
        executor: Executor::default(),
    }
}

/// A fresh pipeline of one of [`PROGRAMS`].
pub fn pipeline(name: &str) -> Pipeline {
    Pipeline::new(program(name).program.clone(), config())
}

/// Takes what comes out and forgets it.
pub struct Sink;

impl Output for Sink {
    fn packet(&mut self, _port: Port, _frame: &[u8]) {}
}
