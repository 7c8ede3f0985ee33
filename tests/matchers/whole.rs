//! Tests that a communicator behaves the same with every matcher: same results, same messages, same order.

use crate::common::{
    Bytes, Owned, Tagged, adversarial, cases, payload, settle_adversarial, tagged, wanted,
};
use pombo_kernel::aspect::{Eager, Rendezvous, Static};
use pombo_kernel::matching::{Adaptive, Binned, Linear};
use pombo_kernel::{
    Capacities, Communicator, Composition, Config, Error, Limits, Loan, Mode, Peer, Refused, Ticket,
};
use pombo_netdrivers::fault::Rate;
use pombo_netdrivers::{HeapStorage, Loopback};
use pombo_testing::{AdversarialChannel, Profile};
use proptest::prelude::*;
use zerocopy::little_endian::U32;

const RANKS: u16 = 3;

#[derive(Clone, Debug)]
enum Act {
    Send {
        from: u16,
        to: u16,
        tag: i32,
        len: usize,
        mode: Mode,
    },
    Receive {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
        room: usize,
    },
    Probe {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
    },
    Cancel {
        which: usize,
    },
    Poll {
        at: u16,
    },
    Claim {
        which: usize,
    },
    /// The last rank leaves.
    Leave,
}

fn act() -> impl Strategy<Value = Act> {
    let rank = 0..RANKS;
    let source = prop_oneof![1 => Just(None), 2 => rank.clone().prop_map(Some)];
    let tag = prop_oneof![1 => Just(None), 4 => (0..6i32).prop_map(Some)];
    let len = prop_oneof![3 => 0..17usize, 1 => 17..200usize];
    let mode = prop_oneof![9 => Just(Mode::Standard), 1 => Just(Mode::Synchronous)];
    prop_oneof![
        600 => (rank.clone(), rank.clone(), 0..6i32, len, mode)
            .prop_map(|(from, to, tag, len, mode)| Act::Send { from, to, tag, len, mode }),
        500 => (rank.clone(), source.clone(), tag.clone(), 0..200usize)
            .prop_map(|(at, source, tag, room)| Act::Receive { at, source, tag, room }),
        100 => (rank.clone(), source, tag)
            .prop_map(|(at, source, tag)| Act::Probe { at, source, tag }),
        100 => (0..200usize).prop_map(|which| Act::Cancel { which }),
        600 => rank.prop_map(|at| Act::Poll { at }),
        100 => (0..200usize).prop_map(|which| Act::Claim { which }),
        5 => Just(Act::Leave),
    ]
}

/// Source, tag and length of a message.
type Known = (Peer, i32, usize);

/// An observation of a program.
#[derive(PartialEq, Debug)]
enum Peeked {
    Opened(Result<Ticket, Error>),
    Probed(Result<Option<Known>, Error>),
    Cancelled(Result<(), Error>),
    Claimed(Result<Option<(Result<usize, Error>, Option<Known>, Vec<u8>)>, Error>),
    Left(pombo_kernel::facade::Lengths, u64),
}

struct World<C: Config> {
    ranks: Vec<Communicator<Tagged, AdversarialChannel<Loopback>, Owned, C>>,
    tickets: Vec<(u16, Ticket)>,
    seen: Vec<Peeked>,
}

impl<C: Config> World<C> {
    fn act(&mut self, act: &Act) {
        match *act {
            Act::Send {
                from,
                to,
                tag,
                len,
                mode,
            } => {
                let loan = Bytes(payload(self.seen.len(), len));
                let sent = self
                    .rank(from)
                    .map(|rank| rank.isend_as(mode, Peer(to), tagged(tag), loan));
                self.opened(from, sent);
            }
            Act::Receive {
                at,
                source,
                tag,
                room,
            } => {
                let loan = Bytes(vec![0; room]);
                let posted = self
                    .rank(at)
                    .map(|rank| rank.irecv(wanted(source, tag), loan));
                self.opened(at, posted);
            }
            Act::Probe { at, source, tag } => {
                let known = self.rank(at).map(|rank| rank.probe(wanted(source, tag)));
                let known = known.map(|known| known.map(|known| known.map(know::<C>)));
                self.seen.extend(known.map(Peeked::Probed));
            }
            Act::Cancel { which } => {
                if let Some(&(at, ticket)) = self.tickets.get(which) {
                    let cancelled = self.rank(at).map(|rank| rank.cancel(ticket));
                    self.seen.extend(cancelled.map(Peeked::Cancelled));
                }
            }
            Act::Poll { at } => {
                if let Some(rank) = self.rank(at) {
                    rank.check_messages().expect("the channel does not break");
                }
            }
            Act::Claim { which } => self.claim(which),
            Act::Leave => {
                if self.ranks.len() == usize::from(RANKS) {
                    self.ranks.pop();
                }
            }
        }
    }

