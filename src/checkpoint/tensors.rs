//! Named arrays of `f64` in a safetensors file.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::error::Error;

/// A shaped array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Array {
    pub(super) fn new(shape: &[usize], values: Vec<f64>) -> Self {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "shape and values of an array disagree");
        Array { shape: shape.to_vec(), values }
    }
}

/// Arrays by name.
pub(super) type Arrays = BTreeMap<String, Array>;

/// The bytes of a safetensors file.
pub(super) fn to_bytes(arrays: &Arrays) -> Vec<u8> {
    let bytes: Vec<(&String, &Array, Vec<u8>)> = arrays
        .iter()
        .map(|(name, array)| (name, array, array.values.iter().flat_map(|value| value.to_le_bytes()).collect()))
        .collect();
    let views = bytes.iter().map(|(name, array, bytes)| {
        (name, TensorView::new(Dtype::F64, array.shape.clone(), bytes).expect("shapes and bytes agree"))
    });
    safetensors::serialize(views, None).expect("named arrays always serialise")
}

/// Reads every array of a safetensors file.
///
/// # Errors
/// If the bytes are not safetensors, or hold another type than `f64`.
pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Arrays, Error> {
    let invalid = |found: String| Error::Invalid {
        path: path.to_owned(),
        found,
        expected: "a safetensors file of F64 arrays; restore the file, or train again by forcing the stage `train`"
            .to_owned(),
    };
    let file = SafeTensors::deserialize(bytes).map_err(|error| invalid(error.to_string()))?;
    let mut arrays = Arrays::new();
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F64 {
            return Err(invalid(format!("array `{name}` of type {:?}", view.dtype())));
        }
        let values =
            view.data().chunks_exact(8).map(|chunk| f64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        arrays.insert(name.to_owned(), Array { shape: view.shape().to_vec(), values: values.collect() });
    }
    Ok(arrays)
}

/// Takes the array `name` of `shape` out of `arrays`.
///
/// # Errors
/// If it is not there, or has another shape, or a value that is not finite.
pub(super) fn take(arrays: &mut Arrays, path: &Path, name: &str, shape: &[usize]) -> Result<Vec<f64>, Error> {
    let expected = format!("array `{name}` of shape {shape:?}, finite");
    let found = match arrays.remove(name) {
        None => "none".to_owned(),
        Some(array) if array.shape != shape => format!("shape {:?}", array.shape),
        Some(array) if array.values.iter().any(|value| !value.is_finite()) => "a value that is not finite".to_owned(),
        Some(array) => return Ok(array.values),
    };
    Err(Error::Invalid { path: path.to_owned(), found, expected })
}
