//! The division of a long message into segments.

/// A number of values divided into blocks of nearly equal size: segments that follow each other through a tree, or one
/// share for each rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segments {
    values: usize,
    blocks: usize,
}

impl Segments {
    /// Divides `values` values into `blocks` blocks, the first of them one longer if need be; 0 blocks count as 1.
    pub const fn into_blocks(values: usize, blocks: usize) -> Self {
        let blocks = if blocks == 0 { 1 } else { blocks };
        Segments { values, blocks }
    }

    /// Divides `values` values into the least number of blocks of at most `most` values; 0 counts as 1.
    pub const fn at_most(values: usize, most: usize) -> Self {
        let most = if most == 0 { 1 } else { most };
        Self::into_blocks(values, values.div_ceil(most))
    }

    /// Returns the number of blocks.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the index of a block's first value; behind the last block, the number of values.
    pub const fn start(&self, block: usize) -> usize {
        let (size, longer) = (self.values / self.blocks, self.values % self.blocks);
        let extra = if block < longer { block } else { longer };
        block.saturating_mul(size).saturating_add(extra)
    }
}
