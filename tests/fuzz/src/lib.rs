//! A rank, a reliable channel and a table of multicast groups among hostile peers: the bytes of an input are
//! interpreted as frames of these peers, and as calls of the user.
//!
//! There are four entries, for libFuzzer (`targets/`) and for the replay of the corpus in `cargo test`. They panic if
//! an invariant is violated.
#![allow(
    unreachable_pub,
    reason = "a library for libFuzzer, a module for the replay"
)]

mod acts;
mod feed;
mod groups;
mod line;
mod links;
mod protocol;
mod rank;
mod script;

use feed::Feed;
use pombo_kernel::aspect::{
    Buffered, Canonical, Counting, Eager, Full, Heterogeneous, Homogeneous, NoDatatypes,
    ReceiverInitiated, Rendezvous, Static, Unobserved,
};
use pombo_kernel::matching::{Adaptive, Binned, Linear, NoQueues};
use pombo_kernel::{Capacities, Composition, Config};
use zerocopy::little_endian::U32;

/// Small, so that every bound is reached: 8 operations, 2 cells in the pool for each of 3 peers, 16 bytes each.
type Small = Capacities<8, 6, 16, 3>;
type Plain<T, M> = Composition<U32, T, M, Static, Small>;
type Rich<T, M, R> = Composition<U32, T, M, Static, Small, Counting, Full, R, Buffered>;
type Buffering =
    Composition<U32, Eager, Linear, Static, Small, Unobserved, NoDatatypes, Homogeneous, Buffered>;

/// Feeds raw frames of two peers to a rank that has sends and receives.
pub fn frames(data: &[u8]) {
    compose(data, |feed, play| play.frames(feed));
}

/// Performs calls of the user, plausible frames, changes of the channel's profile and losses, in any order.
pub fn arrive(data: &[u8]) {
    compose(data, |feed, play| play.acts(feed));
}

/// Performs frames and calls in any order, on a reliable channel.
pub fn links(data: &[u8]) {
    links::run(&mut Feed::new(data));
}

/// Performs frames and calls in any order, on a table of groups.
pub fn groups(data: &[u8]) {
    groups::run(&mut Feed::new(data));
}

/// A function that works with every composition.
trait Play {
    fn frames(&self, feed: &mut Feed<'_>);
    fn acts(&self, feed: &mut Feed<'_>);
}

struct Of<C>(core::marker::PhantomData<C>);

impl<C: Config> Play for Of<C> {
    fn frames(&self, feed: &mut Feed<'_>) {
        acts::frames::<C>(feed);
    }

    fn acts(&self, feed: &mut Feed<'_>) {
        acts::acts::<C>(feed);
    }
}

/// Selects the composition by the first byte.
fn compose(data: &[u8], run: impl Fn(&mut Feed<'_>, &dyn Play)) {
    fn of<C: Config>() -> &'static dyn Play {
        &Of::<C>(core::marker::PhantomData)
    }
    let mut feed = Feed::new(data);
    let play = match feed.byte() % 8 {
        0 => of::<Plain<Eager, Linear>>(),
        1 => of::<Plain<Rendezvous<4>, Linear>>(),
        2 => of::<Plain<ReceiverInitiated<4>, Binned<2>>>(),
        3 => of::<Rich<Rendezvous<4>, Adaptive<1, 2>, Heterogeneous>>(),
        4 => of::<Plain<Rendezvous<4>, NoQueues>>(),
        5 => of::<Rich<ReceiverInitiated<4>, Linear, Canonical>>(),
        6 => of::<Plain<Eager, Binned<1>>>(),
        _ => of::<Buffering>(),
    };
    run(&mut feed, play);
}
