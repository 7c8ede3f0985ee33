//! Explores small worlds exhaustively: every program within bounds, in every order of events that a channel permits.
//!
//! Two or three ranks run the real kernel over a channel whose every answer the explorer decides: which rank performs
//! its next act, which sender's next frame a poll reports, when the channel is full, when it still needs the memory of
//! a frame, when a rank dies. `explore` explains how all orders are covered without running each of them.
//!
//! Invariants at any time: no panic, no frame of an honest peer rejected, no more messages in a pool than there is
//! credit for, nothing due after a poll that reports no progress. Conditions when nothing more happens (`check`): no
//! message and no receive that match each other both violate the order, every operation has the outcome that the pairs
//! imply, cancels have settled, queues have the expected lengths, every cell in every pool is in use or available to
//! its sender again, probes have named the messages that a receive would have taken and find those that wait. A message
//! that a matched probe takes counts as received by that probe, and a message is held back only for a matched probe
//! without success. Then the rest is received, and nothing is left (`epilogue`).
//!
//! Not covered are: more acts than the bounds permit; a cancelled message that a probe still finds although a third
//! rank could know of the cancel; time-outs; ports. Run with `POMBO_MODEL=deep` for larger bounds (minutes), and with
//! `--nocapture` to see what was explored.

#[path = "model/check.rs"]
mod check;
#[path = "model/early.rs"]
mod early;
#[path = "model/ending.rs"]
mod ending;
#[path = "model/epilogue.rs"]
mod epilogue;
#[path = "model/explore.rs"]
mod explore;
#[path = "model/header.rs"]
mod header;
#[path = "model/hints.rs"]
mod hints;
#[path = "model/machine.rs"]
mod machine;
#[path = "model/matched.rs"]
mod matched;
#[path = "model/programs.rs"]
mod programs;
#[path = "model/rank.rs"]
mod rank;
#[path = "model/report.rs"]
mod report;
#[path = "model/wire.rs"]
mod wire;

use explore::{Bounds, Explorer, Tally};
use machine::Machine;
use pombo_kernel::aspect::{
    Buffered, Eager, Homogeneous, NoDatatypes, Rendezvous, Static, Unobserved,
};
use pombo_kernel::matching::{Binned, Linear};
use pombo_kernel::{Capacities, Composition, Config};
use programs::{
    Programs, TAGS, lists, lists_up_to, receives, sends, wishes, with, with_cancel, with_detach,
    with_scope,
};
use rank::{Act, Kind, Setup, Wish};
use zerocopy::little_endian::U32;

/// Three peers, two cells for each in every pool, cells of four bytes.
type Sizes = Capacities<16, 6, 4, 3>;
type Small = Composition<U32, Rendezvous<4>, Linear, Static, Sizes>;
/// Matching by bins, of which there are too few.
type Bins = Composition<U32, Rendezvous<4>, Binned<1>, Static, Sizes>;
/// With buffered sends.
type SendCopies = Composition<
    U32,
    Rendezvous<4>,
    Linear,
    Static,
    Sizes,
    Unobserved,
    NoDatatypes,
    Homogeneous,
    Buffered,
>;
/// With buffered sends, also of messages that are announced.
type LongCopies = Composition<
    U32,
    Rendezvous<4>,
    Linear,
    Static,
    Capacities<16, 6, 9, 3>,
    Unobserved,
    NoDatatypes,
    Homogeneous,
    Buffered,
>;
/// Without rendezvous.
type Plain = Composition<U32, Eager, Linear, Static, Sizes>;

/// Returns whether `POMBO_MODEL=deep` asks for larger bounds.
fn deep() -> bool {
    std::env::var("POMBO_MODEL").is_ok_and(|depth| depth == "deep")
}

fn pick<T>(usual: T, deeper: T) -> T {
    if deep() { deeper } else { usual }
}

/// Largest number of vertices before the histories of the ranks are discarded.
const VERTICES: usize = 1_000_000;

const BENIGN: Bounds = Bounds {
    credit: 1,
    claim_late: false,
    fulls: 0,
    laters: 0,
    deaths: 0,
    pairs: false,
    capacity: None,
    epilogue: true,
};

