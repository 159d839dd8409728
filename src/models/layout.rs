//! The named layout of a model's flat weights.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One tensor inside the flat weight vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name in the style of PyTorch, such as `layers.0.weight`.
    pub name: String,
    /// Size along each axis.
    pub shape: Vec<usize>,
    /// Index of its first value in the flat vector; values are row-major.
    pub offset: usize,
}

impl Block {
    /// Number of values.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Its indices in the flat vector.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.size()
    }
}

/// Blocks that follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// In the order of the flat vector.
    pub blocks: Vec<Block>,
}

impl Layout {
    /// Appends a block after the last one.
    pub fn push(&mut self, name: String, shape: &[usize]) {
        let offset = self.size();
        self.blocks.push(Block { name, shape: shape.to_vec(), offset });
    }

    /// Range of the weights of layer `index`, whose blocks are named `layers.INDEX.*` and are adjacent.
    fn layer(&self, index: usize) -> Range<usize> {
        let prefix = format!("layers.{index}.");
        let blocks = self.blocks.iter().filter(|block| block.name.starts_with(&prefix));
        let start = blocks.clone().map(|block| block.offset).min().unwrap_or(0);
        start..blocks.map(|block| block.range().end).max().unwrap_or(0)
    }

    /// The block `name` of the first or last layer; for `All`, that of the first layer.
    ///
    /// # Panics
    /// If that layer has no such block; every model has a `weight` and a `bias` in its first and last layer.
    pub fn block(&self, layer: AdaptedLayers, name: &str) -> &Block {
        let of_layer = self.adapted(layer);
        let found = self.blocks.iter().find(|block| of_layer.contains(&block.offset) && block.name.ends_with(name));
        found.unwrap_or_else(|| panic!("no block `{name}` in that layer"))
    }

    /// Range of the weights of the layers `adapted`.
    pub fn adapted(&self, adapted: AdaptedLayers) -> Range<usize> {
        match adapted {
            AdaptedLayers::All => 0..self.size(),
            AdaptedLayers::First => self.layer(0),
            AdaptedLayers::Last => {
                let last = self.blocks.iter().filter_map(|block| block.name.split('.').nth(1)?.parse().ok()).max();
                self.layer(last.unwrap_or(0))
            }
        }
    }

    /// Number of weights `P`.
    pub fn size(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.range().end)
    }
}

/// The layers whose weights depend on the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdaptedLayers {
    /// Every layer.
    #[default]
    All,
    /// The first layer.
    First,
    /// The last layer.
    Last,
}

impl AdaptedLayers {
    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            AdaptedLayers::All => "all",
            AdaptedLayers::First => "first",
            AdaptedLayers::Last => "last",
        }
    }
}
