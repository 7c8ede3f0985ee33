//! Frames that wrap, that leave gaps, and that wait for room.

use loom::thread;

use crate::check;
use crate::memory::{LIMIT, Memory, SHORT, put, take};
use crate::ring::{Consumer, Producer, RingError};

/// Sends frames of these lengths through a ring while another thread takes them. So many came before.
fn stream(before: usize, lengths: &'static [usize]) {
    let memory = Memory::new();
    let mut producer = Producer::new(memory.clone());
    let mut consumer = Consumer::new(memory);
    for _ in 0..before {
        assert_eq!(put(&mut producer, 7, 1), Ok(()));
        assert_eq!(take(&mut consumer, 1), Some(7));
    }
    let sender = thread::spawn(move || {
        for (number, len) in lengths.iter().enumerate() {
            while put(&mut producer, number as u8, *len).is_err() {
                thread::yield_now();
            }
        }
    });
    for (number, len) in lengths.iter().enumerate() {
        let taken = loop {
            match take(&mut consumer, *len) {
                Some(taken) => break taken,
                None => thread::yield_now(),
            }
        };
        assert_eq!(taken, number as u8);
    }
    assert!(!consumer.has_next(), "a frame that nobody sent");
    sender.join().expect("the sender");
}

#[test]
fn small_frames_wrap() {
    check(3, || stream(14, &[1, SHORT, 2, 3]));
}

#[test]
fn long_frames_leave_gaps() {
    check(3, || stream(7, &[LIMIT, LIMIT, 1, LIMIT]));
}

#[test]
fn a_frame_may_end_with_the_ring() {
    check(3, || stream(12, &[57, LIMIT, 57, 1]));
}

/// The word at which the consumer looks was in the middle of an earlier frame.
#[test]
fn old_bytes_are_no_frame() {
    check(3, || stream(11, &[LIMIT, LIMIT, 1, 1, 1]));
}

#[test]
fn all_kinds_of_frames_in_turn() {
    check(2, || stream(0, &[57, 1, LIMIT, SHORT, LIMIT, 1]));
}

/// Behind a long way, the producer goes back to the beginning if its consumer is close.
#[test]
fn a_producer_goes_back() {
    check(3, || {
        stream(0, &[SHORT + 40, 1, SHORT + 40, SHORT + 40, SHORT + 40, 1])
    });
}

/// What a producer without room sees before it sleeps.
#[test]
fn room_shows_when_something_was_taken() {
    check(3, || {
        let memory = Memory::new();
        let mut producer = Producer::new(memory.clone());
        let mut sent = 0;
        while put(&mut producer, sent, 1).is_ok() {
            sent += 1;
        }
        let handler = thread::spawn(move || {
            let mut consumer = Consumer::new(memory);
            assert_eq!(take(&mut consumer, 1), Some(0));
        });
        while !producer.has_more_room() {
            thread::yield_now();
        }
        assert_eq!(put(&mut producer, sent, 1), Ok(()));
        assert_eq!(put(&mut producer, sent, 1), Err(RingError::Full));
        handler.join().expect("the taker");
    });
}
