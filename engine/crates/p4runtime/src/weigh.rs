// SPDX-License-Identifier: Apache-2.0
//! Memory that a message takes when it is decoded, estimated field by field as its bytes arrive: two bytes may become a struct of
//! hundreds.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use prost::Message as _;
use prost::encoding::{WireType, decode_key, decode_varint};
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use tonic::Status;

use crate::proto::DESCRIPTORS;
use crate::proto::p4::v1;

/// Updates in one Write.
pub(crate) const MAX_UPDATES: usize = 65_536;
/// Field of a Write that holds its updates.
const UPDATES: u32 = 4;
/// Field of a SetForwardingPipelineConfig that holds the configuration.
const CONFIG: u32 = 5;
/// Messages within messages; prost decodes no more.
const MAX_DEPTH: usize = 100;
/// Bytes of a field's number and length.
const MAX_KEY_BYTES: usize = 20;
/// Elements that a vector has memory for when it has one.
const FIRST_ELEMENTS: usize = 4;
/// A piece of memory and its place among others, besides its contents.
const ALLOCATION_BYTES: usize = 32;
/// Size of a `Vec`, or a `String`.
const VEC_BYTES: usize = 24;
/// Size of a scalar, and at most of the mark that an optional field is there.
const WORD_BYTES: usize = 8;
/// Size of a `HashMap`.
const MAP_BYTES: usize = 48;
/// Bytes of a call's fields besides its bulk. Names of roles are shorter: a longer field does not count for its sender.
const MAX_HEAD_BYTES: usize = 1024;

/// The message types that clients send, by the methods that take them.
static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::new);

/// Estimate of a call's message while it arrives.
#[derive(Debug, Default)]
pub(crate) struct Weigher {
    /// Type of the message; `None`: of an unknown method.
    root: Option<usize>,
    /// Field that most of a Write or a configuration is in; the others are its head.
    bulk: Option<u32>,
    /// Messages that have begun and not ended, the outermost first.
    open: Vec<Open>,
    /// Position of the next field.
    position: usize,
    /// Bytes before that field that have not arrived.
    skip: usize,
    /// Start of a field whose number or length has not arrived whole, or of a field of the head.
    partial: Vec<u8>,
    /// Bytes of memory for the decoded message, besides the contents of strings.
    memory_bytes: usize,
    updates: usize,
    /// The message without its bulk.
    head: Vec<u8>,
    is_malformed: bool,
}

/// A message that has begun and not ended.
#[derive(Debug)]
struct Open {
    shape: usize,
    /// Position behind it.
    end: usize,
    /// Elements of its repeated fields.
    counts: Vec<(u32, usize)>,
}

/// Sender and purpose of a call.
#[expect(clippy::large_enum_variant, reason = "there is one per call, never a collection")]
#[derive(Debug, PartialEq)]
pub(crate) enum Head {
    Write(v1::WriteRequest),
    Config(v1::SetForwardingPipelineConfigRequest),
}

/// Error for bytes that no message can be decoded from.
struct Malformed;

impl Weigher {
    /// Prepares for the messages of this method.
    pub fn of(method: &str) -> Weigher {
        let bulk = match method {
            "Write" => Some(UPDATES),
            "SetForwardingPipelineConfig" => Some(CONFIG),
            _ => None,
        };
        Weigher {
            root: SCHEMA.methods.get(method).copied(),
            bulk,
            ..Weigher::default()
        }
    }

    /// Begins another message.
    pub fn begin(&mut self, length: usize) {
        let (root, bulk) = (self.root, self.bulk);
        *self = Weigher {
            root,
            bulk,
            ..Weigher::default()
        };
        self.open.extend(root.map(|shape| Open::new(shape, length)));
        self.close();
    }

