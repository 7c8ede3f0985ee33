//! Simulated and decorated networks do what their plan says.

use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::network::{MIN_MTU, Network};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::fault::{
    CRASHED, Delays, FaultCounts, Faults, FaultyNetwork, Outage, Rate, SeededRng,
};
use pombo_testing::{DeviceLimits, LinkParameters, Sim, SimNetwork};

const FRAMES: u16 = 1000;

type Got = Vec<(Peer, Vec<u8>)>;

fn collect(network: &mut impl Network, got: &mut Got) {
    while network
        .poll(|frame| {
            let mut bytes = Vec::new();
            frame.for_each_chunk(0, frame.len(), |piece| bytes.extend_from_slice(piece));
            got.push((frame.from(), bytes));
        })
        .expect("it is up")
    {}
}

fn frame(number: u16) -> Vec<u8> {
    [&number.to_le_bytes()[..], &[0x55; 38]].concat()
}

fn send(network: &mut impl Network, to: u16, bytes: &[u8]) {
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    let sent = network.transmit(Peer(to), &[Part::Bytes(head), Part::Bytes(tail)]);
    assert_eq!(sent, Ok(()));
}

/// A thousand frames from peer 0 to peer 1 in a simulated network of this plan.
fn simulated(faults: Faults, seed: u64) -> (Got, FaultCounts) {
    let (sim, mut peers) = Sim::new(2, faults, seed);
    let mut got = Vec::new();
    for number in 0..FRAMES {
        send(&mut peers[0], 1, &frame(number));
        sim.advance(1000);
        collect(&mut peers[1], &mut got);
    }
    while sim.step() {
        collect(&mut peers[1], &mut got);
    }
    assert!(sim.is_quiet());
    (got, sim.counts())
}

/// Sends a frame from each peer to the next, and returns when each arrives.
fn arrivals(sim: &Sim, peers: &mut [FaultyNetwork<SimNetwork>]) -> Vec<u64> {
    for peer in 0..3 {
        send(&mut peers[usize::from(peer)], (peer + 1) % 3, &frame(peer));
    }
    let mut times = vec![0; 3];
    for time in 0..1000 {
        for (peer, network) in peers.iter_mut().enumerate() {
            let mut got = Vec::new();
            // The last one computes, and looks only at the end: it takes nothing for later than it is.
            if peer < 2 || time == 999 {
                collect(network, &mut got);
            }
            for frame in &got {
                assert!(is_frame_of(frame));
                times[frame.0.index()] = time;
            }
        }
        sim.advance(1000);
    }
    times
}

fn is_frame_of((from, bytes): &(Peer, Vec<u8>)) -> bool {
    *bytes == frame(from.0)
}

#[test]
fn each_link_has_its_delay_at_each_time() {
    let (sim, peers) = Sim::new(3, Faults::NONE, 1);
    let delays: Delays = "0-1=50000,1-2=20000,@1500000,0-1=17000,0-2=90000"
        .parse()
        .expect("delays");
    let over = |peer| FaultyNetwork::with_delays(peer, delays.clone(), Rate::NEVER, 1);
    let mtu = peers[0].mtu();
    let mut peers: Vec<_> = peers.into_iter().map(over).collect();
    assert!(peers[0].mtu() < mtu);
    let usual = arrivals(&sim, &mut peers);
    // The network itself takes 10 us, which are a part of the delay.
    let near = |time: u64, delay: u64| (delay..delay + 3).contains(&time);
    assert!(near(usual[0], 50) && near(usual[2], 10), "{usual:?}");
    assert_eq!(usual[1], 999, "it was there when its receiver looked");
    // The beginning is that of the network: more than a millisecond ago.
    sim.advance(1_000_000);
    let later = arrivals(&sim, &mut peers);
    assert!(near(later[0], 17) && near(later[2], 90), "{later:?}");
}

