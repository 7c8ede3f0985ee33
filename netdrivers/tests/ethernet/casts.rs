//! Reliable broadcast on a segment that loses frames.

use crate::cast::{Looks, broadcast};
use crate::inside::inside;
use crate::segment::{network, segment};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::Traffic;
use pombo_netdrivers::udp::Lossy;

/// To that many receivers, each on a host of its own, at that loss in a million.
fn reaches(receivers: u16, ppm: u32, looks: Looks, sizes: &[usize]) {
    segment(receivers + 1, 1500);
    let lossy = |network: Ethernet| Lossy::new(network, ppm, u64::from(ppm) + 1);
    let nodes = network(receivers + 1, 1, Traffic::Group);
    let times = broadcast(
        nodes.into_iter().map(lossy).collect(),
        sizes.to_vec(),
        looks,
    );
    assert_eq!(times.known.len(), sizes.len());
    // It cannot be known before it is so.
    assert!(times.there.iter().zip(&times.known).all(|(a, b)| a <= b));
    assert!(times.chunk > 1400 && times.chunk < 1500);
    eprintln!("{}", times.counts);
}

const SIZES: &[usize] = &[1, 16, 1400, 1500, 100_000, 1_000_000, 0, 7];

#[test]
fn one_gets_every_byte() {
    inside!(one_gets_every_byte, || reaches(
        1,
        10_000,
        Looks::Many,
        SIZES
    ));
}

#[test]
fn three_get_every_byte() {
    inside!(three_get_every_byte, || reaches(
        3,
        50_000,
        Looks::Many,
        SIZES
    ));
}

#[test]
fn seven_get_every_byte() {
    inside!(seven_get_every_byte, || reaches(7, 0, Looks::None, SIZES));
}

#[test]
fn seven_get_every_byte_at_twenty_per_cent_loss() {
    inside!(seven_get_every_byte_at_twenty_per_cent_loss, || {
        reaches(7, 200_000, Looks::None, &[16, 1500, 200_000]);
    });
}
