//! Broadcasts on a segment of eight hosts: short ones, and long ones through lines of 100 Mb/s.

use crate::cast::{Looks, TIMING, broadcast};
use crate::hosts::Hosts;
use crate::median;
use crate::simulated;
use pombo_netdrivers::ethernet::Traffic;
use pombo_netdrivers::fault::{Faults, FaultyNetwork, Rate};
use pombo_testing::DeviceLimits;
use pombo_transport::multicast::{HEADER_LEN, SenderConfig};
use std::time::Duration;

/// Short messages.
const SHORT: usize = 2000;
/// Of these, the first are not counted.
const FIRST: usize = 100;

fn microseconds(times: &[Duration]) -> Vec<f64> {
    let times = times[FIRST..].iter();
    times.map(|time| time.as_nanos() as f64 / 1e3).collect()
}

/// 16 bytes, until the last receiver has them.
pub(crate) fn short() {
    println!("16 bytes by broadcast, us: median, least, at 90 %");
    println!("(ECCLib on 100 Mb/s in 2003: 800 to 1800)");
    let hosts = Hosts::segment(8, 1500);
    for receivers in [1, 3, 7] {
        let peers = hosts.network(receivers + 1, Traffic::Multicast);
        let times = broadcast(peers, vec![16; SHORT + FIRST], Looks::Many);
        for (name, times) in [("at all", times.there), ("known to be", times.known)] {
            let mut each = microseconds(&times);
            let (middle, late) = (median(&mut each), each[each.len() * 9 / 10]);
            let least = each[0];
            println!("{receivers} receivers, {name:12} {middle:8.1} {least:8.1} {late:8.1}");
        }
    }
    hosts.end();
}

/// What a line carries in a second, in bytes, as the shaper counts.
const LINE: f64 = 12.5e6;

/// Bytes of payload in a second, in frames that carry so many each behind the headers of Ethernet, device and group.
fn ceiling(chunk: usize) -> f64 {
    LINE * chunk as f64 / (14 + 10 + HEADER_LEN + chunk) as f64
}

/// One after the other as fast as they go, on average; the first finds a full bucket and is not counted.
pub(crate) fn long() {
    println!("broadcast at 100 Mb/s, per cent of the payload ceiling");
    let hosts = Hosts::segment(8, 1500);
    for receivers in [1, 3, 7] {
        hosts.shape(receivers);
        for (len, count) in [(256 << 10, 24), (4 << 20, 3), (32 << 20, 1)] {
            let peers = hosts.network(receivers + 1, Traffic::Multicast);
            let mut sizes = vec![len; count];
            sizes.insert(0, 256 << 10);
            let times = broadcast(peers, sizes, Looks::None);
            let time: f64 = times.known[1..].iter().map(Duration::as_secs_f64).sum();
            let rate = (len * count) as f64 / time;
            let per_cent = 100.0 * rate / ceiling(times.chunk);
            println!(
                "{receivers} receivers {len:9} bytes: {per_cent:5.1} %  {}",
                times.counts
            );
        }
    }
    hosts.end();
}

/// Receivers lose frames, each by its own dice; beside it what the simulator does with the same loss and line.
pub(crate) fn lossy() {
    println!("8 MiB to 7 receivers at 100 Mb/s that lose frames, per cent of the payload ceiling");
    println!("loss %   sockets  simulator");
    let hosts = Hosts::segment(8, 1500);
    hosts.shape(7);
    for ppm in [0, 100, 10_000, 50_000, 200_000] {
        let peers = hosts.network(8, Traffic::Multicast).into_iter();
        let peers = peers.map(|peer| FaultyNetwork::with_loss(peer, Rate::ppm(ppm), 1));
        let len = 8 << 20;
        let times = broadcast(peers.collect(), vec![256 << 10, len], Looks::None);
        let rate = len as f64 / times.known[1].as_secs_f64();
        let real = 100.0 * rate / ceiling(times.chunk);
        let simulated = simulated(len, Rate::ppm(ppm));
        let loss = f64::from(ppm) / 1e4;
        println!("{loss:6.2} {real:9.1} {simulated:10.1}  {}", times.counts);
    }
    hosts.end();
}

fn simulated(len: usize, loss: Rate) -> f64 {
    let limits = DeviceLimits {
        mtu: 1490,
        tx_queue: 4,
        rx_queue: 1024,
    };
    let faults = Faults::NONE.loss(loss);
    let config = SenderConfig::default();
    let mut cast = simulated::Cast::new(7, limits, faults, 5, config, TIMING);
    let time = cast.send(&simulated::bytes(len, 1));
    100.0 * simulated::ideal(len, cast.source.chunk()) / time as f64
}
