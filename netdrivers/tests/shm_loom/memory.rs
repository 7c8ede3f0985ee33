//! Memory of a small ring, where every use that another one does not come before or after is a failure.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use pombo_kernel::memory::Part;

use crate::ring::{Consumer, GRANULE, GranuleAccess, Producer, RingError, WORD, copy_parts};

/// Frames of up to four granules: 120 bytes.
pub(super) const GRANULES: usize = 16;
/// The longest frame that takes one granule.
pub(super) const SHORT: usize = GRANULE - WORD;
pub(super) const LIMIT: usize = crate::ring::limit(GRANULES);

#[derive(Clone)]
pub(super) struct Memory(Arc<Inner>);

struct Inner {
    words: [AtomicU64; GRANULES],
    /// What follows the word of a granule.
    bytes: [UnsafeCell<[u8; LIMIT]>; GRANULES],
    /// A frame's bytes lie over the words of the granules that follow its first: these tell when both are used.
    places: [UnsafeCell<()>; GRANULES],
    consumed: AtomicU64,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            words: core::array::from_fn(|_| AtomicU64::new(0)),
            bytes: core::array::from_fn(|_| UnsafeCell::new([0; LIMIT])),
            places: core::array::from_fn(|_| UnsafeCell::new(())),
            consumed: AtomicU64::new(0),
        }))
    }

    /// The granules behind the first of a frame.
    fn rest(granule: usize, len: usize) -> core::ops::Range<usize> {
        let end = granule + (WORD + len).div_ceil(GRANULE);
        assert!(end <= GRANULES, "outside the ring");
        granule + 1..end
    }
}

impl GranuleAccess for Memory {
    const GRANULES: usize = GRANULES;

    fn word(&self, granule: usize) -> &AtomicU64 {
        self.0.places[granule].with(|_| ());
        &self.0.words[granule]
    }

    fn consumed(&self) -> &AtomicU64 {
        &self.0.consumed
    }

    unsafe fn write_parts(&self, granule: usize, len: usize, parts: &[Part<'_>]) {
        self.0.bytes[granule].with_mut(|bytes| {
            // SAFETY: the checker fails before two uses of the same bytes meet.
            copy_parts(parts, unsafe { &mut (&mut *bytes)[..len] });
        });
        for over in Self::rest(granule, len) {
            self.0.places[over].with_mut(|_| ());
            // The frame's bytes are no word that a consumer may find.
            self.0.words[over].store(0x5555_5555_5555_5555, Ordering::Relaxed);
        }
    }

    unsafe fn read(&self, granule: usize, len: usize, f: impl FnOnce(&[u8])) {
        for over in Self::rest(granule, len) {
            self.0.places[over].with(|_| ());
        }
        self.0.bytes[granule].with(|bytes| {
            // SAFETY: as above.
            f(unsafe { &(&*bytes)[..len] });
        });
    }
}

/// A frame whose bytes all tell its number.
pub(super) fn put(
    producer: &mut Producer<Memory>,
    number: u8,
    len: usize,
) -> Result<(), RingError> {
    producer.push(0, len, &[Part::Bytes(&[number; LIMIT][..len])])
}

/// Takes a frame, and sees that it is whole. Its number.
pub(super) fn take(consumer: &mut Consumer<Memory>, len: usize) -> Option<u8> {
    let mut number = None;
    let consumed = consumer.pop(0, &mut |bytes, _| {
        assert_eq!(bytes.len(), len);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        number = Some(bytes[0]);
    });
    assert_eq!(consumed, Ok(number.is_some()));
    number
}
