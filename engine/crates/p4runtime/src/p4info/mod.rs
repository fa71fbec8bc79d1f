// SPDX-License-Identifier: Apache-2.0
//! P4Info, checked and indexed by id and name.

mod objects;

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use slotwise_p4::Bits;

use crate::bits;
use crate::error::ApiError;
use crate::packet_io::ControllerHeader;
use crate::proto::DESCRIPTORS;
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::config::v1::p4_new_type_spec::Representation;
use crate::proto::p4::config::v1::p4_new_type_translation::SdnType;

pub(crate) use config::action_ref::Scope;
pub(crate) use config::match_field::MatchType;
pub(crate) use objects::{Array, MeterKind, Objects, Profile, SizeSemantics, ValueSet};

/// Widest value that we take, in bits; p4c's BMv2 backend stops at 2048.
const MAX_WIDTH: u32 = 1 << 16;

/// Deepest nesting of messages in text; those of P4Info need some 20.
const MAX_DEPTH: usize = 100;

/// A named value of type `bit<width>`: match field, action parameter, packet metadata.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub id: u32,
    pub name: String,
    /// Bits. Of a string for controllers the widest that there is: P4Info does not say, and the pipeline checks.
    pub width: u32,
    /// True if controllers write the number in decimal, as the string that its type is for them (`sdn_string`).
    pub is_text: bool,
}

impl Field {
    /// Reads a value as a controller writes it; gives it in canonical form.
    pub fn parse(&self, value: &[u8]) -> Result<Bits, ApiError> {
        if self.is_text {
            bits::parse(&bits::parse_decimal(value)?, self.width)
        } else {
            bits::parse(value, self.width)
        }
    }

    /// A value as controllers read it.
    pub fn encode(&self, value: &[u8]) -> Vec<u8> {
        if self.is_text {
            bits::decimal(value)
        } else {
            bits::canonical(value)
        }
    }
}

#[derive(Debug)]
pub(crate) struct MatchField {
    pub field: Field,
    pub kind: MatchType,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub id: u32,
    pub name: String,
    pub fields: Vec<MatchField>,
    pub actions: BTreeMap<u32, Scope>,
    pub needs_priority: bool,
    pub has_const_default: bool,
    pub is_const: bool,
    /// Its action profile.
    pub profile: Option<u32>,
    pub has_direct_counter: bool,
    pub direct_meter: Option<MeterKind>,
    pub has_idle_timeout: bool,
    /// Entries that P4Info promises; the program may have room for more, or fewer.
    pub size: i64,
}

#[derive(Debug)]
pub(crate) struct Action {
    pub id: u32,
    pub name: String,
    pub params: Vec<Field>,
}

/// What a valid P4Info says.
#[derive(Debug)]
pub(crate) struct P4Info {
    pub tables: BTreeMap<u32, Table>,
    pub actions: BTreeMap<u32, Action>,
    pub action_ids: BTreeMap<String, u32>,
    pub objects: Objects,
    pub packet_in: Option<ControllerHeader>,
    pub packet_out: Option<ControllerHeader>,
}

