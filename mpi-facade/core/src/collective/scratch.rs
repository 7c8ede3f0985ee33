//! Scratch memory of operations, and the pool that keeps it for the next ones.

use super::layout::{Cut, Layout};
use crate::error::Error;
use crate::user_buffer::UserAddress;
use alloc::vec::Vec;
use pombo_collective::Buffer;

/// Memory that lives as long as the operation. It is uninitialised: messages and copies fill it before it is read.
#[derive(Default)]
pub(super) struct Scratch(Vec<u8>);

/// Memory of completed operations, reused to save system calls: at most [`KEPT`] pieces, none larger than [`LARGEST`].
/// Other pieces are freed.
#[derive(Default)]
pub(super) struct Pool(Vec<Scratch>);

/// Most pieces that are kept.
const KEPT: usize = 4;
/// Bytes of the largest piece that is kept.
const LARGEST: usize = 4 << 20;

impl Scratch {
    /// Returns the address. The caller keeps the scratch until the operation is over.
    pub(super) fn address(&mut self) -> UserAddress<'_> {
        UserAddress::of(self.0.spare_capacity_mut())
    }
}

impl Pool {
    /// Takes as much memory as `like` has, with the same blocks.
    pub(super) fn like(&mut self, like: &Layout) -> Result<(Scratch, Layout), Error> {
        let mut scratch = self.take(like.items().saturating_mul(like.shape().extent()))?;
        let region = scratch.address().region(like.items(), like.shape());
        Ok((scratch, like.at(region)))
    }

    /// Takes memory for `blocks` blocks, each as large as all of `one`.
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

    /// Copies a layout of `blocks` blocks.
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

    /// Takes `bytes` bytes.
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

    /// Keeps the scratch memory of an operation that is over.
    pub(super) fn give(&mut self, scratch: [Scratch; 2]) {
        for scratch in scratch {
            if (1..=LARGEST).contains(&scratch.0.capacity()) && self.0.len() < KEPT {
                self.0.push(scratch);
            }
        }
    }
}
