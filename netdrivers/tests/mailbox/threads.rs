//! Several threads post and retrieve at once.

use super::*;
use pombo_netdrivers::mailbox::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

#[test]
fn time_outs_pass() {
    let world = world(1, SizeClasses::default());
    let mailbox = world[0].create("empty", LONG).expect("a new name");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut message = Message::new();
                let waited = mailbox.retrieve_timeout(&mut message, SHORT);
                assert_eq!(waited, Err(Error::TimedOut));
            });
        }
    });
}

/// Each message of a number of posters goes to exactly one of as many retrievers, with or without a receiver thread.
#[test]
fn each_message_is_retrieved_once() {
    for receiver in [false, true] {
        const THREADS: u64 = 4;
        const POSTS: u64 = 2000;
        let world = world(2, SizeClasses::new(8, 4));
        let servers = if receiver { &world[..] } else { &world[..0] };
        let mailbox = &served(&world[1..], || {
            world[0].create("many", LONG).expect("a new name")
        });
        served(servers, || {
            let (sum, count) = (AtomicU64::new(0), AtomicU64::new(0));
            std::thread::scope(|scope| {
                let there = &world[1];
                for thread in 0..THREADS {
                    let (sum, count) = (&sum, &count);
                    scope.spawn(move || {
                        let to = there.clone_mailbox("many", LONG).expect("there");
                        let mut message = Message::new();
                        for number in 0..POSTS {
                            message.clear();
                            to.post(message.pack(thread * POSTS + number))
                                .expect("posted");
                        }
                    });
                    scope.spawn(move || {
                        let mut message = Message::new();
                        while count.load(Ordering::Relaxed) < THREADS * POSTS {
                            if mailbox.retrieve_timeout(&mut message, SHORT).is_ok() {
                                let number: u64 = message.unpack().expect("a number");
                                sum.fetch_add(number, Ordering::Relaxed);
                                count.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            let all = THREADS * POSTS;
            assert_eq!(count.into_inner(), all);
            assert_eq!(sum.into_inner(), all * (all - 1) / 2);
        });
    }
}

/// A receiver thread leaves the channel to a thread that exchanges messages, serves others while that one makes no calls,
/// and ends while it exchanges messages again.
#[test]
fn a_receiver_thread_serves_between_calls() {
    const TRIPS: usize = 100;
    let world = world(2, SizeClasses::new(8, 4));
    let [zero, one] = &world[..] else {
        unreachable!("two processes");
    };
    let boxes = served(&world[1..], || zero.create("zero", LONG)).expect("a new name");
    let there = served(&world[..1], || one.create("one", LONG)).expect("a new name");
    let to_one = served(&world[1..], || zero.clone_mailbox("one", LONG)).expect("there");
    let to_zero = served(&world[..1], || one.clone_mailbox("zero", LONG)).expect("there");
    for phase in 0..4 {
        let (over, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let (go_on, again) = mpsc::channel();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| one.serve(|| over.load(Ordering::Acquire)));
            let (there, to_zero) = (&there, &to_zero);
            let answering = scope.spawn(move || {
                let mut message = Message::new();
                // It answers until the receiver thread has ended, and between the two halves it computes.
                for trip in 0.. {
                    if trip == TRIPS {
                        again.recv().expect("told so");
                    }
                    there.retrieve(&mut message).expect("retrieved");
                    let is_last: u8 = message.unpack().expect("a flag");
                    message.clear();
                    to_zero.post(&mut message).expect("posted");
                    if is_last == 1 {
                        return;
                    }
                }
            });
            let mut message = Message::new();
            let mut exchange = |is_last: bool| {
                message.clear();
                to_one
                    .post(message.pack(u8::from(is_last)))
                    .expect("posted");
                boxes.retrieve(&mut message).expect("retrieved");
            };
            (0..TRIPS).for_each(|_| exchange(false));
            for name in 0..8 {
                // Either process keeps some of these names.
                let created = zero.create(&format!("name {phase} {name}"), LONG);
                created.expect("served by the receiver thread");
            }
            over.store(true, Ordering::Release);
            go_on.send(()).expect("it waits");
            one.wake();
            scope.spawn(|| {
                receiver
                    .join()
                    .expect("no panic")
                    .expect("the channel works");
                ended.store(true, Ordering::Release);
            });
            while !ended.load(Ordering::Acquire) {
                exchange(false);
            }
            exchange(true);
            answering.join().expect("no panic");
        });
    }
}

/// Two receiver threads do not take the channel from each other: they ask whether they are over a few times, not again and
/// again, while nothing comes. The second one serves when the first has ended.
#[test]
fn a_second_receiver_thread_sleeps_until_the_first_ends() {
    let world = world(2, SizeClasses::default());
    let (asked, over) = (AtomicU64::new(0), [false; 2].map(AtomicBool::new));
    let idle = std::thread::scope(|scope| {
        let receivers = over.each_ref().map(|over| {
            let (served, asked) = (&world[1], &asked);
            let is_over = move || {
                let is_over = over.load(Ordering::Acquire);
                asked.fetch_add(u64::from(!is_over), Ordering::AcqRel);
                is_over
            };
            scope.spawn(move || served.serve(is_over).expect("the channel works"))
        });
        // The first one asks twice before it waits, the second one once.
        while asked.load(Ordering::Acquire) < 3 {
            std::thread::sleep(SHORT / 10);
        }
        std::thread::sleep(SHORT);
        let idle = asked.load(Ordering::Acquire);
        for (receiver, over) in receivers.into_iter().zip(&over) {
            // Either process keeps some of these names.
            for number in 0..8 {
                let name = format!("name {number}");
                drop(world[0].create(&name, LONG).expect("served"));
            }
            over.store(true, Ordering::Release);
            world[1].wake();
            receiver.join().expect("no panic");
        }
        idle
    });
    assert!(idle <= 8, "asked {idle} times");
}

/// Threads post and retrieve at once; a poster and a retriever leave in the middle, and what they hold is dropped with
/// them. Each posted message is retrieved once, and all buffers return.
#[test]
fn none_is_lost_when_a_thread_leaves() {
    const THREADS: usize = 3;
    const POSTS: usize = 1500;
    let world = world(2, SizeClasses::new(8, 3));
    let mailbox = served(&world[1..], || {
        world[0].create("left", LONG).expect("a new name")
    });
    let seen = [const { AtomicU64::new(0) }; THREADS * POSTS];
    // The first poster leaves at the half.
    let posted = THREADS * POSTS - POSTS / 2;
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (there, mailbox, seen, count) = (&world[1], &mailbox, &seen, &count);
            scope.spawn(move || {
                let to = there.clone_mailbox("left", LONG).expect("there");
                let posts = if thread == 0 { POSTS / 2 } else { POSTS };
                let mut message = Message::new();
                for number in 0..posts {
                    message.clear();
                    message.pack((thread * POSTS + number) as u64);
                    // Refused messages are not posted, so they are posted again.
                    while to.post_timeout(&mut message, SHORT) == Err(Error::MailboxFull) {}
                }
            });
            scope.spawn(move || {
                let mut message = Message::new();
                let leaves_at = if thread == 0 { POSTS / 2 } else { usize::MAX };
                let mut mine = 0;
                while mine < leaves_at && count.load(Ordering::Relaxed) < posted as u64 {
                    if mailbox.retrieve_timeout(&mut message, SHORT).is_ok() {
                        let number: u64 = message.unpack().expect("a number");
                        seen[number as usize].fetch_add(1, Ordering::Relaxed);
                        count.fetch_add(1, Ordering::Relaxed);
                        mine += 1;
                    }
                }
            });
        }
    });
    for (number, seen) in seen.into_iter().enumerate() {
        let was_posted = !(POSTS / 2..POSTS).contains(&number);
        assert_eq!(seen.into_inner(), u64::from(was_posted), "message {number}");
    }
    let tokens = mailbox.tokens(9).expect("it is here");
    assert_eq!((tokens.posted, tokens.held), (3, 0));
    let mut message = Message::new();
    assert_eq!(mailbox.try_retrieve(&mut message), Ok(false));
}

/// A thread that has a message retrieves the next ones in the same buffer while they come one by one, and the tokens
/// balance; what comes at once, or from another class, is retrieved in its order.
#[test]
fn a_buffer_is_used_again_in_order() {
    let world = world(1, SizeClasses::new(8, 3));
    let mailbox = world[0].create("own", LONG).expect("a new name");
    let mut message = Message::new();
    let mut next = 0;
    let mut post = |many: u32, classes: u32| {
        for number in next..next + many {
            let mut sent = Message::new();
            sent.pack(number);
            if number % classes == 1 {
                sent.pack(&[7_u8; 90][..]);
            }
            mailbox.post(&mut sent).expect("posted");
        }
        next += many;
    };
    let mut expected = 0_u32;
    let steps = [
        (1, 1),
        (1, 1),
        (3, 1),
        (1, 1),
        (4, 2),
        (1, 1),
        (3, 2),
        (1, 2),
    ];
    for (step, (many, classes)) in steps.into_iter().enumerate() {
        let place = message.bytes().as_ptr();
        post(many, classes);
        for _ in 0..many {
            let retrieved = mailbox.retrieve_timeout(&mut message, LONG);
            assert_eq!(retrieved, Ok(()));
            assert!(step != 1 || message.bytes().as_ptr() == place);
            assert_eq!(message.unpack::<u32>(), Ok(expected));
            expected += 1;
            let tokens = [5, 100].map(|len| mailbox.tokens(len).expect("a class"));
            let held = tokens.map(|tokens| tokens.held);
            assert_eq!(held[0] + held[1], 1);
            assert_eq!(tokens[0].posted + held[0], 3);
        }
    }
    message.clear();
    assert_eq!(mailbox.tokens(5).map(|it| (it.posted, it.held)), Ok((3, 0)));
}

/// Messages are dropped by other threads than those that retrieve.
#[test]
fn buffers_return_from_any_thread() {
    let world = world(1, SizeClasses::new(8, 2));
    let mailbox = world[0].create("passed on", LONG).expect("a new name");
    let (pass, passed) = std::sync::mpsc::channel::<Message>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..1000_u32 {
                mailbox.post(Message::new().pack(number)).expect("posted");
            }
        });
        let reader = scope.spawn(move || {
            let numbers = passed
                .into_iter()
                .map(|mut message| message.unpack::<u32>());
            numbers.collect::<Result<Vec<_>, _>>()
        });
        for _ in 0..1000 {
            pass.send(retrieve(&mailbox)).expect("it reads");
        }
        drop(pass);
        let numbers = reader.join().expect("no panic");
        assert_eq!(numbers, Ok((0..1000).collect()));
    });
    let tokens = mailbox.tokens(5).expect("it is here");
    assert_eq!((tokens.posted, tokens.held), (2, 0));
}
