//! Scratch memory of operations, and the pool that keeps it for the next ones.

use super::layout::{Cut, Layout};
use crate::datatype::Shape;
use crate::error::Error;
use crate::user_buffer::{Region, UserAddress};
use alloc::vec::Vec;
use pombo_collective::Buffer;
use pombo_kernel::Source;
use pombo_netdrivers::tuning::KEPT_SCRATCH;

/// Memory that lives as long as the operation. It is uninitialised: messages and copies fill it before it is read.
#[derive(Default)]
pub(super) struct Scratch(Vec<u8>);

/// Memory of completed operations, reused to save system calls: at most [`KEPT`] pieces, none larger than [`KEPT_SCRATCH`].
/// Other pieces are freed.
#[derive(Default)]
pub(super) struct Pool(Vec<Scratch>);

/// Most pieces that are kept.
const KEPT: usize = 4;

impl Scratch {
    /// Returns the address. The caller keeps the scratch until the operation is over.
    pub(super) fn address(&mut self) -> UserAddress<'_> {
        UserAddress::of(self.0.spare_capacity_mut())
    }
}

impl Pool {
    /// Takes as much memory as `like` has, with the same blocks and the same layout of items, for reductions.
    pub(super) fn like(&mut self, like: &Layout) -> Result<(Scratch, Layout), Error> {
        let (items, shape) = (like.items(), like.shape());
        let (begin, bytes) = shape.span(items);
        let mut scratch = self.take(bytes)?;
        let region = scratch
            .address()
            .offset(-begin)
            .region(items, shape.clone());
        Ok((scratch, like.at(region, shape)))
    }

    /// Takes memory for the data of `like` without gaps, with the same blocks.
    pub(super) fn packed_like(&mut self, like: &Layout) -> Result<(Scratch, Layout), Error> {
        let (items, shape) = (like.items(), like.shape().packed());
        let mut scratch = self.take(shape.size().saturating_mul(items))?;
        let region = scratch.address().region(items, shape.clone());
        Ok((scratch, like.at(region, shape)))
    }

    /// Takes memory for the data of a region, as bytes.
    pub(super) fn packed(&mut self, region: &Region) -> Result<(Scratch, Region), Error> {
        let bytes = Source::len(region);
        let mut scratch = self.take(bytes)?;
        let region = scratch.address().region(bytes, Shape::BYTE);
        Ok((scratch, region))
    }

    /// Takes memory for `blocks` blocks, each with all data of `one`.
    pub(super) fn blocks(
        &mut self,
        one: &Layout,
        blocks: usize,
    ) -> Result<(Scratch, Layout), Error> {
        let items = one.items().saturating_mul(blocks);
        let shape = one.shape().packed();
        let mut scratch = self.take(items.saturating_mul(shape.size()))?;
        let region = scratch.address().region(items, shape.clone());
        let blocks = Cut::Evenly(blocks);
        Ok((scratch, Layout::Contiguous(region, shape, blocks)))
    }

    /// Copies the data of a layout of `count` blocks.
    pub(super) fn copy(
        &mut self,
        blocks: &Layout,
        count: usize,
    ) -> Result<(Scratch, Layout), Error> {
        let from = |block| blocks.region(Buffer::Input.block(block));
        let bytes = |block| Source::len(&from(block));
        let mut scratch = self.take((0..count).map(bytes).fold(0, usize::saturating_add))?;
        let mut regions = Vec::with_capacity(count);
        let mut room = scratch.address();
        for block in 0..count {
            let from = from(block);
            let into = room.region(Source::len(&from), Shape::BYTE);
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
            if (1..=KEPT_SCRATCH).contains(&scratch.0.capacity()) && self.0.len() < KEPT {
                self.0.push(scratch);
            }
        }
    }
}
