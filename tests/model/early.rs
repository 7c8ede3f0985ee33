//! Explores early data, taken and in vain: the rules are the same, whatever data arrives before it is requested.

use crate::explore::Bounds;
use crate::matched::takers;
use crate::programs::{TAGS, lists_up_to, receives, sends, with_cancel, with_scope};
use crate::rank::Kind;
use crate::{
    ALL_KINDS, BENIGN, ROOM, SHORT_OR_LONG, Sizes, alone, changed, explore, one_way, pick,
    two_to_one,
};
use pombo_kernel::Composition;
use pombo_kernel::aspect::{EarlyData, Static};
use pombo_kernel::matching::Linear;
use zerocopy::little_endian::U32;

/// The first frame of two goes early.
type Early = Composition<U32, EarlyData<4, 1>, Linear, Static, Sizes>;
/// A message of two frames leaves as a whole behind its announcement.
type AllEarly = Composition<U32, EarlyData<4, 2>, Linear, Static, Sizes>;

#[test]
fn one_way_with_early_data() {
    let senders = lists_up_to(&sends(1, &TAGS, &SHORT_OR_LONG), 3);
    let receivers = lists_up_to(&receives(&[Some(0), None], &[ROOM]), pick(2, 3));
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    explore::<Early>("early data", BENIGN, programs());
    let bounds = Bounds {
        credit: 2,
        ..BENIGN
    };
    explore::<Early>("early data, credit 2", bounds, programs());
    let receivers = lists_up_to(&receives(&[Some(0)], &[ROOM]), 2);
    let programs = || one_way(&senders, &receivers, pick(4, 5));
    let cancels = changed(programs(), 0, with_cancel);
    explore::<Early>("early data, cancelled send", BENIGN, cancels);
    let cancels = changed(programs(), 1, with_cancel);
    explore::<Early>("early data, cancelled receive", BENIGN, cancels);
    let programs = one_way(&senders, &takers(1), pick(4, 5));
    explore::<Early>("early data, matched probes", BENIGN, programs);
}

#[test]
fn every_kind_with_early_data() {
    let senders = lists_up_to(&sends(1, &[1], &ALL_KINDS), 2);
    let receivers = lists_up_to(&receives(&[Some(0), None], &[0, 3, 130, 150]), 2);
    let programs = || one_way(&senders, &receivers, pick(3, 4));
    explore::<Early>("early data, kinds and rooms", BENIGN, programs());
    explore::<AllEarly>("all data early, kinds and rooms", BENIGN, programs());
}

#[test]
fn early_data_in_trouble() {
    trouble::<Early>();
}

#[test]
fn all_data_early_in_trouble() {
    trouble::<AllEarly>();
}

fn trouble<C: pombo_kernel::Config>() {
    let kinds = [Kind::Huge, Kind::Short];
    let senders = lists_up_to(&sends(1, &TAGS, &kinds), 2);
    let receivers = lists_up_to(&receives(&[Some(0)], &[150]), 2);
    let programs = || one_way(&senders, &receivers, pick(3, 4));
    let cancels = || changed(programs(), 0, with_cancel);
    let scopes = || changed(programs(), 0, with_scope);
    let both = changed(scopes(), 1, with_scope);
    explore::<C>("early data, two scopes", BENIGN, both);
    let both = changed(cancels(), 1, with_cancel);
    explore::<C>("early data, two cancels", BENIGN, both);
    let bounds = Bounds {
        claim_late: true,
        ..BENIGN
    };
    let twice = changed(cancels(), 0, with_cancel);
    explore::<C>("early data, two cancelled sends", bounds, twice);
    let bounds = Bounds {
        deaths: 1,
        ..BENIGN
    };
    explore::<C>("early data, death and scopes", bounds, scopes());
    explore::<C>("early data, death and cancels", bounds, cancels());
    let bounds = Bounds {
        fulls: pick(1, 2),
        epilogue: false,
        ..BENIGN
    };
    explore::<C>("early data, full, cancels", bounds, cancels());
    explore::<C>("early data, full, scopes", bounds, scopes());
    let bounds = Bounds {
        capacity: Some(1),
        ..BENIGN
    };
    explore::<C>("early data, one frame under way", bounds, programs());
    let bounds = Bounds {
        laters: 1,
        ..BENIGN
    };
    explore::<C>("early data, later, cancels", bounds, cancels());
    explore::<C>("early data, later, scopes", bounds, scopes());
    let bounds = Bounds {
        deaths: 1,
        ..bounds
    };
    explore::<C>("early data, later, death", bounds, programs());
    let bounds = Bounds {
        pairs: true,
        ..BENIGN
    };
    explore::<C>("early data, two frames per poll", bounds, cancels());
}

#[test]
fn three_ranks_with_early_data() {
    let first = lists_up_to(&sends(2, &TAGS, &[Kind::Long]), pick(1, 2));
    explore::<Early>("early data, three ranks", BENIGN, two_to_one(&first));
}

#[test]
fn to_oneself_with_early_data() {
    explore::<Early>("early data, to oneself", BENIGN, alone(pick(2, 4)));
}
