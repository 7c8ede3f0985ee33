//! Temporary memory of an operation, and what is kept of it for the next one.

use super::layout::{Cut, Layout};
use crate::error::Error;
use alloc::vec::Vec;
use pombo_collective::{Buffer, Segments};

/// Memory that lives as long as the operation. Nothing in it is initialised: messages and copies fill it before
/// anything is read.
#[derive(Default)]
pub(super) struct Scratch(Vec<u8>);

/// Memory of operations that are over, so that the next ones need not ask the system: at most [`KEPT`] pieces, none
/// of them larger than [`LARGEST`]. What is more goes back.
#[derive(Default)]
pub(super) struct Pool(Vec<Scratch>);

/// Pieces that are kept.
const KEPT: usize = 4;
/// The largest one that is kept, in bytes.
const LARGEST: usize = 4 << 20;

impl Pool {
    /// As much as `like` takes, with the same blocks.
    pub(super) fn like(&mut self, like: &Layout) -> Result<(Scratch, Layout), Error> {
        let mut scratch = self.take(like.items().saturating_mul(like.shape().extent()))?;
        let layout = like.at(scratch.0.as_mut_ptr().cast());
        Ok((scratch, layout))
    }

    /// Room for so many blocks, each as large as all of `one`.
    pub(super) fn blocks(
        &mut self,
        one: &Layout,
        blocks: usize,
    ) -> Result<(Scratch, Layout), Error> {
        let items = one.items().saturating_mul(blocks);
        let mut scratch = self.take(items.saturating_mul(one.shape().extent()))?;
        let cut = Cut::Evenly(Segments::into_blocks(items, blocks));
        let layout = Layout::new(scratch.0.as_mut_ptr().cast(), one.shape(), cut);
        Ok((scratch, layout))
    }

    /// A copy of so many blocks.
    ///
    /// # Safety
    /// They are valid now.
    pub(super) unsafe fn copy(
        &mut self,
        blocks: &Layout,
        count: usize,
    ) -> Result<(Scratch, Layout), Error> {
        let from = |block| blocks.region(Buffer::Input.block(block));
        let bytes = |block| {
            let region = from(block);
            region.items().saturating_mul(region.extent())
        };
        let mut scratch = self.take((0..count).map(bytes).fold(0, usize::saturating_add))?;
        let mut regions = Vec::with_capacity(count);
        let mut at = scratch.0.as_mut_ptr();
        for block in 0..count {
            // SAFETY: the scratch memory has room for all blocks one behind the other, and lives as long as the
            // operation.
            let into = unsafe { from(block).at(at.cast()) };
            // SAFETY: the caller's promise for one, the other is the operation's own.
            unsafe { from(block).copy_to(&into) };
            regions.push(into);
            at = at.wrapping_add(bytes(block));
        }
        Ok((scratch, Layout::apart(regions)))
    }

    /// Memory of so many bytes.
    fn take(&mut self, bytes: usize) -> Result<Scratch, Error> {
        if let Some(kept) = self.0.iter().position(|kept| kept.0.capacity() >= bytes) {
            return Ok(self.0.swap_remove(kept));
        }
        let mut memory = Vec::new();
        let reserved = memory.try_reserve_exact(bytes);
        reserved.map_err(|_| Error::NoMemory {
            bytes: bytes as u64,
        })?;
        Ok(Scratch(memory))
    }

    /// Keeps the memory of an operation that is over.
    pub(super) fn give(&mut self, scratch: [Scratch; 2]) {
        for scratch in scratch {
            if (1..=LARGEST).contains(&scratch.0.capacity()) && self.0.len() < KEPT {
                self.0.push(scratch);
            }
        }
    }
}
