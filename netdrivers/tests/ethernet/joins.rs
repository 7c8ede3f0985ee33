//! What a peer says before it is on the segment, and how frames find their way.

use crate::inside::inside;
#[cfg(feature = "pnet")]
use crate::segment::opened_by;
use crate::segment::{JOB, frame_address, ip, joined, network, opened, segment};
use crate::strangers::{next, next_few};
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{Address, EthernetError, FrameAddress, FrameIo, Traffic};

#[test]
fn an_interface_is_found_or_named() {
    inside!(an_interface_is_found_or_named, || {
        segment(1, 9000);
        let open = |name: &str| Ethernet::open(name, frame_address(0, Traffic::Unicast));
        let one = open("host0").expect("inside of a namespace");
        assert_eq!(one.address().mtu, 9000);
        assert_eq!(one.mtu(), 8990);
        assert_eq!(one.interface().name, "host0");
        assert_eq!(one.rx_slots(), 112);
        let refused = |name: &str| *open(name).err().expect("refused");
        let name = "nowhere".to_string();
        assert_eq!(refused("nowhere"), EthernetError::NoSuchInterface { name });
        let interface = "lo".to_string();
        assert_eq!(refused("lo"), EthernetError::NotEthernet { interface });
        assert!(
            matches!(refused(""), EthernetError::AmbiguousInterface { names } if names.contains("host0"))
        );
        ip("link del segment\nlink del stranger\nlink set port0 down\nlink del host0\n");
        assert_eq!(refused(""), EthernetError::NoLink);
    });
}

/// What no longer fits is refused by the system, and the device knows why.
#[test]
fn an_mtu_that_is_lowered_is_told() {
    inside!(an_mtu_that_is_lowered_is_told, || {
        segment(2, 9000);
        let mut peers = network(2, 1, Traffic::Unicast);
        let longest = vec![7; peers[0].mtu()];
        assert_eq!(peers[0].reduced_mtu(), None);
        ip("link set host0 mtu 1500\n");
        let sent = peers[0].transmit(Peer(1), &[Part::Bytes(&longest)]);
        assert_eq!(sent, Err(ChannelError::Device(libc::EMSGSIZE)));
        assert_eq!(peers[0].reduced_mtu(), Some((9000, 1500)));
        ip("link set host0 mtu 9000\n");
        let sent = peers[0].transmit(Peer(1), &[Part::Bytes(&longest)]);
        assert_eq!((sent, peers[0].reduced_mtu()), (Ok(()), None));
    });
}

#[test]
fn a_table_that_cannot_be_is_refused() {
    inside!(a_table_that_cannot_be_is_refused, || {
        segment(2, 1500);
        let (_, table) = opened(2, 1, Traffic::Unicast);
        let (zero, one) = (table[0], table[1]);
        let refused = |peer: u16, table: &[Address]| {
            let opened = Ethernet::open("host0", frame_address(peer, Traffic::Unicast));
            *opened.expect("inside").join(table).err().expect("refused")
        };
        assert_eq!(refused(0, &[]), EthernetError::Peers { peers: 0 });
        let peers = 65_536;
        assert_eq!(
            refused(0, &vec![zero; peers]),
            EthernetError::Peers { peers }
        );
        let (peer, peers) = (2, 2);
        assert_eq!(
            refused(2, &table),
            EthernetError::NoSuchPeer { peer, peers }
        );
        let (peer, listed, bound) = (1, one, zero);
        let not_this = EthernetError::AddressMismatch {
            peer,
            listed,
            bound,
        };
        assert_eq!(refused(1, &table), not_this);
        let short = Address { mtu: 200, ..one };
        let error = refused(0, &[zero, short]);
        assert!(matches!(error, EthernetError::PeerMtu { peer: 1, .. }));
        let text = error.to_string();
        assert!(text.contains("peer 1") && text.contains("/200"), "{text}");
        ip("link set lo down\n");
        assert_eq!(refused(0, &[zero, zero]), EthernetError::LoopbackDown);
        ip("link set host0 mtu 200\n");
        let opened = Ethernet::open("host0", frame_address(0, Traffic::Unicast));
        let (interface, mtu) = ("host0".into(), 200);
        let refused = EthernetError::Mtu { interface, mtu };
        assert_eq!(opened.err(), Some(Box::new(refused)));
    });
}

#[test]
fn frames_go_to_one_and_to_all_wherever_they_are() {
    inside!(frames_go_to_one_and_to_all_wherever_they_are, || {
        segment(5, 1500);
        // One on each host, or all on one.
        for per_host in [1, 5] {
            go_to_one_and_to_all(network(5, per_host, Traffic::Multicast));
        }
    });
}

#[test]
fn frames_are_as_long_as_all_interfaces_carry() {
    inside!(frames_are_as_long_as_all_interfaces_carry, || {
        segment(5, 9000);
        for mtu in [9000, 1500, 700] {
            ip(&format!("link set host3 mtu {mtu}\n"));
            let peers = network(5, 1, Traffic::Multicast);
            assert!(peers.iter().all(|peer| peer.mtu() == mtu - 10));
            go_to_one_and_to_all(peers);
        }
    });
}

