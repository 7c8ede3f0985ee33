//! Tests random posts, cancels, arrivals, receives and losses: every matcher behaves as two vectors searched in order.

use crate::common::{Tagged, cases};
use crate::protocols::{Coarse, Protocol, Silent};
use crate::stingy::Stingy;
use pombo_kernel::aspect::{Capacity, Cell, Rendezvous, Static};
use pombo_kernel::header::MAX_CLASSES;
use pombo_kernel::matching::{
    Adaptive, Arrived, Binned, Expected, Linear, Matcher, Posted, Search, Sequence, SequenceOf,
    Unexpected,
};
use pombo_kernel::{Capacities, Composition, Config, Pattern, Peer, Sizes};
use pombo_netdrivers::HeapStorage;
use proptest::prelude::*;
use zerocopy::little_endian::U32;

#[derive(Clone, Debug)]
enum Act {
    Arrive {
        from: u16,
        tag: i32,
    },
    Receive {
        source: Option<u16>,
        tag: Option<i32>,
    },
    /// Removes a posted receive.
    Cancel {
        which: usize,
    },
    /// Discards the first message of a source.
    Discard {
        from: u16,
    },
    /// Looks up the receive behind another one.
    Follow {
        which: usize,
        from: u16,
    },
    /// Messages of every kind arrive until no receive is left.
    Drain,
}

/// Generates few or many tags; more messages, more receives, or equal numbers of both.
fn acts() -> impl Strategy<Value = Vec<Act>> {
    let tags = prop_oneof![Just(1), Just(3), Just(8), Just(1000)];
    let weights = prop_oneof![Just((6, 6)), Just((9, 3)), Just((3, 9))];
    (tags, weights)
        .prop_flat_map(|(tags, weights)| prop::collection::vec(act(tags, weights), 1..200))
}

fn act(tags: i32, (arrivals, receives): (u32, u32)) -> impl Strategy<Value = Act> {
    let source = prop_oneof![1 => Just(None), 2 => (0..4u16).prop_map(Some)];
    let tag = prop_oneof![1 => Just(None), 5 => (0..tags).prop_map(Some)];
    prop_oneof![
        arrivals * 10 => (0..4u16, 0..tags).prop_map(|(from, tag)| Act::Arrive { from, tag }),
        receives * 10 => (source, tag).prop_map(|(source, tag)| Act::Receive { source, tag }),
        5 => (0..64usize).prop_map(|which| Act::Cancel { which }),
        2 => (0..4u16).prop_map(|from| Act::Discard { from }),
        5 => (0..64usize, 0..4u16).prop_map(|(which, from)| Act::Follow { which, from }),
        1 => Just(Act::Drain),
    ]
}

type ExpectedOf<H, C> = <<C as Config>::Matcher as Matcher>::Expected<H, C>;
type UnexpectedOf<H, C> = <<C as Config>::Matcher as Matcher>::Unexpected<H, C>;

/// The two queues and their expected contents.
struct Pair<H: Protocol, C: Config> {
    expected: ExpectedOf<H, C>,
    unexpected: UnexpectedOf<H, C>,
    /// Receives without a message yet, in the order of their posts.
    posted: Vec<Posted<H::Pattern, SequenceOf<C>>>,
    /// Waiting messages with their numbers.
    arrived: Vec<(u32, Peer, H)>,
    /// The next number of a message or receive.
    next: u32,
}