impl P4Info {
    /// Checks everything that later code relies on. `header_widths` gives the widths that the fields of a header have in the
    /// program, by their names in order: P4Info has those that controllers see, where types are translated.
    pub fn new(info: &config::P4Info, header_widths: &dyn Fn(&[&str]) -> Option<Vec<u32>>) -> Result<P4Info, ApiError> {
        let types = info.type_info.as_ref();
        let mut ids = Ids::default();
        let mut actions = BTreeMap::new();
        for action in &info.actions {
            let (id, name) = ids.take("action", action.preamble.as_ref())?;
            let params = params(&action.params, types).map_err(|error| error.at(format_args!("action {name}")))?;
            actions.insert(id, Action { id, name, params });
        }
        let mut direct = Direct::default();
        for counter in &info.direct_counters {
            direct
                .counters
                .insert(ids.take("direct counter", counter.preamble.as_ref())?.0);
        }
        for meter in &info.direct_meters {
            let kind = meter
                .spec
                .as_ref()
                .map_or(MeterKind::TwoRateThreeColor, config::MeterSpec::r#type);
            direct
                .meters
                .insert(ids.take("direct meter", meter.preamble.as_ref())?.0, kind);
        }
        let objects = Objects::new(info, &mut ids)?;
        let mut tables = BTreeMap::new();
        for table in &info.tables {
            let (id, name) = ids.take("table", table.preamble.as_ref())?;
            let table = direct
                .table(id, &name, table, &actions, types)
                .map_err(|error| error.at(format_args!("table {name}")))?;
            if let Some(profile) = table.profile
                && !objects.profiles.contains_key(&profile)
            {
                return Err(ApiError::invalid(format!(
                    "table {name}: no action profile with id {profile:#010x}"
                )));
            }
            tables.insert(id, table);
        }
        let (packet_in, packet_out) = controller_headers(info, header_widths)?;
        let action_ids = actions
            .values()
            .map(|action: &Action| (action.name.clone(), action.id))
            .collect();
        Ok(P4Info {
            tables,
            actions,
            action_ids,
            objects,
            packet_in,
            packet_out,
        })
    }

    /// Looks a table up.
    pub fn table(&self, id: u32) -> Result<&Table, ApiError> {
        find(&self.tables, "table", id)
    }

    /// Looks an action profile up.
    pub fn profile(&self, id: u32) -> Result<&Profile, ApiError> {
        find(&self.objects.profiles, "action profile", id)
    }
}

/// Looks an object up by its id.
pub(crate) fn find<'a, T>(objects: &'a BTreeMap<u32, T>, kind: &str, id: u32) -> Result<&'a T, ApiError> {
    objects
        .get(&id)
        .ok_or_else(|| ApiError::not_found(format!("P4Info has no {kind} with id {id:#010x}")))
}

/// Reads P4Info as p4c writes it: protobuf's text format, or binary.
pub fn parse(bytes: &[u8], is_binary: bool) -> Result<config::P4Info, ApiError> {
    let not_p4info = |error: &dyn std::fmt::Display| ApiError::invalid(format!("not P4Info: {error}"));
    if is_binary {
        return config::P4Info::decode(bytes).map_err(|error| not_p4info(&error));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_p4info(&error))?;
    if let Some(line) = too_deep(text) {
        return Err(not_p4info(&format_args!(
            "line {line}: messages are nested more than {MAX_DEPTH} deep"
        )));
    }
    let pool = DescriptorPool::decode(DESCRIPTORS).expect("descriptors made by the build script");
    let descriptor = pool
        .get_message_by_name("p4.config.v1.P4Info")
        .expect("P4Info is among the descriptors");
    let message = DynamicMessage::parse_text_format(descriptor, text).map_err(|error| not_p4info(&error))?;
    config::P4Info::decode(message.encode_to_vec().as_slice()).map_err(|error| not_p4info(&error))
}

/// The line where a text is nested too deep. The parser calls itself for each message in a message.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut line) = (0usize, 1);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' => line += 1,
            #[expect(clippy::collapsible_match, reason = "a guard that reads on is hard to see")]
            b'#' => {
                // A comment, up to the end of its line.
                if bytes.any(|byte| byte == b'\n') {
                    line += 1;
                }
            }
            quote @ (b'"' | b'\'') => loop {
                match bytes.next() {
                    Some(b'\\') => drop(bytes.next()),
                    // No string goes beyond its line; the parser says what is wrong.
                    Some(b'\n') => {
                        line += 1;
                        break;
                    }
                    Some(byte) if byte != quote => {}
                    _ => break,
                }
            },
            b'{' | b'<' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(line);
                }
            }
            b'}' | b'>' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Ids seen so far; all objects share one space. Names are unique within a kind.