/// Explores programs with the same number of ranks.
fn explore<C: Config>(name: &str, bounds: Bounds, programs: Programs) {
    let start = std::time::Instant::now();
    let programs = programs.finish();
    let setup = Setup {
        me: 0,
        peers: programs[0].len() as u8,
        credit: bounds.credit,
        claim_early: !bounds.claim_late,
    };
    let mut tally = Tally::default();
    let mut machine = Machine::<C>::new(setup);
    for program in &programs {
        if machine.vertices.len() > VERTICES {
            tally.runs += machine.vertices.len();
            machine = Machine::new(setup);
        }
        let mut explorer = Explorer {
            machine: &mut machine,
            program,
            bounds,
        };
        if let Err(report) = explorer.run(&mut tally) {
            panic!("{name}: {report}");
        }
    }
    tally.runs += machine.vertices.len();
    eprintln!("{name}: {tally}, {:.1?}", start.elapsed());
}

const SHORT_OR_LONG: [Kind; 2] = [Kind::Short, Kind::Long];
const ALL_KINDS: [Kind; 6] = [
    Kind::Empty,
    Kind::Short,
    Kind::Long,
    Kind::Huge,
    Kind::EmptySync,
    Kind::ShortSync,
];
const ROOM: u8 = 20;

/// Returns programs in which rank 0 only sends and rank 1 only receives, with at most `acts` acts.
fn one_way(senders: &[Vec<Act>], receivers: &[Vec<Act>], acts: usize) -> Programs {
    let mut programs = Programs::default();
    for sender in senders {
        for receiver in receivers {
            if sender.len() + receiver.len() <= acts {
                programs.add(vec![sender.clone(), receiver.clone()]);
            }
        }
    }
    programs
}

/// Returns the programs, and each of them with one rank's list changed in every way of `change`.
fn changed(programs: Programs, rank: usize, change: fn(&[Act]) -> Vec<Vec<Act>>) -> Programs {
    let mut all = Programs::default();
    for program in programs.finish() {
        for list in change(&program[rank]) {
            let mut changed = program.clone();
            changed[rank] = list;
            all.add(changed);
        }
        all.add(program);
    }
    all
}

fn receive(source: Option<u8>, tag: Option<u8>) -> Act {
    let wish = Wish { source, tag };
    Act::Receive { wish, room: ROOM }
}

#[test]
fn one_way_pairs_are_stable() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 3);
    let programs = || one_way(&senders, &receivers, 6);
    explore::<Small>("one way", BENIGN, programs());
    let bounds = Bounds {
        credit: 2,
        ..BENIGN
    };
    explore::<Small>("one way, credit 2", bounds, programs());
    let receivers = lists_up_to(&receives(&[Some(0), None], &[ROOM]), pick(2, 3));
    let programs = one_way(&senders, &receivers, pick(4, 5));
    explore::<Bins>("one way, any source, bins", BENIGN, programs);
}

#[test]
fn four_messages() {
    let senders = lists(&sends(1, &TAGS, &[Kind::Short]), 4);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), pick(3, 4));
    let programs = one_way(&senders, &receivers, 8);
    explore::<Small>(
        "four messages",
        Bounds {
            epilogue: false,
            ..BENIGN
        },
        programs,
    );
}

#[test]
fn every_kind_and_room() {
    let senders = lists_up_to(&sends(1, &[1], &ALL_KINDS), 3);
    let receivers = lists_up_to(&receives(&[None], &[0, 3, 150]), pick(2, 3));
    let programs = one_way(&senders, &receivers, pick(4, 5));
    explore::<Small>("kinds and rooms", BENIGN, programs);
}

#[test]
fn both_ways() {
    let acts = |rank: u8| {
        let receives = [(None, None), (None, Some(1)), (Some(1 - rank), Some(2))];
        let receives = receives.map(|(source, tag)| receive(source, tag));
        let kinds = pick(&[Kind::Short][..], &SHORT_OR_LONG);
        [&sends(1 - rank, &TAGS, kinds)[..], &receives].concat()
    };
    let mut programs = Programs::default();
    for first in lists_up_to(&acts(0), 3) {
        for second in lists_up_to(&acts(1), pick(2, 3)) {
            programs.add(vec![first.clone(), second]);
        }
    }
    explore::<Small>("both ways", BENIGN, programs);
}

#[test]
fn to_oneself() {
    explore::<Small>("to oneself", BENIGN, alone(pick(3, 4)));
}

/// Returns programs of one rank with at most `acts` acts, one of them possibly cancelled.
fn alone(acts: usize) -> Programs {
    let sends = sends(0, &TAGS, &[Kind::Short, Kind::Huge, Kind::EmptySync]);
    let each = [sends, receives(&[Some(0)], &[ROOM])].concat();
    let mut programs = Programs::default();
    for list in lists_up_to(&each, acts) {
        programs.add(vec![list]);
    }
    changed(programs, 0, with_cancel)
}

