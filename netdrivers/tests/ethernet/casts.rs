//! Reliable broadcast on a segment that loses frames.

use crate::cast::{Looks, broadcast};
use crate::inside::inside;
use crate::segment::{network, segment};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::Traffic;
use pombo_netdrivers::fault::{FaultyNetwork, Rate};

/// To that many receivers, each on a host of its own.
fn reaches(receivers: u16, mtu: usize, ppm: u32, looks: Looks, sizes: &[usize]) {
    segment(receivers + 1, mtu);
    let lossy =
        |network: Ethernet| FaultyNetwork::with_loss(network, Rate::ppm(ppm), (ppm + 1).into());
    let peers = network(receivers + 1, 1, Traffic::Multicast);
    let peers = peers.into_iter().map(lossy).collect();
    let times = broadcast(peers, sizes.to_vec(), looks);
    assert_eq!(times.known.len(), sizes.len());
    assert_eq!(times.there.len(), sizes.len());
    assert!(times.chunk > mtu - 100 && times.chunk < mtu);
    eprintln!("{}", times.counts);
}

const SIZES: &[usize] = &[1, 16, 1400, 1500, 100_000, 1_000_000, 0, 7];

#[test]
fn one_gets_every_byte() {
    inside!(one_gets_every_byte, || reaches(
        1,
        1500,
        10_000,
        Looks::Many,
        SIZES
    ));
}

#[test]
fn three_get_every_byte() {
    inside!(three_get_every_byte, || reaches(
        3,
        1500,
        50_000,
        Looks::Many,
        SIZES
    ));
}

#[test]
fn seven_get_every_byte() {
    inside!(seven_get_every_byte, || reaches(
        7,
        1500,
        0,
        Looks::None,
        SIZES
    ));
}

#[test]
fn seven_get_every_byte_at_twenty_per_cent_loss() {
    inside!(seven_get_every_byte_at_twenty_per_cent_loss, || {
        reaches(7, 1500, 200_000, Looks::None, &[16, 1500, 200_000]);
    });
}

#[test]
fn seven_get_every_byte_when_a_frame_in_ten_thousand_is_lost() {
    inside!(
        seven_get_every_byte_when_a_frame_in_ten_thousand_is_lost,
        || {
            reaches(7, 1500, 100, Looks::None, &[4 << 20, 16, 4 << 20]);
        }
    );
}

const LARGE: &[usize] = &[1, 8900, 64_900, 65_000, 10_000_000];

#[test]
fn frames_of_nine_thousand_bytes_get_there() {
    inside!(frames_of_nine_thousand_bytes_get_there, || {
        reaches(3, 9000, 10_000, Looks::None, LARGE);
    });
}

#[test]
fn frames_of_sixty_five_thousand_bytes_get_there() {
    inside!(frames_of_sixty_five_thousand_bytes_get_there, || {
        reaches(3, 65_000, 10_000, Looks::None, LARGE);
    });
}
