//! What stands in front of every frame: Ethernet's header, and ours. Used inside `ethernet` only.
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 6 | destination: an interface, or all of the job |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType, big-endian |
//! | 14 | 1 | version in the upper half, [`Traffic`] in the lower |
//! | 15 | 1 | 0 |
//! | 16 | 2 | job |
//! | 18 | 2 | source node |
//! | 20 | 2 | destination node, or [`ALL`] |
//! | 22 | 2 | bytes that follow: interfaces fill short frames up |
//!
//! Numbers are little-endian but where it says otherwise.

use super::address::Mac;
use pombo_kernel::header::Node;
use pombo_kernel::network::MIN_MTU;

/// The EtherType for local experiments: nobody else's on a segment that uses it for this.
pub const ETHER_TYPE: u16 = 0x88b5;

/// Bytes of both headers.
pub(super) const HEAD: usize = 24;
/// Bytes of Ethernet's, which an MTU does not count.
pub(super) const ETHER: usize = 14;
/// Bytes of our header, which an MTU counts.
pub(super) const OURS: usize = HEAD - ETHER;
/// What an interface carries at least.
pub(super) const SHORTEST: usize = MIN_MTU + OURS;
/// The destination of what is for all nodes: no node has this number.
pub(super) const ALL: u16 = u16::MAX;

const VERSION: u8 = 1 << 4;

/// What a device carries. Frames of the two never meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Traffic {
    /// From node to node.
    Single,
    /// Of groups.
    Group,
}

/// Whose frames a device hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The same at all nodes of a job, and likely another in every job on the segment.
    pub job: u16,
    /// This node.
    pub node: Node,
    /// What the device is for.
    pub traffic: Traffic,
}

impl Seat {
    pub(super) fn kind(self) -> u8 {
        match self.traffic {
            Traffic::Single => VERSION | 1,
            Traffic::Group => VERSION | 2,
        }
    }

    /// Where frames for all nodes of the job go: a group address that nobody was given, so that interfaces of other
    /// hosts need not listen.
    pub(super) fn group(self) -> Mac {
        let [low, high] = self.job.to_le_bytes();
        Mac([0x03, b'P', b'o', b'm', high, low])
    }
}

pub(super) type Head = [u8; HEAD];

/// The header of a frame of `len` bytes; those are fewer than 2^16.
#[inline]
pub(super) fn write(to: (Mac, u16), from: (Mac, Seat), len: usize) -> Head {
    let (mac, seat) = from;
    let mut head = [0; HEAD];
    head[..6].copy_from_slice(&to.0.0);
    head[6..12].copy_from_slice(&mac.0);
    head[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    head[14] = seat.kind();
    head[16..18].copy_from_slice(&seat.job.to_le_bytes());
    head[18..20].copy_from_slice(&seat.node.0.to_le_bytes());
    head[20..22].copy_from_slice(&to.1.to_le_bytes());
    head[22..24].copy_from_slice(&(len as u16).to_le_bytes());
    head
}

/// Why a frame is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Of another protocol or job, for another node.
    Foreign,
    /// Shorter than it says.
    Impossible,
}

/// A frame that arrived.
pub(super) struct Read<'a> {
    pub(super) mac: Mac,
    pub(super) from: Node,
    /// Is it for all nodes?
    pub(super) cast: bool,
    pub(super) bytes: &'a [u8],
}

/// Reads a frame that came to that seat.
#[inline]
pub(super) fn read(frame: &[u8], seat: Seat) -> Result<Read<'_>, Refusal> {
    let (head, rest) = frame.split_first_chunk().ok_or(Refusal::Impossible)?;
    let head: &Head = head;
    let word = |at| u16::from_le_bytes([head[at], head[at + 1]]);
    let to = word(20);
    let ours = head[12..14] == ETHER_TYPE.to_be_bytes()
        && head[14..16] == [seat.kind(), 0]
        && word(16) == seat.job
        && (to == seat.node.0 || to == ALL);
    if !ours {
        return Err(Refusal::Foreign);
    }
    let [
        _,
        _,
        _,
        _,
        _,
        _,
        mac @ ..,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
    ] = *head;
    Ok(Read {
        mac: Mac(mac),
        from: Node(word(18)),
        cast: to == ALL,
        bytes: rest.get(..word(22).into()).ok_or(Refusal::Impossible)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const SEAT: Seat = Seat {
        job: 0x1234,
        node: Node(7),
        traffic: Traffic::Single,
    };

    fn frame(to: u16) -> Vec<u8> {
        let from = Seat {
            node: Node(0x0203),
            ..SEAT
        };
        let head = write((Mac([1; 6]), to), (Mac([2; 6]), from), 3);
        [&head[..], b"abc", &[0; 40]].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        for (to, cast) in [(7, false), (ALL, true)] {
            let frame = frame(to);
            let read = read(&frame, SEAT).expect("it is ours");
            assert_eq!(
                (read.mac, read.from, read.cast, read.bytes),
                (Mac([2; 6]), Node(0x0203), cast, &b"abc"[..])
            );
        }
    }

    #[test]
    fn what_others_write_is_refused() {
        let refused = |frame: &[u8]| read(frame, SEAT).err();
        let frame = frame(7);
        for byte in 12..22 {
            let mut other = frame.clone();
            other[byte] ^= 0x10;
            // The source node is looked up by whoever has the table.
            let expected = (!(18..20).contains(&byte)).then_some(Refusal::Foreign);
            assert_eq!(refused(&other), expected, "byte {byte}");
        }
        for len in 0..HEAD + 3 {
            assert_eq!(
                refused(&frame[..len]),
                Some(Refusal::Impossible),
                "{len} bytes"
            );
        }
        let group = Seat {
            traffic: Traffic::Group,
            ..SEAT
        };
        assert_eq!(read(&frame, group).err(), Some(Refusal::Foreign));
    }
}
