//! Measures what each aspect adds to a short message with a posted receive: the instructions of all five calls, and
//! bytes.

use crate::mirror::Mirror;
use crate::protocol::{CELL, PEERS, OPERATIONS, POOL, Tagged, tagged, wanted};
use crate::step;
use pombo_kernel::aspect::{
    Buffered, Canonical, Counting, Eager, EarlyData, Full, Heterogeneous, Homogeneous, NoDatatypes,
    ReceiverInitiated, Rendezvous, Static, Unbuffered, Unobserved,
};
use pombo_kernel::matching::{Adaptive, Binned, Linear};
use pombo_kernel::{Communicator, Composition, Config, Envelope, Lent, Peer, Capacities};
use std::hint::black_box;
use zerocopy::little_endian::{U32, U64};

type Sizes = Capacities<OPERATIONS, POOL, CELL, PEERS>;
type Rank<C> = Communicator<Tagged, Mirror, Lent<'static>, C>;

/// Prints a line for every aspect.
pub(crate) fn print() {
    type With<L, T, M, O = Unobserved, D = NoDatatypes, R = Homogeneous, B = Unbuffered> =
        Composition<L, T, M, Static, Sizes, O, D, R, B>;
    measure::<With<U32, Eager, Linear>>("everything off");
    measure::<With<U64, Eager, Linear>>("lengths of 64 bits");
    measure::<With<U32, Rendezvous<CELL>, Linear>>("rendezvous");
    measure::<With<U32, EarlyData<CELL>, Linear>>("rendezvous, early data");
    measure::<With<U32, ReceiverInitiated<CELL>, Linear>>("rendezvous, receiver first");
    measure::<With<U32, Eager, Binned>>("binned");
    measure::<With<U32, Eager, Adaptive>>("adaptive");
    measure::<With<U32, Eager, Linear, Counting>>("observer");
    measure::<With<U32, Eager, Linear, Unobserved, Full>>("datatypes");
    measure::<With<U32, Eager, Linear, Unobserved, NoDatatypes, Heterogeneous>>("heterogeneous");
    measure::<With<U32, Eager, Linear, Unobserved, NoDatatypes, Canonical>>("canonical");
    measure::<With<U32, Eager, Linear, Unobserved, NoDatatypes, Homogeneous, Buffered>>(
        "buffering",
    );
}

const PEER: Peer = Peer(3);

fn measure<C: Config>(name: &str) {
    let mut rank = Rank::<C>::new(Mirror::new(PEERS)).expect("it fits");
    for _ in 0..4 * OPERATIONS {
        message(&mut rank);
        while rank.check_messages().expect("a mirror does not break") {}
    }
    let (nothing, ()) = step::count(|| ());
    let steps = message(&mut rank) - 5 * nothing;
    let (envelope, all) = (size_of::<Envelope<Tagged, C>>(), size_of::<Rank<C>>());
    println!("aspect {steps} {all} {name} ({envelope} bytes of envelope)");
}

/// Runs one message from the receive to the claims.
fn message<C: Config>(rank: &mut Rank<C>) -> u64 {
    let (bytes, room) = (vec![7; 8].leak(), vec![0; 8].leak());
    let mut all = 0;
    let mut count = |steps: u64| all += steps;
    let (steps, posted) = step::count(|| rank.irecv(wanted(Some(PEER.0), Some(1)), room));
    count(steps);
    let (steps, sent) = step::count(|| rank.isend(PEER, tagged(1), bytes));
    count(steps);
    let (steps, moved) = step::count(|| rank.check_messages());
    count(steps);
    assert_eq!(moved, Ok(true));
    for ticket in [posted.expect("taken"), sent.ok().expect("taken")] {
        let (steps, over) = step::count(|| black_box(rank.claim(ticket)));
        count(steps);
        assert!(over.expect("it is known").is_some());
    }
    all
}
