//! The construction of layouts. Every constructor of MPI is one of these, or two.

use super::entry::Content;
use super::{BasicType, Bounds, Entry, Layout, MAX_DEPTH};
use crate::Error;
use crate::aspect::Slice;
use core::marker::PhantomData;
use core::num::NonZeroU32;

/// A part of a layout: copies of another layout.
#[derive(Debug)]
pub struct Part<'a, N, E> {
    /// Displacement of the first copy, in bytes.
    pub offset: i64,
    /// Number of copies; without any the part adds neither data nor bounds.
    pub count: u64,
    /// Bytes from one copy to the next.
    pub stride: i64,
    /// The layout of a copy.
    pub layout: &'a Layout<N, E>,
}

impl<'a, N: Slice<Entry<E>>, E: BasicType> Part<'a, N, E> {
    /// Creates a part of `count` consecutive items.
    pub fn items(offset: i64, count: u64, layout: &'a Layout<N, E>) -> Self {
        Part {
            offset,
            count,
            stride: layout.bounds.extent(),
            layout,
        }
    }
}

impl<N: Slice<Entry<E>>, E: BasicType> Layout<N, E> {
    /// Creates the layout of one value.
    ///
    /// # Errors
    /// [`Error::Full`]: the table has no entry.
    pub fn of(element: E) -> Result<Self, Error> {
        let mut entries = N::new();
        entries.push(Entry::run(element)).map_err(|_| Error::Full)?;
        let size = i64::try_from(element.size()).map_err(|_| Error::LayoutOverflow)?;
        Ok(Layout {
            entries,
            root: 0,
            size: element.packed_size(),
            elements: 1,
            depth: 0,
            bounds: Bounds::of_value(size, element.alignment()),
            element: PhantomData,
        })
    }

    /// Creates a layout of runs of values, in this order: the displacement of each in bytes, the type, and the number of
    /// values. It has the data and the bounds of the same parts, but needs nothing of what constructs others.
    ///
    /// # Errors
    /// As [`Layout::of_parts`].
    pub fn of_runs(runs: &[(i64, E, u64)]) -> Result<Self, Error> {
        let mut layout = Layout {
            entries: N::new(),
            root: 0,
            size: 0,
            elements: 0,
            depth: 0,
            bounds: Bounds::default(),
            element: PhantomData,
        };
        let mut last_end = None;
        for &(offset, element, values) in runs.iter().filter(|(.., values)| *values > 0) {
            let memory = element.size().checked_mul(values);
            let end = memory.and_then(|memory| offset.checked_add_unsigned(memory));
            let len = element.packed_size().checked_mul(values);
            let size = len.and_then(|len| layout.size.checked_add(len));
            let size = size.filter(|size| i64::try_from(*size).is_ok());
            let (Some(end), Some(len), Some(size)) = (end, len, size) else {
                return Err(Error::LayoutOverflow);
            };
            let run = Entry {
                offset,
                before: layout.size,
                len,
                ..Entry::run(element)
            };
            match layout.entries.as_mut().last_mut() {
                Some(last) if last_end == Some(offset) && last.content == run.content => {
                    last.len += len
                }
                _ => layout.entries.push(run).map_err(|_| Error::Full)?,
            }
            last_end = Some(end);
            layout.size = size;
            layout.elements += values;
            let own = Bounds {
                lower: offset,
                true_lower: offset,
                ..Bounds::of_value(end, element.alignment())
            };
            layout.bounds = layout.bounds.and(&own);
        }
        Ok(layout)
    }

    /// Creates a layout of `count` copies of this one, `stride` bytes apart.
    ///
    /// # Errors
    /// As [`Layout::of_parts`].
    pub fn repeated(&self, count: u64, stride: i64) -> Result<Self, Error> {
        let (offset, layout) = (0, self);
        Self::of_parts([Part {
            offset,
            count,
            stride,
            layout,
        }])
    }

    /// Creates a layout of parts, in this order. Parts may overlap, and may be in any order in memory.
    ///
    /// # Errors
    /// [`Error::Full`]: the table is full. [`Error::LayoutOverflow`]: a displacement or a length does not fit 63 bits,
    /// or the nesting is deeper than [`MAX_DEPTH`].
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = Part<'a, N, E>>) -> Result<Self, Error>
    where
        N: 'a,
    {
        let mut group = Group::new();
        for part in parts {
            group.add(&part)?;
        }
        group.finish()
    }

    /// Returns this layout with other bounds.
    ///
    /// # Errors
    /// [`Error::LayoutOverflow`].
    pub fn resized(mut self, lower: i64, extent: i64) -> Result<Self, Error> {
        self.bounds.lower = lower;
        self.bounds.upper = lower.checked_add(extent).ok_or(Error::LayoutOverflow)?;
        (self.bounds.set, self.bounds.counts) = (true, true);
        Ok(self)
    }

