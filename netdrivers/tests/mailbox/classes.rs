//! Size classes: zero copies, tokens, and back-pressure.

use super::*;
use pombo_netdrivers::mailbox::{Error, Tokens};

/// The message is the buffer that the driver has filled, and the buffer receives again.
#[test]
fn a_message_refers_to_the_buffer_that_was_filled() {
    let world = world(1, SizeClasses::new(10, 1));
    let mailbox = world[0].create("one buffer", LONG).expect("a new name");
    mailbox.provide(100).expect("it is here");
    let mut sent = message(&[7; 100]);
    let mut addresses = Vec::new();
    let mut got = Message::new();
    for _ in 0..3 {
        mailbox.post(&mut sent).expect("posted");
        mailbox.retrieve(&mut got).expect("retrieved");
        assert_eq!(got.bytes().len(), 109);
        let start = got.bytes().as_ptr() as usize;
        let inside = got.unpack::<&[u8]>().expect("bytes").as_ptr() as usize;
        assert_eq!(inside, start + 9);
        addresses.push(start);
    }
    assert!(
        addresses.iter().all(|address| *address == addresses[0]),
        "{addresses:?}"
    );
}

/// A class whose buffers are all held keeps neither other classes nor other mailboxes waiting, and its senders wait.
#[test]
fn an_empty_class_blocks_only_itself() {
    let world = world(2, SizeClasses::new(12, 10));
    served(&world, || {
        let full = world[0].create("full", LONG).expect("a new name");
        let other = world[0].create("other", LONG).expect("a new name");
        let to_full = world[1].clone_mailbox("full", LONG).expect("there");
        let to_other = world[1].clone_mailbox("other", LONG).expect("there");
        let mut held = Vec::new();
        for number in 0..10_u64 {
            to_full.post(Message::new().pack(number)).expect("posted");
            held.push(retrieve(&full));
        }
        assert_eq!(
            full.tokens(9),
            Ok(Tokens {
                posted: 0,
                held: 10
            })
        );
        // The pool takes some more, then the mailbox is full.
        let refused = (10_u64..5000).find(|number| {
            let posted = to_full.post_timeout(Message::new().pack(*number), SHORT);
            posted == Err(Error::MailboxFull)
        });
        let refused = refused.expect("the pool is bounded");
        assert!(refused >= 10 + 1000, "{refused}: half of the pool");
        let mut nothing = Message::new();
        assert_eq!(full.try_retrieve(&mut nothing), Ok(false));
        for (to, at) in [(&to_other, &other), (&to_full, &full)] {
            to.post(&mut message(&[1; 200])).expect("another class");
            assert_eq!(retrieve(at).unpack::<&[u8]>().map(<[u8]>::len), Ok(200));
        }
        to_other
            .post(Message::new().pack(1_u64))
            .expect("another mailbox");
        assert_eq!(retrieve(&other).unpack::<u64>(), Ok(1));
        // Nothing was lost, and the order is that of the posts.
        for (number, message) in held.iter_mut().enumerate() {
            assert_eq!(message.unpack::<u64>(), Ok(number as u64));
        }
        drop(held);
        for number in 10..refused {
            assert_eq!(retrieve(&full).unpack::<u64>(), Ok(number));
        }
        assert_eq!(full.try_retrieve(&mut nothing), Ok(false));
        assert_eq!(
            full.tokens(9),
            Ok(Tokens {
                posted: 10,
                held: 0
            })
        );
    });
}

#[test]
fn a_message_without_a_class_is_to_be_posted_as_large() {
    let world = world(1, SizeClasses::new(6, 10));
    let mailbox = world[0].create("small", LONG).expect("a new name");
    let mut fits = message(&[0; 47]);
    mailbox.post(&mut fits).expect("56 bytes");
    let (len, limit) = (57, 56);
    let mut long = message(&[0; 48]);
    assert_eq!(mailbox.post(&mut long), Err(Error::TooLong { len, limit }));
    assert_eq!(long.packed_len(), 57);
    assert_eq!(
        retrieve(&mailbox).unpack::<&[u8]>().map(<[u8]>::len),
        Ok(47)
    );
}

/// Messages of all classes from two processes come in the order of their posts.
#[test]
fn the_order_of_posts_holds_across_classes() {
    let world = world(3, SizeClasses::default());
    served(&world, || {
        let mine = world[0].create("order", LONG).expect("a new name");
        let posters: Vec<_> = world[1..]
            .iter()
            .map(|other| {
                let other = other.clone();
                std::thread::spawn(move || {
                    let to = other.clone_mailbox("order", LONG).expect("there");
                    for number in 0..300_u64 {
                        let mut message = Message::new();
                        let len = (number * 7919 % 13) * 997;
                        message.pack(number).pack(&vec![1_u8; len as usize][..]);
                        to.post(&mut message).expect("posted");
                    }
                })
            })
            .collect();
        let mut next = [0_u64; 3];
        for _ in 0..600 {
            let mut message = retrieve(&mine);
            let from = message.from().expect("retrieved").index();
            assert_eq!(message.unpack(), Ok(next[from]));
            next[from] += 1;
        }
        for poster in posters {
            poster.join().expect("no panic");
        }
    });
}
