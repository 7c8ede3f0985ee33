//! Mails and frames of the rings, both ways, between ranks that poll and ranks that sleep.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::thread;
use pombo_kernel::memory::Part;

use crate::check;
use crate::event_count::{AWAKE, EventCount, WaitFor};
use crate::event_counts::ModelPark;
use crate::mail::{Mail, Positions, take_other, take_plain};
use crate::memory::Memory;
use crate::ring::{Consumer, Producer};

/// A frame of two lines.
const LEN: usize = 60;

struct Rank {
    event_count: EventCount,
    system: ModelPark,
}

struct Side {
    outbound: Producer<Memory>,
    inbound: Consumer<Memory>,
    mail: Mail<Memory>,
    mails: u32,
}

impl Side {
    fn send(&mut self, number: u8) {
        let bytes = [number; LEN];
        let parts = [Part::Bytes(&bytes)];
        if self.mail.suits(LEN) {
            let positions = Positions {
                outbound: self.outbound.position(),
                inbound: self.inbound.position(),
            };
            self.mail.write(positions, LEN, &parts);
            self.mails += 1;
            return;
        }
        self.send_to_ring(number);
    }

    fn send_to_ring(&mut self, number: u8) {
        let bytes = [number; LEN];
        let parts = [Part::Bytes(&bytes)];
        let flags = self.mail.ring_flags();
        self.outbound.push(flags, LEN, &parts).expect("room");
        self.mail.ring_sent();
    }

    fn take(&mut self) -> Option<u8> {
        let mut number = None;
        let (ring, mail) = (&mut self.inbound, &mut self.mail);
        let mut put = |bytes: &[u8]| {
            assert_eq!(bytes, [bytes[0]; LEN]);
            number = Some(bytes[0]);
        };
        let sent = self.outbound.position();
        let taken = match take_plain(ring, mail, &mut put) {
            true => Ok(true),
            false => take_other(ring, mail, sent, true, |bytes, _| put(bytes)),
        };
        assert_eq!(taken, Ok(number.is_some()));
        number
    }

    fn has_pending(&self) -> bool {
        self.inbound.has_next() || self.mail.is_open() && self.mail.has_next()
    }
}

/// Two ranks, of which the first may mail: they have exchanged a frame each.
fn sides() -> [Side; 2] {
    let [one, other, block] = core::array::from_fn(|_| Memory::new());
    let side = |to: &Memory, from: &Memory, holds| Side {
        outbound: Producer::new(to.clone()),
        inbound: Consumer::new(from.clone()),
        mail: Mail::new(block.clone(), holds),
        mails: 0,
    };
    let (mut first, mut second) = (side(&one, &other, true), side(&other, &one, false));
    first.send(100);
    assert_eq!(second.take(), Some(100));
    second.mail.open();
    second.send(101);
    assert_eq!(first.take(), Some(101));
    (first.mail.claims, second.mail.claims) = (true, true);
    [first, second]
}

/// Both ranks send these numbers of frames in turn, the first rank first, and sleep or poll until they have the other's.
fn turns(sleeps: bool, frames: &'static [u8]) {
    let ranks = [0, 1].map(|_| Rank {
        event_count: EventCount(AtomicU32::new(AWAKE)),
        system: ModelPark::new(),
    });
    let ranks = Arc::new(ranks);
    let [first, second] = sides();
    let run = move |ranks: &[Rank; 2], at: usize, mut side: Side| {
        let (me, peer) = (&ranks[at], &ranks[1 - at]);
        for (turn, frames) in frames.iter().enumerate() {
            for number in 0..*frames {
                if turn % 2 == at {
                    side.send(number);
                    peer.event_count.notify(WaitFor::Frame, &peer.system);
                    continue;
                }
                let taken = loop {
                    match side.take() {
                        Some(taken) => break taken,
                        None if sleeps => {
                            let pending = || side.has_pending();
                            me.event_count
                                .sleep(WaitFor::Frame, None, None, &me.system, pending);
                        }
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(taken, number);
            }
        }
        assert!(!side.has_pending(), "a frame that nobody sent");
        assert!(side.mails > 0, "no mail");
    };
    let other = thread::spawn({
        let ranks = ranks.clone();
        move || run(&ranks, 1, second)
    });
    run(&ranks, 0, first);
    other.join().expect("the other rank");
}

#[test]
fn mails_pass_to_and_fro() {
    check(3, || turns(false, &[1, 1, 1, 1]));
}

#[test]
fn mails_and_frames_keep_their_order() {
    check(3, || turns(false, &[2, 2, 1]));
}

#[test]
fn nobody_sleeps_through_a_mail() {
    check(3, || turns(true, &[1, 2]));
}

/// Both send at once: one mails, the other uses its ring.
#[test]
fn both_may_send_at_once() {
    check(3, || {
        let [mut first, mut second] = sides();
        let other = thread::spawn(move || {
            second.send(2);
            second.send(3);
            while second.take() != Some(1) {
                thread::yield_now();
            }
            assert_eq!(second.mails, 0);
        });
        first.send(1);
        for number in [2, 3] {
            while first.take() != Some(number) {
                thread::yield_now();
            }
        }
        assert_eq!(first.mails, 1);
        other.join().expect("the other rank");
    });
}

/// A rank may see the mail of a peer before the frames in the ring that precede it.
#[test]
fn a_mail_waits_for_the_frames_before_it() {
    check(3, || {
        let [mut first, mut second] = sides();
        second.send(3);
        let other = thread::spawn(move || {
            for number in [1, 2] {
                let taken = loop {
                    match second.take() {
                        Some(taken) => break taken,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(taken, number);
            }
        });
        first.send_to_ring(1);
        assert_eq!(first.take(), Some(3));
        first.send(2);
        assert_eq!(first.mails, 1);
        other.join().expect("the other rank");
    });
}
