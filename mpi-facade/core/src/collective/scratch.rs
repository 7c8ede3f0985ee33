//! Temporary memory of an operation.

use super::layout::{Cut, Layout};
use crate::error::Error;
use alloc::vec::Vec;
use pombo_kernel::collective::Segments;

/// Memory that lives as long as the operation.
#[derive(Default)]
pub(super) struct Scratch(Vec<u8>);

impl Scratch {
    /// As much as `like` takes, with the same blocks.
    pub(super) fn like(like: &Layout) -> Result<(Scratch, Layout), Error> {
        let mut scratch = Scratch::of(like.items().saturating_mul(like.shape().extent()))?;
        let layout = like.at(scratch.0.as_mut_ptr().cast());
        Ok((scratch, layout))
    }

    /// Room for so many blocks, each as large as all of `one`.
    pub(super) fn blocks(one: &Layout, blocks: usize) -> Result<(Scratch, Layout), Error> {
        let items = one.items().saturating_mul(blocks);
        let mut scratch = Scratch::of(items.saturating_mul(one.shape().extent()))?;
        let cut = Cut::Evenly(Segments::into_blocks(items, blocks));
        let layout = Layout::new(scratch.0.as_mut_ptr().cast(), one.shape(), cut);
        Ok((scratch, layout))
    }

    /// A copy of all blocks that lie anywhere.
    ///
    /// # Safety
    /// They are valid now.
    pub(super) unsafe fn copy(blocks: &Layout, count: usize) -> Result<(Scratch, Layout), Error> {
        let piece = |block| pombo_kernel::collective::Buffer::Input.block(block);
        let sizes = (0..count).map(|block| {
            let region = blocks.region(piece(block));
            region.items() * region.extent()
        });
        let mut scratch = Scratch::of(sizes.clone().fold(0, usize::saturating_add))?;
        let mut regions = Vec::with_capacity(count);
        let mut at = scratch.0.as_mut_ptr();
        for (block, bytes) in sizes.enumerate() {
            let from = blocks.region(piece(block));
            // SAFETY: the scratch memory has room for all blocks one behind the other, and lives as long as the
            // operation.
            let into = unsafe { from.at(at.cast()) };
            // SAFETY: the caller's promise for one, the other is new.
            unsafe { from.copy_to(&into) };
            regions.push(into);
            at = at.wrapping_add(bytes);
        }
        Ok((scratch, Layout::apart(regions)))
    }

    fn of(bytes: usize) -> Result<Scratch, Error> {
        let mut memory = Vec::new();
        memory
            .try_reserve_exact(bytes)
            .map_err(|_| Error::NoMemory {
                bytes: bytes as u64,
            })?;
        // Zeroed, for what is combined may be padding in part.
        memory.resize(bytes, 0);
        Ok(Scratch(memory))
    }
}
