// SPDX-License-Identifier: Apache-2.0
//! Shapes of values: how each is read, and its schema.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use super::Section;
use crate::doc::{Doc, NOTHING};
use crate::reader::{Fields, Reader};

/// Schema of a value.
pub(crate) trait Schema {
    fn schema(&self) -> Doc;
}

/// Shape of the value of a key.
pub(crate) trait Shape: Schema {
    type Value;

    /// Reads the value of a key that must be there. What is wrong is replaced by a value of the shape.
    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> Self::Value;

    /// Reads the value of a key if it is there.
    fn optional(&self, r: &mut Reader, fields: &Fields, key: &str) -> Option<Self::Value> {
        r.optional(fields, key)?;
        Some(self.required(r, fields, key))
    }
}

/// Shape of an element of a list.
pub(crate) trait Element: Schema {
    type Value;

    fn element(&self, r: &mut Reader, value: &Doc, pointer: String) -> Self::Value;
}

/// Text in a schema.
pub(crate) fn text(text: &str) -> Doc {
    Doc::text(text, 0)
}

/// Number, or `true` or `false`, in a schema.
fn plain(value: impl ToString) -> Doc {
    Doc::scalar(value.to_string(), 0)
}

/// A mapping of these keys, in their order.
pub(crate) fn object<'k>(pairs: impl IntoIterator<Item = (&'k str, Doc)>) -> Doc {
    let mut object = Doc::mapping(0);
    for (key, value) in pairs {
        object.set(key, value);
    }
    object
}

