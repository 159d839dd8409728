//! The named layout of a model's flat weights.

/// One tensor inside the flat weight vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name as PyTorch would have it, such as `layers.0.weight`.
    pub name: String,
    pub shape: Vec<usize>,
    /// Index of its first value in the flat vector; values are row-major.
    pub offset: usize,
}

impl Block {
    /// Number of values.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Where it stands in the flat vector.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.size()
    }
}

/// Blocks that follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub blocks: Vec<Block>,
}

impl Layout {
    /// Appends a block after the last one.
    pub fn push(&mut self, name: String, shape: &[usize]) {
        let offset = self.size();
        self.blocks.push(Block { name, shape: shape.to_vec(), offset });
    }

    /// Number of weights `P`.
    pub fn size(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.range().end)
    }
}
