//! Runs ranks as threads with a hang limit, and worlds of ranks that are polled in turn.

use crate::common::*;
use pombo_kernel::{
    Channel, Communicator, Completed, Config, Error, Header, Limits, Loan, Memory, Peer, Ticket,
};
use pombo_netdrivers::{Loopback, loopback};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The hang limit; tests take a few seconds at most.
const HANG: Duration = Duration::from_secs(600);

/// Runs `body` and ends the process when it hangs, because a hanging thread cannot be ended in another way.
pub(crate) fn watched<R>(name: &str, body: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        let name = name.to_owned();
        scope.spawn(move || {
            // The sender is dropped when the body returns or panics.
            if ended.recv_timeout(HANG) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("test {name} hangs");
                std::process::abort();
            }
        });
        let result = catch_unwind(AssertUnwindSafe(body));
        drop(end);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `body` as one thread per channel. The other ranks lose a rank that panics.
pub(crate) fn ranks<L: Send>(name: &str, channels: Vec<L>, body: impl Fn(L) + Sync) {
    watched(name, || {
        thread::scope(|scope| {
            let body = &body;
            for channel in channels {
                scope.spawn(move || body(channel));
            }
        });
    });
}

/// Returns whether this is the channel of that peer.
pub(crate) fn channel_is(channel: &Loopback, peer: u16) -> bool {
    channel.me() == Peer(peer)
}

/// Returns a world whose ranks are polled in turn in one thread.
pub(crate) fn world<C: Config>(peers: u16, credit: u32) -> Vec<Comm<C>> {
    world_over(Loopback::world(peers), credit)
}

/// Returns such a world over small frames, of which few are in flight.
pub(crate) fn narrow_world<C: Config>(
    peers: u16,
    credit: u32,
    frames_in_flight: usize,
) -> Vec<Comm<C>> {
    let limits = loopback::Limits {
        frame: 128,
        frames_in_flight,
    };
    world_over(Loopback::world_with(peers, limits), credit)
}

fn world_over<C: Config>(channels: Vec<Loopback>, credit: u32) -> Vec<Comm<C>> {
    let limits = Limits {
        credit: Some(credit),
        eager: None,
        copies: None,
    };
    let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
    channels.into_iter().map(over).collect()
}

/// Polls every rank until nothing moves any more, with any header.
pub(crate) fn settle_any<H: Header, M: Memory, C: Config>(
    ranks: &mut [Communicator<H, Loopback, M, C>],
) {
    for _ in 0..1_000_000 {
        let mut moved = false;
        for rank in ranks.iter_mut() {
            moved |= rank.check_messages().expect("loopback does not break");
        }
        if !moved {
            return;
        }
    }
    panic!("the ranks never come to rest");
}

/// Frequent calls of the tests.
pub(crate) trait Short {
    fn post(&mut self, source: Option<u16>, tag: Option<i32>, room: usize) -> Ticket;
    fn put(&mut self, to: u16, tag: i32, bytes: &[u8]) -> Ticket;
    /// Returns the outcome of an operation, which must be complete.
    fn outcome(&mut self, ticket: Ticket) -> Result<usize, Error>;
    /// Returns the bytes of a receive, which must be complete without an error.
    fn bytes(&mut self, ticket: Ticket) -> Vec<u8>;
    fn turn(&mut self);
    fn all_zero(&self) -> bool;
}

impl<C: Config> Short for Comm<C> {
    fn post(&mut self, source: Option<u16>, tag: Option<i32>, room: usize) -> Ticket {
        let posted = self.irecv(wanted(source, tag), Bytes(vec![0; room]));
        posted.map_err(Error::from).expect("posted")
    }

    fn put(&mut self, to: u16, tag: i32, bytes: &[u8]) -> Ticket {
        let sent = self.isend(Peer(to), tagged(tag), Bytes(bytes.to_vec()));
        sent.map_err(Error::from).expect("sent")
    }

    fn outcome(&mut self, ticket: Ticket) -> Result<usize, Error> {
        let over = self.claim(ticket).expect("known").expect("over");
        over.outcome
    }

    fn bytes(&mut self, ticket: Ticket) -> Vec<u8> {
        let Completed { loan, outcome, .. } = self.claim(ticket).expect("known").expect("over");
        let Loan::Received(Bytes(mut bytes)) = loan else {
            panic!("a receive")
        };
        bytes.truncate(outcome.expect("received"));
        bytes
    }

    fn turn(&mut self) {
        self.check_messages().expect("loopback does not break");
    }

    fn all_zero(&self) -> bool {
        let lengths = self.lengths();
        lengths.operations + lengths.expected + lengths.unexpected == 0
    }
}
