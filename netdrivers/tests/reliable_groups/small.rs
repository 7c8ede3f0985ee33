//! Small messages, in simulated time: how soon they are everywhere, and how many fit on the wire.

use crate::cast::{WIRE, bytes};
use pombo_kernel::{Error, Peer};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{Faults, Rate};
use pombo_testing::{DeviceLimits, Sim, SimNetwork};
use pombo_transport::multicast::{
    GroupCapacities, GroupId, GroupTable, HEADER_LEN, NoBuffers, SendStatus,
};

type Table = GroupTable<SimNetwork, GroupCapacities<7, 1500>, HeapStorage>;

const SOURCE: Peer = Peer(0);
const PEERS: u16 = 8;
const LEN: usize = 16;
/// Nanoseconds that one of these frames takes on the wire.
const FRAME: u64 =
    (LEN as u64 + HEADER_LEN as u64 + WIRE.overhead) * 1_000_000_000 / WIRE.bandwidth;

/// Seven receivers of one group.
fn world(faults: Faults) -> (Sim, Vec<Table>) {
    let (sim, networks) = Sim::with(PEERS, DeviceLimits::default(), WIRE, faults, 3);
    let table = |network| {
        let mut table = Table::new(network, 7);
        table
            .open(GroupId(1), (0..PEERS).map(Peer))
            .expect("there is room");
        table
    };
    (sim, networks.into_iter().map(table).collect())
}

/// Everybody once, and then time passes if nothing came.
fn send_due(peers: &mut [Table]) {
    let mut moved = false;
    for peer in peers.iter_mut() {
        moved |= peer.poll(&mut NoBuffers).expect("it is up");
    }
    for peer in peers.iter_mut().filter(|_| !moved) {
        peer.wait(0).expect("it is up");
    }
}

/// Takes what is there; how many more messages that peer has now.
fn take(peer: &mut Table) -> usize {
    let mut text = [0; LEN];
    let mut taken = 0;
    while let Some(len) = peer
        .receive(GroupId(1), SOURCE, &mut text[..])
        .expect("it is up")
    {
        assert_eq!(len, LEN);
        taken += 1;
    }
    taken
}

/// Median and mean of the time until all have it, and the mean until the source knows.
fn time(faults: Faults) -> (u64, u64, u64) {
    let (sim, mut peers) = world(faults);
    let message = bytes(LEN, 1);
    let (mut there, mut known) = (Vec::new(), 0);
    for _ in 0..1000 {
        let start = sim.now();
        let begun = peers[0].send(GroupId(1), &&message[..]);
        assert_eq!(begun, Ok(SendStatus::Copied), "it returns at once");
        let mut have = vec![0; usize::from(PEERS)];
        let mut everywhere = 0;
        while everywhere == 0 || !peers[0].is_settled() {
            send_due(&mut peers);
            for (have, peer) in have.iter_mut().zip(&mut peers).skip(1) {
                *have += take(peer);
            }
            if everywhere == 0 && have[1..].iter().all(|have| *have == 1) {
                everywhere = sim.now() - start;
            }
        }
        there.push(everywhere);
        known += sim.now() - start;
    }
    let count = there.len() as u64;
    let mean = there.iter().sum::<u64>() / count;
    there.sort_unstable();
    (there[there.len() / 2], mean, known / count)
}

#[test]
fn a_small_message_is_everywhere_after_one_way() {
    eprintln!("16 bytes to 7 receivers, simulated microseconds; one way takes 27");
    eprintln!("loss % | everywhere: median, mean | acknowledged: mean");
    for ppm in [0, 100, 10_000, 50_000] {
        let (median, mean, known) = time(Faults::NONE.loss(Rate::ppm(ppm)));
        let us = |ns: u64| ns as f64 / 1000.0;
        let loss = f64::from(ppm) / 1e4;
        let (median, mean) = (us(median), us(mean));
        eprintln!("{loss:6} | {median:6.1} {mean:6.1} | {:6.1}", us(known));
        let one_way = us(WIRE.latency + FRAME);
        assert!(ppm > 0 || median < one_way * 1.02, "{median}");
    }
}

/// A source that never waits: reports are few enough and come soon enough.
#[test]
fn small_messages_fill_the_wire() {
    let (sim, mut peers) = world(Faults::NONE);
    let (message, many) = (bytes(LEN, 1), 20_000);
    let (mut sent, mut have) = (0, vec![0; usize::from(PEERS)]);
    while have[1..].iter().any(|have| *have < many) {
        while sent < many {
            match peers[0].send(GroupId(1), &&message[..]) {
                Ok(_) => sent += 1,
                Err(Error::Channel(_)) => break,
                Err(error) => panic!("{error}"),
            }
        }
        send_due(&mut peers);
        for (have, peer) in have.iter_mut().zip(&mut peers).skip(1) {
            *have += take(peer);
        }
    }
    let share = 100.0 * (many as u64 * FRAME) as f64 / sim.now() as f64;
    let reports = peers[1].counts().reports;
    eprintln!("{share:.1} % of the wire, {reports} reports of a receiver for {many} messages");
    assert!(share > 95.0 && reports < many as u64 / 4);
}

/// A receiver that takes messages by what they say, in any order, gets each once, and the source does not wait for those
/// that it has dropped.
#[test]
fn messages_are_taken_in_any_order() {
    let (_sim, mut peers) = world(Faults::NONE.loss(Rate::percent(5)));
    let many = 3000_u32;
    let (mut sent, mut have) = (0, vec![Vec::new(); usize::from(PEERS)]);
    while have[1..].iter().any(|have| have.len() < many as usize) {
        while sent < many && peers[0].send(GroupId(1), &&sent.to_le_bytes()[..]).is_ok() {
            sent += 1;
        }
        send_due(&mut peers);
        for (turn, (have, peer)) in have.iter_mut().zip(&mut peers).enumerate().skip(1) {
            let arrived = peer.arrived(GroupId(1), SOURCE).expect("it is open");
            // Of each pair the second one first; the first one when its place is needed.
            for wanted in [1, 0] {
                let retained = peer.retain(GroupId(1), SOURCE, |number, bytes| {
                    assert_eq!(bytes, (number as u32).to_le_bytes());
                    let is_late = number + 8 + turn as u64 <= arrived || arrived == u64::from(many);
                    let takes = number % 2 == wanted && (wanted == 1 || is_late);
                    if takes {
                        have.push(number);
                    }
                    !takes
                });
                assert_eq!(retained, Ok(()));
            }
        }
    }
    assert!(have[1].windows(2).any(|two| two[0] > two[1]), "in order");
    for have in &mut have[1..] {
        have.sort_unstable();
        assert!(have.iter().copied().eq(0..u64::from(many)));
    }
}
