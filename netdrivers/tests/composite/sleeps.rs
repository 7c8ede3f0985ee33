//! Ranks as threads on two hosts, over shared memory and the system's sockets: they sleep for both.

use pombo_kernel::Peer;
use pombo_netdrivers::shm::{Segment, Shm};
use pombo_netdrivers::udp::{BoundUdp, Udp};
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_transport::Composite;
use pombo_transport::reliable::Window;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

const HOSTS: u16 = 2;

type Rank = Composite<Shm, SupervisedChannel<Udp, Window<8, 16, 1500>, Job>>;

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

struct World;

impl Harness for World {
    type Channel = Rank;

    fn run(_test: &str, peers: u16, body: fn(Rank)) {
        let bind = |_| Udp::bind(Ipv4Addr::LOCALHOST).expect("this host has it");
        let bounds: Vec<BoundUdp> = (0..peers).map(bind).collect();
        let job = Arc::new(Job {
            addresses: bounds.iter().map(BoundUdp::address).collect(),
            gone: Mutex::default(),
        });
        let members = |host| (host..peers).step_by(HOSTS.into()).map(Peer);
        let members: Vec<Vec<Peer>> = (0..HOSTS).map(|host| members(host).collect()).collect();
        let segment = |peers: &Vec<Peer>| Segment::create(peers.len().max(1), 0);
        let segments: Vec<_> = members.iter().map(segment).collect();
        let ranks = (0..peers).map(Peer).zip(bounds).map(|(peer, bound)| {
            let udp = bound.join(peer, job.addresses.clone()).expect("the table");
            let (host, place) = (peer.index() % members.len(), peer.index() / members.len());
            let segment = segments[host].as_ref().expect("memory");
            let segment = Segment::open(segment.fd()).expect("a segment");
            let near = Shm::attach(segment, place, 0).expect("a rank");
            Rank::new(
                near,
                SupervisedChannel::new(udp, job.clone()),
                &members[host],
            )
            .expect("they fit")
        });
        threads(ranks.collect(), body);
    }
}

pombo_testing::conformance!(World);
