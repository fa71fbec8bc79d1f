// SPDX-License-Identifier: Apache-2.0
//! A JSON value that knows where it stands, so that every error names its place.

use crate::LoadError;
use crate::limits::{Budget, TooMuch};
use crate::trace::SourceLocation;
use serde_json::Value;

/// A value and the JSON pointer to it.
#[derive(Clone)]
pub(super) struct Place<'a> {
    value: &'a Value,
    pointer: String,
    budget: &'a Budget,
}

/// Result of reading the JSON.
pub(super) type Load<T> = Result<T, LoadError>;

impl<'a> Place<'a> {
    pub fn root(value: &'a Value, budget: &'a Budget) -> Place<'a> {
        Place {
            value,
            pointer: String::new(),
            budget,
        }
    }

    /// Counts memory that the program takes because of what stands here.
    pub fn charge(&self, bytes: u64) -> Load<()> {
        self.budget.charge(bytes).map_err(|error| self.too_large(error))
    }

    /// As [`Place::charge`], of what each pipeline of the program takes.
    pub fn charge_pipeline(&self, bytes: u64) -> Load<()> {
        self.budget
            .charge_pipeline(bytes)
            .map_err(|error| self.too_large(error))
    }

    fn too_large(&self, error: TooMuch) -> LoadError {
        match error {
            TooMuch::OfProgram { needed_bytes } => LoadError::TooLarge {
                path: self.pointer.clone(),
                needed_bytes,
                limit_bytes: self.budget.limit(),
            },
            TooMuch::OfAll(error) => LoadError::OutOfMemory(error),
        }
    }

    /// As [`Place::charge`], of words.
    pub fn charge_words(&self, words: usize) -> Load<()> {
        self.charge(words as u64 * 8)
    }

    pub fn error<T>(&self, reason: impl Into<String>) -> Load<T> {
        Err(LoadError::Invalid {
            path: self.pointer.clone(),
            reason: reason.into(),
        })
    }

    fn child(&self, key: &str, value: &'a Value) -> Place<'a> {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Place {
            value,
            pointer: format!("{}/{escaped}", self.pointer),
            budget: self.budget,
        }
    }

    /// Objects in it, at any depth: operations and operands of an expression.
    pub fn objects(&self) -> u64 {
        fn objects(value: &Value) -> u64 {
            match value {
                Value::Object(members) => 1 + members.values().map(objects).sum::<u64>(),
                Value::Array(items) => items.iter().map(objects).sum(),
                _ => 0,
            }
        }
        objects(self.value)
    }

    fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    fn expected<T>(&self, wanted: &str) -> Load<T> {
        self.error(format!("expected {wanted}, found {}", self.kind()))
    }

    /// The member `key`, if the object has it and it is not null.
    pub fn get(&self, key: &str) -> Load<Option<Place<'a>>> {
        let Value::Object(members) = self.value else {
            return self.expected("an object");
        };
        Ok(members.get(key).filter(|v| !v.is_null()).map(|v| self.child(key, v)))
    }

    /// The member `key`, which must be there.
    pub fn need(&self, key: &str) -> Load<Place<'a>> {
        match self.get(key)? {
            Some(place) => Ok(place),
            None => self.error(format!("missing member `{key}`")),
        }
    }

    /// The members of the object, in order of their names.
    pub fn members(&self) -> Load<Vec<(&'a str, Place<'a>)>> {
        let Value::Object(members) = self.value else {
            return self.expected("an object");
        };
        Ok(members
            .iter()
            .map(|(key, v)| (key.as_str(), self.child(key, v)))
            .collect())
    }

    /// The items of an array.
    pub fn items(&self) -> Load<Vec<Place<'a>>> {
        let Value::Array(items) = self.value else {
            return self.expected("an array");
        };
        Ok(items
            .iter()
            .enumerate()
            .map(|(i, v)| self.child(&i.to_string(), v))
            .collect())
    }

    /// The items of an array that must have exactly `N`.
    pub fn tuple<const N: usize>(&self) -> Load<[Place<'a>; N]> {
        let items = self.items()?;
        let found = items.len();
        match items.try_into() {
            Ok(tuple) => Ok(tuple),
            Err(_) => self.error(format!("expected {N} items, found {found}")),
        }
    }

    /// The items of the member `key`; none if it is missing.
    pub fn list(&self, key: &str) -> Load<Vec<Place<'a>>> {
        match self.get(key)? {
            Some(place) => place.items(),
            None => Ok(Vec::new()),
        }
    }

    pub fn is_object(&self) -> bool {
        self.value.is_object()
    }

    pub fn is_string(&self) -> bool {
        self.value.is_string()
    }

    pub fn text(&self) -> Load<&'a str> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => self.expected("a string"),
        }
    }

    pub fn boolean(&self) -> Load<bool> {
        match self.value {
            Value::Bool(value) => Ok(*value),
            // p4c writes some flags as 0 and 1.
            Value::Number(n) if n.as_u64() == Some(0) => Ok(false),
            Value::Number(n) if n.as_u64() == Some(1) => Ok(true),
            _ => self.expected("a boolean"),
        }
    }

    /// The boolean member `key`; false if it is missing.
    pub fn flag(&self, key: &str) -> Load<bool> {
        match self.get(key)? {
            Some(place) => place.boolean(),
            None => Ok(false),
        }
    }

    /// Where p4c found it, as far as the JSON says it: only traces need it, so nothing is refused.
    pub fn source(&self) -> Option<SourceLocation> {
        let info = self.value.get("source_info")?;
        let text = |key: &str| info.get(key)?.as_str().map(str::to_owned);
        Some(SourceLocation {
            file: text("filename")?,
            line: info.get("line")?.as_u64()?,
            fragment: text("source_fragment").unwrap_or_default(),
        })
    }

    /// A whole number in `0..=max`.
    pub fn number(&self, max: u64) -> Load<u64> {
        let Value::Number(number) = self.value else {
            return self.expected("a number");
        };
        match number.as_u64() {
            Some(n) if n <= max => Ok(n),
            _ => self.error(format!("expected a whole number from 0 to {max}, found {number}")),
        }
    }

    /// A whole number in `0..=max` as an index or size.
    pub fn size(&self, max: usize) -> Load<usize> {
        Ok(self.number(max as u64)? as usize)
    }
}

