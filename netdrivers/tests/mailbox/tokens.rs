//! Random sequences of calls, compared with the simplest model: one queue for each sender, and the set of messages that
//! users hold.

use super::*;
use pombo_netdrivers::mailbox::Error;
use proptest::prelude::*;
use std::collections::VecDeque;

const BUFFERS: usize = 3;

#[derive(Clone, Debug)]
enum Call {
    /// A post of one of two processes, of that many bytes.
    Post(usize, usize),
    Retrieve,
    /// Clears the held message of that number, modulo how many there are.
    Clear(usize),
    /// Retrieves into a held message.
    Reuse(usize),
    /// Waits in vain, if nothing is there.
    TimeOut,
}

fn call() -> impl Strategy<Value = Call> {
    let lengths = prop_oneof![Just(0_usize), Just(20), Just(200), Just(20_000)];
    prop_oneof![
        4 => (0_usize..2, lengths).prop_map(|(from, len)| Call::Post(from, len)),
        3 => Just(Call::Retrieve),
        2 => (0_usize..9).prop_map(Call::Clear),
        1 => (0_usize..9).prop_map(Call::Reuse),
        1 => Just(Call::TimeOut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn tokens_balance_and_no_buffer_has_two_owners(calls in proptest::collection::vec(call(), 1..60)) {
        let world = world(2, SizeClasses::new(15, BUFFERS));
        served(&world, || {
            let mine = world[0].create("mine", LONG).expect("a new name");
            let there = std::thread::scope(|scope| {
                let cloned = scope.spawn(|| world[1].clone_mailbox("mine", LONG));
                while !cloned.is_finished() {
                    let _ = mine.try_retrieve(&mut Message::new());
                }
                cloned.join().expect("no panic").expect("there")
            });
            let posters = [mine.clone(), there];
            let mut waiting = [const { VecDeque::new() }; 2];
            let mut held: Vec<(Message, u64)> = Vec::new();
            let mut next = 0_u64;
            for call in calls {
                let mut retrieved = None;
                match call {
                    Call::Post(from, len) => {
                        let mut message = Message::new();
                        message.pack(next).pack(&vec![next as u8; len][..]);
                        // A long one leaves only when a buffer is free for it.
                        if posters[from].post_timeout(&mut message, SHORT) == Ok(()) {
                            waiting[from].push_back((next, message.packed_len()));
                        }
                        next += 1;
                    }
                    Call::Retrieve => retrieved = Some(Message::new()),
                    Call::Clear(number) if !held.is_empty() => {
                        let number = number % held.len();
                        held.swap_remove(number).0.clear();
                    }
                    Call::Reuse(number) if !held.is_empty() => {
                        let number = number % held.len();
                        retrieved = Some(held.swap_remove(number).0);
                    }
                    Call::TimeOut if waiting.iter().all(VecDeque::is_empty) => {
                        let waited = mine.retrieve_timeout(&mut Message::new(), Duration::from_millis(1));
                        assert_eq!(waited, Err(Error::TimedOut));
                    }
                    _ => {}
                }
                if let Some(mut message) = retrieved
                    && mine.retrieve_timeout(&mut message, SHORT) == Ok(())
                {
                    let from = message.from().expect("retrieved").index();
                    let number: u64 = message.unpack().expect("a number");
                    // The oldest of its class, and of all that the sender has posted if no buffer was missing.
                    let at = waiting[from].iter().position(|(its, _)| *its == number);
                    let (_, len) = waiting[from].remove(at.expect("posted and not yet retrieved")).expect("there");
                    let class = |len: usize| (len + 8).next_power_of_two();
                    let passed = waiting[from].iter().take(at.unwrap_or(0));
                    for (earlier, its_len) in passed {
                        assert_ne!(class(*its_len), class(len), "{number} has passed {earlier}");
                    }
                    held.push((message, number));
                }
                for (message, number) in &mut held {
                    let bytes = message.bytes();
                    assert!(bytes[18..].iter().all(|byte| *byte == *number as u8), "another owner wrote");
                }
                for len in [18, 38, 218, 20_018] {
                    let tokens = mine.tokens(len).expect("it is here");
                    let held = held.iter().filter(|(message, _)| {
                        (message.bytes().len() + 8).next_power_of_two() == (len + 8).next_power_of_two()
                    });
                    assert_eq!(tokens.held, held.count());
                    assert!([1, BUFFERS].contains(&(tokens.posted + tokens.held)), "{tokens:?}");
                }
            }
            held.clear();
            for _ in 0..waiting.iter().map(VecDeque::len).sum() {
                retrieve(&mine);
            }
            assert_eq!(mine.try_retrieve(&mut Message::new()), Ok(false), "nothing is lost or doubled");
        });
    }
}
