//! With a key: who has not got it is not heard, whatever it copies.

use crate::inside::inside;
use crate::segment::{HANG, opened, segment};
use crate::stranger::{Forged, Stranger};
use crate::strangers::next;
use pombo_kernel::channel::reliable::{Reliable, Window};
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Node, Part};
use pombo_netdrivers::ethernet::{Address, Opened, Traffic};
use pombo_netdrivers::fault::Dice;
use pombo_netdrivers::sealed::{Key, Sealed};
use pombo_netdrivers::{Ethernet, Growing, InPlace};
use std::time::Instant;

pub(crate) const KEY: Key = Key {
    secret: *b"nobody knows it.",
    epoch: 0x5eed,
    domain: 1,
};

fn sealed(nodes: u16, key: Key) -> (Vec<Sealed<Ethernet>>, Vec<Address>) {
    let (opened, addresses) = opened(nodes, 1, Traffic::Single);
    let join = |one: Opened| Sealed::new(one.join(&addresses).expect("the table"), key);
    let joined = opened.into_iter().map(|one| join(one).expect("room"));
    (joined.collect(), addresses)
}

#[test]
fn what_was_sealed_is_opened() {
    inside!(what_was_sealed_is_opened, || {
        segment(3, 1500);
        let (mut nodes, _) = sealed(3, KEY);
        let longest = vec![3; nodes[0].mtu()];
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
            nodes[0].transmit(Node(1), parts).expect("room");
            let (from, bytes) = next(&mut nodes[1]);
            assert_eq!((from, bytes.len()), (Node(0), len));
            nodes[2].broadcast(parts).expect("room");
            for to in [0, 1] {
                let (from, bytes) = next(&mut nodes[to]);
                assert_eq!((from, bytes.len()), (Node(2), len));
            }
        }
        assert!(nodes.iter().all(|node| node.counts() == Default::default()));
    });
}

#[test]
fn other_keys_lives_and_networks_are_strangers() {
    inside!(other_keys_lives_and_networks_are_strangers, || {
        segment(2, 1500);
        let (mut nodes, addresses) = sealed(2, KEY);
        let secret = *b"somebody knows..";
        let others = [
            Key { secret, ..KEY },
            Key { epoch: 1, ..KEY },
            Key { domain: 2, ..KEY },
        ];
        let seat = crate::segment::seat(0, Traffic::Single);
        for (heard, key) in (1..).zip(others) {
            let opened = Ethernet::open("host0", seat).expect("inside");
            let ethernet = opened.join(&addresses).expect("the table");
            let mut other = Sealed::new(ethernet, key).expect("room");
            let parts = [Part::Bytes(b"let me in")];
            other.transmit(Node(1), &parts).expect("room");
            nodes[0].transmit(Node(1), &parts).expect("room");
            assert_eq!(next(&mut nodes[1]).0, Node(0));
            assert_eq!(nodes[1].counts().forged, heard);
        }
    });
}

/// Everything that comes to node 0 comes again, as it was, and changed in one bit.
#[test]
fn what_is_changed_or_repeated_is_counted_and_the_channel_goes_on() {
    inside!(
        what_is_changed_or_repeated_is_counted_and_the_channel_goes_on,
        || {
            type Over = Reliable<Sealed<Ethernet>, Window<2, 16, 1500>, Growing>;
            segment(2, 1500);
            let (nodes, addresses) = sealed(2, KEY);
            let ranks = nodes.into_iter().map(|node| Over::new(node, 0x5eed));
            let mut ranks = ranks.map(|rank| rank.expect("two places"));
            let (mut zero, mut one) = (ranks.next().expect("two"), ranks.next().expect("two"));
            // A second seat of node 0 hears what it hears; nodes of a job would not do that.
            let seat = crate::segment::seat(0, Traffic::Single);
            let opened = Ethernet::open("host0", seat).expect("inside");
            let mut tap = opened.join(&addresses).expect("the table");
            let stranger = Stranger::at("host1");
            let (mut dice, mut got, mut copied) = (Dice::new(3), 0_u32, 0);
            for round in 0..500_u32 {
                let parts = [Part::Bytes(&round.to_le_bytes())];
                one.try_send(Node(0), Cookie::COPY, &parts).expect("room");
                let start = Instant::now();
                while got <= round {
                    assert!(start.elapsed() < HANG, "the channel has stopped");
                    one.poll(|_| panic!("nobody sent it")).expect("it is up");
                    zero.poll(|event| match event {
                        Event::Arrival(frame) => {
                            assert_eq!(frame.head(4), Some(&got.to_le_bytes()[..]));
                            got += 1;
                        }
                        _ => panic!("something else than a frame"),
                    })
                    .expect("it is up");
                }
                let mut copies = Vec::new();
                let mut copy = |frame: InPlace<'_>| {
                    copies.push(frame.head(frame.len()).unwrap_or(&[]).to_vec());
                };
                while tap.poll(&mut copy).expect("it is up") {}
                let expected = 2 * copies.len();
                for mut bytes in copies {
                    let same = Forged::as_node(1, 0, &addresses, bytes.len());
                    stranger.send(&same.with(&bytes));
                    let bit = dice.index(8 * bytes.len());
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    stranger.send(&same.with(&bytes));
                    copied += 1;
                }
                // The tap hears the copies too.
                let mut heard = 0;
                while heard < expected {
                    assert!(start.elapsed() < HANG, "copies are lost");
                    tap.poll(|_| heard += 1).expect("it is up");
                }
            }
            while zero.poll(|_| panic!("nobody sent it")).expect("it is up") {}
            let counts = zero.network().counts();
            assert!(copied >= 500, "{copied}");
            assert_eq!((counts.forged, counts.replayed), (copied, copied));
        }
    );
}
