// SPDX-License-Identifier: Apache-2.0
//! What a transfer carries: bytes by offset, so that a retransmission needs no buffer and a receiver can
//! check what it gets in any order.

use slotwise_units::Bytes;

/// Where a sender takes its bytes from. `read` of one offset always gives the same byte.
pub trait Source {
    /// Fills `out` with the stream's bytes from `offset` on.
    fn read(&mut self, offset: u64, out: &mut [u8]);
}

/// Where a receiver puts its bytes. Each byte of the stream comes exactly once, in any order.
pub trait Sink {
    /// Takes the stream's bytes from `offset` on.
    fn write(&mut self, offset: u64, bytes: &[u8]);
}

/// A file or message held in memory. As a source it must be as long as the transfer (further bytes read as
/// zero); as a sink it grows to the furthest byte.
impl Source for Vec<u8> {
    fn read(&mut self, offset: u64, out: &mut [u8]) {
        out.fill(0);
        let start = usize::try_from(offset).map_or(self.len(), |o| o.min(self.len()));
        let length = out.len().min(self.len() - start);
        out[..length].copy_from_slice(&self[start..start + length]);
    }
}

impl Sink for Vec<u8> {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let start = offset as usize;
        if self.len() < start + bytes.len() {
            self.resize(start + bytes.len(), 0);
        }
        self[start..start + bytes.len()].copy_from_slice(bytes);
    }
}

/// Endless bytes that are a function of a seed and the offset: every eight have their own mix of both, so
/// a byte that is lost, doubled or moved shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    seed: u64,
}

impl Pattern {
    /// The stream of `seed`; a sender and a receiver of one flow take the same.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Eight bytes of the stream, from `8 * index` on.
    fn word(&self, index: u64) -> [u8; 8] {
        let mixed = (index ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).to_le_bytes()
    }

    /// Bytes from `offset` to the next whole word, at most `length`.
    fn head(offset: u64, length: usize) -> usize {
        (offset.wrapping_neg() % 8).min(length as u64) as usize
    }

    /// The stream's byte at `offset`.
    fn byte(&self, offset: u64) -> u8 {
        self.word(offset / 8)[(offset % 8) as usize]
    }
}

impl Source for Pattern {
    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let (head, body) = out.split_at_mut(Self::head(offset, out.len()));
        for (at, byte) in (offset..).zip(head) {
            *byte = self.byte(at);
        }
        let (first, whole) = (offset.div_ceil(8), body.len() as u64 / 8);
        let mut words = body.chunks_exact_mut(8);
        for (index, word) in (first..first + whole).zip(&mut words) {
            word.copy_from_slice(&self.word(index));
        }
        let tail = words.into_remainder();
        tail.copy_from_slice(&self.word(first + whole)[..tail.len()]);
    }
}

/// A sink that compares with a [`Pattern`] and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternCheck {
    pattern: Pattern,
    bytes: Bytes,
    wrong: Bytes,
}

impl PatternCheck {
    /// Expects the stream of `pattern`.
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            bytes: Bytes::ZERO,
            wrong: Bytes::ZERO,
        }
    }

    /// Compared so far.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn count_wrong(&self, offset: u64, bytes: &[u8]) -> Bytes {
        let expected = (offset..).map(|at| self.pattern.byte(at));
        Bytes::of(bytes.iter().zip(expected).filter(|(a, b)| *a != b).count())
    }

    /// Bytes that differ from the pattern; more than 0 is a broken network or transport.
    pub fn wrong(&self) -> Bytes {
        self.wrong
    }
}

impl Sink for PatternCheck {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.bytes += Bytes::of(bytes.len());
        let (head, body) = bytes.split_at(Pattern::head(offset, bytes.len()));
        let (words, tail) = body.split_at(body.len() / 8 * 8);
        let first_word = offset.div_ceil(8);
        // Without an early end, which would cost more than it saves: bytes are hardly ever wrong.
        let differences = (first_word..).zip(words.chunks_exact(8)).map(|(index, word)| {
            let expected = u64::from_ne_bytes(self.pattern.word(index));
            word.try_into()
                .map_or(u64::MAX, |word| u64::from_ne_bytes(word) ^ expected)
        });
        let words_agree = differences.fold(0, |all, difference| all | difference) == 0;
        self.wrong += self.count_wrong(offset, head);
        if !words_agree {
            self.wrong += self.count_wrong(first_word * 8, words);
        }
        self.wrong += self.count_wrong(first_word * 8 + words.len() as u64, tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_reads_alike_in_pieces_and_whole_and_the_check_sees_one_wrong_byte() {
        let mut pattern = Pattern::new(7);
        let mut whole = vec![0; 100];
        pattern.read(1000, &mut whole);
        for cut in 0..100 {
            let mut tail = vec![0; 100 - cut];
            pattern.read(1000 + cut as u64, &mut tail);
            assert_eq!(tail, whole[cut..]);
        }
        let mut check = PatternCheck::new(pattern);
        check.write(1000, &whole);
        assert_eq!((check.bytes(), check.wrong()), (Bytes::new(100), Bytes::ZERO));
        whole[57] ^= 1;
        check.write(1000, &whole);
        assert_eq!(check.wrong(), Bytes::new(1));
        check.write(1008, &whole[0..50]);
        assert!(
            check.wrong() > Bytes::new(40),
            "a moved stream is wrong almost everywhere"
        );
    }

    #[test]
    fn a_vector_is_a_source_and_a_sink() {
        let mut file = vec![1, 2, 3, 4];
        let mut out = [9; 4];
        file.read(2, &mut out);
        assert_eq!(out, [3, 4, 0, 0]);
        let mut copy = Vec::new();
        copy.write(2, &[3, 4]);
        copy.write(0, &[1, 2]);
        assert_eq!(copy, file);
    }
}
