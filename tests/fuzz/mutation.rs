//! Damage to bytes: what disks, networks and hostile people do to a file.

use paramill::random::Stream;

/// Numbers at which readers fail.
const EDGES: [u64; 14] =
    [0, 1, 2, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];

/// What a case draws from.
pub struct Random(Stream);

impl Random {
    pub fn new(kind: &str, case: u64) -> Self {
        Random(Stream::new(0, kind, &[case]))
    }

    /// Uniform on `0..count`; 0 where that is empty.
    pub fn below(&mut self, count: usize) -> usize {
        (self.0.unit() * count as f64) as usize
    }

    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }
}

/// Damages `bytes` in one to four places; `words` are put in where text is expected.
pub fn damage(bytes: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        damage_once(bytes, words, random);
    }
}

fn damage_once(bytes: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let at = random.below(bytes.len());
    let length = (1 << random.below(8)).min(bytes.len() - at);
    let range = at..at + length;
    match random.below(if words.is_empty() { 8 } else { 12 }) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
        2 => {
            let width = *random.one_of(&[1, 2, 4, 8]);
            let number = random.one_of(&EDGES).to_le_bytes();
            bytes.iter_mut().skip(at).zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
        }
        3 => bytes[range].fill(*random.one_of(&[0, 0xff])),
        4 => {
            bytes.drain(range);
        }
        5 => {
            let again = bytes[range.clone()].to_vec();
            bytes.splice(range.end..range.end, again);
        }
        6 => {
            let other = random.below(bytes.len() - length);
            let copy = bytes[range].to_vec();
            bytes[other..other + length].copy_from_slice(&copy);
        }
        7 if random.chance(0.2) => bytes.truncate(at),
        8..12 => {
            let word = random.one_of(words).bytes();
            let end = at + random.below(length.min(8));
            bytes.splice(at..end, word);
        }
        _ => {}
    }
}