/// The same through a decorator over a network without faults.
fn decorated(faults: Faults, seed: u64) -> (Got, FaultCounts) {
    let (sim, mut peers) = Sim::new(2, Faults::NONE, seed);
    let mut one = FaultyNetwork::new(peers.remove(1), faults, seed);
    let mut got = Vec::new();
    for number in 0..FRAMES {
        send(&mut peers[0], 1, &frame(number));
        sim.advance(1000);
        collect(&mut one, &mut got);
    }
    for _ in 0..10 {
        sim.advance(10_000_000);
        collect(&mut one, &mut got);
    }
    (got, one.counts())
}

const RUNS: [fn(Faults, u64) -> (Got, FaultCounts); 2] = [simulated, decorated];

fn is_whole((from, bytes): &(Peer, Vec<u8>)) -> bool {
    let number = bytes.first_chunk().map_or(0, |n| u16::from_le_bytes(*n));
    *from == Peer(0) && *bytes == frame(number)
}

fn about(count: u64, percent: u64) -> bool {
    let expected = u64::from(FRAMES) * percent / 100;
    (expected / 2..expected * 2).contains(&count)
}

#[test]
fn without_faults_all_arrives_in_order() {
    for run in RUNS {
        let (got, counts) = run(Faults::NONE, 1);
        let numbers: Vec<_> = (0..FRAMES).map(|n| (Peer(0), frame(n))).collect();
        assert_eq!(got, numbers);
        assert_eq!((counts.sent, counts.delivered), (1000, 1000));
    }
}

#[test]
fn each_fault_does_what_it_says() {
    for run in RUNS {
        let rate = Rate::percent(20);
        let (got, counts) = run(Faults::NONE.loss(rate), 1);
        assert!(about(counts.lost, 20) && got.iter().all(is_whole) && got.is_sorted_by_key(number));
        assert_eq!(got.len() as u64, 1000 - counts.lost);

        let (got, counts) = run(Faults::NONE.duplicate(rate), 2);
        assert!(about(counts.duplicated, 20) && got.iter().all(is_whole));
        assert_eq!(got.len() as u64, 1000 + counts.duplicated);

        let (mut got, counts) = run(Faults::NONE.reorder(rate, 5000), 3);
        assert!(about(counts.reordered, 20) && !got.is_sorted_by_key(number));
        got.sort_by_key(number);
        assert_eq!(
            got,
            (0..FRAMES).map(|n| (Peer(0), frame(n))).collect::<Got>()
        );

        let (got, counts) = run(Faults::NONE.stall(rate, 50_000), 4);
        assert!(about(counts.stalled, 20) && got.len() == 1000 && got.is_sorted_by_key(number));

        let (got, counts) = run(Faults::NONE.truncate(rate), 5);
        assert!(about(counts.truncated, 20) && got.len() == 1000);
        let short = got.iter().filter(|(_, bytes)| bytes.len() < 40);
        assert_eq!(short.count() as u64, counts.truncated);

        let (got, counts) = run(Faults::NONE.corrupt(rate), 6);
        assert!(about(counts.corrupted, 20) && got.iter().all(|(_, bytes)| bytes.len() == 40));
        let broken = got.iter().filter(|got| !is_whole(got)).count() as u64;
        assert!(about(broken, 20) && broken <= counts.corrupted);
    }
}

fn number((_, bytes): &(Peer, Vec<u8>)) -> u16 {
    bytes.first_chunk().map_or(0, |n| u16::from_le_bytes(*n))
}

#[test]
fn a_run_repeats_exactly() {
    let mut rng = SeededRng::new(1);
    for run in RUNS {
        for seed in 0..20 {
            let plan = Faults::random(&mut rng, 2, 20_000, 1_000_000);
            assert_eq!(run(plan.clone(), seed), run(plan, seed));
        }
        let plan = Faults::NONE.loss(Rate::percent(50));
        assert_ne!(run(plan.clone(), 1), run(plan, 2));
    }
}

