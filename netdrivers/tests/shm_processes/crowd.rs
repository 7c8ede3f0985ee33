//! The conformance suite in a world of 64 processes, far more than processors: as many small worlds in it as there is
//! room for run each test at the same time.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_netdrivers::shm::Shm;
use pombo_testing::conformance::Harness;

use super::processes::{self, Crew, this_rank};

const RANKS: usize = 64;

struct Crowd;

impl Harness for Crowd {
    type Channel = Corner;

    fn run(test: &str, peers: u16, body: fn(Corner)) {
        match this_rank() {
            Some(shm) => body(Corner::of(shm, peers)),
            None => Crew::start(test, RANKS - RANKS % usize::from(peers)).join(),
        }
    }
}

pombo_testing::conformance!(Crowd);

/// A few neighbours in a large world, with numbers from 0.
struct Corner {
    shm: Shm,
    base: u16,
    peers: u16,
}

impl Corner {
    fn of(shm: Shm, peers: u16) -> Self {
        let base = shm.me().0 / peers * peers;
        Self { shm, base, peers }
    }
}

struct Inside<A>(A, Peer);

impl<A: Arrival> Arrival for Inside<A> {
    fn from(&self) -> Peer {
        self.1
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.head(n)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.0.for_each_chunk(offset, len, f);
    }
}

impl Channel for Corner {
    type Arrival<'a> = Inside<<Shm as Channel>::Arrival<'a>>;

    pombo_kernel::channel_defaults! {
        supports_single_copy, favours_early_data, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }
    pombo_kernel::forward_channel! { shm: limit, wait, now }

    fn me(&self) -> Peer {
        Peer(self.shm.me().0 - self.base)
    }

    fn peers(&self) -> usize {
        self.peers.into()
    }

    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        if to.0 >= self.peers {
            return Err(ChannelError::NoSuchPeer(to));
        }
        let sent = self.shm.try_send(Peer(self.base + to.0), cookie, parts);
        sent.map_err(|error| match error {
            ChannelError::PeerLost(_) => ChannelError::PeerLost(to),
            error => error,
        })
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let (base, peers) = (self.base, self.peers);
        let inside = |peer: Peer| Some(Peer(peer.0.checked_sub(base)?)).filter(|n| n.0 < peers);
        let mut any = false;
        self.shm.poll(|event| match event {
            Event::Arrival(arrival) => {
                let from = inside(arrival.from()).expect("nobody else sends here");
                any = true;
                f(Event::Arrival(Inside(arrival, from)));
            }
            Event::PeerLost(peer) => {
                if let Some(peer) = inside(peer) {
                    any = true;
                    f(Event::PeerLost(peer));
                }
            }
            _ => panic!("a driver that copies completes nothing"),
        })?;
        Ok(any)
    }
}

#[test]
fn all_exchange_checked_frames() {
    processes::run(path!(all_exchange_checked_frames), RANKS, |shm| {
        super::Traffic::new(shm).exchange(20)
    });
}
