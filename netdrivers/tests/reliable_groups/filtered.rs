//! Networks that carry frames for one, and those for all not or not any more, as where somebody filters multicast.

use pombo_kernel::Peer;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{Faults, Rate};
use pombo_testing::{BroadcastFilter, Sim, SimNetwork};
use pombo_transport::multicast::{
    BufferProvider, GroupCapacities, GroupId, GroupTable, SendStatus,
};

const PEERS: u16 = 4;
/// Polls of all peers; some thousands are usual.
const HANG: u32 = 300_000;

type Table = GroupTable<BroadcastFilter<SimNetwork>, GroupCapacities<8, 1500>, HeapStorage>;

struct Memory {
    out: &'static [u8],
    into: Vec<u8>,
}

impl BufferProvider for Memory {
    type Out = &'static [u8];
    type Into = [u8];

    fn outgoing(&mut self, _: GroupId) -> Option<&&'static [u8]> {
        (!self.out.is_empty()).then_some(&self.out)
    }

    fn incoming(&mut self, _: GroupId, _: Peer) -> Option<&mut [u8]> {
        (!self.into.is_empty()).then_some(&mut self.into)
    }
}

/// Peer 0 sends small messages and a long one to all; whether it gave up frames for all.
fn all_get_all(passes: u32, faults: Faults, seed: u64) -> bool {
    let (_sim, networks) = Sim::new(PEERS, faults, seed);
    let filtered = |inner| BroadcastFilter::new(inner, passes);
    let table = |network| Table::new(filtered(network), 0x5eed);
    let mut peers: Vec<Table> = networks.into_iter().map(table).collect();
    for peer in &mut peers {
        peer.open(GroupId(1), (0..PEERS).map(Peer))
            .expect("a place");
    }
    let long: Vec<u8> = (0..100_000_u32).map(|i| (i * 7 / 8) as u8).collect();
    let long: &'static [u8] = long.leak();
    let messages: [&'static [u8]; 4] = [b"one", b"two", long, b"three"];
    let memory = |peer| Memory {
        out: if peer == 0 { long } else { &[] },
        into: if peer == 0 {
            vec![]
        } else {
            vec![0; long.len()]
        },
    };
    let mut memories: Vec<Memory> = (0..PEERS).map(memory).collect();
    let (mut sent, mut lent) = (0, false);
    let mut got = vec![0; PEERS.into()];
    for _ in 0..HANG {
        if lent && peers[0].is_sent(GroupId(1)).expect("it is open") {
            (sent, lent) = (sent + 1, false);
        }
        if sent < messages.len() && !lent {
            match peers[0].send(GroupId(1), &messages[sent]) {
                Ok(SendStatus::Borrowed) => lent = true,
                Ok(_) => sent += 1,
                Err(_) => {}
            }
        }
        for to in 1..usize::from(PEERS) {
            let into = &mut memories[to].into[..];
            if got[to] < messages.len()
                && let Ok(Some(received)) = peers[to].receive(GroupId(1), Peer(0), into)
            {
                let expected = messages[got[to]];
                assert_eq!(received, expected.len());
                assert!(into[..expected.len()] == *expected, "message {}", got[to]);
                got[to] += 1;
            }
        }
        if got[1..].iter().all(|got| *got == messages.len()) && peers[0].is_settled() {
            return peers[0].is_unicast_only();
        }
        for (peer, memory) in peers.iter_mut().zip(&mut memories) {
            if !peer.poll(memory).expect("it is up") {
                peer.wait(0).expect("it is up");
            }
        }
    }
    panic!("sent {sent}, got {got:?}");
}

#[test]
fn who_hears_nothing_for_all_gets_its_own() {
    assert!(all_get_all(0, Faults::NONE, 1));
    assert!(all_get_all(0, Faults::NONE.loss(Rate::percent(5)), 2));
}

#[test]
fn a_filter_may_come_at_any_time() {
    for passes in 1..40 {
        assert!(all_get_all(passes, Faults::NONE, passes.into()));
    }
}

#[test]
fn mere_loss_is_no_filter() {
    for seed in 0..20 {
        let lossy = Faults::NONE.loss(Rate::percent(20));
        assert!(!all_get_all(u32::MAX, lossy, seed));
    }
}