/// Frames that others send, and faults that are off, change nothing for a link.
#[test]
fn links_do_not_disturb_each_other() {
    let run = |chatter: bool| {
        let (sim, mut peers) = Sim::new(3, Faults::NONE.loss(Rate::percent(50)), 9);
        let mut got = Vec::new();
        for number in 0..200 {
            if chatter {
                send(&mut peers[2], 1, b"chatter");
                send(&mut peers[1], 0, b"chatter");
            }
            send(&mut peers[0], 1, &frame(number));
            sim.advance(100_000);
            collect(&mut peers[1], &mut got);
        }
        got.retain(|(from, _)| *from == Peer(0));
        got
    };
    assert_eq!(run(true), run(false));
}

/// A wire takes as long as its latency and bandwidth say, one frame after the other.
#[test]
fn wires_take_their_time() {
    let limits = DeviceLimits {
        tx_queue: 3,
        ..DeviceLimits::default()
    };
    let wire = LinkParameters {
        latency: 5000,
        bandwidth: 1_000_000,
        overhead: 10,
    };
    let (sim, mut peers) = Sim::with(2, limits, wire, Faults::NONE, 1);
    for _ in 0..3 {
        send(&mut peers[0], 1, &[7; 40]);
    }
    let refused = peers[0].transmit(Peer(1), &[Part::Bytes(&[1])]);
    assert_eq!(refused, Err(ChannelError::Full));
    let mut times = Vec::new();
    while sim.step() {
        times.push(sim.now());
    }
    assert_eq!(times, [55_000, 105_000, 155_000]);
    send(&mut peers[0], 1, &[7; 40]);
    sim.set_link(
        Peer(1),
        Peer(0),
        LinkParameters {
            latency: 1,
            bandwidth: 0,
            overhead: 0,
        },
    );
    send(&mut peers[1], 0, &[1]);
    assert!(sim.step() && sim.now() == 210_000);
    assert!(sim.step() && sim.now() == 1_000_155_001);
    assert!(!sim.step());
}

/// What is not polled is lost beyond the bound, as in a socket's buffer.
#[test]
fn an_inbox_overflows() {
    let limits = DeviceLimits {
        rx_queue: 10,
        ..DeviceLimits::default()
    };
    let (sim, mut peers) = Sim::with(2, limits, LinkParameters::default(), Faults::NONE, 1);
    (0..25).for_each(|number| send(&mut peers[0], 1, &frame(number)));
    while sim.step() {}
    let mut got = Vec::new();
    collect(&mut peers[1], &mut got);
    assert_eq!(got.len(), 10);
    assert_eq!(sim.counts().overflowed, 15);
}

/// Which of the links 0 to 1, 1 to 2, 2 to 1 and 2 to 2 carry a frame at that time?
fn carries<N: Network>(
    time: u64,
    over: impl Fn(SimNetwork, Outage) -> N,
    plan: Faults,
) -> [usize; 4] {
    let outage = Outage::isolate(&[Peer(2)], 3, 1000..2000);
    let wire = LinkParameters {
        latency: 0,
        bandwidth: u64::MAX,
        overhead: 0,
    };
    let (sim, peers) = Sim::with(3, DeviceLimits::default(), wire, plan, 1);
    let mut peers: Vec<_> = peers
        .into_iter()
        .map(|peer| over(peer, outage.clone()))
        .collect();
    sim.advance(time);
    [(0, 1), (1, 2), (2, 1), (2, 2)].map(|(from, to)| {
        send(&mut peers[from], to as u16, &frame(0));
        sim.step();
        let mut got = Vec::new();
        collect(&mut peers[to], &mut got);
        got.len()
    })
}

