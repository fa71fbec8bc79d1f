// SPDX-License-Identifier: Apache-2.0
//! The key that both ends have.

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// A pre-shared key: who has it is let in. Wiped from memory at its end, and never shown.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; KEY_BYTES]>);

/// A text that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Too long, too short, or other characters.
    #[error("invalid key; expected 64 hexadecimal digits (`slotwise gtp key`), got {found}")]
    Text {
        /// What is there instead.
        found: String,
    },
    /// The system has no random numbers.
    #[error("system random numbers are not available")]
    Random,
}

impl Key {
    /// A new one, of the system's random numbers.
    ///
    /// # Errors
    /// When there are none.
    pub fn generate() -> Result<Key, KeyError> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        SystemRandom::new().fill(&mut *bytes).map_err(|_| KeyError::Random)?;
        Ok(Key(bytes))
    }

    /// Of its bytes.
    pub fn of(bytes: [u8; KEY_BYTES]) -> Key {
        Key(Zeroizing::new(bytes))
    }

    /// Reads 64 hexadecimal digits, with white space around them or none.
    ///
    /// # Errors
    /// When it is something else; the text itself is not repeated.
    pub fn parse(text: &str) -> Result<Key, KeyError> {
        let text = text.trim();
        if text.len() != 2 * KEY_BYTES {
            let found = format!("{} characters", text.chars().count());
            return Err(KeyError::Text { found });
        }
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                let found = "other characters".into();
                return Err(KeyError::Text { found });
            };
            *byte = (high << 4 | low) as u8;
        }
        Ok(Key(bytes))
    }

    /// As [`Key::parse`] reads it, with the end of a line.
    pub fn to_text(&self) -> Zeroizing<String> {
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits = digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
        Zeroizing::new(digits.chain(['\n']).collect())
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written_and_nothing_else_is() {
        let key = Key::of(std::array::from_fn(|at| at as u8 * 8));
        assert_eq!(Key::parse(&key.to_text()).unwrap().bytes(), key.bytes());
        assert_eq!(Key::parse(&key.to_text().to_uppercase()).unwrap().bytes(), key.bytes());
        let text = key.to_text();
        for wrong in ["", "00", &text[1..], &text.replace('0', "g"), &"\u{e9}".repeat(32)] {
            assert!(Key::parse(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(format!("{key:?}"), "Key(..)");
        let [one, other] = [(); 2].map(|()| Key::generate().unwrap());
        assert_ne!(one.bytes(), other.bytes());
    }
}
