// SPDX-License-Identifier: Apache-2.0
//! Sections of a file, each declared once: fields, keys, bounds, defaults and texts. The reader, the schema and, from the schema, the
//! reference in the documentation follow from it.
//!
//! ```text
//! section! {
//!     /// Ingress buffer and shaper in front of the add queues of each station.
//!     #[derive(Debug, Clone, Copy, PartialEq, Eq)]
//!     pub struct Ingress {
//!         /// Shaper rate in bit/s; the bucket depth is one packet. Default: no shaper.
//!         pub rate: Option<Rate> = "rate_bps" optional, integer(FLOW_RATE_BPS);
//!         /// Buffer size in bytes for packets of hosts. Default: 2,000,000.
//!         pub buffer: Bytes = "buffer_bytes" or(BUFFER), integer(BUFFER_BYTES);
//!     }
//! }
//! ```
//!
//! A row has the text of its key, its field, the key itself, its presence and its shape. The presence is one of
//!
//! - `required`;
//! - `optional`: the field is an `Option`;
//! - `or(VALUE)`: the field has this value without the key. `VALUE` may name fields above and the section's context;
//! - `filled(TEXT)`: the plain form of a file has this text under a key that the file leaves out;
//! - `read(VALUE)`: read by an expression, and required; `read_optional(VALUE)`: the same for a key that may be left out.
//!
//! Expressions see what the head of the section names: `pub struct Ring [r, fields, context: TYPE] {`.

mod shape;

pub(crate) use shape::{
    Schema, Shape, above, either, flag, integer, integers, list, name, nested, number, object, one_of, powers_of_two,
    raw, shaped, signed, text, word,
};

use crate::doc::{Doc, NOTHING};
use crate::reader::{Fields, Reader};

/// A section, or an entry of a list.
pub(crate) trait Section: Sized {
    /// What reading it depends on beside the file.
    type Context<'c>;
    /// Lines of its text.
    const ABOUT: &'static [&'static str];

    /// Its keys, in the order of their rows.
    fn keys() -> &'static [&'static str];

    /// Reads its keys.
    fn of_fields(r: &mut Reader, fields: &Fields, context: Self::Context<'_>) -> Self;

    /// Schema of a mapping with these keys, without the section's text.
    fn schema() -> Doc;

    /// Puts defaults of the plain form under keys that a mapping does not have.
    fn fill(doc: &mut Doc);

    /// Reads a mapping with these keys and no others.
    fn of(r: &mut Reader, value: &Doc, pointer: String, context: Self::Context<'_>) -> Self {
        let fields = r.fields(value, pointer, Self::keys());
        Self::of_fields(r, &fields, context)
    }

    /// Reads the section under `key` if it is there.
    fn under(r: &mut Reader, parent: &Fields, key: &str, context: Self::Context<'_>) -> Option<Self> {
        let value = r.optional(parent, key)?;
        Some(Self::of(r, value, parent.pointer(key), context))
    }

    /// Reads the section under `key`, or that of a file that has none of its keys.
    fn under_or_empty(r: &mut Reader, parent: &Fields, key: &str, context: Self::Context<'_>) -> Self {
        match r.optional(parent, key) {
            Some(value) => Self::of(r, value, parent.pointer(key), context),
            None => Self::of_fields(r, &Fields::of(&NOTHING, parent.pointer(key)), context),
        }
    }

    /// Schema with the section's text.
    fn described() -> Doc {
        describe(Self::ABOUT, Self::schema())
    }
}

/// A value as a field has it.
pub(crate) trait Field<V> {
    fn field(value: V) -> Self;
}

impl<T> Field<T> for T {
    fn field(value: T) -> T {
        value
    }
}

macro_rules! fields_of_integers {
    ($($type:ty: $number:ident => $value:expr;)+) => {
        $(impl Field<u64> for $type {
            fn field($number: u64) -> $type {
                $value
            }
        })+
    };
}

fields_of_integers! {
    u32: number => number as u32;
    u16: number => number as u16;
    u8: number => number as u8;
    slotwise_units::Rate: number => slotwise_units::Rate::from_bps(number);
    slotwise_units::Duration: number => slotwise_units::Duration::from_ns(number);
    slotwise_units::Bytes: number => slotwise_units::Bytes::new(number);
}

impl Field<i64> for i32 {
    fn field(value: i64) -> i32 {
        value as i32
    }
}

/// A schema with a text before it, if the text is not empty.
pub(crate) fn describe(lines: &[&str], schema: Doc) -> Doc {
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let about = lines.collect::<Vec<_>>().join(" ");
    let described = (!about.is_empty()).then(|| ("description", text(&about)));
    let mut text = object(described);
    let mut schema = schema;
    schema.take_into(&mut text, |_| true);
    text
}