#[derive(Default)]
struct Ids {
    ids: BTreeSet<u32>,
    names: BTreeSet<(&'static str, String)>,
}

impl Ids {
    fn take(&mut self, kind: &'static str, preamble: Option<&config::Preamble>) -> Result<(u32, String), ApiError> {
        let preamble = preamble.ok_or_else(|| ApiError::invalid(format!("P4Info: {kind} without a preamble")))?;
        let name = preamble.name.clone();
        if preamble.id == 0 || !self.ids.insert(preamble.id) {
            return Err(ApiError::invalid(format!(
                "P4Info: {kind} {name}: id {} is zero or used twice",
                preamble.id
            )));
        }
        if name.is_empty() || !self.names.insert((kind, name.clone())) {
            return Err(ApiError::invalid(format!(
                "P4Info: {kind} {name:?}: name is empty or used twice"
            )));
        }
        Ok((preamble.id, name))
    }
}

/// Ids of the direct resources.
#[derive(Default)]
struct Direct {
    counters: BTreeSet<u32>,
    meters: BTreeMap<u32, MeterKind>,
}

impl Direct {
    fn table(
        &self,
        id: u32,
        name: &str,
        table: &config::Table,
        actions: &BTreeMap<u32, Action>,
        types: Option<&config::P4TypeInfo>,
    ) -> Result<Table, ApiError> {
        let match_fields = match_fields(&table.match_fields, types)?;
        let mut scopes = BTreeMap::new();
        for reference in &table.action_refs {
            if !actions.contains_key(&reference.id) {
                return Err(ApiError::invalid(format!("no action with id {:#010x}", reference.id)));
            }
            scopes.insert(reference.id, reference.scope());
        }
        let mut resources = table.direct_resource_ids.iter();
        Ok(Table {
            id,
            name: name.to_owned(),
            needs_priority: match_fields
                .iter()
                .any(|field| matches!(field.kind, MatchType::Ternary | MatchType::Range | MatchType::Optional)),
            fields: match_fields,
            actions: scopes,
            has_const_default: table.const_default_action_id != 0,
            is_const: table.is_const_table,
            profile: (table.implementation_id != 0).then_some(table.implementation_id),
            has_direct_counter: resources.clone().any(|id| self.counters.contains(id)),
            direct_meter: resources.find_map(|id| self.meters.get(id)).copied(),
            has_idle_timeout: table.idle_timeout_behavior() == config::table::IdleTimeoutBehavior::NotifyControl,
            size: table.size,
        })
    }
}

/// Checks the parameters of an action.
fn params(all: &[config::action::Param], types: Option<&config::P4TypeInfo>) -> Result<Vec<Field>, ApiError> {
    let described = all.iter();
    let described = described.map(|param| (param.id, &param.name, param.bitwidth, param.type_name.as_ref()));
    fields(described, types)
}

/// Checks the fields of a key.
fn match_fields(all: &[config::MatchField], types: Option<&config::P4TypeInfo>) -> Result<Vec<MatchField>, ApiError> {
    let described = all.iter();
    let described = described.map(|field| (field.id, &field.name, field.bitwidth, field.type_name.as_ref()));
    let fields = fields(described, types)?;
    let field = |(field, described)| {
        Ok(MatchField {
            field,
            kind: objects::match_type(described)?,
        })
    };
    fields.into_iter().zip(all).map(field).collect()
}

/// Checks ids and widths of the fields of one object. Of those without a width, strings for controllers have a type's name,
/// `bit<0>` has none.
fn fields<'a>(
    all: impl Iterator<Item = (u32, &'a String, i32, Option<&'a config::P4NamedType>)>,
    types: Option<&config::P4TypeInfo>,
) -> Result<Vec<Field>, ApiError> {
    let mut ids = BTreeSet::new();
    all.map(|(id, name, bitwidth, type_name)| {
        if id == 0 || !ids.insert(id) {
            return Err(ApiError::invalid(format!(
                "field {name}: id {id} is zero or used twice"
            )));
        }
        let is_text = bitwidth == 0 && matches!(translation(types, type_name), Some(SdnType::SdnString(_)));
        let least = u32::from(type_name.is_some());
        let width = match u32::try_from(bitwidth) {
            _ if is_text => MAX_WIDTH,
            Ok(width) if (least..=MAX_WIDTH).contains(&width) => width,
            _ => {
                return Err(ApiError::invalid(format!(
                    "field {name}: bit width {bitwidth} is not in {least}..={MAX_WIDTH}"
                )));
            }
        };
        Ok(Field {
            id,
            name: name.clone(),
            width,
            is_text,
        })
    })
    .collect()
}

/// What controllers see in place of values of a named type, if that is not what the program has.
fn translation<'a>(types: Option<&'a config::P4TypeInfo>, name: Option<&config::P4NamedType>) -> Option<&'a SdnType> {
    match types?.new_types.get(&name?.name)?.representation.as_ref()? {
        Representation::TranslatedType(translation) => translation.sdn_type.as_ref(),
        Representation::OriginalType(_) => None,
    }
}

type Headers = (Option<ControllerHeader>, Option<ControllerHeader>);

