//! The ring compared with a queue, at its ends, and with corrupt memory.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cell::UnsafeCell;

use pombo_kernel::memory::Part;

use super::{Lcg, frame};

use crate::shm::ring::*;
use crate::shm::sync::{AtomicU64, Ordering};

/// A small ring: frames of up to 1016 bytes.
pub(super) const GRANULES: usize = 128;
/// The longest frame that takes one granule.
const SHORT: usize = GRANULE - WORD;

#[repr(C, align(64))]
pub(super) struct MappedBoards {
    granules: UnsafeCell<[[u8; GRANULE]; GRANULES]>,
    consumed: AtomicU64,
}

impl MappedBoards {
    pub(super) fn new() -> Self {
        Self {
            granules: UnsafeCell::new([[0; GRANULE]; GRANULES]),
            consumed: AtomicU64::new(0),
        }
    }

    fn at(&self, granule: usize, len: usize) -> *mut u8 {
        let start = granule * GRANULE + WORD;
        assert!(start + len <= GRANULES * GRANULE, "outside the ring");
        // SAFETY: inside the array, as was just checked.
        unsafe { self.granules.get().cast::<u8>().add(start) }
    }
}

impl GranuleAccess for &MappedBoards {
    const GRANULES: usize = GRANULES;

    fn word(&self, granule: usize) -> &AtomicU64 {
        assert!(granule < GRANULES);
        let granules = self.granules.get().cast::<[u8; GRANULE]>();
        // SAFETY: inside the array and aligned; one thread uses it, and no slice of it is alive.
        unsafe { &*granules.add(granule).cast() }
    }

    fn consumed(&self) -> &AtomicU64 {
        &self.consumed
    }