#[test]
fn cancels() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 3);
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    explore::<Small>(
        "cancelled send",
        BENIGN,
        changed(programs(), 0, with_cancel),
    );
    explore::<Small>(
        "cancelled receive",
        BENIGN,
        changed(programs(), 1, with_cancel),
    );
}

#[test]
fn two_cancels() {
    let kinds = [Kind::Short, Kind::Huge, Kind::EmptySync];
    let senders = lists_up_to(&sends(1, &[1], &kinds), 2);
    let receivers = lists_up_to(&receives(&[None], &[ROOM]), 2);
    let programs = || one_way(&senders, &receivers, 4);
    let bounds = Bounds {
        claim_late: true,
        ..BENIGN
    };
    let here = changed(changed(programs(), 0, with_cancel), 0, with_cancel);
    explore::<Small>("two cancelled sends", bounds, here);
    let both = changed(changed(programs(), 0, with_cancel), 1, with_cancel);
    explore::<Small>("cancelled send and receive", bounds, both);
}

/// Returns receivers with up to `receives` receives that probe, and receive what they find.
fn probers(receives: usize) -> Vec<Vec<Act>> {
    let wishes = wishes(&[Some(0)]);
    let mut receivers = lists_up_to(&self::receives(&[Some(0)], &[ROOM]), receives);
    receivers.push(Vec::new());
    let mut all = Vec::new();
    for receiver in receivers {
        for &wish in &wishes {
            all.extend(with(&receiver, &[Act::Await(wish), Act::Take]));
            for probe in with(&receiver, &[Act::Probe(wish)]) {
                for &wish in &wishes {
                    all.extend(with(&probe, &[Act::Probe(wish), Act::Take]));
                }
            }
        }
    }
    all
}

#[test]
fn probes() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), pick(2, 3));
    let programs = one_way(&senders, &probers(1), pick(6, 7));
    explore::<Small>("probes", BENIGN, programs);
    let programs = one_way(&senders, &probers(0), 6);
    explore::<Small>(
        "probes and a cancel",
        BENIGN,
        changed(programs, 0, with_cancel),
    );
}

/// Probes may find a cancelled message: the answer is old, and the frame about the cancel is late.
#[test]
fn ghosts() {
    let send = |tag| Act::Send {
        to: 1,
        tag,
        kind: Kind::Short,
    };
    let wish = |tag| Wish {
        source: Some(0),
        tag: Some(tag),
    };
    let mut programs = Programs::default();
    for tags in [[1, 2, 1], [1, 2, 2], [1, 1, 1], [1, 1, 2]] {
        let mut sender = tags.map(send).to_vec();
        sender.insert(2, Act::Cancel(1));
        for kind in [Kind::Short, Kind::Now] {
            if let Some(Act::Send { kind: last, .. }) = sender.last_mut() {
                *last = kind;
            }
            for (probe, taken) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                for receiver in with(
                    &[Act::Probe(wish(probe)); 2],
                    &[receive(Some(0), Some(taken))],
                ) {
                    programs.add(vec![sender.clone(), receiver]);
                }
            }
        }
    }
    let bounds = Bounds {
        fulls: 1,
        epilogue: false,
        ..BENIGN
    };
    explore::<Small>("ghosts", bounds, programs);
    // Neither of the two frames about the cancel leaves before the next message.
    let mut programs = Programs::default();
    for kind in [Kind::Short, Kind::Now] {
        let last = Act::Send {
            to: 1,
            tag: 1,
            kind,
        };
        let sender = vec![send(1), send(2), Act::Cancel(1), last];
        let probe = Act::Probe(wish(2));
        programs.add(vec![sender, vec![probe, receive(Some(0), Some(1)), probe]]);
    }
    let bounds = Bounds { fulls: 2, ..bounds };
    explore::<Small>("ghosts, full twice", bounds, programs);
}

#[test]
fn scopes() {
    let kinds = [Kind::Short, Kind::Huge, Kind::EmptySync];
    let senders = lists_up_to(&sends(1, &TAGS, &kinds), 2);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 2);
    let programs = || one_way(&senders, &receivers, 4);
    explore::<Small>(
        "scope of a sender",
        BENIGN,
        changed(programs(), 0, with_scope),
    );
    explore::<Small>(
        "scope of a receiver",
        BENIGN,
        changed(programs(), 1, with_scope),
    );
    let programs = one_way(&senders, &receivers, pick(3, 4));
    let both = changed(changed(programs, 0, with_scope), 1, with_scope);
    explore::<Small>("two scopes", BENIGN, both);
}