/// A definition of the schema, in `$defs`.
pub(crate) struct Defined(&'static str);

pub(crate) fn defined(name: &'static str) -> Defined {
    Defined(name)
}

impl Schema for Defined {
    fn schema(&self) -> Doc {
        object([("$ref", text(&format!("#/$defs/{}", self.0)))])
    }
}

/// The only allowed value.
pub(crate) struct Constant(u64);

pub(crate) fn constant(value: u64) -> Constant {
    Constant(value)
}

impl Schema for Constant {
    fn schema(&self) -> Doc {
        object([("const", plain(self.0))])
    }
}

/// An integer, or a quantity under the key without its unit.
pub(crate) struct Integer(RangeInclusive<u64>);

pub(crate) fn integer(range: RangeInclusive<u64>) -> Integer {
    Integer(range)
}

impl Shape for Integer {
    type Value = u64;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> u64 {
        r.integer(fields, key, self.0.clone())
    }
}

impl Schema for Integer {
    fn schema(&self) -> Doc {
        object([
            ("type", text("integer")),
            ("minimum", plain(self.0.start())),
            ("maximum", plain(self.0.end())),
        ])
    }
}

/// An integer that may be below 0, or a quantity.
pub(crate) struct Signed(RangeInclusive<i64>);

pub(crate) fn signed(range: RangeInclusive<i64>) -> Signed {
    Signed(range)
}

impl Shape for Signed {
    type Value = i64;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> i64 {
        r.signed(fields, key, self.0.clone())
    }
}

impl Schema for Signed {
    fn schema(&self) -> Doc {
        object([
            ("type", text("integer")),
            ("minimum", plain(self.0.start())),
            ("maximum", plain(self.0.end())),
        ])
    }
}

/// A power of two. Reading takes any integer: what P4 cannot compute is refused by a check.
pub(crate) struct PowersOfTwo(RangeInclusive<u64>);

pub(crate) fn powers_of_two(range: RangeInclusive<u64>) -> PowersOfTwo {
    PowersOfTwo(range)
}

impl Shape for PowersOfTwo {
    type Value = u64;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> u64 {
        r.integer(fields, key, self.0.clone())
    }
}

impl Schema for PowersOfTwo {
    fn schema(&self) -> Doc {
        let powers = (0..u64::BITS)
            .map(|bit| 1_u64 << bit)
            .filter(|power| self.0.contains(power));
        object([("enum", Doc::list(powers.map(plain).collect(), 0))])
    }
}

/// A number, within bounds or above the lower one.
pub(crate) struct Number {
    range: RangeInclusive<f64>,
    is_above: bool,
}

pub(crate) fn number(range: RangeInclusive<f64>) -> Number {
    Number { range, is_above: false }
}

pub(crate) fn above(least: f64, most: f64) -> Number {
    Number {
        range: least..=most,
        is_above: true,
    }
}

impl Shape for Number {
    type Value = f64;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> f64 {
        r.required(fields, key);
        self.optional(r, fields, key).unwrap_or(*self.range.end())
    }

    fn optional(&self, r: &mut Reader, fields: &Fields, key: &str) -> Option<f64> {
        match self.is_above {
            true => r.optional_number(fields, key, *self.range.start(), *self.range.end()),
            false => r.optional_bounded(fields, key, self.range.clone()),
        }
    }
}

impl Schema for Number {
    fn schema(&self) -> Doc {
        let least = match self.is_above {
            true => "exclusiveMinimum",
            false => "minimum",
        };
        object([
            ("type", text("number")),
            (least, plain(self.range.start())),
            ("maximum", plain(self.range.end())),
        ])
    }
}

/// `true` or `false`.
pub(crate) struct Flag;

pub(crate) fn flag() -> Flag {
    Flag
}

impl Shape for Flag {
    type Value = bool;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> bool {
        r.required(fields, key);
        self.optional(r, fields, key).unwrap_or(false)
    }

    fn optional(&self, r: &mut Reader, fields: &Fields, key: &str) -> Option<bool> {
        r.optional_bool(fields, key)
    }
}

impl Schema for Flag {
    fn schema(&self) -> Doc {
        object([("type", text("boolean"))])
    }
}

/// A name.
pub(crate) struct Name;

pub(crate) fn name() -> Name {
    Name
}

impl Shape for Name {
    type Value = String;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> String {
        r.name(fields, key)
    }
}

impl Schema for Name {
    fn schema(&self) -> Doc {
        defined("name").schema()
    }
}

impl Element for Name {
    type Value = String;

    fn element(&self, r: &mut Reader, value: &Doc, pointer: String) -> String {
        r.name_value(value, pointer)
    }
}

/// Non-empty text.
pub(crate) struct Text;

pub(crate) fn string() -> Text {
    Text
}

impl Shape for Text {
    type Value = String;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> String {
        match r.required(fields, key) {
            Some(value) => self.element(r, value, fields.pointer(key)),
            None => String::new(),
        }
    }
}

impl Schema for Text {
    fn schema(&self) -> Doc {
        object([("type", text("string")), ("minLength", plain(1))])
    }
}

impl Element for Text {
    type Value = String;

    fn element(&self, r: &mut Reader, value: &Doc, pointer: String) -> String {
        match value.as_str() {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => {
                r.report(pointer, format!("found {}", value.describe()), "a string");
                String::new()
            }
        }
    }
}

/// One of some words.
pub(crate) struct Word<T>(Vec<(&'static str, T)>);

pub(crate) fn word<T: Copy>(words: impl IntoIterator<Item = (&'static str, T)>) -> Word<T> {
    Word(words.into_iter().collect())
}

impl<T: Copy> Shape for Word<T> {
    type Value = T;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> T {
        r.choice(fields, key, &self.0)
    }
}

impl<T: Copy> Schema for Word<T> {
    fn schema(&self) -> Doc {
        let words = self.0.iter().map(|(word, _)| text(word));
        object([("enum", Doc::list(words.collect(), 0))])
    }
}

/// A list.
pub(crate) struct List<E> {
    length: RangeInclusive<usize>,
    of: E,
}

pub(crate) fn list<E: Schema>(length: RangeInclusive<usize>, of: E) -> List<E> {
    List { length, of }
}

impl<E: Element> Shape for List<E> {
    type Value = Vec<E::Value>;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> Vec<E::Value> {
        let elements = r.list(fields, key, self.length.clone());
        let read = |(value, pointer)| self.of.element(r, value, pointer);
        elements.into_iter().map(read).collect()
    }
}

impl<E: Schema> Schema for List<E> {
    fn schema(&self) -> Doc {
        array(&self.length, self.of.schema())
    }
}

fn array(length: &RangeInclusive<usize>, items: Doc) -> Doc {
    object([
        ("type", text("array")),
        ("minItems", plain(length.start())),
        ("maxItems", plain(length.end())),
        ("items", items),
    ])
}

/// A section of its own.
pub(crate) struct Nested<S>(PhantomData<S>);

pub(crate) fn nested<S: Section>() -> Nested<S> {
    Nested(PhantomData)
}

impl<S: for<'c> Section<Context<'c> = ()>> Shape for Nested<S> {
    type Value = S;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> S {
        let value = r.required(fields, key);
        match value {
            Some(value) => S::of(r, value, fields.pointer(key), ()),
            // It has been reported that the section is missing, so its keys are not.
            None => S::of_fields(r, &Fields::of(&NOTHING, String::new()), ()),
        }
    }
}

impl<S: Section> Schema for Nested<S> {
    fn schema(&self) -> Doc {
        S::schema()
    }
}

impl<S: for<'c> Section<Context<'c> = ()>> Element for Nested<S> {
    type Value = S;

    fn element(&self, r: &mut Reader, value: &Doc, pointer: String) -> S {
        S::of(r, value, pointer, ())
    }
}

/// A name alone, or a section with more.
pub(crate) struct Either<S> {
    of_name: fn(String) -> S,
}

pub(crate) fn either<S: Section>(of_name: fn(String) -> S) -> Either<S> {
    Either { of_name }
}

impl<S: for<'c> Section<Context<'c> = ()>> Element for Either<S> {
    type Value = S;

    fn element(&self, r: &mut Reader, value: &Doc, pointer: String) -> S {
        match value.is_mapping() {
            true => S::of(r, value, pointer, ()),
            false => (self.of_name)(r.name_value(value, pointer)),
        }
    }
}

impl<S: Section> Schema for Either<S> {
    fn schema(&self) -> Doc {
        one_of(name(), nested::<S>()).schema()
    }
}

/// Integers in a list.
pub(crate) struct Integers {
    length: usize,
    range: RangeInclusive<u64>,
}

pub(crate) fn integers(length: usize, range: RangeInclusive<u64>) -> Integers {
    Integers { length, range }
}

impl Shape for Integers {
    type Value = Vec<u64>;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> Vec<u64> {
        r.integers(fields, key, self.length, &self.range)
    }
}

impl Schema for Integers {
    fn schema(&self) -> Doc {
        array(&(self.length..=self.length), integer(self.range.clone()).schema())
    }
}

/// Value of one of two shapes, which an expression reads.
pub(crate) struct OneOf<A, B>(A, B);

pub(crate) fn one_of<A: Schema, B: Schema>(one: A, other: B) -> OneOf<A, B> {
    OneOf(one, other)
}

impl<A: Schema, B: Schema> Schema for OneOf<A, B> {
    fn schema(&self) -> Doc {
        object([("oneOf", Doc::list(vec![self.0.schema(), self.1.schema()], 0))])
    }
}

/// Schema as JSON of a value that an expression reads.
pub(crate) struct Raw(&'static str);

pub(crate) fn raw(json: &'static str) -> Raw {
    Raw(json)
}

impl Schema for Raw {
    fn schema(&self) -> Doc {
        Doc::read(self.0.as_bytes()).expect("it is JSON, which is YAML")
    }
}

/// Value of a shape with another schema.
pub(crate) struct Shaped<S>(S, Raw);

pub(crate) fn shaped<S: Shape>(shape: S, json: &'static str) -> Shaped<S> {
    Shaped(shape, raw(json))
}

impl<S: Shape> Shape for Shaped<S> {
    type Value = S::Value;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> S::Value {
        self.0.required(r, fields, key)
    }

    fn optional(&self, r: &mut Reader, fields: &Fields, key: &str) -> Option<S::Value> {
        self.0.optional(r, fields, key)
    }
}

impl<S> Schema for Shaped<S> {
    fn schema(&self) -> Doc {
        self.1.schema()
    }
}
