//! Long frames compared with a queue, and with corrupt memory.

use alloc::collections::VecDeque;
use alloc::vec;
use core::ptr::NonNull;

use pombo_kernel::memory::Part;

use super::{Lcg, frame};

use crate::shm::FRAME_LIMIT;
use crate::shm::long_frames::{LongConsumer, LongCursor, LongFrames, LongProducer};
use crate::shm::ring::RingError;
use crate::shm::sync::Ordering;

/// The smallest room.
const SIZE: usize = 64 << 10;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);

/// Runs `f` with both sides of a room, and the cursor of its consumer.
fn with_room(f: impl FnOnce(LongProducer, LongConsumer, &LongCursor)) {
    let mut lines = vec![Line([0; 64]); SIZE / 64];
    let room = NonNull::from(&mut lines[..]).cast::<u8>();
    let cursor = LongCursor::default();
    // SAFETY: the room is aligned to lines and initialised, and it lives, as the cursor does, until `f` has dropped
    // both sides; one thread uses them.
    let side = || unsafe { LongFrames::new(room, SIZE, NonNull::from(&cursor)) };
    f(
        LongProducer::new(side()),
        LongConsumer::new(side()),
        &cursor,
    );
    assert!(lines.iter().any(|line| line.0 != [0; 64]));
}

#[test]
fn frames_arrive_as_from_a_queue() {
    with_room(|mut producer, consumer, cursor| {
        let (mut rng, mut queue) = (Lcg(7), VecDeque::new());
        let (mut refused, mut taken) = (0, 0);
        for number in 0..40_000 {
            if rng.below(100) < 55 {
                let len = match rng.below(4) {
                    0 => FRAME_LIMIT,
                    1 => rng.below(100) as usize,
                    _ => rng.below(FRAME_LIMIT as u64 + 1) as usize,
                };
                let bytes = frame(number, len);
                let (head, rest) = bytes.split_at(len.min(24));
                match producer.write(len, &[Part::Bytes(head), Part::Bytes(rest)]) {
                    Ok(place) => {
                        // What is not committed did not happen.
                        if rng.below(10) > 0 {
                            producer.commit(place);
                            queue.push_back((place.record(), bytes));
                        }
                    }
                    Err(error) => {
                        assert_eq!(error, RingError::Full);
                        // Two of the longest frames and a gap always fit.
                        assert!(queue.len() > 1);
                        refused += 1;
                    }
                }
            } else if let Some((record, bytes)) = queue.pop_front() {
                consumer.take(&record, |frame| assert!(frame == bytes));
                taken += 1;
            }
        }
        assert!(refused > 100 && taken > 10_000, "{refused} {taken}");
        // The consumer was asked for times, and told them.
        let [timed, began, ended] = [&cursor.timed, &cursor.began, &cursor.ended];
        assert!(timed.load(Ordering::Relaxed) > 0);
        let began = began.load(Ordering::Relaxed);
        assert!(began > 0 && began <= ended.load(Ordering::Relaxed));
    });
}

#[test]
fn corrupt_memory_is_survived() {
    with_room(|mut producer, consumer, cursor| {
        let mut rng = Lcg(3);
        let bytes = frame(1, FRAME_LIMIT);
        let part = [Part::Bytes(&bytes)];
        let place = producer.write(bytes.len(), &part).ok();
        producer.commit(place.expect("an empty room"));
        for _ in 0..10_000 {
            let mut record = [0; 24];
            for byte in &mut record {
                *byte = [0, 0xff, rng.below(256) as u8][rng.below(3) as usize];
            }
            let len = rng.below(25) as usize;
            consumer.take(&record[..len], |frame| assert!(frame.len() <= FRAME_LIMIT));
        }
        cursor.position.store(u64::MAX, Ordering::Relaxed);
        let corrupt = producer.write(bytes.len(), &part).err();
        assert_eq!(corrupt, Some(RingError::Corrupt));
    });
}
