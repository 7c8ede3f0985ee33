//! The conformance suite in a world of 64 processes, far more than processors: as many small worlds in it as there is
//! room for run each test at the same time.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_netdrivers::shm::Shm;
use pombo_testing::conformance::Harness;

use super::processes::{self, Crew, this_rank};

const RANKS: usize = 64;

struct Crowd;

impl Harness for Crowd {
    type Channel = Corner;

    fn run(test: &str, nodes: u16, body: fn(Corner)) {
        match this_rank() {
            Some(shm) => body(Corner::of(shm, nodes)),
            None => Crew::start(test, RANKS - RANKS % usize::from(nodes)).join(),
        }
    }
}

pombo_testing::conformance!(Crowd);

/// A few neighbours in a large world, with numbers from 0.
struct Corner {
    shm: Shm,
    base: u16,
    nodes: u16,
}

impl Corner {
    fn of(shm: Shm, nodes: u16) -> Self {
        let base = shm.node().0 / nodes * nodes;
        Self { shm, base, nodes }
    }
}

struct Inside<A>(A, Node);

impl<A: Arrival> Arrival for Inside<A> {
    fn from(&self) -> Node {
        self.1
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.head(n)
    }

    fn pieces(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.0.pieces(offset, len, f);
    }
}

impl Channel for Corner {
    type Arrival<'a> = Inside<<Shm as Channel>::Arrival<'a>>;

    fn node(&self) -> Node {
        Node(self.shm.node().0 - self.base)
    }

    fn nodes(&self) -> usize {
        self.nodes.into()
    }

    fn limit(&self, to: Node) -> usize {
        self.shm.limit(to)
    }

    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        if to.0 >= self.nodes {
            return Err(ChannelError::NoSuchNode(to));
        }
        let sent = self.shm.try_send(Node(self.base + to.0), cookie, parts);
        sent.map_err(|error| match error {
            ChannelError::PeerLost(_) => ChannelError::PeerLost(to),
            error => error,
        })
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let (base, nodes) = (self.base, self.nodes);
        let inside = |node: Node| Some(Node(node.0.checked_sub(base)?)).filter(|n| n.0 < nodes);
        let mut any = false;
        self.shm.poll(|event| match event {
            Event::Arrival(arrival) => {
                let from = inside(arrival.from()).expect("nobody else sends here");
                any = true;
                f(Event::Arrival(Inside(arrival, from)));
            }
            Event::PeerLost(node) => {
                if let Some(node) = inside(node) {
                    any = true;
                    f(Event::PeerLost(node));
                }
            }
            _ => panic!("a driver that copies completes nothing"),
        })?;
        Ok(any)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.shm.wait(idle)
    }

    fn now(&self) -> u64 {
        self.shm.now()
    }
}

#[test]
fn all_exchange_checked_frames() {
    processes::run(path!(all_exchange_checked_frames), RANKS, |shm| {
        super::Traffic::new(shm).exchange(20)
    });
}
