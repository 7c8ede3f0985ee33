//! A segment with hosts, in the network namespace of this process.

use pombo_kernel::Peer;
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{
    Address, BoundEthernet, EthernetError, FrameAddress, FrameIo, Traffic,
};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far above the time that anything here takes on one host.
pub(crate) const HANG: Duration = Duration::from_secs(60);

pub(crate) const JOB: u16 = 0x1701;

/// Runs commands of `ip`, one to a line.
pub(crate) fn ip(commands: &str) {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("ip");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(commands.as_bytes()).expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "{commands}");
}

/// Makes hosts with the interfaces host0, host1, ... and a place for a stranger on one segment.
pub(crate) fn segment(hosts: u16, mtu: usize) {
    let mut commands = String::from("link set lo up\nlink add segment type bridge\n");
    commands += &format!("link set segment mtu {mtu} up\n");
    let names = (0..hosts).map(|host| format!("host{host}"));
    for (number, name) in names.chain(["stranger".into()]).enumerate() {
        commands += &format!(
            "link add {name} mtu {mtu} type veth peer name port{number} mtu {mtu}\n\
             link set port{number} master segment up\n\
             link set {name} up\n"
        );
    }
    ip(&commands);
    await_ports(usize::from(hosts) + 1);
}

/// The segment carries frames a moment after its ports have come up.
fn await_ports(ports: usize) {
    let start = Instant::now();
    loop {
        let mut list = Command::new("ip");
        list.args(["-d", "-o", "link", "show", "master", "segment"]);
        let text = list.output().expect("ip").stdout;
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.matches("state forwarding").count() == ports {
            return;
        }
        assert!(start.elapsed() < HANG, "{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn frame_address(peer: u16, traffic: Traffic) -> FrameAddress {
    FrameAddress {
        job: JOB,
        peer: Peer(peer),
        traffic,
    }
}

/// Peers with so many on each host, and where they are.
pub(crate) fn opened(
    peers: u16,
    per_host: u16,
    traffic: Traffic,
) -> (Vec<BoundEthernet>, Vec<Address>) {
    opened_by(peers, per_host, traffic, Ethernet::open)
}

pub(crate) fn opened_by<L: FrameIo>(
    peers: u16,
    per_host: u16,
    traffic: Traffic,
    open: impl Fn(&str, FrameAddress) -> Result<BoundEthernet<L>, Box<EthernetError>>,
) -> (Vec<BoundEthernet<L>>, Vec<Address>) {
    let open = |peer: u16| {
        let host = format!("host{}", peer / per_host);
        open(&host, frame_address(peer, traffic)).expect("inside of a namespace")
    };
    let opened: Vec<BoundEthernet<L>> = (0..peers).map(open).collect();
    let addresses = opened.iter().map(BoundEthernet::address).collect();
    (opened, addresses)
}

/// A network of that many peers.
pub(crate) fn network(peers: u16, per_host: u16, traffic: Traffic) -> Vec<Ethernet> {
    joined(opened(peers, per_host, traffic))
}

pub(crate) fn joined<L: FrameIo>(
    (opened, addresses): (Vec<BoundEthernet<L>>, Vec<Address>),
) -> Vec<Ethernet<L>> {
    let join = |one: BoundEthernet<L>| one.join(&addresses).expect("the table");
    opened.into_iter().map(join).collect()
}