impl<H: Protocol, C: Config> Pair<H, C> {
    fn new() -> Self {
        Pair {
            expected: Expected::new(),
            unexpected: Unexpected::new(),
            posted: Vec::new(),
            arrived: Vec::new(),
            next: 0,
        }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Arrive { from, tag } => self.arrive(Peer(from), H::header(tag)),
            Act::Receive { source, tag } => self.receive(H::pattern(source, tag)),
            Act::Cancel { which } => {
                if which < self.posted.len() {
                    let Posted { slot, .. } = self.posted.remove(which);
                    self.expected.remove(slot);
                    // The slot has no receive now.
                    self.expected.remove(slot);
                }
            }
            Act::Discard { from } => self.discard(Peer(from)),
            Act::Follow { which, from } => self.follow(which, Peer(from)),
            Act::Drain => {
                while let Some(posted) = self.posted.first() {
                    let from = posted.pattern.source().unwrap_or(Peer(0));
                    let matches = |&tag: &i32| posted.pattern.matches(from, &H::header(tag));
                    let tag = (0..1000).find(matches).expect("there is such a message");
                    self.arrive(from, H::header(tag));
                }
            }
        }
        assert_eq!(self.expected.len(), self.posted.len());
        assert_eq!(self.unexpected.len(), self.arrived.len());
    }

    fn arrive(&mut self, from: Peer, header: H) {
        self.next += 1;
        let first = self
            .posted
            .iter()
            .position(|posted| posted.pattern.matches(from, &header));
        let Search { found, steps } = self.expected.search(from, &header);
        let named = |posted: Posted<_, _>| (posted.slot, SequenceOf::<C>::get(posted.sequence));
        let told = found.map(named);
        let right = first.map(|index| named(self.posted[index]));
        assert_eq!(told, right);
        assert!(steps >= usize::from(found.is_some()) && steps <= MAX_CLASSES * self.posted.len());
        if let Some(index) = first {
            let Posted { slot, .. } = self.posted.remove(index);
            assert!(self.expected.wanted(slot).is_some());
            assert_eq!(self.expected.take(from, &header), Some(slot));
            assert!(self.expected.wanted(slot).is_none());
            return;
        }
        let arrived = Arrived::whole(from, header, &self.next.to_le_bytes()).expect("it is short");
        let kept = self.unexpected.push(arrived);
        let room = self.arrived.len() < <C::Sizes as Sizes>::Pool::N;
        assert_eq!(kept.is_some(), room);
        if room {
            self.arrived.push((self.next, from, header));
        }
    }

    fn receive(&mut self, pattern: H::Pattern) {
        self.next += 1;
        let first = self
            .arrived
            .iter()
            .position(|(_, from, header)| pattern.matches(*from, header));
        let Search { found, steps } = self.unexpected.search(&pattern);
        let number = found.map(|place| self.number(place));
        assert_eq!(number, first.map(|index| self.arrived[index].0));
        assert!(steps >= usize::from(found.is_some()) && steps <= MAX_CLASSES * self.arrived.len());
        if let (Some(index), Some(place)) = (first, found) {
            self.arrived.remove(index);
            self.unexpected.remove(place);
            assert!(self.unexpected.get(place).is_none());
            self.unexpected.remove(place);
            return;
        }
        let posted = Posted {
            pattern,
            slot: self.free_slot(),
            sequence: Sequence::new(3 * u64::from(self.next)),
        };
        let fits = self.expected.post(posted);
        let room = self.posted.len() < <C::Sizes as Sizes>::Operations::N;
        assert_eq!(fits, room);
        self.posted.extend(fits.then_some(posted));
    }

    /// Returns a slot without a receive, in no order; one behind the last if all have one.
    fn free_slot(&self) -> u32 {
        let slots = <C::Sizes as Sizes>::Operations::N as u32;
        let is_free = |slot: &u32| self.posted.iter().all(|posted| posted.slot != *slot);
        let from = self.next.wrapping_mul(7) % slots;
        let mut all = (0..slots).map(|slot| (from + slot) % slots);
        all.find(is_free).unwrap_or(slots)
    }

    /// Returns the number of the message at a place.
    fn number(&mut self, place: u32) -> u32 {
        let arrived = self.unexpected.get(place).expect("a message");
        let number = arrived.payload.bytes().try_into().expect("four bytes");
        assert!(self.unexpected.get_mut(place).is_some());
        u32::from_le_bytes(number)
    }

    fn discard(&mut self, from: Peer) {
        let first = self.arrived.iter().position(|(_, peer, _)| *peer == from);
        let place = self.unexpected.position(|envelope| envelope.peer() == from);
        let number = place.map(|place| self.number(place));
        assert_eq!(number, first.map(|index| self.arrived[index].0));
        if let (Some(index), Some(place)) = (first, place) {
            self.arrived.remove(index);
            self.unexpected.remove(place);
        }
    }

    fn follow(&mut self, which: usize, from: Peer) {
        let sequence = self.posted.get(which);
        let sequence = sequence.map_or(0, |one| one.sequence.get());
        let right = self.posted.iter().find(|posted| {
            posted.sequence.get() > sequence
                && posted.pattern.source().is_none_or(|peer| peer == from)
        });
        let told = self.expected.following(sequence, from);
        assert_eq!(
            told.map(|posted| posted.slot),
            right.map(|posted| posted.slot)
        );
    }
}

