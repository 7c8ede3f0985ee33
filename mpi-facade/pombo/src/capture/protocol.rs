//! The headers of the reliable channel and of multicast, with or without an authentication header in front. Only the
//! decoder uses it.
//!
//! The layouts are those of `reliable/frame.rs`, `multicast/frame.rs` and `authenticated.rs` of `kernel/transport`.

use super::bytes::{bytes, u16_at, u32_at, u64_at};

/// A header of Pombo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FrameHeader {
    pub(super) kind: Kind,
    pub(super) flags: u8,
    /// Number of bytes behind the header.
    pub(super) len: usize,
    pub(super) epoch: u32,
    /// Data, packet, repair: its own number. Report: the first missing number. Poll, announcement: one past the last
    /// sent.
    pub(super) sequence: u32,
    /// The number of the transmission, by which the sender knows which one a report has seen.
    pub(super) poll: u32,
    pub(super) more: KindFields,
    /// Offset of the first byte behind the header.
    pub(super) end: usize,
    /// Number and destination of an authenticated frame.
    pub(super) tag: Option<(u64, u16)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Data = 1,
    Report,
    GroupPacket,
    GroupRepair,
    GroupPoll,
    GroupAnnounce,
    GroupReport,
}

/// Fields that only some kinds have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum KindFields {
    /// Between two peers: the number that the sender expects, the highest transmission it has seen, its room in frames.
    Pair { expected: u32, echo: u32, room: u16 },
    /// In a group.
    Group { group: u32, message: u32, room: u16 },
}

pub(super) const PAIR: usize = 32;
pub(super) const GROUP: usize = 30;
pub(super) const AUTH_HEADER: usize = 16;
/// Bytes behind the header by kind: the bitmap of a report, the distances of a repair, an announcement.
const PAIR_MAP: usize = 8;
const GROUP_MAP: usize = 32;
pub(super) const DELTAS: usize = 7;
const ANNOUNCE: usize = 10;

const ASK: u8 = 1;
const WHOLE: u8 = 2;
const FLAGS: [(u8, &str); 4] = [(ASK, "ask"), (WHOLE, "whole"), (4, "refused"), (8, "alone")];

/// Parses the header of `announced_len` bytes that a network carried, of which `captured` are there. Returns `None` if
/// it cannot be Pombo's, or is cut within the header.
pub(super) fn read(captured: &[u8], announced_len: usize) -> Option<FrameHeader> {
    plain(captured, announced_len, 0).or_else(|| {
        let way = u64_at(captured, 8)?;
        let mut head = plain(captured, announced_len, AUTH_HEADER)?;
        head.tag = Some((way & ((1 << 48) - 1), (way >> 48) as u16));
        Some(head)
    })
}

/// Returns the length of the first of several frames in one buffer of `announced_len` bytes: a sender passes many
/// frames to UDP at once.
pub(super) fn first(captured: &[u8], announced_len: usize) -> Option<usize> {
    [0, AUTH_HEADER].into_iter().find_map(|at| {
        let [kind] = bytes(captured, at)?;
        let size = if Kind::of(kind)?.is_pair() {
            PAIR
        } else {
            GROUP
        };
        let len = at + size + usize::from(u16_at(captured, at + 2)?);
        (len <= announced_len && plain(captured, len, at).is_some()).then_some(len)
    })
}

fn plain(captured: &[u8], announced_len: usize, at: usize) -> Option<FrameHeader> {
    let from = captured.get(at..)?;
    let [kind, flags] = bytes(from, 0)?;
    let kind = Kind::of(kind)?;
    let (size, known) = match kind.is_pair() {
        true => (PAIR, ASK),
        false => (GROUP, 15),
    };
    let len = usize::from(u16_at(from, 2)?);
    // By chance one of some 2^40 foreign frames passes this check.
    if announced_len != at + size + len || flags & !known != 0 || !kind.fits(flags, len) {
        return None;
    }
    let (sequence, poll, more) = match kind.is_pair() {
        true => pair(kind, from)?,
        false => group(from)?,
    };
    Some(FrameHeader {
        kind,
        flags,
        len,
        epoch: u32_at(from, 8)?,
        sequence,
        poll,
        more,
        end: at + size,
        tag: None,
    })
}

/// Parses a frame between two peers. A report's own number and stamp are 0: what it reports on the other direction
/// takes their places.
fn pair(kind: Kind, from: &[u8]) -> Option<(u32, u32, KindFields)> {
    let (expected, echo) = (u32_at(from, 20)?, u32_at(from, 24)?);
    let room = u16_at(from, 28)?;
    let (sequence, poll) = match kind {
        Kind::Report => (expected, echo),
        _ => (u32_at(from, 12)?, u32_at(from, 16)?),
    };
    let more = KindFields::Pair {
        expected,
        echo,
        room,
    };
    (u16_at(from, 30)? == 0).then_some((sequence, poll, more))
}

fn group(from: &[u8]) -> Option<(u32, u32, KindFields)> {
    let more = KindFields::Group {
        group: u32_at(from, 12)?,
        room: u16_at(from, 16)?,
        message: u32_at(from, 18)?,
    };
    Some((u32_at(from, 22)?, u32_at(from, 26)?, more))
}

impl Kind {
    pub(super) fn of(byte: u8) -> Option<Kind> {
        Some(match byte {
            0x11 => Kind::Data,
            0x12 => Kind::Report,
            0x13 => Kind::GroupPacket,
            0x14 => Kind::GroupRepair,
            0x15 => Kind::GroupPoll,
            0x16 => Kind::GroupAnnounce,
            0x17 => Kind::GroupReport,
            _ => return None,
        })
    }

    fn is_pair(self) -> bool {
        matches!(self, Kind::Data | Kind::Report)
    }

    fn fits(self, flags: u8, len: usize) -> bool {
        let whole = flags & WHOLE != 0;
        match self {
            Kind::Data => true,
            Kind::Report => len == PAIR_MAP,
            Kind::GroupPacket => len > 0 || whole,
            Kind::GroupRepair => len > DELTAS && !whole,
            Kind::GroupPoll => len == 0,
            Kind::GroupAnnounce => len == ANNOUNCE && !whole,
            Kind::GroupReport => len == GROUP_MAP,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Data => "DATA",
            Kind::Report | Kind::GroupReport => "REPORT",
            Kind::GroupPacket => "PACKET",
            Kind::GroupRepair => "REPAIR",
            Kind::GroupPoll => "POLL",
            Kind::GroupAnnounce => "ANNOUNCE",
        }
    }
}

/// Returns the names of the flags that are set.
pub(super) fn flags(set: u8) -> String {
    let named = FLAGS.iter().filter(|(flag, _)| set & flag != 0);
    let named: Vec<&str> = named.map(|(_, name)| *name).collect();
    named.join(",")
}
