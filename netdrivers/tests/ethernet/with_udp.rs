//! Raw Ethernet for short messages with UDP for long ones: every peer on a host of its own by raw Ethernet, and all of
//! them on this one by UDP.

use crate::inside::{in_namespace, inside};
use crate::segment::{network, segment};
use pombo_kernel::network::Network;
use pombo_kernel::{Arrival, Part, Peer};
use pombo_netdrivers::ethernet::{EthernetAndUdp, Traffic};
use pombo_netdrivers::fault::{Faults, FaultyNetwork};
use pombo_netdrivers::udp::BoundUdp;
use pombo_netdrivers::{Ethernet, Udp};
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_transport::reliable::Window;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn devices(peers: u16) -> (Vec<(Ethernet, Udp)>, Vec<SocketAddr>) {
    segment(peers, 1500);
    let bind = |_| {
        let mut bound = Udp::bind(Ipv4Addr::LOCALHOST).expect("a socket");
        bound.shorten(1472);
        bound
    };
    let bounds: Vec<BoundUdp> = (0..peers).map(bind).collect();
    let addresses: Vec<_> = bounds.iter().map(BoundUdp::address).collect();
    let numbered = (0..).map(Peer).zip(bounds);
    let udp = numbered.map(|(me, bound)| bound.join(me, addresses.clone()).expect("the table"));
    let raw = network(peers, 1, Traffic::Unicast).into_iter();
    (raw.zip(udp).collect(), addresses)
}

/// A rank of a job.
type Rank<N> = SupervisedChannel<N, Window<8, 64, 1500>, Job>;

/// All ranks are threads of this process.
struct Job {
    addresses: Vec<SocketAddr>,
    gone: Mutex<Vec<Peer>>,
}

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.gone
    }

    fn on_departure(&self) {
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for address in &self.addresses {
            let _ = stranger.send_to(b"wake up", address);
        }
    }
}

fn run<N: Network + Send>(peers: u16, over: fn(EthernetAndUdp) -> N, body: fn(Rank<N>)) {
    let (devices, addresses) = devices(peers);
    let gone = Mutex::default();
    let job = Arc::new(Job { addresses, gone });
    let ranks = devices
        .into_iter()
        .map(|(raw, udp)| Rank::new(over(EthernetAndUdp::new(raw, udp)), job.clone()));
    threads(ranks.collect(), body);
}

macro_rules! conforms {
    ($name:ident, $network:ty, $over:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = Rank<$network>;

                fn run(test: &str, peers: u16, body: fn(Rank<$network>)) {
                    in_namespace(test, || run(peers, $over, body));
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

conforms!(calm, EthernetAndUdp, |both| both);
conforms!(rough, FaultyNetwork<EthernetAndUdp>, |both| {
    FaultyNetwork::new(both, Faults::rough(), 7)
});

fn lengths(network: &mut impl Network) -> Vec<usize> {
    let mut lengths = Vec::new();
    while network
        .poll(|frame| lengths.push(frame.len()))
        .expect("frames")
    {}
    lengths
}

#[test]
fn many_full_frames_go_by_udp() {
    inside!(many_full_frames_go_by_udp, || {
        let mut devices = devices(2).0.into_iter();
        let mut next = || devices.next().expect("two");
        let ((raw, udp), (mut raw_1, mut udp_1)) = (next(), next());
        let mut both = EthernetAndUdp::new(raw, udp);
        let full = both.mtu();
        let bytes = vec![7; full];
        let mut send = |lengths: &[usize]| {
            both.set_corked(true);
            for len in lengths {
                let part = [Part::Bytes(&bytes[..*len])];
                both.transmit(Peer(1), &part).expect("room");
            }
            both.set_corked(false);
        };
        send(&[full; 6]);
        send(&[full, 100, full, 100, full, 100, full, 100, full, 100]);
        assert_eq!(lengths(&mut raw_1).len(), 16);
        assert_eq!(lengths(&mut udp_1), []);
        send(&[full; 20]);
        assert_eq!(lengths(&mut raw_1), [full; 7]);
        assert_eq!(lengths(&mut udp_1), [full; 13]);
        // Far longer than the time for which short frames follow bulk.
        std::thread::sleep(Duration::from_millis(100));
        send(&[100]);
        assert_eq!(lengths(&mut raw_1), [100]);
        assert_eq!(lengths(&mut udp_1), []);
    });
}