/// Checks one storage and one size.
fn check<H: Protocol, C: Config>(acts: &[Act]) {
    let mut pair = Pair::<H, C>::new();
    for act in acts {
        pair.act(act);
    }
}

/// Checks small tables, which become full soon, and large ones.
fn check_matcher<H: Protocol, M: Matcher>(acts: &[Act]) {
    check::<H, Composition<U32, Rendezvous<4>, M, Static, Capacities<11, 7, 4, 4>>>(acts);
    check::<H, Composition<U32, Rendezvous<4>, M, HeapStorage, Capacities<128, 100, 4, 4>>>(acts);
}

/// Checks the matchers that depend on keys, with keys that distinguish little.
fn check_bins<H: Protocol>(acts: &[Act]) {
    check_matcher::<H, Binned<1>>(acts);
    check_matcher::<H, Binned>(acts);
    check_matcher::<H, Adaptive<4, 2>>(acts);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn every_matcher_is_the_model(acts in acts()) {
        check_matcher::<Tagged, Linear>(&acts);
        check_matcher::<Tagged, Binned<1>>(&acts);
        check_matcher::<Tagged, Binned<8>>(&acts);
        check_matcher::<Tagged, Binned<64>>(&acts);
        check_matcher::<Tagged, Adaptive<1, 1>>(&acts);
        check_matcher::<Tagged, Adaptive<4, 2>>(&acts);
        check_matcher::<Tagged, Adaptive>(&acts);
    }

    /// Different fields have the same key, and classes mix patterns with a source and without.
    #[test]
    fn coarse_keys_change_nothing(acts in acts()) {
        check_bins::<Coarse>(&acts);
    }

    /// A protocol without classes and keys is matched correctly.
    #[test]
    fn a_silent_protocol_is_matched(acts in acts()) {
        check_bins::<Silent>(&acts);
    }

    /// Without memory for bins, a search is longer and finds the same.
    #[test]
    fn bins_may_run_out_of_memory(acts in acts()) {
        check::<Tagged, Composition<U32, Rendezvous<4>, Binned<2>, Stingy, Capacities<64, 40, 4, 4>>>(&acts);
        check::<Tagged, Composition<U32, Rendezvous<4>, Adaptive<3, 64>, Stingy, Capacities<64, 40, 4, 4>>>(&acts);
    }

    /// Checks the law of classes and keys on which bins rely.
    #[test]
    fn a_match_has_the_key_of_its_class(
        source in prop::option::of(0..4u16),
        tag in prop::option::of(0..4i32),
        from in 0..4u16,
        sent in 0..4i32,
    ) {
        law::<Tagged>(source, tag, from, sent);
        law::<Coarse>(source, tag, from, sent);
        law::<Silent>(source, tag, from, sent);
    }
}

fn law<H: Protocol>(source: Option<u16>, tag: Option<i32>, from: u16, sent: i32) {
    let (pattern, header, from) = (H::pattern(source, tag), H::header(sent), Peer(from));
    let (class, key) = pattern.class();
    assert!(class < H::Pattern::CLASSES);
    if pattern.matches(from, &header) {
        assert_eq!(key, H::Pattern::key(class, from, &header));
    }
}
