//! An `Event` of TensorFlow, as far as scalars need it.
//!
//! ```text
//! Event:   double wall_time = 1, int64 step = 2, string file_version = 3, Summary summary = 5
//! Summary: repeated Value value = 1
//! Value:   string tag = 1, float simple_value = 2
//! ```

/// What the first event of a file says of the others.
const VERSION: &str = "brain.Event:2";
/// The key of `wall_time`: field 1, 64 bits.
const WALL_TIME: u8 = 0x09;
/// The key of `step`: field 2, a varint.
const STEP: u8 = 0x10;

/// The event that a file begins with; `time` in seconds since 1970.
pub(super) fn version(time: f64) -> Vec<u8> {
    [begun(time, 0), sized(3, VERSION.as_bytes())].concat()
}

/// `scalars` by their tags after `step` steps.
pub(super) fn summary(time: f64, step: u64, scalars: &[(&str, f64)]) -> Vec<u8> {
    let value = |&(tag, scalar): &(&str, f64)| {
        let simple_value = [&[0x15][..], &(scalar as f32).to_le_bytes()].concat(); // field 2, 32 bits
        sized(1, &[sized(1, tag.as_bytes()), simple_value].concat())
    };
    let values: Vec<u8> = scalars.iter().flat_map(value).collect();
    [begun(time, step), sized(5, &values)].concat()
}

/// The step of an event that [`version`] or [`summary`] wrote.
pub(super) fn step(event: &[u8]) -> Option<u64> {
    let (key, behind) = (event.first()?, event.get(9..)?);
    let (next, digits) = behind.split_first()?;
    if (*key, *next) != (WALL_TIME, STEP) {
        return None;
    }
    let mut step = 0;
    for (place, digit) in digits.iter().take(9).enumerate() {
        step |= u64::from(digit & 0x7f) << (7 * place);
        if digit & 0x80 == 0 {
            return Some(step);
        }
    }
    None
}

fn begun(time: f64, step: u64) -> Vec<u8> {
    [&[WALL_TIME][..], &time.to_le_bytes(), &[STEP], &varint(step)].concat()
}

/// A field of so many bytes.
fn sized(field: u8, bytes: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2][..], &varint(bytes.len() as u64), bytes].concat()
}

/// Seven bits a byte, the least first.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_written() {
        for at in [0, 1, 127, 128, 300, 1_000_000_000, 1 << 40] {
            assert_eq!(step(&summary(1.0, at, &[("loss", 0.5)])), Some(at));
        }
        assert_eq!(step(&version(1.0)), Some(0));
        assert_eq!(step(b"something else"), None);
        assert_eq!(step(&[]), None);
    }
}
