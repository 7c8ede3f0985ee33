//! Frames as bytes, and their descriptions.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;

use super::*;

const PEERS: (u16, u16) = (3, 5);

fn raw(to: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x88, 0xb5, 0x11, 0, 0x34, 0x12]);
    frame.extend(PEERS.0.to_le_bytes());
    frame.extend(to.to_le_bytes());
    frame.extend((payload.len() as u16).to_le_bytes());
    frame.extend(payload);
    frame
}

fn udp_of(payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let mut datagram = [9000, 9001, len, 0].map(u16::to_be_bytes).concat();
    datagram.extend(payload);
    datagram
}

fn over_udp(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((28 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(udp_of(payload));
    frame
}

fn over_udp_6(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend((8 + payload.len() as u16).to_be_bytes());
    frame.extend([17, 64]);
    frame.extend(Ipv6Addr::LOCALHOST.octets().repeat(2));
    frame.extend(udp_of(payload));
    frame
}

/// Builds kind and flags, the length of the rest, checksum and epoch.
fn begin(kind: u8, flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut head = vec![kind, flags];
    head.extend((rest.len() as u16).to_le_bytes());
    head.extend([0xaa_u8; 8]);
    head
}

/// Builds a frame with number 7 and stamp 8 that expects 9, echoes 10 and has room for 11.
fn pair(kind: u8, flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut head = begin(kind, flags, rest);
    head.extend([7_u32, 8, 9, 10].map(u32::to_le_bytes).concat());
    head.extend([11, 0, 0, 0]);
    head.extend(rest);
    head
}

/// Builds a frame with group 20, room 21, message 22, packet 23 and stamp 24.
fn group(kind: u8, flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut head = begin(kind, flags, rest);
    head.extend([20, 0, 0, 0, 21, 0]);
    head.extend([22_u32, 23, 24].map(u32::to_le_bytes).concat());
    head.extend(rest);
    head
}

fn authenticated(to: u16, inner: &[u8]) -> Vec<u8> {
    let way = 77 | u64::from(to) << 48;
    let tag = [0xf7; 8];
    [&tag[..], &way.to_le_bytes(), inner].concat()
}

fn eager() -> Vec<u8> {
    let mut message = vec![1, 0];
    message.extend([4_u32, 99].map(u32::to_le_bytes).concat());
    message.extend(b"hello");
    message
}

fn every_kind() -> Vec<(&'static str, Vec<u8>)> {
    let announce = [&1_000_000_u64.to_le_bytes()[..], &1400_u16.to_le_bytes()].concat();
    vec![
        ("DATA", pair(0x11, 1, &eager())),
        ("DATA", pair(0x11, 0, b"")),
        ("REPORT", pair(0x12, 0, &[0x0f; 8])),
        ("PACKET", group(0x13, 1, b"packet")),
        ("PACKET", group(0x13, 2, b"")),
        ("REPAIR", group(0x14, 8, &[1, 0, 5, 0, 0, 0, 0, 9, 9])),
        ("POLL", group(0x15, 1, b"")),
        ("ANNOUNCE", group(0x16, 1, &announce)),
        ("REPORT", group(0x17, 4, &[1; 32])),
    ]
}

fn only(frame: &[u8]) -> Option<Frame> {
    let mut all = decode(frame);
    assert!(all.len() < 2, "{all:?}");
    all.pop()
}

fn line(frame: &[u8]) -> String {
    let line = only(frame).expect("it is ours").to_string();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_kind_by_every_carrier_with_and_without_a_seal() {
    for (name, plain) in every_kind() {
        for payload in [
            plain.clone(),
            authenticated(5, &plain),
            authenticated(u16::MAX, &plain),
        ] {
            let len = payload.len();
            let is = |line: String, ends: &str| {
                assert!(line.starts_with(&format!("{ends} {name} ")), "{line}");
                assert!(line.contains(&format!(" {len} ")), "{len}: {line}");
                assert_eq!(
                    line.contains("authenticated 77"),
                    len > plain.len(),
                    "{line}"
                );
            };
            is(line(&raw(5, &payload)), "3 5");
            is(line(&raw(u16::MAX, &payload)), "3 all");
            is(line(&over_udp(&payload)), "10.0.0.1:9000 10.0.0.2:9001");
            is(line(&over_udp_6(&payload)), "[::1]:9000 [::1]:9001");
        }
    }
}

#[test]
fn what_is_said() {
    let said: Vec<String> = every_kind()
        .iter()
        .map(|(_, bytes)| line(&raw(5, bytes)))
        .collect();
    let expected = [
        "3 5 DATA 7 8 ask 47 expects 9 heard 10 room 11 eager comm 2 tag 99 5 bytes job 1234",
        "3 5 DATA 7 8 32 expects 9 heard 10 room 11 job 1234",
        "3 5 REPORT 9 10 40 room 11 has 32 above job 1234",
        "3 5 PACKET 23 24 ask 36 group 20 message 22 job 1234",
        "3 5 PACKET 23 24 whole 30 group 20 message 22 job 1234",
        "3 5 REPAIR 23 24 alone 39 group 20 message 22 of 3 packets job 1234",
        "3 5 POLL 23 24 ask 30 group 20 message 22 job 1234",
        "3 5 ANNOUNCE 23 24 ask 40 group 20 message 22 1000000 bytes by 1400 job 1234",
        "3 5 REPORT 23 24 refused 62 group 20 message 22 room 21 has 32 above job 1234",
    ];
    assert_eq!(said, expected);
    let all = authenticated(u16::MAX, &pair(0x11, 0, b""));
    assert!(line(&raw(5, &all)).ends_with("authenticated 77 for all job 1234"));
    assert_eq!(line(&raw(5, b"???")), "3 5 GREETING 3 job 1234");
    assert_eq!(line(&raw(5, b"something")), "3 5 OTHER 9 job 1234");
}

#[test]
fn envelopes_of_messages() {
    let handle = [9; 8];
    let envelope = [5_u32, 7].map(u32::to_le_bytes).concat();
    let any = [[4, 0, 0, 0], [0xff; 4]].concat();
    let len = 500_u64.to_le_bytes();
    let cases: [(u8, Vec<u8>, &str); 11] = [
        (
            2,
            [&envelope[..], &len, &handle].concat(),
            "announce comm 2 collective 7 500 bytes",
        ),
        (
            3,
            [&handle[..], &handle, &len].concat(),
            "request 500 bytes",
        ),
        (
            4,
            [&handle[..], &len, b"piece"].concat(),
            "data from 500 5 bytes",
        ),
        (6, vec![], "credit"),
        (
            8,
            [&handle[..], &any, &[0, 0]].concat(),
            "pull comm 2 any tag",
        ),
        (
            9,
            [&handle[..], &handle, &len, &envelope].concat(),
            "offer comm 2 collective 7 500 bytes",
        ),
        (13, [&handle[..], &[1]].concat(), "revoked"),
        (
            15,
            [&handle[..], &len, &any, &[0, 0]].concat(),
            "hint comm 2 any tag 500 bytes",
        ),
        (
            16,
            [&envelope[..], &len, &handle, &handle].concat(),
            "ahead comm 2 collective 7 500 bytes",
        ),
        (
            18,
            [&handle[..], &len, b"piece"].concat(),
            "early from 500 5 bytes",
        ),
        (
            19,
            [&handle[..], &handle, &len].concat(),
            "request behind 500 bytes",
        ),
    ];
    for (kind, fields, says) in cases {
        let message = [&[kind, 3][..], &fields].concat();
        let said = line(&raw(5, &pair(0x11, 0, &message)));
        assert!(said.contains(&format!("room 11 {says} job")), "{said}");
        // With one byte less it is no such message, and is shown by its length alone.
        let short = &message[..message.len() - 1];
        if kind != 4 && kind != 18 {
            assert!(message::read(short, short.len()).is_none(), "{says}");
        }
    }
    assert!(message::read(&[20, 0], 2).is_none() && message::read(&[0, 0], 2).is_none());
}

/// Checks that the tables of the Wireshark dissector equal ours, word for word.
#[test]
fn the_dissector_for_wireshark_knows_the_same_layouts() {
    let lua = include_str!("../../../../examples/wireshark/pombo.lua");
    let lua = lua.split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |table: &str| assert!(lua.contains(table), "pombo.lua does not have {table}");
    let kind = |number: u8| {
        Some(format!(
            "[{number}] = \"{}\",",
            Kind::of(0x10 + number)?.name()
        ))
    };
    let kinds: Vec<_> = (1..).map_while(kind).collect();
    has(&format!("KINDS = {{ {} }}", kinds.join(" ")));
    let messages = message::LAYOUTS.map(|(name, fields, places)| {
        // Absent fields are omitted at the end and `nil` elsewhere.
        let used = places
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        let place = |place: &Option<usize>| place.map_or(", nil".into(), |at| format!(", {at}"));
        let places: String = places[..used].iter().map(place).collect();
        format!("{{ \"{name}\", {fields}{places} }},")
    });
    has(&format!("MESSAGES = {{ {} }}", messages.join(" ")));
    let (pair, group, tag) = (protocol::PAIR, protocol::GROUP, protocol::AUTH_HEADER);
    has(&format!(
        "PAIR, GROUP, AUTH_HEADER = {pair}, {group}, {tag}"
    ));
}

#[test]
fn what_is_not_ours_is_not_shown() {
    assert!(only(&over_udp(b"a question for a name server")).is_none());
    let mut arp = raw(5, b"?");
    arp[12..14].copy_from_slice(&[8, 6]);
    assert!(only(&arp).is_none());
    let mut version = raw(5, b"?");
    version[14] = 0x21;
    assert!(only(&version).is_none());
    // A length that differs from the datagram's, an unknown flag, the second fragment of a datagram.
    let data = over_udp(&pair(0x11, 0, b"abc"));
    for (at, byte) in [(44, 4), (43, 2), (72, 1), (21, 1)] {
        let mut other = data.clone();
        other[at] = byte;
        assert_ne!(other, data);
        assert!(only(&other).is_none(), "byte {at}");
    }
}

/// The sender's own interface shows datagrams before segmentation.
#[test]
fn frames_that_are_still_together() {
    let (long, short) = (pair(0x11, 0, &[9; 60]), pair(0x12, 0, &[1; 8]));
    for (long, short) in [
        (authenticated(5, &long), authenticated(5, &short)),
        (long, short),
    ] {
        let all = [&long[..], &long, &long, &short].concat();
        let frame = over_udp(&all);
        let said: Vec<String> = decode(&frame).iter().map(Frame::to_string).collect();
        let kinds = ["DATA", "DATA", "DATA", "REPORT"];
        assert_eq!(said.len(), kinds.len());
        for (said, kind) in said.iter().zip(kinds) {
            assert!(said.contains(&format!(" {kind} ")), "{said}");
        }
        // One frame is cut, and the one behind it has not even a header.
        let cut = decode(&frame[..frame.len() - short.len() - 5]);
        assert_eq!(
            cut.iter().map(|frame| frame.cut).collect::<Vec<_>>(),
            [false, false, true]
        );
        // No shorter frame may stand before the last.
        let wrong = [&long[..], &short, &long].concat();
        assert_eq!(decode(&over_udp(&wrong)), []);
    }
}

#[test]
fn a_tag_of_a_virtual_network_is_passed_over() {
    let mut frame = raw(5, &pair(0x11, 0, b""));
    frame.splice(12..12, [0x81, 0, 0, 5]);
    assert!(line(&frame).starts_with("3 5 DATA"));
}

#[test]
fn cut_frames_say_so_or_are_not_shown() {
    for (_, bytes) in every_kind() {
        for frame in [raw(5, &bytes), over_udp(&bytes), over_udp_6(&bytes)] {
            for len in 0..frame.len() {
                let said = only(&frame[..len]).map(|frame| frame.to_string());
                assert!(said.is_none_or(|said| said.ends_with("cut")), "{len}");
            }
            // Padding of the interface is ignored.
            let filled = [&frame[..], &[0; 46]].concat();
            assert_eq!(decode(&filled), decode(&frame));
        }
    }
}

#[test]
fn ends_of_both_kinds() {
    let at = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 1);
    let shown = [End::Peer(0), End::All, End::Socket(at)].map(|end| format!("{end:<8}|"));
    assert_eq!(shown, ["0       |", "all     |", "[::1]:1 |"]);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(
        which in 0..9_usize,
        carrier in 0..4,
        at in 0..120_usize,
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (_, bytes) = every_kind().swap_remove(which);
        let mut frame = match carrier {
            0 => raw(5, &bytes),
            1 => over_udp(&bytes),
            2 => over_udp_6(&bytes),
            _ => raw(5, &authenticated(5, &bytes)),
        };
        frame.truncate(at);
        frame.extend(noise);
        // The test checks only that decoding terminates without a panic.
        let _ = decode(&frame).iter().map(Frame::to_string).count();
    }
}