/// Schema of a mapping with these properties; `rules` are further keys of the schema, as JSON.
pub(crate) fn mapping(properties: Vec<(&str, Doc)>, required: &[&str], rules: &str) -> Doc {
    let mut schema = object([
        ("type", text("object")),
        ("additionalProperties", Doc::scalar("false".into(), 0)),
    ]);
    if !required.is_empty() {
        let required = required.iter().map(|key| text(key)).collect();
        schema.set("required", Doc::list(required, 0));
    }
    let rules = Doc::read(rules.as_bytes()).expect("rules are JSON");
    for (key, value) in rules.as_mapping().into_iter().flat_map(crate::doc::Mapping::iter) {
        schema.set(key.as_str().expect("keys are text"), value.clone());
    }
    schema.set("properties", object(properties));
    schema
}

/// Declares a section; see the top of this file.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        #[derive($($derived:ident),+)]
        $vis:vis struct $name:ident { $($rows:tt)+ } $($rest:tt)*
    ) => {
        $crate::section::section! {
            $(#[doc = $about])+
            #[derive($($derived),+)]
            $vis struct $name [_r, fields, _context: ()] { $($rows)+ } $($rest)*
        }
    };
    (
        $(#[doc = $about:literal])+
        #[derive($($derived:ident),+)]
        $vis:vis struct $name:ident [$r:ident, $fields:ident, $context:ident: $of:ty] {
            $(
                $(#[doc = $text:literal])+
                $field_vis:vis $field:ident: $type:ty = $key:literal $presence:ident $(($value:expr))?, $shape:expr;
            )+
        }
        $(rules $rules:literal)?
    ) => {
        $(#[doc = $about])+
        #[derive($($derived),+)]
        $vis struct $name {
            $($(#[doc = $text])+ $field_vis $field: $type,)+
        }

        impl $crate::section::Section for $name {
            type Context<'c> = $of;
            const ABOUT: &'static [&'static str] = &[$($about),+];

            fn keys() -> &'static [&'static str] {
                &[$($key),+]
            }

            fn of_fields(
                $r: &mut $crate::reader::Reader,
                $fields: &$crate::reader::Fields,
                $context: Self::Context<'_>,
            ) -> Self {
                #[allow(unused_imports)]
                use $crate::section::Shape as _;
                $(let $field: $type = $crate::section::read!(
                    $r, $fields, $key, $presence $(($value))?, $shape
                );)+
                $name { $($field),+ }
            }

            fn schema() -> $crate::doc::Doc {
                #[allow(unused_imports)]
                use $crate::section::Schema as _;
                let required = [$(($key, $crate::section::is_required!($presence))),+];
                let required: Vec<&str> = required.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
                let properties = vec![$(($key, $crate::section::describe(&[$($text),+], $shape.schema()))),+];
                let rules = concat!("" $(, $rules)?);
                $crate::section::mapping(properties, &required, if rules.is_empty() { "{}" } else { rules })
            }

            fn fill(doc: &mut $crate::doc::Doc) {
                let _ = &doc;
                $($crate::section::fill!(doc, $key, $presence $(($value))?);)+
            }
        }
    };
}

/// Value of a row.
macro_rules! read {
    ($r:ident, $fields:ident, $key:literal, required, $shape:expr) => {
        $crate::section::Field::field($shape.required($r, $fields, $key))
    };
    ($r:ident, $fields:ident, $key:literal, filled($text:expr), $shape:expr) => {
        $crate::section::Field::field($shape.required($r, $fields, $key))
    };
    ($r:ident, $fields:ident, $key:literal, optional, $shape:expr) => {
        $shape.optional($r, $fields, $key).map($crate::section::Field::field)
    };
    ($r:ident, $fields:ident, $key:literal, or($value:expr), $shape:expr) => {
        match $shape.optional($r, $fields, $key) {
            Some(value) => $crate::section::Field::field(value),
            None => $value,
        }
    };
    ($r:ident, $fields:ident, $key:literal, read($value:expr), $shape:expr) => {
        $value
    };
    ($r:ident, $fields:ident, $key:literal, read_optional($value:expr), $shape:expr) => {
        $value
    };
}

/// Returns whether the plain form must have the key of a row.
macro_rules! is_required {
    (required) => {
        true
    };
    (filled) => {
        true
    };
    (read) => {
        true
    };
    ($other:ident) => {
        false
    };
}

/// Puts the default of a row into the tree of a file.
macro_rules! fill {
    ($doc:ident, $key:literal, filled($text:expr)) => {
        $crate::defaults::fill($doc, &[($key, $text)]);
    };
    ($doc:ident, $key:literal, $presence:ident $(($value:expr))?) => {};
}

pub(crate) use {fill, is_required, read, section};