/// A number from a `hexstr`: magnitude in limbs (no leading zero limb), and its sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hex {
    pub negative: bool,
    pub magnitude: Vec<u64>,
    /// Bytes that the digits stand for, leading zeros included.
    pub bytes: Vec<u8>,
}

impl Place<'_> {
    /// A hexadecimal string, `-` and `0x` optional.
    pub fn hex(&self) -> Load<Hex> {
        let text = self.text()?;
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.error(format!("expected a hexadecimal number, found `{text}`"));
        }
        if digits.len() > super::MAX_VALUE_BITS as usize / 4 {
            return self.error(format!("number wider than {} bits", super::MAX_VALUE_BITS));
        }
        let nibble = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
        let bytes: Vec<u8> = digits
            .as_bytes()
            .rchunks(2)
            .rev()
            .map(|pair| pair.iter().fold(0, |acc, &b| acc << 4 | nibble(b)))
            .collect();
        let mut magnitude = crate::value::from_be_bytes(&bytes, bytes.len().div_ceil(8)).unwrap_or_default();
        while magnitude.last() == Some(&0) {
            magnitude.pop();
        }
        Ok(Hex {
            negative: negative && !magnitude.is_empty(),
            magnitude,
            bytes,
        })
    }

    /// A hexadecimal string that is not negative and fits in `bits` bits, as limbs.
    pub fn hex_bits(&self, bits: u32) -> Load<Vec<u64>> {
        let hex = self.hex()?;
        if hex.negative || crate::value::bit_length(&hex.magnitude) > bits {
            return self.error(format!("value does not fit in {bits} bits"));
        }
        let words = crate::value::limbs_for(bits);
        self.charge_words(words)?;
        let mut limbs = hex.magnitude;
        limbs.resize(words, 0);
        Ok(limbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Held;
    use serde_json::json;

    #[test]
    fn errors_carry_the_pointer() {
        let value = json!({"a/b": [1, {"c": "x"}]});
        let budget = Budget::new(&crate::Limits::default(), Held::unlimited());
        let place = Place::root(&value, &budget)
            .need("a/b")
            .unwrap()
            .items()
            .unwrap()
            .remove(1)
            .need("c")
            .unwrap();
        let error = place.number(3).unwrap_err();
        assert_eq!(error.to_string(), "/a~1b/1/c: expected a number, found a string");
    }

    #[test]
    fn hex_forms() {
        let value = json!(["0x0100", "-0x1", "fff", "0x", "0xg"]);
        let budget = Budget::new(&crate::Limits::default(), Held::unlimited());
        let items = Place::root(&value, &budget).items().unwrap();
        let zero_one = items[0].hex().unwrap();
        assert_eq!((zero_one.magnitude, zero_one.bytes), (vec![256], vec![1, 0]));
        assert!(items[1].hex().unwrap().negative);
        assert_eq!(items[2].hex().unwrap().bytes, [0x0f, 0xff]);
        assert!(items[3].hex().is_err());
        assert!(items[4].hex().is_err());
        assert!(items[2].hex_bits(11).is_err());
        assert_eq!(items[2].hex_bits(65).unwrap(), [0xfff, 0]);
    }
}