#[test]
fn a_cut_ends_and_parts_only_whom_it_names() {
    for (time, arrives) in [(0, 1), (990, 1), (1000, 0), (1990, 0), (2000, 1)] {
        let outage = Outage::isolate(&[Peer(2)], 3, 1000..2000);
        let simulated = carries(time, |peer, _| peer, Faults::NONE.outage(outage));
        assert_eq!(simulated, [1, arrives, arrives, 1], "at {time}");
        let over = |peer, outage| FaultyNetwork::new(peer, Faults::NONE.outage(outage), 1);
        let decorated = carries(time, over, Faults::NONE);
        assert_eq!(decorated, [1, arrives, arrives, 1], "at {time}");
    }
}

/// A peer without the plan sends to one that has it: cut all the same.
#[test]
fn a_cut_holds_on_either_side() {
    let outage = Outage::isolate(&[Peer(0)], 2, 0..1_000_000);
    let (sim, mut peers) = Sim::new(2, Faults::NONE, 1);
    let mut one = FaultyNetwork::new(peers.remove(1), Faults::NONE.outage(outage), 1);
    let mut got = Vec::new();
    for time in [0, 2_000_000] {
        sim.advance(time);
        send(&mut peers[0], 1, &frame(1));
        assert!(sim.step());
        collect(&mut one, &mut got);
    }
    assert_eq!((got.len(), one.counts().outage), (1, 1));
}

#[test]
fn a_crashed_node_is_deaf_and_dumb() {
    let (sim, peers) = Sim::new(3, Faults::NONE.crash(Peer(1), 50_000), 1);
    let mut peers: Vec<_> = peers.into_iter().map(Some).collect();
    let up = |sim: &Sim| [0, 1, 2].map(|peer| sim.is_up(Peer(peer)));
    let peer = |peers: &mut Vec<Option<SimNetwork>>, i: usize| peers[i].take().expect("once");
    let (mut zero, mut one) = (peer(&mut peers, 0), peer(&mut peers, 1));
    sim.advance(49_999);
    assert_eq!(up(&sim), [true; 3]);
    send(&mut one, 0, b"left before the crash");
    send(&mut zero, 1, b"arrives after it");
    sim.advance(1);
    assert_eq!(up(&sim), [true, false, true]);
    let stopped = Err(ChannelError::Device(CRASHED));
    assert_eq!(one.transmit(Peer(0), &[Part::Bytes(&[1])]), stopped);
    assert_eq!(one.poll(|_| ()).map(drop), stopped);
    assert_eq!(one.wait(0, u64::MAX), stopped);
    while sim.step() {}
    let mut got = Vec::new();
    collect(&mut zero, &mut got);
    assert_eq!(got, [(Peer(1), b"left before the crash".to_vec())]);
    // Nobody hears of it, and sending there is no error.
    send(&mut zero, 1, b"into the void");
    while sim.step() {}
    assert_eq!(sim.counts().orphaned, 2);
    drop(peers);
    sim.crash(Peer(0));
    assert_eq!(up(&sim), [false; 3]);

    let (sim, mut peers) = Sim::new(1, Faults::NONE, 1);
    let plan = Faults::NONE.crash(Peer(0), 10);
    sim.advance(1000);
    let mut peer = FaultyNetwork::new(peers.remove(0), plan, 1);
    assert_eq!(peer.poll(|_| ()), Ok(false));
    sim.advance(10);
    assert_eq!(peer.poll(|_| ()).map(drop), stopped);
    assert_eq!(peer.transmit(Peer(0), &[Part::Bytes(&[1])]), stopped);
    assert_eq!(peer.wait(0, u64::MAX), stopped);
}

