//! Several threads post and retrieve at once.

use super::*;
use pombo_netdrivers::mailbox::Error;
use std::sync::atomic::{AtomicU64, Ordering};

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
