//! Describes frames: one line for each of Pombo's. Only `capture` uses it.

use std::fmt;

use super::bytes::{u16_at, u64_at};
use super::encapsulation::{self, End, Payload};
use super::message::{self, Message};
use super::protocol::{self, DELTAS, FrameHeader, Kind, KindFields};

/// One frame of Pombo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    from: End,
    to: End,
    job: Option<u16>,
    /// Number of bytes that the network carried behind its own headers.
    len: usize,
    cut: bool,
    what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    /// A frame with a header of the reliable channel or of multicast.
    FrameHeader(FrameHeader, Inside),
    /// A greeting, by which ranks test whether they reach each other before they use a link.
    Greeting,
    /// Another frame of our EtherType: of another version, or of a network used without the protocols above.
    Other,
}

/// The content behind the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    Message(Message),
    /// The bitmap of the numbers above the first missing one that a receiver has: how many are set.
    Map {
        count: u32,
    },
    /// The number of packets that a repair covers.
    Repair {
        packets: usize,
    },
    Announce {
        len: u64,
        chunk: u16,
    },
    Nothing,
}

/// Decodes an Ethernet frame, which holds several frames of Pombo if the interface has not segmented them yet. Returns
/// no frames if it holds none of Pombo's.
pub(super) fn decode(frame: &[u8]) -> Vec<Frame> {
    let Some(carried) = encapsulation::open(frame) else {
        return Vec::new();
    };
    match carried.job {
        Some(_) => vec![Frame::of(carried)],
        None => together(carried).unwrap_or_default(),
    }
}

/// Splits one datagram into frames of equal length; only the last may be shorter.
fn together(carried: Payload<'_>) -> Option<Vec<Frame>> {
    let (all, announced_len) = (carried.bytes, carried.announced_len);
    let each = protocol::first(all, announced_len)?;
    let mut frames = Vec::new();
    for at in (0..announced_len).step_by(each) {
        let announced_len = each.min(announced_len - at);
        let bytes = &all[at.min(all.len())..all.len().min(at + announced_len)];
        let one = Payload {
            announced_len,
            bytes,
            ..carried
        };
        match Frame::of(one) {
            // The capture cut this frame within its header.
            frame if matches!(frame.what, What::Other) && frame.cut => break,
            frame if matches!(frame.what, What::FrameHeader(..)) => frames.push(frame),
            _ => return None,
        }
    }
    Some(frames)
}

impl Frame {
    fn of(carried: Payload<'_>) -> Self {
        let what = match protocol::read(carried.bytes, carried.announced_len) {
            Some(head) => {
                let inside = inside(&head, &carried);
                What::FrameHeader(head, inside)
            }
            None if carried.bytes.starts_with(b"?") => What::Greeting,
            None => What::Other,
        };
        let Payload {
            from,
            to,
            job,
            announced_len,
            bytes,
        } = carried;
        Frame {
            from,
            to,
            job,
            len: announced_len,
            cut: bytes.len() < announced_len,
            what,
        }
    }
}

fn inside(head: &FrameHeader, carried: &Payload<'_>) -> Inside {
    let bytes = carried.bytes.get(head.end..).unwrap_or_default();
    let found = match head.kind {
        Kind::Data => message::read(bytes, head.len).map(Inside::Message),
        Kind::Report => map(bytes, 1),
        Kind::GroupReport => map(bytes, 4),
        Kind::GroupRepair => bytes.get(..DELTAS).map(|deltas| Inside::Repair {
            packets: 1 + deltas.iter().filter(|delta| **delta != 0).count(),
        }),
        Kind::GroupAnnounce => announce(bytes),
        Kind::GroupPacket | Kind::GroupPoll => None,
    };
    found.unwrap_or(Inside::Nothing)
}

fn map(bytes: &[u8], words: usize) -> Option<Inside> {
    let words = (0..words).map(|word| u64_at(bytes, 8 * word));
    let count = words
        .map(|word| word.map(u64::count_ones))
        .sum::<Option<u32>>()?;
    Some(Inside::Map { count })
}

fn announce(bytes: &[u8]) -> Option<Inside> {
    Some(Inside::Announce {
        len: u64_at(bytes, 0)?,
        chunk: u16_at(bytes, 8)?,
    })
}

/// The column titles.
pub(super) const TITLE: &str = "     seconds from                  to                    kind      sequence       poll flags      bytes";

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Frame { from, to, len, .. } = self;
        write!(f, "{from:<21} {to:<21} ")?;
        match &self.what {
            What::Greeting => write!(f, "{:<39} {len:>5}", "GREETING")?,
            What::Other => write!(f, "{:<39} {len:>5}", "OTHER")?,
            What::FrameHeader(head, inside) => {
                let (kind, flags) = (head.kind.name(), protocol::flags(head.flags));
                let (sequence, poll) = (head.sequence, head.poll);
                write!(f, "{kind:<8} {sequence:>9} {poll:>10} {flags:<9} {len:>5}")?;
                details(f, head, *inside)?;
            }
        }
        if let Some(job) = self.job {
            write!(f, "  job {job:04x}")?;
        }
        if self.cut {
            f.write_str("  cut")?;
        }
        Ok(())
    }
}

fn details(f: &mut fmt::Formatter<'_>, head: &FrameHeader, inside: Inside) -> fmt::Result {
    let report = matches!(head.kind, Kind::Report | Kind::GroupReport);
    match head.more {
        KindFields::Pair { room, .. } if report => write!(f, "  room {room}")?,
        KindFields::Pair {
            expected,
            echo,
            room,
        } => write!(f, "  expects {expected} heard {echo} room {room}")?,
        KindFields::Group {
            group,
            message,
            room,
        } => {
            write!(f, "  group {group} message {message}")?;
            if report {
                write!(f, " room {room}")?;
            }
        }
    }
    match inside {
        Inside::Message(message) => write!(f, "  {message}")?,
        Inside::Map { count } => write!(f, "  has {count} above")?,
        Inside::Repair { packets } => write!(f, "  of {packets} packets")?,
        Inside::Announce { len, chunk } => write!(f, "  {len} bytes by {chunk}")?,
        Inside::Nothing => {}
    }
    match head.tag {
        Some((number, encapsulation::ALL)) => write!(f, "  authenticated {number} for all"),
        Some((number, to)) => write!(f, "  authenticated {number} for {to}"),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