/// The clock jumps when all wait: to a timer, to an arrival, and never past either.
#[test]
fn time_passes_when_all_wait() {
    let (sim, mut peers) = Sim::new(3, Faults::NONE, 1);
    let mut waits = |times: [u64; 3]| {
        for (peer, until) in peers.iter_mut().zip(times) {
            peer.wait(0, until).expect("it is up");
        }
    };
    waits([700, 500, u64::MAX]);
    assert_eq!(sim.now(), 500);
    waits([u64::MAX; 3]);
    assert_eq!(sim.now(), 500, "nothing will ever happen");
    send(&mut peers[0], 2, &[1; 87]);
    for peer in [2, 1] {
        peers[peer].wait(0, u64::MAX).expect("it is up");
    }
    assert_eq!(sim.now(), 500, "peer 0 has sent and does not wait");
    peers[0].wait(0, u64::MAX).expect("it is up");
    assert_eq!(sim.now(), 11_500);
    for _ in 0..3 {
        for peer in [0, 1, 2] {
            peers[peer].wait(0, 90_000).expect("it is up");
        }
    }
    assert_eq!(sim.now(), 11_500, "peer 2 has something to do");
    collect(&mut peers[2], &mut Vec::new());
    sim.crash(Peer(0));
    for peer in [1, 2] {
        peers[peer].wait(0, 90_000).expect("it is up");
    }
    assert_eq!(sim.now(), 90_000, "who is gone waits for nothing");
}

/// Who found no room is woken when there is some, even if nothing ever arrives.
#[test]
fn room_is_waited_for() {
    let limits = DeviceLimits {
        tx_queue: 1,
        ..DeviceLimits::default()
    };
    let plan = Faults::NONE.loss(Rate::ALWAYS);
    let (sim, mut peers) = Sim::with(1, limits, LinkParameters::default(), plan, 1);
    let peer = &mut peers[0];
    let mut rounds = 0;
    for _ in 0..5 {
        while peer.transmit(Peer(0), &[Part::Bytes(&[0; 87])]) == Err(ChannelError::Full) {
            peer.wait(0, u64::MAX).expect("it is up");
            rounds += 1;
        }
    }
    assert_eq!((sim.now(), rounds), (4000, 4));
    sim.advance(10_000);
    peer.wait(0, 50_000).expect("it is up");
    assert_eq!(sim.now(), 50_000, "there is room");
}

/// A late frame ends the wait of a decorated network.
#[test]
fn a_late_frame_is_waited_for() {
    let (sim, mut peers) = Sim::new(2, Faults::NONE, 1);
    let plan = Faults::NONE.reorder(Rate::ALWAYS, 1_000_000);
    let mut one = FaultyNetwork::new(peers.remove(1), plan, 1);
    let mut zero = peers.remove(0);
    send(&mut zero, 1, b"late");
    let mut got = Vec::new();
    while got.is_empty() {
        zero.wait(0, u64::MAX).expect("it is up");
        collect(&mut one, &mut got);
        one.wait(0, u64::MAX).expect("it is up");
    }
    assert!((10_000..1_020_000).contains(&sim.now()));
    assert_eq!(one.counts().reordered, 1);
}

#[test]
fn refuses_what_cannot_go() {
    let limits = DeviceLimits {
        mtu: 0,
        tx_queue: 0,
        rx_queue: 0,
    };
    let (_sim, mut peers) = Sim::with(2, limits, LinkParameters::default(), Faults::NONE, 1);
    let peer = &mut peers[0];
    assert_eq!((peer.mtu(), peer.peers(), peer.me()), (MIN_MTU, 2, Peer(0)));
    let long = [0; MIN_MTU + 1];
    let refused = peer.transmit(Peer(1), &[Part::Bytes(&long)]);
    assert_eq!(refused, Err(ChannelError::TooLong { limit: MIN_MTU }));
    for nobody in [Peer(2), Peer(u16::MAX)] {
        let refused = peer.transmit(nobody, &[Part::Bytes(&[1])]);
        assert_eq!(refused, Err(ChannelError::NoSuchPeer(nobody)));
    }
    send(peer, 1, &long[1..]);
    let refused = peer.transmit(Peer(1), &[Part::Bytes(&[1])]);
    assert_eq!(refused, Err(ChannelError::Full));
}
