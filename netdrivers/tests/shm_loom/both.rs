//! A ring whose two sides sleep: the producer for room, the consumer for frames.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::thread;

use crate::bell::{AWAKE, Bell, Until};
use crate::bells::System;
use crate::check;
use crate::memory::{LIMIT, Memory, put, take};
use crate::ring::{Consumer, Producer};

struct Rank {
    bell: Bell,
    system: System,
}

impl Rank {
    fn new() -> Self {
        Self {
            bell: Bell(AtomicU32::new(AWAKE)),
            system: System::new(),
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
                    let news = || producer.has_more_room();
                    me.bell.sleep(Until::Room, None, &me.system, news);
                }
                peer.bell.ring(Until::Frame, &peer.system);
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
                    .bell
                    .sleep(Until::Frame, None, &me.system, || consumer.has_next()),
            }
        };
        assert_eq!(taken, number as u8);
        peer.bell.ring(Until::Room, &peer.system);
    }
    sender.join().expect("the sender");
}

#[test]
fn nobody_sleeps_for_ever() {
    check(2, || stream(&[LIMIT, LIMIT, LIMIT, LIMIT, LIMIT]));
}
