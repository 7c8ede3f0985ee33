//! How a long message is cut.

/// A number of values cut into blocks of nearly equal size, for segments that follow each other through a tree and for
/// algorithms that give every rank a share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segments {
    values: usize,
    blocks: usize,
}

impl Segments {
    /// Into so many blocks, the first of them one longer if need be; 0 counts as 1.
    pub const fn into_blocks(values: usize, blocks: usize) -> Self {
        let blocks = if blocks == 0 { 1 } else { blocks };
        Segments { values, blocks }
    }

    /// Into as many blocks as are needed if none is longer than `most`; 0 counts as 1.
    pub const fn at_most(values: usize, most: usize) -> Self {
        let most = if most == 0 { 1 } else { most };
        Self::into_blocks(values, values.div_ceil(most))
    }

    /// How many blocks.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Where a block begins; behind the last one, where it all ends.
    pub const fn start(&self, block: usize) -> usize {
        let (size, longer) = (self.values / self.blocks, self.values % self.blocks);
        let extra = if block < longer { block } else { longer };
        block.saturating_mul(size).saturating_add(extra)
    }
}