    /// Returns this layout with its upper bound rounded up as a C compiler does for a structure, so that every value of
    /// the next item is aligned; bounds that were set stay.
    ///
    /// # Errors
    /// [`Error::LayoutOverflow`].
    pub fn padded(mut self) -> Result<Self, Error> {
        let alignment = self.bounds.alignment as i64;
        if !self.bounds.set && alignment > 0 {
            let missing = self.bounds.extent().rem_euclid(alignment);
            let padding = (alignment - missing) % alignment;
            let upper = self.bounds.upper.checked_add(padding);
            self.bounds.upper = upper.ok_or(Error::LayoutOverflow)?;
        }
        Ok(self)
    }
}

/// A layout under construction.
struct Group<'a, N, E> {
    /// The finished groups, to which the entries of this one refer.
    entries: N,
    /// The entries of this group.
    root: N,
    size: u64,
    elements: u64,
    depth: usize,
    bounds: Bounds,
    /// The last layout whose entries were copied, and their place: consecutive parts share them.
    copied: Option<(&'a Layout<N, E>, usize)>,
}

impl<'a, N: Slice<Entry<E>>, E: BasicType> Group<'a, N, E> {
    fn new() -> Self {
        Group {
            entries: N::new(),
            root: N::new(),
            size: 0,
            elements: 0,
            depth: 0,
            bounds: Bounds::default(),
            copied: None,
        }
    }

    fn add(&mut self, part: &Part<'a, N, E>) -> Result<(), Error> {
        let Part {
            offset,
            count,
            stride,
            layout,
        } = *part;
        let bounds = layout.bounds.repeated(offset, count, stride);
        self.bounds = self.bounds.and(&bounds.ok_or(Error::LayoutOverflow)?);
        if count == 0 || layout.size == 0 {
            return Ok(());
        }
        let (mut entry, depth) = layout.copies(count, stride);
        entry.offset = entry
            .offset
            .checked_add(offset)
            .ok_or(Error::LayoutOverflow)?;
        entry.before = self.size;
        let added = layout.size.checked_mul(count);
        let size = added.and_then(|added| self.size.checked_add(added));
        self.size = size
            .filter(|size| i64::try_from(*size).is_ok())
            .ok_or(Error::LayoutOverflow)?;
        // There are no more values than bytes.
        self.elements += layout.elements * count;
        self.depth = self.depth.max(depth);
        if self.depth > MAX_DEPTH {
            return Err(Error::LayoutOverflow);
        }
        let place = self.copy(layout, entry.needs())?;
        let entry = entry.moved(place).ok_or(Error::Full)?;
        if let Some(last) = self.root.as_mut().last_mut()
            && last.merge(&entry)
        {
            return Ok(());
        }
        self.root.push(entry).map_err(|_| Error::Full)
    }

    /// Copies the first `needed` entries of a layout to the table and returns their place.
    fn copy(&mut self, layout: &'a Layout<N, E>, needed: usize) -> Result<usize, Error> {
        if needed == 0 {
            return Ok(0);
        }
        let end = self.entries.as_ref().len();
        let place = match self.copied {
            Some((last, place)) if core::ptr::eq(last, layout) => place,
            _ => end,
        };
        self.copied = Some((layout, place));
        for entry in layout.entries.as_ref()[..needed].iter().skip(end - place) {
            let entry = entry.moved(place).ok_or(Error::Full)?;
            self.entries.push(entry).map_err(|_| Error::Full)?;
        }
        Ok(place)
    }

    fn finish(mut self) -> Result<Layout<N, E>, Error> {
        let root = self.entries.as_ref().len();
        match self.entries.extend(self.root.as_ref()) {
            true => Ok(Layout {
                entries: self.entries,
                root,
                size: self.size,
                elements: self.elements,
                depth: self.depth,
                bounds: self.bounds,
                element: PhantomData,
            }),
            false => Err(Error::Full),
        }
    }
}

impl<N: Slice<Entry<E>>, E: BasicType> Layout<N, E> {
    /// Returns `count` copies of this layout as one entry, which refers to this table, and the depth of that entry. There
    /// are data, and at least one copy.
    #[inline]
    pub(super) fn copies(&self, count: u64, stride: i64) -> (Entry<E>, usize) {
        let own = &self.entries.as_ref()[self.root..];
        if let [entry] = own
            && let Some(entry) = entry.repeated(count, stride)
        {
            return (entry, self.depth);
        }
        let content = Content::Group {
            first: self.root as u32,
            entries: NonZeroU32::new(own.len() as u32).unwrap_or(NonZeroU32::MIN),
        };
        let entry = Entry {
            offset: 0,
            before: 0,
            count,
            stride: if count == 1 { 0 } else { stride },
            len: self.size,
            content,
        };
        (entry, self.depth + 1)
    }
}
