//! What a sender offers stays as it is until it was read; then it is the sender's again, who may sleep until then.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;

use crate::answers::{Answer, Answers};
use crate::bell::{AWAKE, Bell, Until};
use crate::bells::System;
use crate::check;
use crate::memory::{Memory, put, take};
use crate::ring::{Consumer, Producer};

struct Scene {
    answers: Answers,
    bell: Bell,
    system: System,
    /// The sender's memory, which the receiver reads.
    bytes: UnsafeCell<u8>,
}

/// Offers twice what lies at the same place. The receiver refuses from that offer on.
fn offer_twice(refuse: u8) {
    let memory = Memory::new();
    let scene = Arc::new(Scene {
        answers: Answers(AtomicU64::new(0)),
        bell: Bell(AtomicU32::new(AWAKE)),
        system: System::new(),
        bytes: UnsafeCell::new(0),
    });
    let mut producer = Producer::new(memory.clone());
    let sender = thread::spawn({
        let scene = scene.clone();
        move || {
            for number in 1..=2_u8 {
                // SAFETY: the checker fails before two uses of the same byte meet.
                scene.bytes.with_mut(|byte| unsafe { *byte = number });
                put(&mut producer, number, 1).expect("room");
                let answer = loop {
                    match scene.answers.to(number.into()) {
                        Some(answer) => break answer,
                        None => scene.bell.sleep(Until::Room, None, &scene.system, || {
                            scene.answers.to(number.into()).is_some()
                        }),
                    }
                };
                let read = number < refuse;
                assert_eq!(answer == Answer::Read, read, "offer {number}");
            }
        }
    });
    let mut consumer = Consumer::new(memory);
    for _ in 1..=2 {
        let number = loop {
            match take(&mut consumer, 1) {
                Some(number) => break number,
                None => thread::yield_now(),
            }
        };
        if number < refuse {
            // SAFETY: as above.
            scene
                .bytes
                .with(|byte| assert_eq!(unsafe { *byte }, number));
            scene.answers.give(Answer::Read);
        } else {
            scene.answers.give(Answer::Refused);
        }
        scene.bell.ring(Until::Room, &scene.system);
    }
    sender.join().expect("the sender");
}

#[test]
fn what_is_offered_is_read_before_it_changes() {
    for refuse in 1..=3 {
        check(3, move || offer_twice(refuse));
    }
}
