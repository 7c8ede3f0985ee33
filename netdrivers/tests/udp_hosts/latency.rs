//! The round trip of eight bytes between two hosts. It says how long it took; that it comes back is what is tested.

use crate::crew::{Rank, run};
use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::memory::Part;
use std::time::Instant;

#[test]
fn eight_bytes_go_round() {
    let path = concat!(module_path!(), "::eight_bytes_go_round");
    run(path, 2, 0, |mut rank| {
        let long = std::env::var_os("POMBO_MEASURE").is_some();
        let rounds = if long { 20_000 } else { 100 };
        let mut times: Vec<f64> = (0..20).map(|_| bounce(&mut rank, rounds)).collect();
        times.sort_by(f64::total_cmp);
        if rank.me() == Peer(0) {
            let (least, median) = (times[0], times[times.len() / 2]);
            eprintln!("half round trip {median:.2} us, least {least:.2}");
            eprintln!("{:?}", rank.reliable().counts());
        }
    });
}

/// So many times there and back; microseconds for one way.
fn bounce(rank: &mut Rank, rounds: u64) -> f64 {
    let start = Instant::now();
    let (me, peer) = (rank.me(), Peer(1 - rank.me().0));
    for round in 0..rounds {
        if me == Peer(0) {
            send(rank, peer, round);
        }
        receive(rank, round);
        if me == Peer(1) {
            send(rank, peer, round);
        }
    }
    start.elapsed().as_secs_f64() * 1e6 / (2 * rounds) as f64
}

fn send(rank: &mut Rank, to: Peer, round: u64) {
    let parts = [Part::Bytes(&round.to_le_bytes())];
    while rank
        .reliable_mut()
        .try_send(to, Cookie::COPY, &parts)
        .is_err()
    {
        rank.reliable_mut()
            .poll(|_| panic!("nothing is due"))
            .expect("it is up");
    }
}

fn receive(rank: &mut Rank, round: u64) {
    let (mut came, mut idle) = (false, 0);
    while !came {
        let polled = rank.reliable_mut().poll(|event| {
            let Event::Arrival(arrival) = event else {
                panic!("nobody goes")
            };
            assert_eq!(arrival.head(8), Some(&round.to_le_bytes()[..]));
            came = true;
        });
        if !polled.expect("it is up") {
            rank.reliable_mut().wait(idle).expect("it is up");
            idle += 1;
        }
    }
}
