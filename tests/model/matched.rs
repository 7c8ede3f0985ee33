//! Explores programs with matched probes: one takes the message that a receive in its place would have taken, no other
//! rank or probe sees that message, and nothing waits for a matched probe that is never repeated.

use crate::explore::Bounds;
use crate::programs::{
    Programs, TAGS, lists, lists_up_to, receives, sends, wishes, with, with_cancel, with_scope,
};
use crate::rank::{Act, Kind, Wish};
use crate::{
    ALL_KINDS, BENIGN, ROOM, SHORT_OR_LONG, Small, changed, explore, one_way, pick, receive,
};

const OBTAIN: Act = Act::Obtain { room: ROOM };

/// Returns receivers with a matched probe and up to `receives` receives.
pub(crate) fn takers(receives: usize) -> Vec<Vec<Act>> {
    let mut receivers = lists_up_to(&self::receives(&[Some(0)], &[ROOM]), receives);
    receivers.push(Vec::new());
    let mut all = Vec::new();
    for receiver in receivers {
        for wish in wishes(&[Some(0)]) {
            for act in [Act::Matched(wish), Act::AwaitMatched(wish)] {
                for taker in with(&receiver, &[act]) {
                    all.push(taker.clone());
                    all.extend(with(&taker, &[OBTAIN]));
                }
            }
        }
    }
    all
}

#[test]
fn beside_receives() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), pick(2, 3));
    let programs = one_way(&senders, &takers(1), pick(5, 6));
    explore::<Small>("matched probes", BENIGN, programs);
    let programs = one_way(&senders, &takers(1), pick(4, 5));
    let bounds = Bounds {
        credit: 2,
        ..BENIGN
    };
    explore::<Small>("matched probes, credit 2", bounds, programs);
}

#[test]
fn beside_probes() {
    let senders = lists_up_to(&sends(1, &TAGS, &[Kind::Short]), pick(2, 3));
    let mut receivers = Vec::new();
    let wishes = wishes(&[Some(0)]);
    for taker in takers(0) {
        for &wish in &wishes {
            for taker in with(&taker, &[Act::Probe(wish)]) {
                receivers.push(taker.clone());
                for &wish in &wishes {
                    receivers.extend(with(&taker, &[Act::Probe(wish)]));
                    receivers.extend(with(&taker, &[receive(Some(0), wish.tag)]));
                    let end = [&taker[..], &[Act::Probe(wish), Act::Take]].concat();
                    receivers.extend(with(&end, &[receive(Some(0), None)]));
                }
            }
        }
    }
    let programs = one_way(&senders, &receivers, pick(5, 8));
    explore::<Small>("matched and plain probes", BENIGN, programs);
    // The matched probe invalidates an answer to the first probe.
    let mut programs = Programs::default();
    for sender in senders.iter().filter(|sender| sender.len() > 1) {
        for &first in &wishes {
            for &taken in &wishes {
                let (probe, taken) = (Act::Probe(first), Act::Matched(taken));
                let receiver = vec![probe, receive(Some(0), None), taken, probe];
                programs.add(vec![sender.clone(), receiver]);
            }
        }
    }
    explore::<Small>("matched between plain probes", BENIGN, programs);
}

/// Two matched probes with different patterns, one after the other or alternating.
#[test]
fn two_patterns() {
    let receivers = || {
        let mut receivers = Vec::new();
        for first in wishes(&[Some(0)]) {
            for second in wishes(&[Some(0)]) {
                let (first, second) = (Act::Matched(first), Act::Matched(second));
                receivers.push(vec![first, second]);
                receivers.push(vec![first, second, first, second]);
                receivers.push(vec![first, second, OBTAIN, first, second]);
                receivers.push(vec![first, second, first, OBTAIN, OBTAIN]);
                receivers.push(vec![first, second, receive(Some(0), None), first]);
            }
        }
        receivers
    };
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), pick(2, 3));
    let programs = one_way(&senders, &receivers(), 8);
    explore::<Small>("two matched probes", BENIGN, programs);
    let senders = lists_up_to(&sends(1, &TAGS, &[Kind::Short]), pick(2, 3));
    let programs = one_way(&senders, &receivers(), pick(6, 8));
    let bounds = Bounds {
        fulls: 1,
        epilogue: false,
        ..BENIGN
    };
    explore::<Small>("two matched probes, full", bounds, programs);
}

