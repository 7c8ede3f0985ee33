//! A mebibyte at a time between two hosts, with frames that leave one by one and with frames that leave together, by
//! turns. It says how fast that was; that all bytes come in order is what is tested.

use crate::crew::{Rank, run};
use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::memory::Part;
use std::time::Instant;

const BYTES: usize = 1 << 20;

#[test]
fn a_mebibyte_at_a_time() {
    let path = concat!(module_path!(), "::a_mebibyte_at_a_time");
    run(path, 2, 0, |mut rank| {
        let long = std::env::var_os("POMBO_MEASURE").is_some();
        let rounds = if long { 200 } else { 4 };
        let mut rates = [vec![], vec![]];
        for round in 0..rounds {
            let together = round % 2 == 1;
            let start = Instant::now();
            match rank.me() {
                Peer(0) => send(&mut rank, round, together),
                _ => receive(&mut rank, round),
            }
            rates[usize::from(together)].push(BYTES as f64 / 1e6 / start.elapsed().as_secs_f64());
        }
        if rank.me() == Peer(0) {
            let median = |rates: &mut Vec<f64>| {
                rates.sort_by(f64::total_cmp);
                rates[rates.len() / 2]
            };
            let [one, together] = rates.each_mut().map(median);
            eprintln!("{one:.0} MB/s one by one, {together:.0} MB/s together");
            eprintln!("{:?}", rank.reliable().counts());
        }
    });
}

/// All of it, until the other side says that it came.
fn send(rank: &mut Rank, round: u8, together: bool) {
    let limit = rank.limit(Peer(1));
    let text: Vec<u8> = (0..limit).map(|i| (i as u8).wrapping_add(round)).collect();
    let (mut left, mut came, mut idle) = (BYTES, false, 0);
    while !came {
        rank.set_corked(together);
        while left > 0 {
            let parts = [Part::Bytes(&text[..limit.min(left)])];
            match rank.reliable_mut().try_send(Peer(1), Cookie::COPY, &parts) {
                Ok(_) => left -= limit.min(left),
                Err(ChannelError::Full) => break,
                Err(error) => panic!("{error}"),
            }
        }
        rank.set_corked(false);
        let polled = rank.poll(|event| came |= matches!(event, Event::Arrival(_)));
        idle = match polled.expect("it is up") {
            true => 0,
            false => idle + 1,
        };
        if idle > 0 {
            rank.wait(idle).expect("it is up");
        }
    }
}

fn receive(rank: &mut Rank, round: u8) {
    let (mut left, mut idle) = (BYTES, 0);
    while left > 0 {
        let polled = rank.poll(|event| {
            let Event::Arrival(arrival) = event else {
                panic!("nobody goes")
            };
            left -= arrival.len();
            arrival.for_each_chunk(0, arrival.len(), |piece| {
                let right = |(i, byte): (usize, &u8)| *byte == (i as u8).wrapping_add(round);
                assert!(piece.iter().enumerate().all(right));
            });
        });
        idle = match polled.expect("it is up") {
            true => 0,
            false => idle + 1,
        };
        if idle > 0 {
            rank.wait(idle).expect("it is up");
        }
    }
    let done = [Part::Bytes(b"all is here")];
    while rank.try_send(Peer(0), Cookie::COPY, &done).is_err() {
        rank.poll(|_| ()).expect("it is up");
    }
}
