// SPDX-License-Identifier: Apache-2.0
//! One device as the server knows it: configuration, notes on entries, and (in [`Link`]) its controllers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use prost::Message;
use slotwise_p4::{
    ConfigError, DirectResources, Held, LoadError, Memory, OutOfMemory, Pipeline, PipelineConfig, Program,
};
use tokio::sync::watch;

use crate::answer::{Answer, Encoded};
use crate::device_config;
use crate::entity::Books;
use crate::error::ApiError;
use crate::learning::LearningQueue;
use crate::link::Link;
use crate::p4info::{Array, MatchField, P4Info};
use crate::programs::{Blob, Programs};
use crate::proto::p4::v1::{self, get_forwarding_pipeline_config_request::ResponseType};

/// A device.
pub(crate) struct Device {
    pub id: u64,
    pub pipeline_config: PipelineConfig,
    /// Held for the length of a Write, configuration or arbitration, which makes them serializable. A Read holds it for one
    /// slice at a time: each slice is between two writes, all of them together need not be.
    pub control: tokio::sync::Mutex<Control>,
    /// Whether it is there; who wants to control one that is not waits.
    pub presence: watch::Sender<bool>,
    /// Digests that the roles have not learned yet.
    pub learning: LearningQueue,
    link: Mutex<Link>,
}

/// Forwarding configuration.
#[derive(Default)]
pub(crate) struct Control {
    /// Realized by the pipeline that the owner has.
    pub active: Option<Installed>,
    /// Saved and not yet committed. Writes and reads go to its own pipeline, so that a commit has nothing to replay.
    pub staged: Option<(Installed, Pipeline)>,
}

/// A configuration in force or staged.
pub(crate) struct Installed {
    /// Without `p4_device_config`.
    pub config: v1::ForwardingPipelineConfig,
    pub device_config: Arc<Blob>,
    /// Memory for it.
    _held: Held,
    /// The answers to those who are being told of it, by what they asked for.
    answers: BTreeMap<ResponseType, Weak<Encoded>>,
    /// Kept for other devices that are to run it, too.
    _program: Arc<Program>,
    pub info: Arc<P4Info>,
    pub books: Books,
}

impl Control {
    /// The configuration that reads and writes refer to.
    pub fn current(&mut self) -> Option<&mut Installed> {
        match &mut self.staged {
            Some((installed, _)) => Some(installed),
            None => self.active.as_mut(),
        }
    }
}

impl Installed {
    /// Checks that this engine can run a configuration, and makes its pipeline.
    pub fn verify(
        mut config: v1::ForwardingPipelineConfig,
        pipeline_config: &PipelineConfig,
        programs: &Programs,
    ) -> Result<(Installed, Pipeline), ApiError> {
        let memory = programs.memory();
        let device_config = programs
            .share(std::mem::take(&mut config.p4_device_config))
            .map_err(exhausted)?;
        let held = memory.hold(config_bytes(&config)).map_err(exhausted)?;
        let p4info = config
            .p4info
            .as_ref()
            .ok_or_else(|| ApiError::invalid("configuration without P4Info"))?;
        let program = programs.get(&device_config::json(&device_config)).map_err(|error| {
            let message = format!("p4_device_config: unsupported BMv2 JSON: {error}");
            match error {
                LoadError::TooLarge { .. } | LoadError::OutOfMemory(_) => ApiError::exhausted(message),
                LoadError::Invalid { .. } => ApiError::invalid(message),
            }
        })?;
        let info = P4Info::new(p4info, &|names| program.header_widths(names))?;
        let mut pipeline = Pipeline::new_in(program.clone(), pipeline_config.clone(), memory).map_err(exhausted)?;
        check_fit(&info, &program, &pipeline).map_err(|error| mismatch(&error))?;
        for table in info.tables.values() {
            // The program's JSON does not say whether the entries in it are const.
            let told = pipeline.table_set_const(&table.name, table.is_const);
            told.map_err(|error| mismatch(&error))?;
        }
        Ok((
            Installed {
                config,
                device_config,
                _held: held,
                answers: BTreeMap::new(),
                _program: program,
                info: Arc::new(info),
                books: Books::within(memory),
            },
            pipeline,
        ))
    }

    /// The same configuration, with another cookie.
    pub fn adopt(&mut self, config: v1::ForwardingPipelineConfig) {
        self.config = config;
        self.answers.clear();
    }

    /// The answer to who asks for it: one for all who do while others take theirs.
    pub fn answer(&mut self, wanted: ResponseType, memory: &Memory) -> Result<Answer, OutOfMemory> {
        if let Some(encoded) = self.answers.get(&wanted).and_then(Weak::upgrade) {
            return Ok(Answer(encoded));
        }
        let with_p4info = matches!(wanted, ResponseType::All | ResponseType::P4infoAndCookie);
        let with_program = matches!(wanted, ResponseType::All | ResponseType::DeviceConfigAndCookie);
        let config = v1::ForwardingPipelineConfig {
            p4info: self.config.p4info.clone().filter(|_| with_p4info),
            p4_device_config: if with_program {
                self.device_config.to_vec()
            } else {
                Vec::new()
            },
            cookie: self.config.cookie,
        };
        let message = v1::GetForwardingPipelineConfigResponse { config: Some(config) };
        let answer = Answer::encode(&message, memory)?;
        self.answers.insert(wanted, Arc::downgrade(&answer.0));
        Ok(answer)
    }
}

