//! A channel with profile is a channel.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::fault::{CRASHED, Rate, SeededRng};
use pombo_netdrivers::loopback::{Limits, Loopback};
use pombo_testing::conformance::{Harness, threads};
use pombo_testing::{AdversarialChannel, Profile};

const LIMITS: Limits = Limits {
    frame: 300,
    frames_in_flight: 3,
};

macro_rules! conforms {
    ($name:ident, $limits:expr, $profile:expr) => {
        mod $name {
            use super::*;

            struct Over;

            impl Harness for Over {
                type Channel = AdversarialChannel<Loopback>;

                fn run(_test: &str, peers: u16, body: fn(Self::Channel)) {
                    let channels = Loopback::world_with(peers, $limits);
                    threads(AdversarialChannel::world(channels, $profile, 7), body);
                }
            }

            pombo_testing::conformance!(Over);
        }
    };
}

conforms!(calm, Limits::default(), Profile::BENIGN);
// The suite asks an empty queue to take a frame, so this one is never full without need.
conforms!(
    difficult,
    LIMITS,
    Profile {
        later: Rate::percent(50),
        late_completion: Rate::percent(50),
        skipped_sender: Rate::percent(40),
        skipped_poll: Rate::percent(30),
        batch: 3,
        max_held: 5,
        fragment: 7,
        ..Profile::BENIGN
    }
);

fn adversarial(profile: Profile, seed: u64) -> Vec<AdversarialChannel<Loopback>> {
    AdversarialChannel::world(Loopback::world_with(3, LIMITS), profile, seed)
}

/// What one peer sees, as text.
fn poll(channel: &mut AdversarialChannel<Loopback>, seen: &mut Vec<String>) {
    let polled = channel.poll(|event| {
        seen.push(match event {
            Event::Arrival(arrival) => {
                let mut pieces = Vec::new();
                arrival.for_each_chunk(0, arrival.len(), |piece| pieces.push(piece.to_vec()));
                format!("{} {pieces:?}", arrival.from())
            }
            other => format!("{:?}", other_of(other)),
        });
    });
    assert!(polled.is_ok() || channel.has_crashed());
}

fn other_of<A>(event: Event<A>) -> (Option<Cookie>, Option<Peer>) {
    match event {
        Event::Completed(cookie) => (Some(cookie), None),
        Event::PeerLost(peer) => (None, Some(peer)),
        _ => (None, None),
    }
}

fn random_run(seed: u64, profile: Profile) -> Vec<Vec<String>> {
    let mut rng = SeededRng::new(seed);
    let mut world = adversarial(profile, seed);
    let mut seen = vec![Vec::new(); 3];
    for number in 0..400_u16 {
        let at = rng.index(3);
        let to = Peer(rng.below(3) as u16);
        let bytes = number.to_le_bytes();
        let sent = world[at].try_send(to, Cookie(number.into()), &[Part::Bytes(&bytes)]);
        seen[at].push(format!("{sent:?}"));
        let at = rng.index(3);
        poll(&mut world[at], &mut seen[at]);
    }
    seen
}

/// The same seed, the same calls: the same events. Another seed: others.
#[test]
fn a_run_repeats_exactly() {
    let mut rng = SeededRng::new(1);
    for seed in 0..50 {
        let mut profile = Profile::random(&mut rng);
        profile.crash = (seed % 2 == 0).then_some(300);
        assert_eq!(
            random_run(seed, profile),
            random_run(seed, profile),
            "{profile:?}"
        );
    }
    let profile = Profile {
        full: Rate::percent(50),
        ..Profile::BENIGN
    };
    assert_ne!(random_run(1, profile), random_run(2, profile));
}

/// Every mood shows, and the calm channel has none.
#[test]
fn every_mood_shows() {
    let half = Rate::percent(50);
    let count = |seen: &[Vec<String>], text: &str| {
        seen.iter()
            .flatten()
            .filter(|line| line.contains(text))
            .count()
    };
    let calm = random_run(3, Profile::BENIGN);
    assert_eq!(count(&calm, "Ok(Later)"), 0);
    let full = Profile {
        full: half,
        ..Profile::BENIGN
    };
    assert!(count(&random_run(3, full), "Full") > count(&calm, "Full") + 50);
    let later = Profile {
        later: half,
        late_completion: half,
        ..Profile::BENIGN
    };
    assert!(count(&random_run(3, later), "Ok(Later)") > 50);
    assert!(count(&random_run(3, later), "Some(Cookie") > 50);
    let skipped_poll = Profile {
        skipped_poll: Rate::ALWAYS,
        ..Profile::BENIGN
    };
    assert_eq!(count(&random_run(3, skipped_poll), "["), 0);
    let fragmented = Profile {
        fragment: 1,
        ..Profile::BENIGN
    };
    assert!(count(&random_run(3, fragmented), "], [") > 50);
}