    /// Adds the bytes that have arrived. Returns the estimate so far.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Status> {
        let mut joined = std::mem::take(&mut self.partial);
        let mut rest = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            rest = &joined;
        }
        while !rest.is_empty() && !self.is_malformed {
            let skipped = self.skip.min(rest.len());
            if skipped > 0 {
                self.skip -= skipped;
                rest = &rest[skipped..];
                continue;
            }
            match self.field(rest) {
                Ok(Some(taken)) => rest = &rest[taken..],
                Ok(None) => {
                    self.partial = rest.to_vec();
                    break;
                }
                Err(Malformed) => self.is_malformed = true,
            }
            if self.updates > MAX_UPDATES {
                let message = format!("too many updates; expected at most {MAX_UPDATES} per Write");
                return Err(Status::resource_exhausted(message));
            }
        }
        Ok(self.memory_bytes)
    }

    /// Ends the message. Returns its head if it is a Write or a configuration.
    pub fn finish(&self) -> Result<Option<Head>, Status> {
        let malformed = || Status::invalid_argument("malformed request message");
        let is_whole = self.open.is_empty() && self.skip == 0;
        if self.root.is_some() && (self.is_malformed || !is_whole) {
            return Err(malformed());
        }
        let head = match self.bulk {
            None => return Ok(None),
            Some(UPDATES) => v1::WriteRequest::decode(&self.head[..]).map(Head::Write),
            Some(_) => v1::SetForwardingPipelineConfigRequest::decode(&self.head[..]).map(Head::Config),
        };
        head.map(Some).map_err(|_| malformed())
    }

    /// Counts the field at the start of `bytes`. Returns the number of bytes before its contents, or `None` if there have to be
    /// more.
    fn field(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let is_outermost = self.open.len() == 1;
        let Some(message) = self.open.last_mut() else {
            // Of an unknown method.
            return Ok(Some(bytes.len()));
        };
        let mut contents = bytes;
        let Ok((number, wire_type, length)) = key(&mut contents) else {
            return if bytes.len() < MAX_KEY_BYTES {
                Ok(None)
            } else {
                Err(Malformed)
            };
        };
        let taken = bytes.len() - contents.len();
        let (start, all) = (self.position + taken, taken.saturating_add(length));
        let end = self.position.saturating_add(all);
        if end > message.end {
            return Err(Malformed);
        }
        let is_bulk = is_outermost && self.bulk == Some(number);
        if is_outermost && self.bulk.is_some() && !is_bulk {
            if self.head.len().saturating_add(all) <= MAX_HEAD_BYTES {
                let Some(field) = bytes.get(..all) else { return Ok(None) };
                self.head.extend_from_slice(field);
            }
        } else if let Some(field) = SCHEMA.shapes[message.shape].get(&number) {
            if field.is_repeated {
                self.memory_bytes += message.count(number) * field.element_bytes;
            }
            let is_delimited = wire_type == WireType::LengthDelimited;
            match field.holds {
                Holds::Message(shape) if is_delimited => {
                    self.updates += usize::from(is_bulk);
                    if self.open.len() == MAX_DEPTH {
                        return Err(Malformed);
                    }
                    self.open.push(Open::new(shape, end));
                    self.position = start;
                    self.close();
                    return Ok(Some(taken));
                }
                Holds::String if length > 0 => self.memory_bytes += ALLOCATION_BYTES,
                // Packed: each byte may be one, and a vector has room for as many more.
                Holds::Scalar if is_delimited => self.memory_bytes += length * 2 * WORD_BYTES,
                _ => {}
            }
        }
        (self.position, self.skip) = (end, length);
        self.close();
        Ok(Some(taken))
    }

    /// Ends the messages that the next field is not in.
    fn close(&mut self) {
        while self.open.last().is_some_and(|open| open.end == self.position) {
            self.open.pop();
        }
    }
}

/// Number, type and length of the field at the start of `bytes`, which its contents are left in.
fn key(bytes: &mut &[u8]) -> Result<(u32, WireType, usize), Malformed> {
    let (number, wire_type) = decode_key(bytes).map_err(|_| Malformed)?;
    let length = match wire_type {
        WireType::Varint => decode_varint(bytes).map(|_| 0),
        WireType::SixtyFourBit => Ok(8),
        WireType::LengthDelimited => decode_varint(bytes),
        WireType::ThirtyTwoBit => Ok(4),
        // None of the messages has any.
        WireType::StartGroup | WireType::EndGroup => return Err(Malformed),
    };
    let length = length.map_err(|_| Malformed)?;
    Ok((number, wire_type, usize::try_from(length).map_err(|_| Malformed)?))
}

