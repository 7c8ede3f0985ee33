//! The protocol of large messages.

use super::*;
use pombo_netdrivers::mailbox::Error;
use pombo_netdrivers::shm::{Segment, Shm, SingleCopy};

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

/// All ten buffers of a class are held, and more messages of it wait, while a large one is announced, answered and sent.
#[test]
fn a_large_message_passes_a_class_without_buffers() {
    let world = world(2, SizeClasses::default());
    served(&world, || {
        let mine = world[0].create("large", LONG).expect("a new name");
        let to = world[1].clone_mailbox("large", LONG).expect("there");
        let mut held = Vec::new();
        for number in 0..1000_u64 {
            to.post(Message::new().pack(number)).expect("posted");
            if number < 10 {
                held.push(retrieve(&mine));
            }
        }
        let whole = bytes(3_000_000);
        let mut ticket = to.post_large(&mut message(&whole)).expect("posted");
        let still = ticket.wait_timeout(SHORT).expect("it lives");
        assert!(still.is_none(), "nobody has retrieved it");
        assert_eq!(retrieve(&mine).unpack::<&[u8]>(), Ok(&whole[..]));
        let back = ticket.wait().expect("retrieved");
        assert_eq!(back.packed_len(), whole.len() + 9);
        drop(held);
        assert_eq!(retrieve(&mine).unpack::<u64>(), Ok(10));
    });
}

#[test]
fn a_large_message_may_be_short_and_several_wait_in_order() {
    let world = world(2, SizeClasses::new(6, 2));
    served(&world, || {
        let mine = world[0].create("large", LONG).expect("a new name");
        let to = world[1].clone_mailbox("large", LONG).expect("there");
        let lengths = [0, 1, 100, 100_000, 7, 1_000_000];
        let tickets = lengths.map(|len| to.post_large(&mut message(&bytes(len))).expect("posted"));
        for len in lengths {
            assert_eq!(retrieve(&mine).unpack::<&[u8]>(), Ok(&bytes(len)[..]));
        }
        for ticket in tickets {
            ticket.wait().expect("retrieved");
        }
    });
}

/// A ticket that is dropped takes its message back; the end of the mailbox ends the wait of others.
#[test]
fn large_messages_that_nobody_retrieves() {
    let world = world(2, SizeClasses::default());
    served(&world[..1], || {
        let mine = world[0].create("large", LONG).expect("a new name");
        let to = world[1].clone_mailbox("large", LONG).expect("there");
        let post = |len| to.post_large(&mut message(&bytes(len))).expect("posted");
        drop(post(500_000));
        let ticket = post(400_000);
        served(&world[1..], || {
            assert_eq!(
                retrieve(&mine).unpack::<&[u8]>().map(<[u8]>::len),
                Ok(400_000)
            );
        });
        ticket.wait().expect("retrieved");
        let unread = post(300_000);
        drop(mine);
        assert_eq!(unread.wait().err(), Some(Error::Vanished));
    });
}

/// Over shared memory a large message is read where its sender has it, or goes through the ring; of those that are taken
/// back nobody reads anything.
#[test]
fn large_messages_over_shared_memory() {
    for policy in [SingleCopy::Never, SingleCopy::AtLeast(1)] {
        let segment = Segment::create(2, 0).expect("a segment");
        let world = [0, 1].map(|rank| {
            let segment = Segment::open(segment.fd()).expect("the same segment");
            let mut shm = Shm::attach(segment, rank, 0).expect("a free rank");
            shm.set_single_copy(policy);
            Mailboxes::new(shm, SizeClasses::default()).expect("it fits")
        });
        served(&world[..1], || {
            let mine = world[0].create("large", LONG).expect("a new name");
            let to = world[1].clone_mailbox("large", LONG).expect("there");
            std::thread::scope(|scope| {
                let poster = scope.spawn(move || {
                    // An empty one ends it. A short message could pass the last large one.
                    for len in [1_000_000, 10, 3_000_001, 200_000, 0] {
                        if len > 0 {
                            // The first is taken back, before anybody looks or while it is read.
                            drop(to.post_large(&mut message(&bytes(len))).expect("posted"));
                        }
                        let posted = to.post_large(&mut message(&bytes(len)));
                        let left = posted.expect("posted").wait_timeout(LONG);
                        left.expect("it lives").expect("retrieved");
                    }
                });
                let (mut got, mut seen) = (Message::new(), 0);
                loop {
                    mine.retrieve_timeout(&mut got, LONG).expect("a message");
                    let found: &[u8] = got.unpack().expect("bytes");
                    if found.is_empty() {
                        break;
                    }
                    assert_eq!(found, bytes(found.len()));
                    seen += 1;
                }
                assert!((4..=8).contains(&seen), "{seen}");
                poster.join().expect("no panic");
            });
        });
    }
}
