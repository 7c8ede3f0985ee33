//! What a sender offers stays as it is until it was read; then it is the sender's again, who may sleep until then.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;

use crate::check;
use crate::event_count::{AWAKE, EventCount, WaitFor};
use crate::event_counts::ModelPark;
use crate::memory::{Memory, put, take};
use crate::read_acks::{ReadAck, ReadAcks};
use crate::ring::{Consumer, Producer};

struct Scene {
    acks: ReadAcks,
    event_count: EventCount,
    system: ModelPark,
    /// The sender's memory, which the receiver reads.
    bytes: UnsafeCell<u8>,
}

/// Offers twice what lies at the same place. The receiver refuses from that offer on.
fn offer_twice(refuse: u8) {
    let memory = Memory::new();
    let scene = Arc::new(Scene {
        acks: ReadAcks(AtomicU64::new(0)),
        event_count: EventCount(AtomicU32::new(AWAKE)),
        system: ModelPark::new(),
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
                let ack = loop {
                    match scene.acks.ack_of(number.into()) {
                        Some(ack) => break ack,
                        None => scene.event_count.sleep(
                            WaitFor::Room,
                            None,
                            None,
                            &scene.system,
                            || scene.acks.ack_of(number.into()).is_some(),
                        ),
                    }
                };
                let read = number < refuse;
                assert_eq!(ack == ReadAck::Read, read, "offer {number}");
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
            scene.acks.acknowledge(ReadAck::Read);
        } else {
            scene.acks.acknowledge(ReadAck::Refused);
        }
        scene.event_count.notify(WaitFor::Room, &scene.system);
    }
    sender.join().expect("the sender");
}

#[test]
fn what_is_offered_is_read_before_it_changes() {
    for refuse in 1..=3 {
        check(3, move || offer_twice(refuse));
    }
}
