//! Temporary memory of an operation, and what is kept of it for the next one.

use super::layout::{Cut, Layout};
use crate::error::Error;
use crate::user_buffer::UserAddress;
use alloc::vec::Vec;
use pombo_collective::Buffer;

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

impl Scratch {
    /// Whoever lends it keeps it until the operation is over.
    pub(super) fn address(&mut self) -> UserAddress<'_> {
        UserAddress::of(self.0.spare_capacity_mut())
    }
}

impl Pool {
    /// As much as `like` takes, with the same blocks.
    pub(super) fn like(&mut self, like: &Layout) -> Result<(Scratch, Layout), Error> {
        let mut scratch = self.take(like.items().saturating_mul(like.shape().extent()))?;
        let region = scratch.address().region(like.items(), like.shape());
        Ok((scratch, like.at(region)))
    }

    /// Room for so many blocks, each as large as all of `one`.
    pub(super) fn blocks(
        &mut self,
        one: &Layout,
        blocks: usize,
    ) -> Result<(Scratch, Layout), Error> {
        let items = one.items().saturating_mul(blocks);
        let mut scratch = self.take(items.saturating_mul(one.shape().extent()))?;
        let region = scratch.address().region(items, one.shape());
        Ok((scratch, Layout::Contiguous(region, Cut::Evenly(blocks))))
    }

    /// A copy of so many blocks.
    pub(super) fn copy(
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
        let mut room = scratch.address();
        for block in 0..count {
            let from = from(block);
            let into = room.region(from.items(), from.shape());
            from.copy_to(&into);
            regions.push(into);
            room = room.offset(bytes(block) as isize);
        }
        Ok((scratch, Layout::Apart(regions)))
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
