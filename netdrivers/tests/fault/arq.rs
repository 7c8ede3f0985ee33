//! The smallest protocol that makes a channel of a network, to show that networks with faults can be lived on:
//! every frame has a checksum and is sent again until it is acknowledged. It runs on simulated time alone.

use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::fault::{Faults, FaultyNetwork, Rate, SeededRng};
use pombo_testing::Sim;

const MESSAGES: u32 = 40;
const PATIENCE: u64 = 300_000;

/// Sends `MESSAGES` numbers to its peer and gets as many.
struct Talker<N> {
    network: N,
    peer: Peer,
    /// Ours that are acknowledged.
    sent: u32,
    got: u32,
    again_at: u64,
    acknowledge: bool,
}

impl<N: Network> Talker<N> {
    fn new(network: N) -> Self {
        let peer = Peer(1 - network.me().0);
        Talker {
            network,
            peer,
            sent: 0,
            got: 0,
            again_at: 0,
            acknowledge: false,
        }
    }

    /// Frame: checksum, number of the message or `MESSAGES` without one, how many of the other's have come. An
    /// acknowledgement has no message, or copies of it would call for each other for ever.
    fn turn(&mut self) {
        let (mut got, mut acknowledged) = (self.got, self.sent);
        let mut heard = false;
        let any = self.network.poll(|frame| {
            let Some(bytes) = frame.head(16).filter(|_| frame.len() == 16) else {
                return;
            };
            let field = |i: usize| u64::from_le_bytes(bytes[i * 8..][..8].try_into().expect("8"));
            if field(0) != checksum(field(1)) {
                return;
            }
            let (number, count) = ((field(1) >> 32) as u32, field(1) as u32);
            heard |= number < MESSAGES;
            got += u32::from(number == got && number < MESSAGES);
            acknowledged = acknowledged.max(count);
        });
        self.acknowledge |= heard;
        self.got = got;
        if acknowledged > self.sent {
            self.sent = acknowledged;
            self.again_at = 0;
        }
        let now = self.network.now();
        if self.sent < MESSAGES && self.again_at <= now && self.put(self.sent) {
            self.again_at = now + PATIENCE;
        } else if self.acknowledge {
            self.acknowledge = !self.put(MESSAGES);
        }
        if !any.expect("it is up") {
            let until = if self.sent < MESSAGES {
                self.again_at
            } else {
                u64::MAX
            };
            self.network.wait(0, until).expect("it is up");
        }
    }

    fn put(&mut self, number: u32) -> bool {
        let word = u64::from(number) << 32 | u64::from(self.got);
        let frame = [checksum(word).to_le_bytes(), word.to_le_bytes()];
        let parts = frame.each_ref().map(|field| Part::Bytes(field));
        match self.network.transmit(self.peer, &parts) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error, ChannelError::Full);
                false
            }
        }
    }

    fn is_done(&self) -> bool {
        self.sent == MESSAGES && self.got == MESSAGES
    }
}

fn checksum(word: u64) -> u64 {
    word.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995_7b93_1b27
}

/// Until both are done. Returns the simulated time.
fn talk<N: Network>(sim: &Sim, peers: Vec<N>) -> u64 {
    let mut talkers: Vec<_> = peers.into_iter().map(Talker::new).collect();
    for _ in 0..1_000_000 {
        talkers.iter_mut().for_each(Talker::turn);
        if talkers.iter().all(Talker::is_done) {
            return sim.now();
        }
    }
    panic!("it hangs at {} ns", sim.now());
}

#[test]
fn a_protocol_lives_on_every_plan() {
    for seed in 0..300 {
        let plan = Faults::random(&mut SeededRng::new(seed), 2, 100_000, 20_000_000);
        let (sim, peers) = Sim::new(2, plan.clone(), seed);
        let time = talk(&sim, peers);
        let (again, peers) = Sim::new(2, plan.clone(), seed);
        assert_eq!(talk(&again, peers), time, "seed {seed}, {plan:?}");
        let (sim, peers) = Sim::new(2, Faults::NONE, seed);
        let over = |peer| FaultyNetwork::new(peer, plan.clone(), seed);
        talk(&sim, peers.into_iter().map(over).collect());
    }
}

/// The worst of all, at once.
#[test]
fn a_protocol_lives_on_a_bad_day() {
    let bad = Rate::percent(30);
    let plan = Faults::NONE
        .loss(bad)
        .duplicate(bad)
        .truncate(bad)
        .corrupt(bad)
        .reorder(bad, 1_000_000)
        .stall(bad, 1_000_000);
    for seed in 0..50 {
        let (sim, peers) = Sim::new(2, plan.clone(), seed);
        talk(&sim, peers);
        let counts = sim.counts();
        let met = [
            counts.lost,
            counts.duplicated,
            counts.truncated,
            counts.corrupted,
            counts.reordered,
            counts.stalled,
        ];
        assert!(met.iter().all(|count| *count > 0), "{counts:?}");
    }
}
