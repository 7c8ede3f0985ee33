//! Kernel and twin perform the same calls in worlds of three ranks, and observe the same results, queues and buffers.
//! The same holds in mixed worlds, so the frames are the same too.

use crate::face::{Face, Kernel};
use crate::hand::Twin;
use crate::protocol::{tagged, wanted};
use pombo_kernel::{Channel, Cookie, Limits, Loan, Part, Peer, Refused, Ticket};
use pombo_netdrivers::fault::Rate;
use pombo_netdrivers::{Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile};
use proptest::prelude::*;

const RANKS: u16 = 3;

type Wire = AdversarialChannel<Loopback>;

#[derive(Clone, Debug)]
enum Act {
    Send {
        to: u16,
        tag: i32,
        len: usize,
    },
    SendNow {
        to: u16,
        tag: i32,
        len: usize,
    },
    Receive(Option<u16>, Option<i32>, usize),
    Probe(Option<u16>, Option<i32>),
    Claim(usize),
    Cancel(usize),
    MatchedProbe(Option<u16>, Option<i32>),
    ReceiveMatched(usize, usize),
    Scopes {
        to: u16,
        tag: i32,
        source: Option<u16>,
        len: usize,
        polls: usize,
    },
    Poll,
    Forge(u16, Vec<u8>),
    Leave,
}

fn act() -> impl Strategy<Value = Act> {
    let source = || prop::option::of(0..RANKS + 1);
    let tag = || prop::option::of(0..3);
    let len = || prop_oneof![0..20usize, 55..70usize];
    // Kinds of frames that rendezvous knows are not forged, because they bring credit before they are rejected.
    let kind = prop_oneof![Just(0_u8), Just(1), Just(6), 18..=255_u8];
    let frame = (kind, 0..3_u8, prop::collection::vec(any::<u8>(), 0..90));
    let frame = frame.prop_map(|(kind, credit, mut rest)| {
        rest.splice(0..0, [kind, credit]);
        rest
    });
    prop_oneof![
        12 => (0..RANKS + 1, 0..3, len()).prop_map(|(to, tag, len)| Act::Send { to, tag, len }),
        6 => (0..RANKS + 1, 0..3, len()).prop_map(|(to, tag, len)| Act::SendNow { to, tag, len }),
        12 => (source(), tag(), len()).prop_map(|(source, tag, len)| Act::Receive(source, tag, len)),
        3 => (source(), tag()).prop_map(|(source, tag)| Act::Probe(source, tag)),
        12 => (0..20usize).prop_map(Act::Claim),
        3 => (0..20usize).prop_map(Act::Cancel),
        2 => (source(), tag()).prop_map(|(source, tag)| Act::MatchedProbe(source, tag)),
        3 => (0..6usize, len()).prop_map(|(nth, len)| Act::ReceiveMatched(nth, len)),
        3 => (0..RANKS + 1, 0..3, source(), len(), 0..4usize).prop_map(
            |(to, tag, source, len, polls)| Act::Scopes { to, tag, source, len, polls }
        ),
        16 => Just(Act::Poll),
        1 => (0..RANKS, frame).prop_map(|(to, frame)| Act::Forge(to, frame)),
        1 => Just(Act::Leave),
    ]
}

/// A rank, its tickets, and the payload that it sends next.
struct Player<R> {
    rank: Option<R>,
    tickets: Vec<Ticket>,
    next: u8,
}

fn bytes(first: u8, len: usize) -> &'static mut [u8] {
    let bytes: Vec<_> = (0..len).map(|i| first.wrapping_add(i as u8)).collect();
    bytes.leak()
}

