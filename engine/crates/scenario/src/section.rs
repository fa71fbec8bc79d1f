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
//! - `read(VALUE)`: read by an expression, and required; `read_optional(VALUE)`: the same for a key that may be left out;
//! - `required_if(ONLY)`, `optional_if(ONLY)`: the field is an `Option`; the key stands only with some words of another key, see [`only`].
//!
//! Expressions see what the head of the section names: `pub struct Ring [r, fields, context: TYPE] {`.
//!
//! After the rows, `kinds { "udp" without ["tcp"] }` names keys that exclude others, `any [..]` keys, at least one is given, and
//! `both [..]` two keys that are given together.

mod only;
mod shape;

pub(crate) use only::{Only, only, optional_if, required_if};
pub(crate) use shape::{
    Schema, Shape, above, constant, defined, either, flag, integer, integers, list, name, nested, number, object,
    one_of, powers_of_two, raw, shaped, signed, string, text, word,
};

use crate::doc::{Doc, NOTHING};
use crate::reader::{Fields, Reader};

/// A section, or an entry of a list.
pub(crate) trait Section: Sized {
    /// What reading it depends on beside the file.
    type Context<'c>;
    /// Lines of its text.
    const ABOUT: &'static [&'static str];

    /// Keys that exclude others, with those. Only the first one that a mapping has counts.
    const KINDS: &'static [(&'static str, &'static [&'static str])] = &[];
    /// Keys, at least one is given; none: no such rule.
    const ANY: &'static [&'static str] = &[];
    /// Keys that are given together or not at all.
    const BOTH: &'static [&'static str] = &[];

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
        Self::of_known(r, value, &fields, context)
    }

    /// Reads a mapping whose keys are known, and checks which of them stand together.
    fn of_known(r: &mut Reader, value: &Doc, fields: &Fields, context: Self::Context<'_>) -> Self {
        let has = |r: &Reader, key: &str| r.optional(fields, key).is_some();
        if let Some((kind, others)) = Self::KINDS.iter().find(|(kind, _)| value.get(kind).is_some()) {
            for other in others.iter().filter(|other| has(r, other)).collect::<Vec<_>>() {
                let reason = format!("'{other}' does not apply with '{kind}'");
                r.report(fields.pointer(other), reason, "one of the two");
            }
        }
        if value.is_mapping() && !Self::ANY.is_empty() && !Self::ANY.iter().any(|key| has(r, key)) {
            let expected = format!("at least one of {}", Self::ANY.join(", "));
            r.report(fields.place(), "change without effect", expected);
        }
        if let [one, other] = Self::BOTH
            && has(r, one) != has(r, other)
        {
            let (given, missing) = if has(r, one) { (one, other) } else { (other, one) };
            r.report(
                fields.place(),
                format!("'{given}' without '{missing}'"),
                "both or neither",
            );
        }
        Self::of_fields(r, fields, context)
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

/// Adds rules for keys that stand together to the schema of a section; `conditions` are those of its keys.
pub(crate) fn together<'k, S: Section>(
    schema: &mut Doc,
    conditions: impl IntoIterator<Item = (&'k str, Option<(Only, bool)>)>,
) {
    let keys = |keys: &[&str]| Doc::list(keys.iter().map(|key| text(key)).collect(), 0);
    let required = |key: &&str| object([("required", keys(&[key]))]);
    if !S::ANY.is_empty() {
        schema.set("anyOf", Doc::list(S::ANY.iter().map(required).collect(), 0));
    }
    if let [one, other] = S::BOTH {
        let both = object([(*one, keys(&[other])), (*other, keys(&[one]))]);
        schema.set("dependentRequired", both);
    }
    let excluded = |(kind, others): &(&str, &[&str])| {
        let none = object([("properties", only::none(others.iter().copied()))]);
        object([("if", required(kind)), ("then", none)])
    };
    let mut all: Vec<Doc> = S::KINDS.iter().map(excluded).collect();
    all.extend(only::rules(conditions));
    if !all.is_empty() {
        schema.set("allOf", Doc::list(all, 0));
    }
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
        $(kinds { $($kind:literal without [$($excluded:literal),+]),+ $(,)? })?
        $(any [$($any:literal),+])?
        $(both [$($both:literal),+])?
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
            $(const KINDS: &'static [(&'static str, &'static [&'static str])] = &[$(($kind, &[$($excluded),+])),+];)?
            $(const ANY: &'static [&'static str] = &[$($any),+];)?
            $(const BOTH: &'static [&'static str] = &[$($both),+];)?

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
                let conditions = [$(($key, $crate::section::condition!($presence $(($value))?))),+];
                let mut schema =
                    $crate::section::mapping(properties, &required, if rules.is_empty() { "{}" } else { rules });
                $crate::section::together::<Self>(&mut schema, conditions);
                schema
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
    ($r:ident, $fields:ident, $key:literal, required_if($only:expr), $shape:expr) => {
        $crate::section::required_if($r, $fields, $key, &$only, &$shape).map($crate::section::Field::field)
    };
    ($r:ident, $fields:ident, $key:literal, optional_if($only:expr), $shape:expr) => {
        $crate::section::optional_if($r, $fields, $key, &$only, &$shape).map($crate::section::Field::field)
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

/// Condition of a row, and whether its key is required then.
macro_rules! condition {
    (required_if($only:expr)) => {
        Some(($only, true))
    };
    (optional_if($only:expr)) => {
        Some(($only, false))
    };
    ($presence:ident $(($value:expr))?) => {
        None
    };
}

/// Puts the default of a row into the tree of a file.
macro_rules! fill {
    ($doc:ident, $key:literal, filled($text:expr)) => {
        $crate::defaults::fill($doc, &[($key, $text)]);
    };
    ($doc:ident, $key:literal, $presence:ident $(($value:expr))?) => {};
}

pub(crate) use {condition, fill, is_required, read, section};
