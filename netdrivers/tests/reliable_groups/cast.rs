//! A source and its receivers at work.

use pombo_kernel::Peer;
use pombo_kernel::network::Network;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{Faults, SeededRng};
use pombo_testing::{DeviceLimits, LinkParameters, Sim, SimNetwork};
use pombo_transport::multicast::{
    GroupCapacities, GroupId, HEADER_LEN, MulticastStats, Receiver, Repair, Sender, SenderConfig,
    WireGroup,
};
use pombo_transport::reliable::Timing;

pub(crate) const NAME: WireGroup = WireGroup {
    group: GroupId(3),
    epoch: 0x5eed,
};

/// 100 Mb/s through a switch.
pub(crate) const WIRE: LinkParameters = LinkParameters {
    latency: 20_000,
    bandwidth: 12_500_000,
    overhead: 38,
};

/// Messages of more than 64 bytes are long.
type Sizes = GroupCapacities<8, 1500, 8, 64>;

pub(crate) struct Cast {
    pub(crate) sim: Sim,
    network: SimNetwork,
    pub(crate) source: Sender<Sizes, HeapStorage>,
    pub(crate) receivers: Vec<TestReceiver>,
    /// Turns since something moved.
    idle: u32,
}

pub(crate) struct TestReceiver {
    network: SimNetwork,
    pub(crate) sink: Receiver<Sizes, HeapStorage>,
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
        config: SenderConfig,
        timing: Timing,
    ) -> Self {
        let (sim, mut networks) = Sim::with(receivers + 1, limits, WIRE, faults, seed);
        let network = networks.remove(0);
        let quiet = match config.repair {
            // Some frames later.
            Repair::Bursts { asked: false, .. } => Some(500_000),
            _ => None,
        };
        let peers = (1..=receivers).map(Peer);
        let source = Sender::new(NAME, peers, network.mtu(), config, timing);
        let receiver = |network| TestReceiver {
            network,
            sink: Receiver::new(NAME, Peer(0), timing, quiet),
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
            if self.send_due(message) {
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
    pub(crate) fn send_due(&mut self, message: &[u8]) -> bool {
        let (source, now) = (&mut self.source, self.sim.now());
        let polled = self
            .network
            .poll(|frame| source.on_frame(&frame, now, Some(Peer(0))))
            .expect("it is up");
        if source
            .send_due(&mut self.network, &message)
            .expect("it is up")
        {
            return true;
        }
        if !polled {
            let deadline = source.deadline();
            self.network.wait(0, deadline).expect("it is up");
        }
        let (mut moved, mut absent) = (polled, false);
        for receiver in &mut self.receivers {
            if receiver.crashes <= now {
                self.sim.crash(receiver.network.me());
                if receiver.crashes.saturating_add(NEWS) <= now {
                    self.source.declare_lost(receiver.network.me());
                }
            } else {
                moved |= receiver.send_due(now);
            }
            absent |= receiver.wakes > now || receiver.crashes < u64::MAX;
        }
        // Time stands still for a peer that does not look at its frames, or will crash.
        self.idle = if moved { 0 } else { self.idle + 1 };
        if absent {
            self.sim.advance(100 << (self.idle / 2).min(11));
        }
        false
    }

    pub(crate) fn counts(&self) -> (MulticastStats, Vec<MulticastStats>) {
        let receivers = self.receivers.iter().map(|to| to.sink.counts());
        (self.source.counts(), receivers.collect())
    }
}

impl TestReceiver {
    /// True if it heard something.
    fn send_due(&mut self, now: u64) -> bool {
        let (sink, buffer) = (&mut self.sink, &mut self.buffer);
        let me = self.network.me();
        if now < self.wakes {
            return false;
        }
        if self.received.is_none() {
            self.received = sink.receive(&mut buffer[..]).expect("it fits");
        }
        let polled = self
            .network
            .poll(|frame| sink.on_frame(&frame, &mut buffer[..], now, Some(me)))
            .expect("it is up");
        sink.send_due(&mut self.network).expect("it is up");
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
    let bytes = len + packets * (HEADER_LEN + WIRE.overhead as usize);
    bytes as f64 * 1e9 / WIRE.bandwidth as f64
}

pub(crate) fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = SeededRng::new(seed);
    (0..len.div_ceil(8))
        .flat_map(|_| rng.below(u64::MAX).to_le_bytes())
        .take(len)
        .collect()
}
