//! The shape of the items of a message buffer, and the checks on their number.

use super::predefined::LARGEST_EXTENT;
use super::type_layout::TypeLayout;
use crate::error::{Class, Error};
use alloc::rc::Rc;

/// The memory layout of one item.
#[derive(Clone)]
pub(crate) struct Shape {
    /// Bytes of data of an item.
    size: usize,
    /// The layout, unless items are contiguous. It is shared, as the program may free the datatype meanwhile.
    gaps: Option<Rc<TypeLayout>>,
}

impl Shape {
    /// The shape of single bytes.
    pub(crate) const BYTE: Shape = Shape::dense(1);

    /// Returns the shape of contiguous items.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) const fn dense(size: usize) -> Self {
        Shape { size, gaps: None }
    }

    /// Returns the shape of items with that layout.
    pub(crate) fn of(layout: &Rc<TypeLayout>) -> Self {
        match layout.dense_size() {
            Some(size) => Shape::dense(size),
            None => Shape {
                size: layout.size(),
                gaps: Some(layout.clone()),
            },
        }
    }

    /// Returns the layout of items that are not contiguous.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn gaps(&self) -> Option<&Rc<TypeLayout>> {
        self.gaps.as_ref()
    }

    /// Returns the bytes of an item if items are contiguous, else the layout.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn into_gaps(self) -> Result<usize, Rc<TypeLayout>> {
        match self.gaps {
            None => Ok(self.size),
            Some(layout) => Err(layout),
        }
    }

    /// Returns the shape of the same data without gaps.
    pub(crate) fn packed(&self) -> Self {
        Shape::dense(self.size)
    }

    /// Returns the bytes of data in one item.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns the bytes from one item to the next.
    #[inline]
    pub(crate) fn extent(&self) -> isize {
        match &self.gaps {
            None => self.size as isize,
            Some(layout) => layout.bounds().extent() as isize,
        }
    }

    /// Returns where the data of so many items begins, in bytes from the first item's address, and how many bytes it
    /// spans. The number was checked by [`Shape::items`].
    pub(crate) fn span(&self, items: usize) -> (isize, usize) {
        match &self.gaps {
            None => (0, self.size * items),
            Some(layout) => {
                let (begin, end) = layout.reach(items as u64);
                (begin as isize, (end - begin) as usize)
            }
        }
    }

    /// Checks a number of items: it must not be negative, nor give more bytes than any memory holds.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn items(&self, count: i64) -> Result<usize, Error> {
        let items = items(count)?;
        match self.size <= LARGEST_EXTENT && self.gaps.is_none() {
            true => Ok(items),
            false => self.many(items),
        }
    }

    #[cold]
    fn many(&self, items: usize) -> Result<usize, Error> {
        let fits = match &self.gaps {
            None => self.size.saturating_mul(items) <= isize::MAX as usize,
            Some(layout) => {
                let (begin, end) = layout.reach(items as u64);
                let room = i128::from(i64::MAX);
                let data = self.size as i128 * items as i128;
                -room <= begin && end <= room && end - begin <= room && data <= room
            }
        };
        if fits { Ok(items) } else { Err(too_many()) }
    }
}

/// Checks a number of items: it must not be negative, nor give more bytes than any memory holds.
#[inline]
pub(crate) fn items(count: i64) -> Result<usize, Error> {
    #[cold]
    fn refused(count: i64) -> Error {
        match count {
            ..0 => Error::Count { got: count },
            _ => too_many(),
        }
    }
    match count as u64 {
        0..=MOST_ITEMS => Ok(count as usize),
        _ => Err(refused(count)),
    }
}

/// Multiplies two numbers of items, within the same bounds.
#[inline]
pub(crate) fn times(each: usize, times: usize) -> Result<usize, Error> {
    items(i64::try_from(each.saturating_mul(times)).unwrap_or(i64::MAX))
}

/// Items of any datatype up to this number have no more bytes than `isize::MAX`.
const MOST_ITEMS: u64 = isize::MAX as u64 / LARGEST_EXTENT as u64;

#[cold]
fn too_many() -> Error {
    Error::Argument {
        class: Class::Count,
        name: "count",
        must: "so small that memory can hold all items",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_end_where_memory_does() {
        let most = MOST_ITEMS as i64;
        assert_eq!((items(0), items(most)), (Ok(0), Ok(most as usize)));
        for count in [-1, i64::MIN] {
            assert_eq!(items(count), Err(Error::Count { got: count }));
        }
        for count in [most + 1, 1 << 61, i64::MAX] {
            assert_eq!(items(count).unwrap_err().class(), Class::Count);
        }
        let many = items(most).unwrap();
        assert!(LARGEST_EXTENT.checked_mul(many).is_some());
        assert_eq!(times(many, 1), Ok(many));
        assert!(times(many, 2).is_err() && times(1 << 57, 1 << 16).is_err());
    }
}
