//! A source and its receivers at work.

use pombo_kernel::Node;
use pombo_kernel::network::Network;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{SeededRng, Faults};
use pombo_testing::{DeviceLimits, Sim, SimNetwork, LinkParameters};
use pombo_transport::group::{Counts, Group, HEAD, Habits, Name, Repair, Sink, Source};
use pombo_transport::reliable::Timing;

pub(crate) const NAME: Name = Name {
    group: 3,
    epoch: 0x5eed,
};

/// 100 Mb/s through a switch.
pub(crate) const WIRE: LinkParameters = LinkParameters {
    latency: 20_000,
    bandwidth: 12_500_000,
    overhead: 38,
};

/// Messages of more than 64 bytes are long.
type Sizes = Group<8, 1500, 8, 64>;

pub(crate) struct Cast {
    pub(crate) sim: Sim,
    network: SimNetwork,
    pub(crate) source: Source<Sizes, HeapStorage>,
    pub(crate) receivers: Vec<Receiver>,
    /// Turns since something moved.
    idle: u32,
}

pub(crate) struct Receiver {
    network: SimNetwork,
    pub(crate) sink: Sink<Sizes, HeapStorage>,
    buffer: Vec<u8>,
    /// It does nothing before, not even make room.
    wakes: u64,
    received: Option<usize>,
    /// It crashes then, and everybody knows it some time later.
    crashes: u64,
}

/// From a crash to when it is known.
const NEWS: u64 = 3_000_000;

impl Cast {
    pub(crate) fn new(
        receivers: u16,
        limits: DeviceLimits,
        faults: Faults,
        seed: u64,
        habits: Habits,
        timing: Timing,
    ) -> Self {
        let (sim, mut networks) = Sim::with(receivers + 1, limits, WIRE, faults, seed);
        let network = networks.remove(0);
        let quiet = match habits.repair {
            // Some frames later.
            Repair::Bursts { asked: false, .. } => Some(500_000),
            _ => None,
        };
        let nodes = (1..=receivers).map(Node);
        let source = Source::new(NAME, nodes, network.mtu(), habits, timing);
        let receiver = |network| Receiver {
            network,
            sink: Sink::new(NAME, Node(0), timing, quiet),
            buffer: Vec::new(),
            wakes: 0,
            received: None,
            crashes: u64::MAX,
        };
        Cast {
            source: source.expect("places for eight"),
            network,
            receivers: networks.into_iter().map(receiver).collect(),
            sim,
            idle: 0,
        }
    }

    /// One message to all. Returns how long it took.
    pub(crate) fn send(&mut self, message: &[u8]) -> u64 {
        let start = self.sim.now();
        self.source.send(&message).expect("the last is done");
        for receiver in &mut self.receivers {
            receiver.buffer = vec![0; message.len()];
            receiver.received = None;
        }
        for _ in 0..2_000_000_u64 {
            if self.turn(message) {
                let time = self.sim.now() - start;
                let now = self.sim.now();
                let up = self.receivers.iter_mut().filter(|to| to.crashes > now);
                up.for_each(|to| to.check(message));
                return time;
            }
        }
        panic!("it hangs at {} ns: {:?}", self.sim.now(), self.counts());
    }

    /// That receiver will do nothing for so long.
    pub(crate) fn sleep(&mut self, which: usize, time: u64) {
        self.receivers[which].wakes = self.sim.now() + time;
    }

    /// That receiver will stop after so long.
    pub(crate) fn crash(&mut self, which: usize, after: u64) {
        let crashes = &mut self.receivers[which].crashes;
        *crashes = (*crashes).min(self.sim.now() + after);
    }

    /// Everybody once. True when all is there.
    pub(crate) fn turn(&mut self, message: &[u8]) -> bool {
        let (source, now) = (&mut self.source, self.sim.now());
        let polled = self
            .network
            .poll(|frame| source.hear(&frame, now, Some(Node(0))))
            .expect("it is up");
        if source.turn(&mut self.network, &message).expect("it is up") {
            return true;
        }
        if !polled {
            let deadline = source.deadline();
            self.network.wait(0, deadline).expect("it is up");
        }
        let (mut moved, mut absent) = (polled, false);
        for receiver in &mut self.receivers {
            if receiver.crashes <= now {
                self.sim.crash(receiver.network.node());
                if receiver.crashes.saturating_add(NEWS) <= now {
                    self.source.declare_lost(receiver.network.node());
                }
            } else {
                moved |= receiver.turn(now);
            }
            absent |= receiver.wakes > now || receiver.crashes < u64::MAX;
        }
        // Time stands still for a node that does not look at its frames, or will crash.
        self.idle = if moved { 0 } else { self.idle + 1 };
        if absent {
            self.sim.advance(100 << (self.idle / 2).min(11));
        }
        false
    }

    pub(crate) fn counts(&self) -> (Counts, Vec<Counts>) {
        let receivers = self.receivers.iter().map(|to| to.sink.counts());
        (self.source.counts(), receivers.collect())
    }
}

impl Receiver {
    /// True if it heard something.
    fn turn(&mut self, now: u64) -> bool {
        let (sink, buffer) = (&mut self.sink, &mut self.buffer);
        let me = self.network.node();
        if now < self.wakes {
            return false;
        }
        if self.received.is_none() {
            self.received = sink.receive(&mut buffer[..]).expect("it fits");
        }
        let polled = self
            .network
            .poll(|frame| sink.hear(&frame, &mut buffer[..], now, Some(me)))
            .expect("it is up");
        sink.turn(&mut self.network).expect("it is up");
        if !polled {
            let deadline = sink.deadline();
            self.network.wait(0, deadline).expect("it is up");
        }
        polled
    }

    fn check(&mut self, message: &[u8]) {
        let received = self.received.take();
        let received = received.or_else(|| self.sink.receive(&mut self.buffer[..]).expect("fits"));
        assert_eq!(received, Some(message.len()));
        assert!(self.buffer == message, "other bytes than were sent");
    }
}

/// The time that the packets alone take on the wire.
pub(crate) fn ideal(len: usize, chunk: usize) -> f64 {
    let packets = len.div_ceil(chunk);
    let bytes = len + packets * (HEAD + WIRE.overhead as usize);
    bytes as f64 * 1e9 / WIRE.bandwidth as f64
}

pub(crate) fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = SeededRng::new(seed);
    (0..len.div_ceil(8))
        .flat_map(|_| rng.below(u64::MAX).to_le_bytes())
        .take(len)
        .collect()
}
