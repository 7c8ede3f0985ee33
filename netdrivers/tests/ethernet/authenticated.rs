//! With a key: who has not got it is not heard, whatever it copies.

use crate::inside::inside;
use crate::segment::{opened, segment};
use crate::strangers::next;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{Address, BoundEthernet, Traffic};
use pombo_transport::authenticated::{Authenticated, Coverage, Key};

pub(crate) const KEY: Key = Key {
    secret: *b"nobody knows it.",
    epoch: 0x5eed,
    domain: 1,
};

fn authenticated(peers: u16, key: Key) -> (Vec<Authenticated<Ethernet>>, Vec<Address>) {
    let (opened, addresses) = opened(peers, 1, Traffic::Unicast);
    let join = |one: BoundEthernet| {
        let ethernet = one.join(&addresses).expect("the table");
        Authenticated::new(ethernet, Some((key, Coverage::Headers)))
    };
    let joined = opened.into_iter().map(|one| join(one).expect("room"));
    (joined.collect(), addresses)
}

#[test]
fn what_was_sealed_is_opened() {
    inside!(what_was_sealed_is_opened, || {
        segment(3, 1500);
        let (mut peers, _) = authenticated(3, KEY);
        let longest = vec![3; peers[0].mtu()];
        let many: Vec<Part<'_>> = longest.chunks(97).map(Part::Bytes).collect();
        let whole: &[u8] = &longest;
        let held = [Part::Held {
            source: &whole,
            offset: 1,
            len: longest.len() - 1,
            swapped: false,
        }];
        for (parts, len) in [
            (&[Part::Bytes(b"short")][..], 5),
            (&many, longest.len()),
            (&held, longest.len() - 1),
        ] {
            peers[0].transmit(Peer(1), parts).expect("room");
            let (from, bytes) = next(&mut peers[1]);
            assert_eq!((from, bytes.len()), (Peer(0), len));
            peers[2].broadcast(parts).expect("room");
            for to in [0, 1] {
                let (from, bytes) = next(&mut peers[to]);
                assert_eq!((from, bytes.len()), (Peer(2), len));
            }
        }
        assert!(peers.iter().all(|peer| peer.counts() == Default::default()));
    });
}

#[test]
fn other_keys_lives_and_networks_are_strangers() {
    inside!(other_keys_lives_and_networks_are_strangers, || {
        segment(2, 1500);
        let (mut peers, addresses) = authenticated(2, KEY);
        let secret = *b"somebody knows..";
        let others = [
            Key { secret, ..KEY },
            Key { epoch: 1, ..KEY },
            Key { domain: 2, ..KEY },
        ];
        let frame_address = crate::segment::frame_address(0, Traffic::Unicast);
        for (heard, key) in (1..).zip(others) {
            let opened = Ethernet::open("host0", frame_address).expect("inside");
            let ethernet = opened.join(&addresses).expect("the table");
            let mut other =
                Authenticated::new(ethernet, Some((key, Coverage::Headers))).expect("room");
            let parts = [Part::Bytes(b"let me in")];
            other.transmit(Peer(1), &parts).expect("room");
            peers[0].transmit(Peer(1), &parts).expect("room");
            assert_eq!(next(&mut peers[1]).0, Peer(0));
            assert_eq!(peers[1].counts().forged, heard);
        }
    });
}

#[test]
fn without_a_key_frames_pass_as_they_are() {
    inside!(without_a_key_frames_pass_as_they_are, || {
        segment(2, 1500);
        let (opened, addresses) = opened(2, 1, Traffic::Unicast);
        let mut peers = opened
            .into_iter()
            .map(|one| one.join(&addresses).expect("the table"));
        let (below, mut bare) = (peers.next().expect("a peer"), peers.next().expect("a peer"));
        let (mtu, checked) = (below.mtu(), below.is_checked());
        let mut open = Authenticated::new(below, None).expect("room");
        assert_eq!((open.mtu(), open.is_checked()), (mtu, checked));
        let longest = vec![3; mtu];
        let parts = [Part::Bytes(&longest)];
        open.transmit(Peer(1), &parts).expect("room");
        assert_eq!(next(&mut bare), (Peer(0), longest.clone()));
        bare.broadcast(&parts).expect("room");
        assert_eq!(next(&mut open), (Peer(1), longest.clone()));
        assert_eq!(open.counts(), Default::default());
    });
}
