// SPDX-License-Identifier: Apache-2.0
//! What a message will take when it is decoded, known from its bytes as they come: two bytes may become a struct of hundreds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use prost::Message as _;
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use tonic::{Code, Status};

use crate::proto::DESCRIPTORS;
use crate::proto::p4::v1;

/// Updates in one Write.
pub(crate) const MAX_UPDATES: usize = 65_536;
/// Messages within messages; prost decodes no more.
const MAX_DEPTH: usize = 100;
/// Elements that a vector has memory for when it has one.
const FIRST_ELEMENTS: usize = 4;
/// A piece of memory and its place among others, besides what is in it.
const ALLOCATION_BYTES: usize = 32;
/// Of a `Vec`, or a `String`.
const VEC_BYTES: usize = 24;
/// Of a scalar, and at most of what says whether something is there.
const WORD_BYTES: usize = 8;
/// Of a `HashMap`.
const MAP_BYTES: usize = 48;
/// Bytes of the fields of a call that say who it is from; longer role names there are not.
const MAX_HEAD_BYTES: usize = 1024;

/// The message types that clients send, by the methods that take them.
static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::new);

/// A call's message as it comes.
#[derive(Debug)]
pub(crate) struct Walk {
    root: Option<usize>,
    /// What a Write or a configuration has most of; all else of it is its head.
    bulk: Option<u32>,
    stack: Vec<Open>,
    at: At,
    /// Bytes that the decoded message takes, besides the contents of strings.
    memory_bytes: usize,
    updates: usize,
    /// Without its bulk; `None`: too long.
    head: Option<Vec<u8>>,
    /// The field at hand belongs to the head.
    in_head: bool,
    is_malformed: bool,
}

/// A message that has begun and not ended.
#[derive(Debug)]
struct Open {
    shape: usize,
    left: usize,
    /// Elements of its repeated fields.
    counts: Vec<(u32, usize)>,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum At {
    Tag(Varint),
    Length(u32, Varint),
    Varint,
    Skip(usize),
}

/// A number as far as it has come.
#[derive(Debug, Clone, Copy, Default)]
struct Varint {
    value: u64,
    shift: u32,
}

/// Whom a call is from, for what.
#[expect(clippy::large_enum_variant, reason = "there is one per call, never a collection")]
#[derive(Debug, PartialEq)]
pub(crate) enum Head {
    Write(v1::WriteRequest),
    Config(v1::SetForwardingPipelineConfigRequest),
}

impl Varint {
    /// The number, with its last byte. `Err`: longer than numbers are.
    fn push(&mut self, byte: u8) -> Result<Option<u64>, ()> {
        if self.shift > 63 {
            return Err(());
        }
        self.value |= u64::from(byte & 0x7f) << self.shift;
        self.shift += 7;
        Ok((byte < 0x80).then_some(self.value))
    }
}

impl Walk {
    /// The messages of this method.
    pub fn of(method: &str) -> Walk {
        let bulk = match method {
            "Write" => Some(4),
            "SetForwardingPipelineConfig" => Some(5),
            _ => None,
        };
        Walk {
            root: SCHEMA.methods.get(method).copied(),
            bulk,
            stack: Vec::new(),
            at: At::Tag(Varint::default()),
            memory_bytes: 0,
            updates: 0,
            head: bulk.is_some().then(Vec::new),
            in_head: false,
            is_malformed: false,
        }
    }

    /// Another message begins.
    pub fn begin(&mut self, length: usize) {
        self.stack.clear();
        let open = |shape| Open {
            shape,
            left: length,
            counts: Vec::new(),
        };
        self.stack.extend(self.root.map(open));
        self.at = At::Tag(Varint::default());
        (self.memory_bytes, self.updates, self.is_malformed) = (0, 0, false);
        self.head = self.bulk.is_some().then(Vec::new);
        self.close();
    }