/// Frames of one sender stay in order; those of different senders do not.
#[test]
fn senders_overtake_each_other_but_not_themselves() {
    let profile = Profile {
        skipped_sender: Rate::percent(60),
        ..Profile::BENIGN
    };
    let mut overtaken = 0;
    for seed in 0..50 {
        let mut world = adversarial(profile, seed);
        let mut got = Vec::new();
        let mut number = 0_u8;
        while got.len() < 60 {
            for from in [1, 2] {
                if number < 60
                    && world[from].try_send(Peer(0), Cookie(0), &[Part::Bytes(&[number])])
                        == Ok(Sent::Done)
                {
                    number += 1;
                }
            }
            world[0]
                .poll(|event| {
                    let Event::Arrival(arrival) = event else {
                        return;
                    };
                    got.push((arrival.from(), arrival.head(1).expect("a byte")[0]));
                })
                .expect("it does not break");
        }
        for from in [Peer(1), Peer(2)] {
            let of = got.iter().filter(|(sender, _)| *sender == from);
            assert!(of.is_sorted(), "{got:?}");
        }
        overtaken += usize::from(!got.iter().map(|(_, number)| number).is_sorted());
    }
    assert!(overtaken > 25, "in {overtaken} of 50 runs");
}

/// A crash comes at its step. Everybody hears of it once, after the frames that had left. The crashed one hears nothing.
#[test]
fn a_crash_is_heard_once_after_the_last_frame() {
    for crash in 0..12 {
        for seed in 0..20 {
            let profile = Profile {
                skipped_sender: Rate::percent(60),
                skipped_poll: Rate::percent(30),
                batch: 1,
                ..Profile::BENIGN
            };
            let mut world = adversarial(profile, seed);
            world[2].set_profile(Profile {
                crash: Some(crash),
                ..Profile::BENIGN
            });
            let mut left = [0; 2];
            for number in 0..12_u8 {
                let to = usize::from(number % 2);
                let sent = world[2].try_send(Peer(to as u16), Cookie(0), &[Part::Bytes(&[number])]);
                match sent {
                    _ if u64::from(number) >= crash => {
                        assert_eq!(sent, Err(ChannelError::Device(CRASHED)));
                    }
                    Ok(_) => left[to] += 1,
                    Err(error) => assert_eq!(error, ChannelError::Full),
                }
            }
            poll(&mut world[2], &mut Vec::new());
            assert!(world[2].has_crashed() || crash == 13);
            assert_eq!(world[2].wait(0), Err(ChannelError::Device(CRASHED)));
            assert_eq!((world[2].limit(Peer(0)), world[2].peers()), (MIN_LIMIT, 3));
            for to in [0, 1] {
                let mut seen = Vec::new();
                (0..200).for_each(|_| poll(&mut world[to], &mut seen));
                assert_eq!(seen.len(), left[to] + 1, "{seen:?}");
                assert_eq!(
                    seen.last().map(String::as_str),
                    Some("(None, Some(Peer(2)))")
                );
                let sent = world[to].try_send(Peer(2), Cookie(0), &[Part::Bytes(&[1])]);
                assert_eq!(sent, Err(ChannelError::PeerLost(Peer(2))));
            }
        }
    }
}

/// Frames whose memory is still asked for when their receiver is lost: no completion follows the loss.
#[test]
fn no_completion_follows_a_loss() {
    let profile = Profile {
        later: Rate::ALWAYS,
        late_completion: Rate::percent(80),
        skipped_sender: Rate::percent(50),
        ..Profile::BENIGN
    };
    let mut missing = 0;
    for seed in 0..100 {
        let mut world = adversarial(profile, seed);
        for number in 0..3 {
            let sent = world[0].try_send(Peer(1), Cookie(number), &[Part::Bytes(&[1])]);
            assert_eq!(sent, Ok(Sent::Later));
            let sent = world[0].try_send(Peer(2), Cookie(10 + number), &[Part::Bytes(&[1])]);
            assert_eq!(sent, Ok(Sent::Later));
        }
        drop(world.remove(1));
        let mut seen = Vec::new();
        (0..100).for_each(|_| poll(&mut world[0], &mut seen));
        let lost = seen
            .iter()
            .position(|line| line == "(None, Some(Peer(1)))")
            .expect("it is lost");
        let to_lost = |line: &&String| (0..3).any(|n| line.contains(&format!("Some(Cookie({n}))")));
        assert_eq!(seen[lost..].iter().filter(to_lost).count(), 0, "{seen:?}");
        missing += 3 - seen.iter().filter(to_lost).count();
        let to_other = seen.iter().filter(|line| line.contains("Cookie(1"));
        assert!(to_other.count() >= 3, "{seen:?}");
    }
    assert!(missing > 0, "a loss never came before a completion");
}
