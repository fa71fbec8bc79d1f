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

/// Multiplier of a mix.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Words of a block: their products differ by constants.
const BLOCK: usize = 8;
/// Bytes of a block.
const BLOCK_BYTES: usize = BLOCK * 8;

/// Last step of a mix, in the order of bytes of the stream.
fn mixed(product: u64) -> u64 {
    (product ^ product >> 29).to_le()
}

impl Pattern {
    /// The stream of `seed`; a sender and a receiver of one flow take the same.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Eight bytes of the stream, from `8 * index` on.
    fn word(&self, index: u64) -> [u8; 8] {
        mixed((index ^ self.seed).wrapping_mul(FACTOR)).to_ne_bytes()
    }

    /// Differences of the products of a block to that of its first index.
    fn steps(&self) -> [u64; BLOCK] {
        std::array::from_fn(|word| ((word as u64 ^ self.seed) % BLOCK as u64).wrapping_mul(FACTOR))
    }

    /// Words from a multiple of [`BLOCK`] on.
    #[inline]
    fn block(&self, first: u64, steps: &[u64; BLOCK]) -> [u64; BLOCK] {
        let high = (first ^ self.seed) / BLOCK as u64 * BLOCK as u64;
        let product = high.wrapping_mul(FACTOR);
        steps.map(|step| mixed(product.wrapping_add(step)))
    }

    /// Words from an index to the next whole block, at most so many.
    fn words_before_block(index: u64, most: usize) -> usize {
        (index.wrapping_neg() % BLOCK as u64).min(most as u64) as usize
    }

    /// Bytes from `offset` to the next whole word, at most `length`.
    fn head(offset: u64, length: usize) -> usize {
        (offset.wrapping_neg() % 8).min(length as u64) as usize
    }

    /// True if whole words are those of the stream from an index on.
    fn agrees(&self, first: u64, words: &[u8]) -> bool {
        let before = Self::words_before_block(first, words.len() / 8);
        let (head, body) = words.split_at(before * 8);
        let (blocks, rest) = body.as_chunks::<BLOCK_BYTES>();
        let (first_block, steps) = (first + before as u64, self.steps());
        let mut differences = [0; BLOCK];
        // Without an early end, which would cost more than it saves: bytes are hardly ever wrong.
        for (index, block) in (first_block..).step_by(BLOCK).zip(blocks) {
            let expected = self.block(index, &steps);
            for ((all, bytes), word) in differences.iter_mut().zip(block.as_chunks().0).zip(expected) {
                *all |= u64::from_ne_bytes(*bytes) ^ word;
            }
        }
        let first_rest = first_block + (blocks.len() * BLOCK) as u64;
        let of_words = |first: u64, words: &[u8]| {
            let words = words.as_chunks().0.iter();
            (first..).zip(words).all(|(index, word)| *word == self.word(index))
        };
        differences == [0; BLOCK] && of_words(first, head) && of_words(first_rest, rest)
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
        let first = offset.div_ceil(8);
        let before = Self::words_before_block(first, body.len() / 8);
        let (words, body) = body.split_at_mut(before * 8);
        for (index, word) in (first..).zip(words.chunks_exact_mut(8)) {
            word.copy_from_slice(&self.word(index));
        }
        let (first, steps) = (first + before as u64, self.steps());
        let (blocks, rest) = body.as_chunks_mut::<BLOCK_BYTES>();
        for (index, block) in (first..).step_by(BLOCK).zip(&mut *blocks) {
            for (word, bytes) in self.block(index, &steps).into_iter().zip(block.as_chunks_mut().0) {
                *bytes = word.to_ne_bytes();
            }
        }
        let first = first + (blocks.len() * BLOCK) as u64;
        for (index, word) in (first..).zip(rest.chunks_mut(8)) {
            word.copy_from_slice(&self.word(index)[..word.len()]);
        }
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
        let words_agree = self.pattern.agrees(first_word, words);
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
    fn blocks_hold_the_bytes_that_single_words_hold() {
        for seed in [0, 7, u64::MAX, 0x1234_5678_9abc_def1] {
            let mut pattern = Pattern::new(seed);
            for (offset, length) in [(0, 300), (61, 517), (8 * 13, 64), (u64::MAX / 16 - 3, 200), (5, 3)] {
                let mut bytes = vec![0; length];
                pattern.read(offset, &mut bytes);
                let expected: Vec<u8> = (offset..).take(length).map(|at| pattern.byte(at)).collect();
                assert_eq!(bytes, expected, "seed {seed}, offset {offset}");
                let mut check = PatternCheck::new(pattern);
                check.write(offset, &bytes);
                for wrong in 0..length {
                    bytes[wrong] ^= 0x80;
                    check.write(offset, &bytes);
                    bytes[wrong] ^= 0x80;
                }
                assert_eq!(check.wrong(), Bytes::of(length), "each byte was wrong once");
            }
        }
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