#[test]
fn three_ranks() {
    let first = lists_up_to(&sends(2, &TAGS, &SHORT_OR_LONG), 2);
    explore::<Small>("three ranks", BENIGN, two_to_one(&first));
}

/// Returns programs in which rank 0 sends such lists to rank 2, and so does rank 1.
fn two_to_one(first: &[Vec<Act>]) -> Programs {
    let second = lists_up_to(&sends(2, &[1], &SHORT_OR_LONG), pick(1, 2));
    let receives = [
        (None, None),
        (None, Some(1)),
        (Some(0), None),
        (Some(1), Some(1)),
    ];
    let receives = receives.map(|(source, tag)| receive(source, tag));
    let mut programs = Programs::default();
    for first in first {
        for second in &second {
            for receiver in lists_up_to(&receives, pick(2, 3)) {
                programs.add(vec![first.clone(), second.clone(), receiver]);
            }
        }
    }
    programs
}

/// Every rank has one message for the next rank, and possibly one for the rank behind that.
#[test]
fn a_ring() {
    let mut programs = Programs::default();
    let lists = |rank: u8| {
        let next = sends((rank + 1) % 3, &[1], &SHORT_OR_LONG);
        let acts = [
            &next[..],
            &[receive(None, None), receive(Some((rank + 2) % 3), Some(1))],
        ];
        lists(&acts.concat(), 2)
    };
    for first in lists(0) {
        for second in lists(1) {
            for third in lists(2) {
                programs.add(vec![first.clone(), second.clone(), third]);
            }
        }
    }
    explore::<Small>("a ring", BENIGN, programs);
}

/// Two senders and a receiver from any source: with a cancel, with probes, or with a death.
#[test]
fn any_source() {
    let first = lists_up_to(&sends(2, &TAGS, &[Kind::Short]), 2);
    let second = lists_up_to(&sends(2, &[1], &SHORT_OR_LONG), 1);
    let any = Wish {
        source: None,
        tag: None,
    };
    let one = Wish {
        source: None,
        tag: Some(1),
    };
    let receivers = [
        vec![receive(None, None)],
        vec![receive(None, Some(1)), receive(None, None)],
        vec![Act::Probe(any), Act::Await(one), Act::Take],
        vec![receive(None, Some(1)), Act::Await(any), Act::Take],
    ];
    let mut programs = Programs::default();
    for first in &first {
        for second in &second {
            for receiver in &receivers {
                programs.add(vec![first.clone(), second.clone(), receiver.clone()]);
            }
        }
    }
    let calm = changed(programs, 0, with_cancel);
    explore::<Small>("any source and a cancel", BENIGN, calm);
    let mut programs = Programs::default();
    for first in &first {
        for receiver in &receivers[..pick(2, 4)] {
            programs.add(vec![first.clone(), second[1].clone(), receiver.clone()]);
        }
    }
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    explore::<Small>("any source and a death", bounds, programs);
}

#[test]
fn a_full_channel() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 2);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 2);
    let programs = changed(one_way(&senders, &receivers, 4), 0, with_cancel);
    let bounds = Bounds {
        fulls: pick(1, 2),
        epilogue: false,
        ..BENIGN
    };
    explore::<Small>("full at times", bounds, programs);
    let programs = changed(one_way(&senders, &receivers, 3), 0, with_scope);
    explore::<Small>("full at times, scopes", bounds, programs);
    let senders = lists_up_to(&sends(1, &TAGS, &[Kind::Short, Kind::Huge]), 3);
    let programs = one_way(&senders, &receivers, pick(4, 5));
    let bounds = Bounds {
        capacity: Some(1),
        epilogue: false,
        ..BENIGN
    };
    explore::<Small>("one frame under way", bounds, programs);
}

#[test]
fn a_channel_that_needs_the_memory_until_later() {
    let senders = lists_up_to(&sends(1, &[1], &[Kind::Short, Kind::Huge]), 2);
    let receivers = lists_up_to(&receives(&[None], &[ROOM]), 2);
    let programs = || one_way(&senders, &receivers, 4);
    let bounds = Bounds {
        laters: pick(1, 2),
        ..BENIGN
    };
    explore::<Small>(
        "later, cancels",
        bounds,
        changed(programs(), 0, with_cancel),
    );
    explore::<Small>("later, scopes", bounds, changed(programs(), 0, with_scope));
    let bounds = Bounds {
        deaths: 1,
        ..bounds
    };
    explore::<Small>("later, deaths", bounds, programs());
}