    /// Returns a rank; `None` if it has left.
    fn rank(
        &mut self,
        at: u16,
    ) -> Option<&mut Communicator<Tagged, AdversarialChannel<Loopback>, Owned, C>> {
        self.ranks.get_mut(usize::from(at))
    }

    fn opened(&mut self, at: u16, result: Option<Result<Ticket, Refused<Bytes>>>) {
        let Some(result) = result else { return };
        let result = result.map_err(Error::from);
        self.tickets.extend(result.map(|ticket| (at, ticket)));
        self.seen.push(Peeked::Opened(result));
    }

    fn claim(&mut self, which: usize) {
        let Some(&(at, ticket)) = self.tickets.get(which) else {
            return;
        };
        let Some(claimed) = self.rank(at).map(|rank| rank.claim(ticket)) else {
            return;
        };
        self.seen.push(Peeked::Claimed(claimed.map(|completed| {
            completed.map(|completed| {
                let bytes = match completed.loan {
                    Loan::Received(Bytes(bytes)) => bytes,
                    _ => Vec::new(),
                };
                (completed.outcome, completed.envelope.map(know::<C>), bytes)
            })
        })));
    }
}

fn know<C: Config>(envelope: pombo_kernel::Envelope<Tagged, C>) -> Known {
    let tag = envelope.header().tag.get();
    (envelope.peer(), tag, envelope.len())
}

/// Returns what a program observes that performs these acts, then settles, claims, cancels and claims again.
fn see<C: Config>(
    acts: &[Act],
    profile: (usize, Profile),
    seed: u64,
    limits: Limits,
) -> Vec<Peeked> {
    let channels = adversarial(RANKS, profile.0, profile.1, seed);
    let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
    let mut world = World::<C> {
        ranks: channels.into_iter().map(over).collect(),
        tickets: Vec::new(),
        seen: Vec::new(),
    };
    for act in acts {
        world.act(act);
    }
    settle_adversarial(&mut world.ranks);
    for which in 0..world.tickets.len() {
        world.claim(which);
    }
    for which in 0..world.tickets.len() {
        world.act(&Act::Cancel { which });
    }
    settle_adversarial(&mut world.ranks);
    for which in 0..world.tickets.len() {
        world.claim(which);
    }
    let left = world
        .ranks
        .iter()
        .map(|rank| (rank.lengths(), rank.rejected()));
    world
        .seen
        .extend(left.map(|(lengths, rejected)| Peeked::Left(lengths, rejected)));
    world.seen
}

type Held<M> = Composition<U32, Rendezvous<16>, M, Static, Capacities<256, 4, 64, 4>>;
type Roomy<M> = Composition<U32, Rendezvous<64>, M, HeapStorage, Capacities<4096, 256, 64, 4>>;
type Plain<M> = Composition<U32, Eager, M, Static, Capacities<64, 48, 64, 4>>;

/// Generates the number of frames in flight and a channel profile.
fn profile() -> impl Strategy<Value = (usize, Profile)> {
    let rate = || (0..60u32).prop_map(Rate::percent);
    let profile = (rate(), rate(), rate(), rate()).prop_map(
        |(full, later, skipped_sender, late_completion)| Profile {
            full,
            later,
            skipped_sender,
            late_completion,
            ..Profile::BENIGN
        },
    );
    (1..8usize, profile)
}

/// Compares three matchers with the linear one.
macro_rules! check {
    ($composition:ident, $acts:expr, $profile:expr, $seed:expr, $limits:expr) => {
        let seen = see::<$composition<Linear>>($acts, $profile, $seed, $limits);
        assert_eq!(
            seen,
            see::<$composition<Binned<1>>>($acts, $profile, $seed, $limits)
        );
        assert_eq!(
            seen,
            see::<$composition<Binned>>($acts, $profile, $seed, $limits)
        );
        assert_eq!(
            seen,
            see::<$composition<Adaptive<2, 2>>>($acts, $profile, $seed, $limits)
        );
    };
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn nobody_sees_which_matcher_it_is(
        acts in prop::collection::vec(act(), 1..200),
        profile in profile(),
        seed in any::<u64>(),
        credit in 1..40u32,
    ) {
        let limits = Limits { credit: Some(credit), eager: None , copies: None};
        check!(Held, &acts, profile, seed, limits);
        check!(Roomy, &acts, profile, seed, limits);
        check!(Plain, &acts, profile, seed, limits);
    }
}