    /// Follows more of it. Gives what all of it takes so far.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Status> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_malformed && !self.stack.is_empty() {
            self.is_malformed = self.step(&mut rest).is_err();
            if self.updates > MAX_UPDATES {
                let message = format!("too many updates; expected at most {MAX_UPDATES} per Write");
                return Err(Status::resource_exhausted(message));
            }
        }
        Ok(self.memory_bytes)
    }

    /// It has come whole: whom it is from, if it is a call that says so.
    pub fn finish(&self) -> Result<Option<Head>, Status> {
        let malformed = || Status::new(Code::InvalidArgument, "malformed request message");
        let is_whole = self.stack.is_empty() && matches!(self.at, At::Tag(Varint { shift: 0, .. }));
        if self.root.is_some() && (self.is_malformed || !is_whole) {
            return Err(malformed());
        }
        let Some(head) = &self.head else { return Ok(None) };
        let head = match self.bulk {
            Some(4) => v1::WriteRequest::decode(&head[..]).map(Head::Write),
            _ => v1::SetForwardingPipelineConfigRequest::decode(&head[..]).map(Head::Config),
        };
        head.map(Some).map_err(|_| malformed())
    }

    /// Takes from `bytes` what can be told of at once. `Err`: no such message can be decoded.
    fn step(&mut self, bytes: &mut &[u8]) -> Result<(), ()> {
        let is_outermost = self.stack.len() == 1;
        let top = self.stack.last_mut().ok_or(())?;
        if let At::Skip(count) = self.at {
            let taken = count.min(bytes.len());
            let (skipped, rest) = bytes.split_at(taken);
            *bytes = rest;
            top.left = top.left.checked_sub(taken).ok_or(())?;
            self.at = if taken == count {
                At::Tag(Varint::default())
            } else {
                At::Skip(count - taken)
            };
            self.note_head(skipped);
            self.close();
            return Ok(());
        }
        let (&byte, rest) = bytes.split_first().ok_or(())?;
        *bytes = rest;
        top.left = top.left.checked_sub(1).ok_or(())?;
        match &mut self.at {
            At::Tag(varint) => {
                let is_first = varint.shift == 0;
                let tag = varint.push(byte)?;
                if is_outermost && is_first {
                    // Tags of the bulk fields are of one byte when they are as they should be.
                    self.in_head = self.bulk.is_some_and(|bulk| u32::from(byte) != bulk << 3 | 2);
                }
                self.note_head(&[byte]);
                let Some(tag) = tag else { return Ok(()) };
                let field = u32::try_from(tag >> 3).map_err(|_| ())?;
                if field == 0 {
                    return Err(());
                }
                self.at = match tag & 7 {
                    0 => At::Varint,
                    1 => At::Skip(8),
                    2 => At::Length(field, Varint::default()),
                    5 => At::Skip(4),
                    // Groups: none of the messages has any.
                    _ => return Err(()),
                };
                if tag & 7 != 2 {
                    self.count_scalar(field);
                }
            }
            At::Varint => {
                self.note_head(&[byte]);
                if byte < 0x80 {
                    self.at = At::Tag(Varint::default());
                    self.close();
                }
            }
            At::Length(field, varint) => {
                let (field, length) = (*field, varint.push(byte)?);
                self.note_head(&[byte]);
                if let Some(length) = length {
                    self.enter(field, usize::try_from(length).map_err(|_| ())?)?;
                }
            }
            At::Skip(_) => {}
        }
        Ok(())
    }

    /// A field of so many bytes begins.
    fn enter(&mut self, field: u32, length: usize) -> Result<(), ()> {
        let is_outermost = self.stack.len() == 1;
        let top = self.stack.last_mut().ok_or(())?;
        if length > top.left {
            return Err(());
        }
        self.at = At::Tag(Varint::default());
        let known = SCHEMA.shapes[top.shape].fields.get(&field).copied();
        let Some(known) = known else {
            return self.skip(length);
        };
        match known.holds {
            Holds::Message { shape, bytes } => {
                let element_bytes = if known.is_repeated {
                    top.count(field) * bytes
                } else {
                    known.boxed_bytes
                };
                self.memory_bytes += element_bytes;
                if is_outermost && self.bulk == Some(4) && field == 4 {
                    self.updates += 1;
                }
                if self.bulk == Some(field) && is_outermost {
                    // With a tag longer than it need be, it has been taken for the head.
                    if self.in_head {
                        self.head = None;
                    }
                    self.in_head = false;
                }
                if self.in_head && is_outermost {
                    // An election id, which has nothing in it that takes more.
                    return self.skip(length);
                }
                top.left -= length;
                if self.stack.len() >= MAX_DEPTH {
                    return Err(());
                }
                self.stack.push(Open {
                    shape,
                    left: length,
                    counts: Vec::new(),
                });
                self.close();
                Ok(())
            }
            Holds::String => {
                let element_bytes = if known.is_repeated {
                    top.count(field) * VEC_BYTES
                } else {
                    0
                };
                self.memory_bytes += element_bytes + if length > 0 { ALLOCATION_BYTES } else { 0 };
                self.skip(length)
            }
            Holds::Scalar => {
                // Packed: each byte may be one, and a vector has room for as many more.
                self.memory_bytes += length * 2 * WORD_BYTES;
                self.skip(length)
            }
        }
    }

    fn skip(&mut self, length: usize) -> Result<(), ()> {
        if length > 0 {
            self.at = At::Skip(length);
        } else {
            self.close();
        }
        Ok(())
    }

    fn count_scalar(&mut self, field: u32) {
        if let Some(top) = self.stack.last_mut()
            && SCHEMA.shapes[top.shape]
                .fields
                .get(&field)
                .is_some_and(|it| it.is_repeated)
        {
            self.memory_bytes += top.count(field) * WORD_BYTES;
        }
    }

    /// Ends the messages of which nothing is left.
    fn close(&mut self) {
        while self.stack.last().is_some_and(|open| open.left == 0) {
            self.stack.pop();
        }
    }

    fn note_head(&mut self, bytes: &[u8]) {
        if !self.in_head || self.stack.len() != 1 {
            return;
        }
        match &mut self.head {
            Some(head) if head.len() + bytes.len() <= MAX_HEAD_BYTES => head.extend_from_slice(bytes),
            head => *head = None,
        }
    }
}

