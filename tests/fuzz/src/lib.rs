//! A rank, a reliable channel and a table of groups among hostile peers: any bytes are read as frames of theirs, and as
//! what the user does meanwhile.
//!
//! Four entries, for libFuzzer (`targets/`) and for the replay of the corpus in `cargo test`. They panic when something
//! is wrong.
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

/// Small, so that every bound is reached: 8 operations, 2 places in the pool for each of 3 peers, 16 bytes each.
type Small = Capacities<8, 6, 16, 3>;
type Plain<T, M> = Composition<U32, T, M, Static, Small>;
type Rich<T, M, R> = Composition<U32, T, M, Static, Small, Counting, Full, R, Buffered>;
type Buffering =
    Composition<U32, Eager, Linear, Static, Small, Unobserved, NoDatatypes, Homogeneous, Buffered>;

/// Raw frames of two peers, on a rank that has sent and posted something.
pub fn frames(data: &[u8]) {
    compose(data, |feed, play| play.frames(feed));
}

/// Calls of the user, plausible frames, profile of the channel, losses: in any order.
pub fn arrive(data: &[u8]) {
    compose(data, |feed, play| play.acts(feed));
}

/// Frames and calls in any order, for a reliable channel.
pub fn links(data: &[u8]) {
    links::run(&mut Feed::new(data));
}

/// Frames and calls in any order, for a table of groups.
pub fn groups(data: &[u8]) {
    groups::run(&mut Feed::new(data));
}

/// Something that works with every composition.
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

/// The first byte chooses the composition.
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