fn controller_headers(
    info: &config::P4Info,
    header_widths: &dyn Fn(&[&str]) -> Option<Vec<u32>>,
) -> Result<Headers, ApiError> {
    let types = info.type_info.as_ref();
    let (mut packet_in, mut packet_out) = (None, None);
    for metadata in &info.controller_packet_metadata {
        let name = metadata.preamble.as_ref().map_or("", |preamble| preamble.name.as_str());
        let slot = match name {
            "packet_in" => &mut packet_in,
            "packet_out" => &mut packet_out,
            _ => {
                return Err(ApiError::invalid(format!(
                    "unknown controller header {name:?}; expected packet_in or packet_out"
                )));
            }
        };
        let described = metadata.metadata.iter();
        let described = described.map(|field| (field.id, &field.name, field.bitwidth, field.type_name.as_ref()));
        let mut fields = fields(described, types).map_err(|error| error.at(name))?;
        let is_translated = |field: &config::controller_packet_metadata::Metadata| {
            translation(types, field.type_name.as_ref()).is_some()
        };
        if metadata.metadata.iter().any(is_translated) {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let widths = header_widths(&names).ok_or_else(|| {
                let names = names.join(", ");
                ApiError::invalid(format!(
                    "{name}: translated types; expected a unique header type with fields {names}"
                ))
            })?;
            fields
                .iter_mut()
                .zip(widths)
                .for_each(|(field, width)| field.width = width);
        }
        let header = ControllerHeader::new(fields).map_err(|error| error.at(name))?;
        if slot.replace(header).is_some() {
            return Err(ApiError::invalid(format!("duplicate controller header {name}")));
        }
    }
    Ok((packet_in, packet_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_bits_are_strings_only_by_their_type() {
        let param = |type_name: Option<&str>| config::action::Param {
            id: 1,
            name: "p".to_owned(),
            type_name: type_name.map(|name| config::P4NamedType { name: name.to_owned() }),
            ..config::action::Param::default()
        };
        let new_type = |sdn_type| config::P4NewTypeSpec {
            representation: Some(Representation::TranslatedType(config::P4NewTypeTranslation {
                uri: "example".to_owned(),
                sdn_type: Some(sdn_type),
            })),
            ..config::P4NewTypeSpec::default()
        };
        let string = SdnType::SdnString(config::p4_new_type_translation::SdnString {});
        let types = config::P4TypeInfo {
            new_types: [
                ("port_t".to_owned(), new_type(string)),
                ("wide_t".to_owned(), new_type(SdnType::SdnBitwidth(32))),
            ]
            .into(),
            ..config::P4TypeInfo::default()
        };
        let of = |type_name| params(&[param(type_name)], Some(&types)).map(|mut all| all.remove(0));
        let (empty, text) = (of(None).unwrap(), of(Some("port_t")).unwrap());
        assert_eq!((empty.width, empty.is_text), (0, false));
        assert!(text.is_text);
        for name in ["wide_t", "other_t"] {
            assert_eq!(of(Some(name)).unwrap_err().code, tonic::Code::InvalidArgument);
        }
        let key = config::MatchField {
            id: 1,
            name: "k".to_owned(),
            r#match: Some(config::match_field::Match::MatchType(MatchType::Range.into())),
            ..config::MatchField::default()
        };
        assert_eq!(match_fields(&[key], None).unwrap()[0].field.width, 0);
    }

    #[test]
    fn text_is_read_only_so_deep() {
        let nested = |open: &str, close: &str, depth| format!("{}{}", open.repeat(depth), close.repeat(depth));
        for (open, close) in [("a{", "}"), ("a<", ">"), ("a:[", "]")] {
            assert_eq!(too_deep(&nested(open, close, MAX_DEPTH)), None);
            assert_eq!(too_deep(&nested(open, close, MAX_DEPTH + 1)), Some(1));
            let error = parse(nested(open, close, 20_000).as_bytes(), false).unwrap_err();
            assert!(error.message.contains("line 1: messages are nested"), "{error}");
        }
        let flat = "tables { } ".repeat(1000);
        assert_eq!(too_deep(&flat), None);
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        let many = "{".repeat(MAX_DEPTH + 1);
        for text in [
            format!("a: \"{many}\""),
            format!("a: '\\'{many}'"),
            format!("# it's {many}\n a: 1"),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
        assert_eq!(too_deep(&format!("a: \"\\\\\"\n# {many}\n{many}")), Some(3));
    }
}
