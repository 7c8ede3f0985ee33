//! Explores receiver-initiated transfers: the rules are the same, whatever data arrives before it is requested.

use crate::explore::Bounds;
use crate::matched::takers;
use crate::programs::{TAGS, lists_up_to, receives, sends, with_cancel, with_scope};
use crate::rank::Kind;
use crate::{
    ALL_KINDS, BENIGN, ROOM, SHORT_OR_LONG, Sizes, alone, changed, explore, one_way, pick,
    two_to_one,
};
use pombo_kernel::Composition;
use pombo_kernel::aspect::{ReceiverInitiated, Static};
use pombo_kernel::matching::Linear;
use zerocopy::little_endian::U32;

type Hinted = Composition<U32, ReceiverInitiated<4>, Linear, Static, Sizes>;

#[test]
fn one_way_with_hints() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 3);
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 3);
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    explore::<Hinted>("hints", BENIGN, programs());
    let bounds = Bounds {
        credit: 2,
        ..BENIGN
    };
    explore::<Hinted>("hints, credit 2", bounds, programs());
    let cancels = changed(programs(), 0, with_cancel);
    explore::<Hinted>("hints, cancelled send", BENIGN, cancels);
    let cancels = changed(programs(), 1, with_cancel);
    explore::<Hinted>("hints, cancelled receive", BENIGN, cancels);
    let programs = one_way(&senders, &takers(1), pick(4, 5));
    explore::<Hinted>("hints, matched probes", BENIGN, programs);
}

#[test]
fn every_kind_with_hints() {
    let senders = lists_up_to(&sends(1, &[1], &ALL_KINDS), 2);
    let receivers = lists_up_to(&receives(&[Some(0), None], &[0, 3, 150]), 2);
    let programs = one_way(&senders, &receivers, pick(3, 4));
    explore::<Hinted>("hints, kinds and rooms", BENIGN, programs);
}

#[test]
fn hints_in_trouble() {
    let kinds = [Kind::Huge, Kind::Short];
    let senders = lists_up_to(&sends(1, &TAGS, &kinds), 2);
    let receivers = lists_up_to(&receives(&[Some(0)], &[150]), 2);
    let programs = || one_way(&senders, &receivers, pick(3, 4));
    let cancels = || changed(programs(), 0, with_cancel);
    let scopes = || changed(programs(), 0, with_scope);
    explore::<Hinted>(
        "hints, two scopes",
        BENIGN,
        changed(scopes(), 1, with_scope),
    );
    let both = changed(cancels(), 1, with_cancel);
    explore::<Hinted>("hints, two cancels", BENIGN, both);
    let bounds = Bounds {
        claim_late: true,
        ..BENIGN
    };
    let twice = changed(cancels(), 0, with_cancel);
    explore::<Hinted>("hints, two cancelled sends", bounds, twice);
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    explore::<Hinted>("hints, death and scopes", bounds, scopes());
    explore::<Hinted>("hints, death and cancels", bounds, cancels());
    let bounds = Bounds {
        fulls: pick(1, 2),
        epilogue: false,
        ..BENIGN
    };
    explore::<Hinted>("hints, full, cancels", bounds, cancels());
    explore::<Hinted>("hints, full, scopes", bounds, scopes());
    let bounds = Bounds {
        capacity: Some(1),
        ..BENIGN
    };
    explore::<Hinted>("hints, one frame under way", bounds, programs());
    let bounds = Bounds {
        laters: 1,
        ..BENIGN
    };
    explore::<Hinted>("hints, later, cancels", bounds, cancels());
    explore::<Hinted>("hints, later, scopes", bounds, scopes());
    let bounds = Bounds {
        deaths: 1,
        ..bounds
    };
    explore::<Hinted>("hints, later, death", bounds, programs());
    let bounds = Bounds {
        pairs: true,
        ..BENIGN
    };
    explore::<Hinted>("hints, two frames per poll", bounds, cancels());
}

#[test]
fn three_ranks_with_hints() {
    let first = lists_up_to(&sends(2, &TAGS, &[Kind::Long]), pick(1, 2));
    explore::<Hinted>("hints, three ranks", BENIGN, two_to_one(&first));
}

#[test]
fn to_oneself_with_hints() {
    explore::<Hinted>("hints, to oneself", BENIGN, alone(pick(2, 4)));
}
