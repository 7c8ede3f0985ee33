//! A ring whose two sides sleep: the producer for room, the consumer for frames.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::thread;

use crate::check;
use crate::event_count::{AWAKE, EventCount, WaitFor};
use crate::event_counts::ModelPark;
use crate::memory::{LIMIT, Memory, put, take};
use crate::ring::{Consumer, Producer};

struct Rank {
    event_count: EventCount,
    system: ModelPark,
}

impl Rank {
    fn new() -> Self {
        Self {
            event_count: EventCount(AtomicU32::new(AWAKE)),
            system: ModelPark::new(),
        }
    }
}

fn stream(lengths: &'static [usize]) {
    let memory = Memory::new();
    let ranks = Arc::new([Rank::new(), Rank::new()]);
    let mut producer = Producer::new(memory.clone());
    let sender = thread::spawn({
        let ranks = ranks.clone();
        move || {
            let [me, peer] = &*ranks;
            for (number, len) in lengths.iter().enumerate() {
                while put(&mut producer, number as u8, *len).is_err() {
                    let has_pending = || producer.has_more_room();
                    me.event_count
                        .sleep(WaitFor::Room, None, None, &me.system, has_pending);
                }
                peer.event_count.notify(WaitFor::Frame, &peer.system);
            }
        }
    });
    let [peer, me] = &*ranks;
    let mut consumer = Consumer::new(memory);
    for (number, len) in lengths.iter().enumerate() {
        let taken = loop {
            match take(&mut consumer, *len) {
                Some(taken) => break taken,
                None => me
                    .event_count
                    .sleep(WaitFor::Frame, None, None, &me.system, || {
                        consumer.has_next()
                    }),
            }
        };
        assert_eq!(taken, number as u8);
        peer.event_count.notify(WaitFor::Room, &peer.system);
    }
    sender.join().expect("the sender");
}

#[test]
fn nobody_sleeps_for_ever() {
    check(2, || stream(&[LIMIT, LIMIT, LIMIT, LIMIT, LIMIT]));
}
