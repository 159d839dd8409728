//! Values as bytes, exactly: what is read is bit for bit what was written, infinities and NaN too.

/// A value that can be written as bytes and read back.
pub(crate) trait Exact: Sized {
    /// Appends the value.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Takes a value from the front; `None` if there is none, or none of this kind.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// `exact_fields!(Type: a, b)` writes and reads a struct field by field.
macro_rules! exact_fields {
    ($name:ty: $($field:ident),+ $(,)?) => {
        impl $crate::blocks::exact::Exact for $name {
            fn write(&self, bytes: &mut Vec<u8>) {
                $($crate::blocks::exact::Exact::write(&self.$field, bytes);)+
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::blocks::exact::Exact::read(bytes)?),+ })
            }
        }
    };
}
pub(crate) use exact_fields;

impl Exact for u64 {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (value, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*value))
    }
}

impl Exact for usize {
    fn write(&self, bytes: &mut Vec<u8>) {
        (*self as u64).write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u64::read(bytes)?.try_into().ok()
    }
}

impl Exact for f64 {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.to_bits().write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u64::read(bytes).map(f64::from_bits)
    }
}

impl Exact for bool {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (&value, rest) = bytes.split_first()?;
        *bytes = rest;
        [false, true].get(usize::from(value)).copied()
    }
}

impl Exact for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.len().write(bytes);
        bytes.extend(self.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = usize::read(bytes)?;
        let (text, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Exact> Exact for Option<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_some().write(bytes);
        self.iter().for_each(|value| value.write(bytes));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        match bool::read(bytes)? {
            true => T::read(bytes).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Exact> Exact for Vec<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.len().write(bytes);
        self.iter().for_each(|value| value.write(bytes));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = usize::read(bytes)?;
        // A length that no bytes back is damage, and must not be reserved.
        let mut values = Vec::with_capacity(length.min(bytes.len()));
        for _ in 0..length {
            values.push(T::read(bytes)?);
        }
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_bit_for_bit_and_damage_gives_none() {
        let negative_nan = f64::from_bits(0xfff8_0000_0000_0007);
        let numbers = vec![Some(0.1), None, Some(-0.0), Some(f64::INFINITY), Some(f64::NAN), Some(negative_nan)];
        let mut bytes = Vec::new();
        "ä\n".to_owned().write(&mut bytes);
        numbers.write(&mut bytes);
        true.write(&mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(String::read(&mut rest).unwrap(), "ä\n");
        let bits = |values: &[Option<f64>]| values.iter().map(|it| it.map(f64::to_bits)).collect::<Vec<_>>();
        assert_eq!(bits(&Vec::<Option<f64>>::read(&mut rest).unwrap()), bits(&numbers));
        assert_eq!((bool::read(&mut rest), rest.len()), (Some(true), 0));
        assert_eq!((bool::read(&mut rest), bool::read(&mut [7].as_slice())), (None, None));
        assert!(
            Vec::<f64>::read(&mut [255; 16].as_slice()).is_none() && String::read(&mut [255; 9].as_slice()).is_none()
        );
    }
}