impl<R: Face<'static, Wire>> Player<R> {
    fn new(channel: Wire, credit: Option<u32>) -> Self {
        let limits = Limits {
            credit,
            eager: None,
            copies: None,
        };
        Player {
            rank: Some(R::over(channel, limits).expect("it fits")),
            tickets: Vec::new(),
            next: 0,
        }
    }

    fn opened<T: AsRef<[u8]>>(&mut self, opened: Result<Ticket, Refused<T>>) -> String {
        match opened {
            Ok(ticket) => {
                self.tickets.push(ticket);
                format!("{ticket:?}")
            }
            Err(Refused { loan, error }) => format!("{error:?} {:?}", loan.as_ref()),
        }
    }

    /// Performs an act and returns a description of the observable result.
    fn act(&mut self, act: &Act) -> String {
        let Some(rank) = &mut self.rank else {
            return String::new();
        };
        self.next = self.next.wrapping_add(7);
        let result = match act {
            Act::Send { to, tag, len } => {
                let sent = rank.isend(Peer(*to), tagged(*tag), bytes(self.next, *len));
                self.opened(sent)
            }
            Act::SendNow { to, tag, len } => {
                let sent = rank.try_inject(Peer(*to), tagged(*tag), bytes(self.next, *len));
                format!("{sent:?}")
            }
            Act::Receive(source, tag, len) => {
                let posted = rank.irecv(wanted(*source, *tag), bytes(200, *len));
                self.opened(posted)
            }
            Act::Probe(source, tag) => {
                let known = rank.probe(wanted(*source, *tag));
                format!("{:?}", known.map(|known| known.map(R::label)))
            }
            Act::Claim(nth) => self.claim(*nth),
            Act::Cancel(nth) => {
                let ticket = self.tickets.iter().rev().nth(*nth);
                format!("{:?}", ticket.map(|ticket| rank.cancel(*ticket)))
            }
            Act::MatchedProbe(source, tag) => {
                let matched = rank.matched_probe(wanted(*source, *tag));
                if let Ok(Some((ticket, _))) = matched {
                    self.tickets.push(ticket);
                }
                let told = |(ticket, envelope)| (ticket, R::label(envelope));
                format!("{:?}", matched.map(|matched| matched.map(told)))
            }
            Act::ReceiveMatched(nth, len) => match self.tickets.iter().rev().nth(*nth) {
                None => String::new(),
                Some(ticket) => {
                    let taken = rank.irecv_matched(*ticket, bytes(100, *len));
                    let told = |refused: Refused<_>| (refused.error, refused.loan);
                    format!("{:?}", taken.map_err(told))
                }
            },
            Act::Scopes {
                to,
                tag,
                source,
                len,
                polls,
            } => {
                let (out, into) = (bytes(self.next, *len), bytes(50, *len));
                let isend = (Peer(*to), tagged(*tag), &*out);
                let seen = rank.in_scopes(wanted(*source, None), into, isend, *polls);
                format!("{seen:?} {into:?}")
            }
            Act::Poll => format!("{:?}", rank.check_messages()),
            Act::Forge(to, frame) => {
                let parts = [Part::Bytes(frame)];
                let sent = rank.channel_mut().try_send(Peer(*to), Cookie::COPY, &parts);
                format!("{sent:?}")
            }
            Act::Leave => {
                self.rank = None;
                return "gone".to_owned();
            }
        };
        let rank = self.rank.as_ref().expect("it is there");
        let state = (rank.lengths(), rank.rejected(), rank.is_flushed());
        format!("{act:?}: {result} {state:?}")
    }

    /// Claims a ticket, which is kept: a second claim is refused.
    fn claim(&mut self, nth: usize) -> String {
        let (Some(rank), Some(ticket)) = (&mut self.rank, self.tickets.iter().rev().nth(nth))
        else {
            return String::new();
        };
        match rank.claim(*ticket).map(|over| over.map(R::tell)) {
            Ok(None) => "under way".to_owned(),
            Err(error) => format!("{error:?}"),
            Ok(Some(over)) => {
                let loan: (_, &[u8]) = match over.loan {
                    Loan::Sent(bytes) => ("sent", bytes),
                    Loan::Received(bytes) => ("received", bytes),
                };
                format!("{loan:?} {:?} {:?}", over.envelope, over.outcome)
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct World {
    credit: Option<u32>,
    in_flight: usize,
    profile: Profile,
    seed: u64,
}

/// Returns the observations of all ranks if the ranks are of these two kinds.
fn play<A: Face<'static, Wire>, B: Face<'static, Wire>>(
    world: World,
    acts: &[(u16, Act)],
) -> Vec<String> {
    let limits = loopback::Limits {
        frame: 128,
        frames_in_flight: world.in_flight,
    };
    let channels = Loopback::world_with(RANKS, limits);
    let mut channels = AdversarialChannel::world(channels, world.profile, world.seed).into_iter();
    let mut channel = || channels.next().expect("a world of three");
    let mut zero = Player::<A>::new(channel(), world.credit);
    let mut one = Player::<B>::new(channel(), world.credit);
    let mut two = Player::<A>::new(channel(), world.credit);
    let seen = acts.iter().map(|(at, act)| match at {
        0 => zero.act(act),
        1 => one.act(act),
        _ => two.act(act),
    });
    let mut seen: Vec<_> = seen.collect();
    // These polls complete whatever is still under way.
    let rest = (0..60).flat_map(|_| [Act::Poll]);
    let rest = rest.chain((0..40).map(Act::Claim));
    for act in rest {
        seen.extend([zero.act(&act), one.act(&act), two.act(&act)]);
    }
    seen
}

type K = Kernel<'static, Wire>;
type T = Twin<'static, Wire>;

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: cases.and_then(|n| n.parse().ok()).unwrap_or(1000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn kernel_and_twin_see_the_same(
        acts in prop::collection::vec((0..RANKS, act()), 1..120),
        credit in prop::option::of(1..5_u32),
        in_flight in 1..6_usize,
        (full, later, skipped_sender, late_completion) in (0..50_u32, 0..100_u32, 0..50_u32, 0..90_u32),
        seed in any::<u64>(),
    ) {
        let [full, later, skipped_sender, late_completion] = [full, later, skipped_sender, late_completion].map(Rate::percent);
        let profile = Profile { full, later, skipped_sender, late_completion, ..Profile::BENIGN };
        let world = World { credit, in_flight, profile, seed };
        let kernels = play::<K, K>(world, &acts);
        prop_assert_eq!(&kernels, &play::<T, T>(world, &acts));
        prop_assert_eq!(&kernels, &play::<K, T>(world, &acts));
        prop_assert_eq!(&kernels, &play::<T, K>(world, &acts));
    }
}