#[test]
fn copies() {
    let senders = lists_up_to(&sends(1, &TAGS, &[Kind::Copied, Kind::Short]), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 2);
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    let bounds = Bounds {
        laters: 1,
        ..BENIGN
    };
    explore::<SendCopies>("copies", bounds, programs());
    explore::<SendCopies>(
        "copies and scopes",
        BENIGN,
        changed(programs(), 0, with_scope),
    );
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    explore::<SendCopies>("copies and deaths", bounds, programs());
}

/// Sends that are detached: before anything has left, while they are held or offered, and after their announcement.
#[test]
fn detached_sends() {
    let kinds = [Kind::Short, Kind::Long, Kind::ShortSync];
    let senders = lists_up_to(&sends(1, &TAGS, &kinds), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 2);
    let programs = || changed(one_way(&senders, &receivers, pick(4, 5)), 0, with_detach);
    let bounds = Bounds {
        laters: 1,
        ..BENIGN
    };
    explore::<LongCopies>("detached", bounds, programs());
    let late = Bounds {
        claim_late: true,
        ..BENIGN
    };
    let twice = changed(programs(), 0, with_detach);
    explore::<LongCopies>("two detached", late, twice);
    let fewer = || changed(one_way(&senders, &receivers, pick(3, 5)), 0, with_detach);
    let cancelled = changed(fewer(), 0, with_cancel);
    explore::<LongCopies>("detached and cancelled", BENIGN, cancelled);
    let scoped = changed(fewer(), 0, with_scope);
    explore::<LongCopies>("detached in scopes", BENIGN, scoped);
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    explore::<LongCopies>("detached and deaths", bounds, programs());
    let takers: Vec<_> = wishes(&[Some(0)])
        .into_iter()
        .map(|wish| vec![Act::AwaitMatched(wish), Act::Obtain { room: ROOM }])
        .collect();
    let probed = one_way(&senders, &takers, pick(4, 5));
    explore::<LongCopies>(
        "detached and probed",
        BENIGN,
        changed(probed, 0, with_detach),
    );
}

#[test]
fn two_frames_per_poll() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), pick(2, 3));
    let programs = changed(one_way(&senders, &receivers, pick(4, 5)), 0, with_cancel);
    let bounds = Bounds {
        pairs: true,
        ..BENIGN
    };
    explore::<Small>("two frames per poll", bounds, programs);
}

#[test]
fn deaths() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 2);
    let receivers = lists_up_to(&receives(&[Some(0), None], &[ROOM]), 2);
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    let programs = changed(one_way(&senders, &receivers, 4), 0, with_cancel);
    explore::<Small>("deaths and cancels", bounds, programs);
    let programs = changed(one_way(&senders, &receivers, pick(3, 4)), 0, with_scope);
    explore::<Small>("deaths and scopes", bounds, programs);
    let programs = one_way(&senders, &probers(0), 6);
    explore::<Small>("deaths and probes", bounds, programs);
    let programs = one_way(&senders, &receivers, pick(3, 4));
    let bounds = Bounds { fulls: 1, ..bounds };
    explore::<Small>("deaths and a full channel", bounds, programs);
}

#[test]
fn without_rendezvous() {
    let senders = lists_up_to(&sends(1, &TAGS, &[Kind::Short]), 4);
    let receivers = lists_up_to(&receives(&[Some(0), None], &[ROOM]), 3);
    let programs = one_way(&senders, &receivers, pick(6, 7));
    explore::<Plain>(
        "without rendezvous",
        BENIGN,
        changed(programs, 1, with_cancel),
    );
    let programs = one_way(&senders, &receivers, pick(5, 6));
    let bounds = Bounds {
        credit: 2,
        fulls: 1,
        pairs: true,
        ..BENIGN
    };
    explore::<Plain>("without rendezvous, credit 2", bounds, programs);
}

/// Messages that are injected between others.
#[test]
fn at_once() {
    let kinds = [Kind::Now, Kind::Short, Kind::Long];
    let senders = lists_up_to(&sends(1, &TAGS, &kinds), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), pick(2, 3));
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    explore::<Small>("at once", BENIGN, changed(programs(), 0, with_cancel));
    let bounds = Bounds {
        fulls: 1,
        epilogue: false,
        ..BENIGN
    };
    explore::<Small>("at once, full", bounds, programs());
}