impl Open {
    /// Another element of a repeated field. Gives how many its vector gets room for, with it.
    fn count(&mut self, field: u32) -> usize {
        let known = self.counts.iter_mut().find(|(number, _)| *number == field);
        let Some((_, count)) = known else {
            self.counts.push((field, 1));
            return FIRST_ELEMENTS;
        };
        *count += 1;
        let before = *count - 1;
        if before >= FIRST_ELEMENTS && before.is_power_of_two() {
            before
        } else {
            0
        }
    }
}

/// The message types, as Rust structs.
#[derive(Debug)]
struct Schema {
    shapes: Vec<Shape>,
    methods: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Default)]
struct Shape {
    fields: BTreeMap<u32, Field>,
}

#[derive(Debug, Clone, Copy)]
struct Field {
    is_repeated: bool,
    /// What a message takes that is not within its parent.
    boxed_bytes: usize,
    holds: Holds,
}

#[derive(Debug, Clone, Copy)]
enum Holds {
    Scalar,
    String,
    /// Of this type, whose struct has at most so many bytes.
    Message {
        shape: usize,
        bytes: usize,
    },
}

impl Schema {
    fn new() -> Schema {
        let pool = DescriptorPool::decode(DESCRIPTORS).expect("descriptors made by the build script");
        let mut schema = Schema {
            shapes: Vec::new(),
            methods: BTreeMap::new(),
        };
        let mut known = BTreeMap::new();
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

    fn add(&mut self, message: &MessageDescriptor, known: &mut BTreeMap<String, usize>) -> usize {
        if let Some(&shape) = known.get(message.full_name()) {
            return shape;
        }
        let index = self.shapes.len();
        known.insert(message.full_name().to_owned(), index);
        self.shapes.push(Shape::default());
        for field in message.fields() {
            let holds = match field.kind() {
                Kind::Message(inner) => {
                    let shape = self.add(&inner, known);
                    // A map has up to twice the places that a vector has.
                    let bytes = struct_bytes(&inner) * if field.is_map() { 2 } else { 1 };
                    Holds::Message { shape, bytes }
                }
                Kind::String | Kind::Bytes => Holds::String,
                _ => Holds::Scalar,
            };
            let boxed_bytes = match field.kind() {
                Kind::Message(inner) if is_boxed(&field) => struct_bytes(&inner) + ALLOCATION_BYTES,
                _ => 0,
            };
            let field_ = Field {
                is_repeated: field.is_list() || field.is_map(),
                boxed_bytes,
                holds,
            };
            self.shapes[index].fields.insert(field.number(), field_);
        }
        index
    }
}

/// An upper bound of the size of the struct that a message becomes, without what it points to.
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
        Kind::Message(_) if is_boxed(field) => WORD_BYTES,
        Kind::Message(inner) => struct_bytes(&inner) + WORD_BYTES,
        _ => WORD_BYTES,
    }
}

/// Whether a message is behind a pointer, as it may contain its parent again.
fn is_boxed(field: &FieldDescriptor) -> bool {
    let Kind::Message(inner) = field.kind() else {
        return false;
    };
    if field.is_list() || field.is_map() {
        return false;
    }
    let parent = field.parent_message();
    let (mut seen, mut todo) = (BTreeSet::new(), vec![inner]);
    while let Some(message) = todo.pop() {
        if message == *parent {
            return true;
        }
        if seen.insert(message.full_name().to_owned()) {
            let singular = message.fields().filter(|field| !field.is_list() && !field.is_map());
            todo.extend(singular.filter_map(|field| match field.kind() {
                Kind::Message(inner) => Some(inner),
                _ => None,
            }));
        }
    }
    false
}

#[cfg(test)]
mod tests;
