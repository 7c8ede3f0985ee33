//! The channel of a peer that is alone: the part of the conformance suite for one peer, and a queue as its model.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, SelfChannel, Sent};
use pombo_kernel::{Part, Peer};
use pombo_testing::conformance::{Harness, threads};
use proptest::prelude::*;
use std::collections::VecDeque;

/// So small that it is often full.
const BYTES: usize = 300;
const ME: Peer = Peer(0);

struct Alone;

impl Harness for Alone {
    type Channel = SelfChannel<BYTES>;

    fn run(_: &str, peers: u16, body: fn(Self::Channel)) {
        assert_eq!(peers, 1);
        threads(vec![SelfChannel::new()], body);
    }
}

pombo_testing::conformance!(Alone: sends_to_itself is_full_and_has_room_again polls_nothing_from_nobody);

/// What one frame takes.
fn room(frame: &[u8]) -> usize {
    size_of::<usize>() + frame.len()
}

#[derive(Clone, Debug)]
enum Step {
    /// To that peer, in two parts that are cut there.
    Send(u16, Vec<u8>, prop::sample::Index),
    Poll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let to = prop_oneof![9 => Just(0), 1 => any::<u16>()];
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 0..BYTES + 10),
    ];
    let send = (to, bytes, any::<prop::sample::Index>());
    let send = send.prop_map(|(to, bytes, cut)| Step::Send(to, bytes, cut));
    prop::collection::vec(prop_oneof![4 => send, 1 => Just(Step::Poll)], 0..60)
}

proptest! {
    #[test]
    fn it_is_a_queue_of_frames_with_a_bound(steps in steps()) {
        let mut channel = SelfChannel::<BYTES>::new();
        let mut model = VecDeque::<Vec<u8>>::new();
        for step in steps.into_iter().chain([Step::Poll]) {
            match step {
                Step::Send(to, bytes, cut) => {
                    let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
                    let parts = [Part::Bytes(first), Part::Bytes(second)];
                    let limit = channel.limit(ME);
                    let used: usize = model.iter().map(|frame| room(frame)).sum();
                    let expected = if to != 0 {
                        Err(ChannelError::NoSuchPeer(Peer(to)))
                    } else if bytes.len() > limit {
                        Err(ChannelError::TooLong { limit })
                    } else if used + room(&bytes) > BYTES {
                        Err(ChannelError::Full)
                    } else {
                        Ok(Sent::Done)
                    };
                    prop_assert_eq!(channel.try_send(Peer(to), Cookie(1), &parts), expected);
                    if expected.is_ok() {
                        model.push_back(bytes);
                    }
                }
                Step::Poll => {
                    let (before, any) = (channel.now(), !model.is_empty());
                    let polled = channel.poll(|event| {
                        let Event::Arrival(frame) = event else {
                            panic!("nothing else happens")
                        };
                        assert_eq!(Some(frame.bytes()), model.pop_front().as_deref());
                        assert_eq!(frame.from(), ME);
                    });
                    prop_assert_eq!(polled, Ok(any));
                    prop_assert!(model.is_empty() && channel.now() > before);
                }
            }
        }
    }
}