impl Open {
    fn new(shape: usize, end: usize) -> Open {
        Open {
            shape,
            end,
            counts: Vec::new(),
        }
    }

    /// Adds an element to a repeated field. Returns the places that its vector gets with it.
    fn count(&mut self, field: u32) -> usize {
        let known = self.counts.iter_mut().find(|(number, _)| *number == field);
        let Some((_, count)) = known else {
            self.counts.push((field, 1));
            return FIRST_ELEMENTS;
        };
        let before = *count;
        *count += 1;
        if before >= FIRST_ELEMENTS && before.is_power_of_two() {
            before
        } else {
            0
        }
    }
}

/// The message types, as Rust structs.
#[derive(Debug, Default)]
struct Schema {
    /// Fields of each, by number.
    shapes: Vec<BTreeMap<u32, Field>>,
    methods: HashMap<&'static str, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Field {
    is_repeated: bool,
    /// At most so many for each place of a vector or map.
    element_bytes: usize,
    holds: Holds,
}

#[derive(Debug, Clone, Copy)]
enum Holds {
    Scalar,
    String,
    /// A message of this type.
    Message(usize),
}

impl Schema {
    fn new() -> Schema {
        let pool = DescriptorPool::decode(DESCRIPTORS).expect("descriptors made by the build script");
        let (mut schema, mut known) = (Schema::default(), HashMap::new());
        for (method, request) in [
            ("Write", "WriteRequest"),
            ("Read", "ReadRequest"),
            ("SetForwardingPipelineConfig", "SetForwardingPipelineConfigRequest"),
            ("GetForwardingPipelineConfig", "GetForwardingPipelineConfigRequest"),
            ("StreamChannel", "StreamMessageRequest"),
            ("Capabilities", "CapabilitiesRequest"),
        ] {
            let message = pool.get_message_by_name(&format!("p4.v1.{request}"));
            let shape = schema.add(&message.expect("a message of the service"), &mut known);
            schema.methods.insert(method, shape);
        }
        schema
    }

    fn add(&mut self, message: &MessageDescriptor, known: &mut HashMap<String, usize>) -> usize {
        if let Some(&shape) = known.get(message.full_name()) {
            return shape;
        }
        let index = self.shapes.len();
        known.insert(message.full_name().to_owned(), index);
        self.shapes.push(BTreeMap::new());
        for field in message.fields() {
            let (holds, element_bytes) = match field.kind() {
                // A map has up to twice the places that a vector has.
                Kind::Message(inner) if field.is_map() => {
                    (Holds::Message(self.add(&inner, known)), 2 * struct_bytes(&inner))
                }
                Kind::Message(inner) => (Holds::Message(self.add(&inner, known)), struct_bytes(&inner)),
                Kind::String | Kind::Bytes => (Holds::String, VEC_BYTES),
                _ => (Holds::Scalar, WORD_BYTES),
            };
            let field_ = Field {
                is_repeated: field.is_list() || field.is_map(),
                element_bytes,
                holds,
            };
            self.shapes[index].insert(field.number(), field_);
        }
        index
    }
}

/// An upper bound of the size of the struct that a message becomes, without what it points to. No message of P4Runtime contains
/// itself but in a list, so nothing else is behind a pointer.
fn struct_bytes(message: &MessageDescriptor) -> usize {
    let plain = message.fields().filter(|field| field.containing_oneof().is_none());
    let plain: usize = plain.map(|field| field_bytes(&field)).sum();
    let oneofs = message.oneofs().map(|oneof| {
        let largest = oneof.fields().map(|field| field_bytes(&field)).max();
        largest.unwrap_or_default() + WORD_BYTES
    });
    plain + oneofs.sum::<usize>()
}

fn field_bytes(field: &FieldDescriptor) -> usize {
    match field.kind() {
        _ if field.is_map() => MAP_BYTES,
        _ if field.is_list() => VEC_BYTES,
        Kind::String | Kind::Bytes => VEC_BYTES,
        Kind::Message(inner) => struct_bytes(&inner) + WORD_BYTES,
        _ => WORD_BYTES,
    }
}

#[cfg(test)]
mod tests;