/// Upper bound of what a configuration takes without `p4_device_config`: P4Info as messages, and by name and id.
fn config_bytes(config: &v1::ForwardingPipelineConfig) -> u64 {
    const P4INFO_COPIES: usize = 16;
    let p4info = config.p4info.as_ref().map_or(0, Message::encoded_len);
    (p4info * P4INFO_COPIES) as u64
}

fn exhausted(error: OutOfMemory) -> ApiError {
    ApiError::exhausted(error.to_string())
}

/// Every object that P4Info names is in the program, and is as large.
fn check_fit(info: &P4Info, program: &Program, pipeline: &Pipeline) -> Result<(), ConfigError> {
    let objects = &info.objects;
    for table in info.tables.values() {
        let DirectResources { counter, meter } = pipeline.direct_resources(&table.name)?;
        if table.has_direct_counter && !counter || table.direct_meter.is_some() && !meter {
            let wanted = if table.has_direct_counter && !counter {
                "counter"
            } else {
                "meter"
            };
            let name = &table.name;
            return Err(ConfigError::NotFound(format!("table `{name}` has no direct {wanted}")));
        }
        // Controllers could only give 0 for such a field.
        let widths = program.key_widths(&table.name).unwrap_or_default();
        let without_bits = |(MatchField { field, .. }, width): &(&MatchField, u32)| field.width == 0 && *width > 0;
        if let Some((MatchField { field, .. }, width)) = table.fields.iter().zip(widths).find(without_bits) {
            let (name, field) = (&table.name, &field.name);
            return Err(ConfigError::Invalid(format!(
                "table `{name}`: field `{field}` has no bits; expected {width} as in the program"
            )));
        }
    }
    for (array, last) in objects.counters.values().filter_map(with_last) {
        pipeline.counter_read(&array.name, last)?;
    }
    for (array, last) in objects.meters.values().map(|meter| &meter.array).filter_map(with_last) {
        pipeline.meter_read(&array.name, last)?;
    }
    for (array, last) in objects
        .registers
        .values()
        .map(|register| &register.array)
        .filter_map(with_last)
    {
        pipeline.register_read(&array.name, last)?;
    }
    for profile in objects.profiles.values() {
        pipeline.members(&profile.name)?;
    }
    for value_set in objects.value_sets.values() {
        pipeline.value_set_read(&value_set.name)?;
    }
    Ok(())
}

fn with_last(array: &Array) -> Option<(&Array, usize)> {
    Some((array, array.size.checked_sub(1)?))
}

fn mismatch(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::invalid(format!("P4Info does not match p4_device_config: {error}"))
}

impl Device {
    pub fn new(id: u64, pipeline_config: PipelineConfig, tells_ports: bool) -> Device {
        Device {
            id,
            pipeline_config,
            control: tokio::sync::Mutex::default(),
            presence: watch::Sender::new(true),
            learning: LearningQueue::default(),
            link: Mutex::new(Link::new(id, tells_ports)),
        }
    }

    /// Short critical sections only: the owner's thread takes it for every packet-in.
    pub fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entities, pipeline_config, programs};

    #[test]
    fn all_who_ask_for_a_configuration_at_once_have_one_answer() {
        let memory = Memory::unlimited();
        let verified = Installed::verify(entities(), &pipeline_config(), &programs(&memory));
        let (mut installed, pipeline) = verified.unwrap();
        let before = memory.used_bytes();
        let first = installed.answer(ResponseType::All, &memory).unwrap();
        let length = first.as_ref().len() as u64;
        let others: Vec<_> = (0..100)
            .map(|_| installed.answer(ResponseType::All, &memory).unwrap())
            .collect();
        assert!(others.iter().all(|other| Arc::ptr_eq(&other.0, &first.0)));
        assert_eq!(memory.used_bytes(), before + length);
        // What is on its way to clients outlives the configuration.
        drop((installed, others));
        assert!(memory.used_bytes() >= length);
        drop((first, pipeline));
        assert_eq!(memory.used_bytes(), 0);
    }

    #[test]
    fn without_memory_there_is_no_answer() {
        let unlimited = Memory::unlimited();
        let verified = Installed::verify(entities(), &pipeline_config(), &programs(&unlimited));
        let (mut installed, _) = verified.unwrap();
        assert!(installed.answer(ResponseType::All, &Memory::of(1000)).is_err());
        let cookie_only = installed.answer(ResponseType::CookieOnly, &Memory::of(1000)).unwrap();
        assert_eq!(cookie_only.as_ref(), [0, 0, 0, 0, 2, 0x0a, 0]);
    }
}
