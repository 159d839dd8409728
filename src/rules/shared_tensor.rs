//! Named tensors of a rule's shared values, for files.

use crate::models::Layout;

/// A named tensor of the shared values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedTensor {
    /// Name in the weights file.
    pub name: String,
    /// Size along each axis.
    pub shape: Vec<usize>,
    /// Index in `[S]` of each value, in row-major order of `shape`.
    pub indices: Vec<usize>,
}

impl SharedTensor {
    /// The weights of a network, block by block as `PREFIX.BLOCK`, which come first among the shared values.
    pub fn of_network(prefix: &str, layout: &Layout) -> Vec<SharedTensor> {
        let tensor = |block: &crate::models::Block| SharedTensor {
            name: format!("{prefix}.{}", block.name),
            shape: block.shape.clone(),
            indices: block.range().collect(),
        };
        layout.blocks.iter().map(tensor).collect()
    }

    /// A matrix `[rows, columns]` that is stored by columns from index `start`.
    pub fn by_columns(name: &str, start: usize, [rows, columns]: [usize; 2]) -> SharedTensor {
        let indices = (0..rows).flat_map(|row| (0..columns).map(move |k| start + k * rows + row)).collect();
        SharedTensor { name: name.to_owned(), shape: vec![rows, columns], indices }
    }
}
