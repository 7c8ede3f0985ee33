//! The entries of a layout's table.

use super::basic_type::BasicType;
use core::num::NonZeroU32;

/// An entry of a layout's table: equal copies of a run of values or of a group of entries, at a constant stride.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry<E> {
    /// Displacement of the first copy in its group, in bytes.
    pub(super) offset: i64,
    /// Number of data bytes before this entry in its group.
    pub(super) before: u64,
    /// Number of copies, at least 1.
    pub(super) count: u64,
    /// Bytes in memory from one copy to the next; 0 for a single one.
    pub(super) stride: i64,
    /// Number of data bytes of a copy, at least 1.
    pub(super) len: u64,
    pub(super) content: Content<E>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Content<E> {
    /// Values of this type, without gaps in memory.
    Run(E),
    /// Entries that stand together in the table.
    Group { first: u32, entries: NonZeroU32 },
}

impl<E: BasicType> Entry<E> {
    pub(super) fn run(element: E) -> Self {
        Entry {
            offset: 0,
            before: 0,
            count: 1,
            stride: 0,
            len: element.packed_size(),
            content: Content::Run(element),
        }
    }

    /// Returns the bytes in memory of one copy, if it is a run.
    #[inline]
    fn memory(&self) -> Option<i64> {
        let Content::Run(element) = self.content else {
            return None;
        };
        let values = self.len / element.packed_size();
        i64::try_from(values.checked_mul(element.size())?).ok()
    }

    /// Returns whether copies of this entry at a distance of `extent` form one run at displacement 0.
    #[inline]
    pub(super) fn is_run_at_0(&self, extent: i64) -> bool {
        self.offset == 0 && self.count == 1 && self.memory() == Some(extent)
    }

    /// Returns `count` copies of this entry at that stride as one entry, if that is possible; `None` also on overflow.
    #[inline]
    pub(super) fn repeated(&self, count: u64, stride: i64) -> Option<Self> {
        if count == 1 {
            return Some(*self);
        }
        if self.count == 1 {
            return Some(match self.memory() == Some(stride) {
                true => Entry {
                    len: self.len.checked_mul(count)?,
                    ..*self
                },
                false => Entry {
                    count,
                    stride,
                    ..*self
                },
            });
        }
        let next = i128::from(self.stride) * i128::from(self.count);
        let count = (next == i128::from(stride)).then(|| self.count.checked_mul(count))??;
        Some(Entry { count, ..*self })
    }

    /// Returns this entry with its references to other entries moved by that number of places; `None` on overflow.
    pub(super) fn moved(mut self, places: usize) -> Option<Self> {
        if let Content::Group { first, .. } = &mut self.content {
            *first = first.checked_add(u32::try_from(places).ok()?)?;
        }
        Some(self)
    }

    /// Returns the number of leading table entries to which this entry refers.
    pub(super) fn needs(&self) -> usize {
        match self.content {
            Content::Run(_) => 0,
            Content::Group { first, entries } => first as usize + entries.get() as usize,
        }
    }

    /// Adds the entry that follows in the group to this one; returns false if they do not form one entry.
    pub(super) fn merge(&mut self, next: &Self) -> bool {
        self.merged(next).map(|entry| *self = entry).is_some()
    }

    fn merged(&self, next: &Self) -> Option<Self> {
        if (self.count, next.count) == (1, 1)
            && let (Content::Run(own), Content::Run(other)) = (self.content, next.content)
            && own == other
            && self.offset.checked_add(self.memory()?)? == next.offset
        {
            let len = self.len.checked_add(next.len)?;
            return Some(Entry { len, ..*self });
        }
        if self.content != next.content || self.len != next.len {
            return None;
        }
        let distance = next.offset.checked_sub(self.offset)?;
        let stride = match self.count {
            1 if next.count == 1 => distance,
            1 => next.stride,
            _ => self.stride,
        };
        let regular = i128::from(stride) * i128::from(self.count) == i128::from(distance)
            && (next.count == 1 || next.stride == stride);
        regular.then_some(Entry {
            count: self.count.checked_add(next.count)?,
            stride,
            ..*self
        })
    }
}
