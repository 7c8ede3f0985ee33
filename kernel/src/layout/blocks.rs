//! The walk over the data of a layout, from any byte on: [`Blocks`].

use super::entry::Content;
use super::{BasicType, Entry, Layout, MAX_DEPTH};
use crate::aspect::Slice;

/// Equal pieces of data at a constant stride, each without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<E> {
    /// Displacement in bytes of the value in which the first piece begins.
    pub displacement: i64,
    /// Number of bytes of that value, in the form in which it is sent, before the piece. It is not 0 only for a single
    /// piece: the walk began or went on inside a value.
    pub phase: u64,
    /// Number of bytes of each piece, in the form in which they are sent.
    pub len: u64,
    /// Number of pieces, at least 1.
    pub count: u64,
    /// Bytes in memory from one piece to the next.
    pub stride: i64,
    /// The type of the values.
    pub element: E,
}

/// The blocks of a range of data, in the order of a message. Beginning costs O(depth x log entries of a group), each
/// block O(1) per level that ends with it.
#[derive(Clone, Debug)]
pub struct Blocks<'a, E> {
    entries: &'a [Entry<E>],
    /// All items together; `None` if there is nothing to walk.
    top: Option<Entry<E>>,
    /// The run that comes next.
    at: Place,
    /// Number of data bytes of the run before the next block.
    inside: u64,
    left: u64,
    /// The groups around the run, outermost first.
    around: heapless::Vec<Place, { MAX_DEPTH + 1 }>,
}

/// A copy of an entry.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The entry, and the last entry of its group.
    entry: u32,
    last: u32,
    copy: u64,
    /// Displacement of the group.
    origin: i64,
}

/// The number of the entry that stands for all items.
const TOP: u32 = u32::MAX;

impl<N: Slice<Entry<E>>, E: BasicType> Layout<N, E> {
    /// Returns the number of whole values in the first `bytes` bytes of a message of such items.
    pub fn elements_in(&self, bytes: u64) -> u64 {
        if self.size == 0 {
            return 0;
        }
        let (items, rest) = (bytes / self.size, bytes % self.size);
        let counted = |block: Block<E>| block.count * (block.len / block.element.packed_size());
        let partial: u64 = self.blocks(1, 0, rest).map(counted).sum();
        items.wrapping_mul(self.elements).wrapping_add(partial)
    }

    /// Returns the blocks of `len` bytes of data, starting at byte `offset`, of `items` consecutive items. Bytes beyond
    /// the items are not data and do not appear.
    #[inline]
    pub fn blocks(&self, items: u64, offset: u64, len: u64) -> Blocks<'_, E> {
        let total = self.size.saturating_mul(items);
        let left = len.min(total.saturating_sub(offset));
        let mut blocks = Blocks {
            entries: self.entries.as_ref(),
            top: None,
            at: Place {
                entry: TOP,
                last: TOP,
                copy: 0,
                origin: 0,
            },
            inside: 0,
            left,
            around: heapless::Vec::new(),
        };
        if left > 0 {
            let (top, _) = self.copies(items, self.bounds.extent());
            blocks.top = Some(top);
            blocks.at.copy = offset / top.len;
            blocks.enter(offset % top.len);
        }
        blocks
    }
}

impl<E: BasicType> Blocks<'_, E> {
    #[inline]
    fn entry(&self, number: u32) -> Option<&Entry<E>> {
        match number {
            TOP => self.top.as_ref(),
            _ => self.entries.get(number as usize),
        }
    }

    /// Goes down from the present copy to the run that holds its data byte `offset`.
    #[inline]
    fn enter(&mut self, mut offset: u64) {
        let entries = self.entries;
        while let Some(&entry) = self.entry(self.at.entry)
            && let Content::Group {
                first,
                entries: len,
            } = entry.content
        {
            let (copy, last) = (self.at.copy as i64, first + len.get() - 1);
            let start = entry.offset.wrapping_add(copy.wrapping_mul(entry.stride));
            let group = &entries[first as usize..=last as usize];
            // The first entry has nothing before it.
            let inner = match offset {
                0 => 0,
                _ => group.partition_point(|entry| entry.before <= offset) - 1,
            };
            offset -= group[inner].before;
            let len = group[inner].len;
            let place = Place {
                entry: first + inner as u32,
                last,
                copy: if offset < len { 0 } else { offset / len },
                origin: self.at.origin.wrapping_add(start),
            };
            offset -= place.copy * len;
            // No layout is deeper than the room.
            let _ = self.around.push(core::mem::replace(&mut self.at, place));
        }
        self.inside = offset;
    }

    /// Goes on to the run behind the present one, all of whose copies have been walked.
    fn advance(&mut self) {
        while self.at.entry == self.at.last {
            let Some(group) = self.around.pop() else {
                return;
            };
            self.at = group;
            self.at.copy += 1;
            if self
                .entry(group.entry)
                .is_some_and(|entry| self.at.copy < entry.count)
            {
                return self.enter(0);
            }
        }
        (self.at.entry, self.at.copy) = (self.at.entry + 1, 0);
        self.enter(0);
    }
}

impl<E: BasicType> Iterator for Blocks<'_, E> {
    type Item = Block<E>;

    #[inline]
    fn next(&mut self) -> Option<Block<E>> {
        if self.left == 0 {
            return None;
        }
        let entry = *self.entry(self.at.entry)?;
        let Content::Run(element) = entry.content else {
            return None;
        };
        let start = (self.at.copy as i64).wrapping_mul(entry.stride);
        let start = self
            .at
            .origin
            .wrapping_add(entry.offset)
            .wrapping_add(start);
        let block = if self.inside > 0 || self.left < entry.len {
            let packed = element.packed_size();
            let values = (self.inside / packed * element.size()) as i64;
            Block {
                displacement: start.wrapping_add(values),
                phase: self.inside % packed,
                len: (entry.len - self.inside).min(self.left),
                count: 1,
                stride: entry.stride,
                element,
            }
        } else {
            Block {
                displacement: start,
                phase: 0,
                len: entry.len,
                count: (entry.count - self.at.copy).min(self.left / entry.len),
                stride: entry.stride,
                element,
            }
        };
        self.left -= block.len * block.count;
        self.inside += block.len;
        if self.inside == entry.len {
            (self.inside, self.at.copy) = (0, self.at.copy + block.count);
            if self.at.copy == entry.count && self.left > 0 {
                self.advance();
            }
        }
        Some(block)
    }
}