    unsafe fn write_parts(&self, granule: usize, len: usize, parts: &[Part<'_>]) {
        // SAFETY: `at` has checked the range; one thread uses it, and nothing else during the call.
        copy_parts(parts, unsafe {
            core::slice::from_raw_parts_mut(self.at(granule, len), len)
        });
    }

    unsafe fn read(&self, granule: usize, len: usize, f: impl FnOnce(&[u8])) {
        // SAFETY: as above.
        f(unsafe { core::slice::from_raw_parts(self.at(granule, len), len) });
    }
}

const LIMIT: usize = limit(GRANULES);

fn put(producer: &mut Producer<&MappedBoards>, bytes: &[u8]) -> Result<(), RingError> {
    let (head, payload) = bytes.split_at(bytes.len() % 71);
    producer.push(0, bytes.len(), &[Part::Bytes(head), Part::Bytes(payload)])
}

fn take(consumer: &mut Consumer<&MappedBoards>) -> Result<Option<Vec<u8>>, RingError> {
    let mut consumed = None;
    let any = consumer.pop(0, &mut |bytes, _| consumed = Some(bytes.to_vec()))?;
    assert_eq!(any, consumed.is_some());
    Ok(consumed)
}

#[test]
fn is_a_queue() {
    is_a_queue_with(true);
    is_a_queue_with(false);
}

fn is_a_queue_with(restarts: bool) {
    let memory = MappedBoards::new();
    let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
    if !restarts {
        producer.disable_restarts();
    }
    let (mut queue, mut lcg, mut full) = (VecDeque::new(), Lcg(1), 0);
    for number in 0..200_000 {
        // Long phases in which one side is faster fill and drain the ring.
        if lcg.below(20) < 8 + 4 * (number / 100 % 2) {
            let most = if lcg.below(4) == 0 { LIMIT } else { 130 };
            let bytes = frame(number, lcg.below(most as u64 + 1) as usize);
            match put(&mut producer, &bytes) {
                Ok(()) => queue.push_back(bytes),
                Err(error) => {
                    assert_eq!(error, RingError::Full);
                    assert!(!queue.is_empty(), "an empty ring takes any frame");
                    full += 1;
                }
            }
        } else {
            assert_eq!(consumer.has_next(), !queue.is_empty());
            assert_eq!(take(&mut consumer), Ok(queue.pop_front()));
        }
    }
    assert!(full > 1000, "the ring was hardly ever full");
}

#[test]
fn takes_the_longest_frame_at_every_place() {
    for before in 0..GRANULES as u64 {
        let memory = MappedBoards::new();
        let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
        for number in 0..before {
            put(&mut producer, &frame(number, SHORT)).expect("room");
            assert_eq!(take(&mut consumer), Ok(Some(frame(number, SHORT))));
        }
        for len in [
            LIMIT,
            LIMIT - SHORT + 1,
            LIMIT - SHORT,
            0,
            1,
            SHORT,
            SHORT + 1,
        ] {
            put(&mut producer, &frame(before, len)).expect("an empty ring takes any frame");
            assert_eq!(take(&mut consumer), Ok(Some(frame(before, len))));
            assert_eq!(take(&mut consumer), Ok(None));
        }
    }
}

#[test]
fn a_producer_goes_back_while_its_consumer_is_close() {
    for (restarts, behind, goes_on) in [
        (true, 0, false),
        (true, 1, false),
        (true, 8, true),
        (false, 0, true),
    ] {
        let memory = MappedBoards::new();
        let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
        if !restarts {
            producer.disable_restarts();
        }
        for number in 0..1000 {
            put(&mut producer, &frame(number, 150)).expect("room");
            if let Some(taken) = number.checked_sub(behind) {
                assert_eq!(take(&mut consumer), Ok(Some(frame(taken, 150))));
            }
        }
        // SAFETY: inside the array; one thread uses it.
        let at_end = unsafe { core::slice::from_raw_parts(memory.at(GRANULES - 4, 24), 24) };
        assert_eq!(at_end.iter().any(|byte| *byte != 0), goes_on);
    }
}

#[test]
fn tells_when_there_is_more_room() {
    let memory = MappedBoards::new();
    let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
    while put(&mut producer, &[1; 500]).is_ok() {}
    assert!(!producer.has_more_room());
    take(&mut consumer).expect("a frame");
    assert!(producer.has_more_room());
    assert_eq!(put(&mut producer, &[1; 500]), Ok(()));
}

#[test]
fn the_next_line_is_left_to_its_producer() {
    let memory = MappedBoards::new();
    let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
    for number in 0..10 {
        // Two short frames share a line, and the consumer waits for each.
        for is_first in [true, false] {
            assert_eq!(take(&mut consumer), Ok(None));
            put(&mut producer, &frame(number, SHORT)).expect("room");
            assert_eq!(take(&mut consumer), Ok(Some(frame(number, SHORT))));
            assert_eq!(consumer.is_next_near(), is_first);
        }
    }
    for number in 0..10 {
        put(&mut producer, &frame(number, SHORT)).expect("room");
    }
    for number in 0..10 {
        assert_eq!(take(&mut consumer), Ok(Some(frame(number, SHORT))));
        assert!(consumer.is_next_near(), "the producer is ahead");
    }
}

/// The word behind a frame of several granules is that of the next one: its consumer has no gap to read.
#[test]
fn no_gap_lies_between_frames_of_lines() {
    for len in SHORT + 1..200 {
        let memory = MappedBoards::new();
        let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
        producer.disable_restarts();
        for number in 0..GRANULES / granules(len) {
            let bytes = frame(number as u64, len);
            put(&mut producer, &bytes).expect("room");
            assert!(consumer.pop_plain(0, |found, _| assert_eq!(found, bytes)));
        }
    }
}

#[test]
fn nothing_is_published_when_the_lender_panics() {
    struct Broken;
    impl pombo_kernel::memory::Source for Broken {
        fn len(&self) -> usize {
            64
        }
        fn copy_out(&self, _offset: usize, _into: &mut [u8]) {
            panic!("a broken lender");
        }
    }
    let memory = MappedBoards::new();
    let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
    let (source, offset, len) = (&Broken, 0, 64);
    let broken = [Part::Held {
        source,
        offset,
        len,
        swapped: false,
    }];
    let put_broken = std::panic::AssertUnwindSafe(|| producer.push(0, 64, &broken));
    assert!(std::panic::catch_unwind(put_broken).is_err());
    assert_eq!(take(&mut consumer), Ok(None));
    put(&mut producer, b"whole").expect("room");
    assert_eq!(take(&mut consumer), Ok(Some(b"whole".to_vec())));
}

/// Bytes of a frame are no record, although they are what the word of one would be in any later round.
#[test]
fn old_bytes_imitate_no_record() {
    let mut lcg = Lcg(7);
    let memory = MappedBoards::new();
    let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
    for _ in 0..20_000 {
        let len = lcg.below(LIMIT as u64 + 1) as usize & !7;
        let end = producer.position();
        let bytes: Vec<u8> = (0..len / 8)
            .flat_map(|word| {
                // Frames that begin at a line have a granule's first word at every fourth, from the fourth on.
                let place = end.next_multiple_of(2) + (word as u64 + 1) / 4;
                let round = 1 + lcg.below(3);
                let tag = tag(place + round * GRANULES as u64);
                (u64::from(tag) << 32 | 8).to_ne_bytes()
            })
            .collect();
        put(&mut producer, &bytes).expect("room");
        assert_eq!(take(&mut consumer), Ok(Some(bytes)));
        for number in 0..lcg.below(3) * 40 {
            assert!(!consumer.has_next());
            assert_eq!(take(&mut consumer), Ok(None));
            put(&mut producer, &frame(number, SHORT)).expect("room");
            assert_eq!(take(&mut consumer), Ok(Some(frame(number, SHORT))));
        }
    }
}

/// Any word at the start of a record is read as a record inside the ring, or refused.
#[test]
fn a_damaged_word_is_refused() {
    let lengths = (0..5000).chain([u32::MAX, GAP, GAP | 1, GAP | 2, GAP | 128, GAP | 129]);
    let tags = [
        0,
        1,
        2,
        3,
        tag(10),
        tag(124),
        tag(128),
        tag(1 << 40),
        u32::MAX,
    ];
    for (len, before) in lengths.flat_map(|len| [0, 10, 124, 127].map(|before| (len, before))) {
        for tag in tags {
            let memory = MappedBoards::new();
            let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
            for _ in 0..before {
                put(&mut producer, b"x").expect("room");
                take(&mut consumer).expect("a frame");
            }
            let word = u64::from(tag) << 32 | u64::from(len);
            (&memory)
                .word(before % GRANULES)
                .store(word, Ordering::Relaxed);
            match take(&mut consumer) {
                Ok(Some(bytes)) => assert_eq!(bytes.len(), len as usize),
                // The word of a record that was there before is none.
                Ok(None) => assert!(
                    word == 0
                        || len & GAP != 0
                        || ((tag ^ self::tag(before as u64)) as usize).is_multiple_of(2 * GRANULES)
                ),
                Err(error) => assert_eq!(error, RingError::Corrupt),
            }
        }
    }
}

#[test]
fn a_damaged_position_is_refused() {
    for damage in [1, 5, 9000, u64::MAX, u64::MAX / 2] {
        let memory = MappedBoards::new();
        let (mut producer, mut consumer) = (Producer::new(&memory), Consumer::new(&memory));
        for _ in 0..80 {
            put(&mut producer, b"x").expect("room");
            take(&mut consumer).expect("a frame");
        }
        while put(&mut producer, b"x").is_ok() {}
        memory.consumed.store(damage, Ordering::Relaxed);
        assert_eq!(put(&mut producer, b"x"), Err(RingError::Corrupt));
    }
}