/// A message held for one matched probe is available to another one when the first one has its message or gives up.
#[test]
fn crossings() {
    let sender = lists(&sends(1, &TAGS, &[Kind::Short]), 2);
    let mut receivers = Vec::new();
    for first in wishes(&[Some(0)]) {
        for second in wishes(&[Some(0)]) {
            let (first, second) = (Act::Matched(first), Act::Matched(second));
            let other = receive(Some(0), Some(1));
            let wanted = receive(Some(0), Some(2));
            receivers.push(vec![first, other, second, first, second]);
            receivers.push(vec![first, other, second, wanted, Act::Cancel(1), second]);
        }
    }
    let programs = one_way(&sender, &receivers, 8);
    let bounds = Bounds {
        fulls: 1,
        epilogue: false,
        ..BENIGN
    };
    explore::<Small>("matched probes, crossings", bounds, programs);
}

#[test]
fn in_trouble() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 2);
    let programs = || one_way(&senders, &takers(0), pick(4, 5));
    let cancels = || changed(programs(), 0, with_cancel);
    explore::<Small>("matched probes, cancel", BENIGN, cancels());
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    explore::<Small>("matched probes, death", bounds, programs());
    let bounds = Bounds { fulls: 1, ..BENIGN };
    explore::<Small>("matched probes, cancel, full", bounds, cancels());
    let bounds = Bounds {
        laters: 1,
        deaths: 1,
        ..BENIGN
    };
    explore::<Small>("matched probes, later, death", bounds, programs());
    let bounds = Bounds {
        pairs: true,
        ..BENIGN
    };
    explore::<Small>("matched probes, two frames per poll", bounds, cancels());
    let bounds = Bounds {
        claim_late: true,
        ..BENIGN
    };
    let twice = changed(cancels(), 0, with_cancel);
    explore::<Small>("matched probes, two cancels", bounds, twice);
}

#[test]
fn in_scopes() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 2);
    // A scope that waits cannot be observed.
    let waits = |list: &Vec<Act>| list.iter().any(|act| matches!(act, Act::AwaitMatched(_)));
    let mut receivers = takers(0);
    receivers.retain(|list| !waits(list));
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    let sender = || changed(programs(), 0, with_scope);
    explore::<Small>("matched probes, scope of a sender", BENIGN, sender());
    let receiver = changed(programs(), 1, with_scope);
    explore::<Small>("matched probes, scope of a receiver", BENIGN, receiver);
    let both = changed(sender(), 1, with_scope);
    explore::<Small>("matched probes, two scopes", BENIGN, both);
}

#[test]
fn kinds_and_rooms() {
    let senders = lists_up_to(&sends(1, &[1], &ALL_KINDS), 2);
    let any = Wish {
        source: None,
        tag: None,
    };
    let (once, again) = (Act::Matched(any), Act::AwaitMatched(any));
    let mut receivers = Vec::new();
    for room in [0, 3, 150] {
        let obtain = Act::Obtain { room };
        receivers.push(vec![once, obtain]);
        receivers.push(vec![again, obtain]);
        receivers.push(vec![once, obtain, once, obtain]);
        receivers.push(vec![again, again, obtain, obtain]);
    }
    let programs = one_way(&senders, &receivers, 6);
    explore::<Small>("matched probes, kinds and rooms", BENIGN, programs);
}

/// Two senders, and matched probes of any source.
#[test]
fn of_any_source() {
    let first = lists_up_to(&sends(2, &TAGS, &[Kind::Short]), 2);
    let second = lists_up_to(&sends(2, &[1], &SHORT_OR_LONG), pick(1, 2));
    let wish = |source, tag| Wish { source, tag };
    let any = Act::Matched(wish(None, None));
    let one = Act::Matched(wish(None, Some(1)));
    let zero = Act::Matched(wish(Some(0), None));
    let again = Act::AwaitMatched(wish(None, Some(1)));
    let receivers = [
        vec![any, OBTAIN],
        vec![any, any, OBTAIN],
        vec![one, any, OBTAIN],
        vec![again, zero, OBTAIN],
        vec![receive(None, Some(1)), any, OBTAIN],
        vec![Act::Probe(wish(None, None)), one, Act::Take],
    ];
    let mut programs = Programs::default();
    for first in &first {
        for second in &second {
            for receiver in &receivers {
                programs.add(vec![first.clone(), second.clone(), receiver.clone()]);
            }
        }
    }
    explore::<Small>("matched probes of any source", BENIGN, programs);
}