#[cfg(feature = "pnet")]
#[test]
fn frames_go_by_the_portable_line_as_well() {
    inside!(frames_go_by_the_portable_line_as_well, || {
        segment(5, 1500);
        for per_host in [1, 5] {
            let open = Ethernet::open_pnet;
            let opened = opened_by(5, per_host, Traffic::Multicast, open);
            go_to_one_and_to_all(joined(opened));
        }
    });
}

fn go_to_one_and_to_all<L: FrameIo>(mut peers: Vec<Ethernet<L>>) {
    let longest = vec![7; peers[0].mtu()];
    for from in 0..5 {
        for to in 0..5_u16 {
            for bytes in [&b"x"[..], b"twelve bytes", &longest] {
                let (one, rest) = bytes.split_at(bytes.len() / 2);
                let parts = [Part::Bytes(one), Part::Bytes(rest)];
                peers[from].transmit(Peer(to), &parts).expect("room");
                let got = next(&mut peers[usize::from(to)]);
                assert_eq!(got, (Peer(from as u16), bytes.to_vec()));
            }
        }
        let parts = [Part::Bytes(b"to all")];
        peers[from].broadcast(&parts).expect("room");
        for to in (0..5).filter(|to| *to != from) {
            let got = next(&mut peers[to]);
            assert_eq!(got, (Peer(from as u16), b"to all".to_vec()));
        }
    }
    let parts = [Part::Bytes(&longest), Part::Bytes(b"!")];
    let limit = longest.len();
    let too_long = Err(ChannelError::TooLong { limit });
    assert_eq!(peers[0].transmit(Peer(1), &parts), too_long);
    assert_eq!(peers[0].broadcast(&parts), too_long);
    let nobody = Err(ChannelError::NoSuchPeer(Peer(5)));
    assert_eq!(peers[0].transmit(Peer(5), &parts[1..]), nobody);
    for peer in &mut peers {
        assert_eq!(peer.poll(|_| panic!("more than was sent")), Ok(false));
        assert_eq!(peer.counts(), Default::default());
    }
}

#[test]
fn jobs_and_traffic_do_not_meet() {
    inside!(jobs_and_traffic_do_not_meet, || {
        segment(2, 1500);
        let mut singles = network(2, 1, Traffic::Unicast);
        let mut groups = network(2, 1, Traffic::Multicast);
        let others = (0..2).map(|peer| {
            let frame_address = FrameAddress {
                job: JOB + 1,
                ..frame_address(peer, Traffic::Unicast)
            };
            Ethernet::open(&format!("host{peer}"), frame_address).expect("inside")
        });
        let others: Vec<_> = others.collect();
        let table: Vec<Address> = others.iter().map(|one| one.address()).collect();
        let mut others = joined((others, table));
        let mut all = [&mut singles, &mut groups, &mut others];
        for world in &mut all {
            world[0]
                .transmit(Peer(1), &[Part::Bytes(b"one")])
                .expect("room");
            world[0].broadcast(&[Part::Bytes(b"all")]).expect("room");
        }
        for world in &mut all {
            let expected = [b"one", b"all"].map(|text| (Peer(0), text.to_vec()));
            assert_eq!(next_few(&mut world[1], 2), expected);
            assert_eq!(world[1].poll(|_| panic!("of others")), Ok(false));
            assert_eq!(world[1].counts(), Default::default());
        }
    });
}

#[test]
fn an_interface_goes_down_and_comes_up() {
    inside!(an_interface_goes_down_and_comes_up, || {
        segment(2, 1500);
        goes_down_and_comes_up(network(2, 1, Traffic::Unicast));
    });
}

#[cfg(feature = "pnet")]
#[test]
fn the_portable_line_goes_down_and_comes_up() {
    inside!(the_portable_line_goes_down_and_comes_up, || {
        segment(2, 1500);
        let opened = opened_by(2, 1, Traffic::Unicast, Ethernet::open_pnet);
        goes_down_and_comes_up(joined(opened));
    });
}

fn goes_down_and_comes_up<L: FrameIo>(mut peers: Vec<Ethernet<L>>) {
    let sides = [("host0", true), ("host1", false), ("port1", false)];
    for (round, (side, down)) in (1..).zip(sides) {
        ip(&format!("link set {side} down\n"));
        let lost = [Part::Bytes(&[0])];
        (0..10).for_each(|_| peers[0].transmit(Peer(1), &lost).expect("no error"));
        assert!(!down || peers[0].counts().unsent == 10);
        ip(&format!("link set {side} up\n"));
        // The segment learns that the port is there again some time later.
        let mut came = 0;
        while came < round {
            let hello = [Part::Bytes(&[round])];
            peers[0].transmit(Peer(1), &hello).expect("no error");
            let polled = peers[1].poll(|frame| {
                came = frame.head(1).expect("a byte")[0];
                assert!(came > 0, "by which way?");
            });
            polled.expect("no error");
        }
    }
    ip("link del host0\n");
    let gone = Err(ChannelError::Device(libc::ENXIO));
    let hello = [Part::Bytes(b"hello")];
    assert_eq!(peers[0].transmit(Peer(1), &hello), gone);
    assert_eq!(peers[0].interface(), "host0");
    assert_eq!(peers[0].poll(|_| panic!("from where?")), Ok(false));
}
