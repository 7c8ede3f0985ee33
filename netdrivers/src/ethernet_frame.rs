//! The headers of every frame: Ethernet's and ours. `ethernet` and `virtio` use them, so that their peers reach each other.
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 6 | destination: an interface, or all of the job |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType, big-endian |
//! | 14 | 1 | version in the upper half, [`Traffic`] in the lower |
//! | 15 | 1 | 0 |
//! | 16 | 2 | job |
//! | 18 | 2 | source peer |
//! | 20 | 2 | destination peer, or [`EVERYBODY`] |
//! | 22 | 2 | bytes that follow: interfaces fill short frames up |
//!
//! Numbers are little-endian except where the table says otherwise.

use pombo_kernel::header::Peer;
use pombo_kernel::network::MIN_MTU;

/// The EtherType for local experiments, which no other protocol on the network may use.
pub const ETHER_TYPE: u16 = 0x88b5;

/// Bytes of both headers.
pub(crate) const HEADER_LEN: usize = 24;
/// Bytes of the Ethernet header, which an MTU does not include.
pub(crate) const ETHERNET_HEADER_LEN: usize = 14;
/// Bytes of our header, which an MTU includes.
pub(crate) const POMBO_HEADER_LEN: usize = HEADER_LEN - ETHERNET_HEADER_LEN;
/// Smallest MTU of an interface, in bytes.
pub(crate) const MIN_INTERFACE_MTU: usize = MIN_MTU + POMBO_HEADER_LEN;
/// The destination of broadcasts: no peer has this number.
pub(crate) const EVERYBODY: u16 = u16::MAX;

const VERSION: u8 = 1 << 4;

/// The traffic of a device. Frames of the two kinds never mix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Traffic {
    /// From peer to peer.
    Unicast,
    /// Frames of multicast groups.
    Multicast,
}

/// The frames that a device receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameAddress {
    /// The job number: equal at all peers of a job, and probably different for every job on the network.
    pub job: u16,
    /// This peer.
    pub peer: Peer,
    /// The traffic of the device.
    pub traffic: Traffic,
}

impl FrameAddress {
    pub(crate) fn kind(self) -> u8 {
        match self.traffic {
            Traffic::Unicast => VERSION | 1,
            Traffic::Multicast => VERSION | 2,
        }
    }

    /// Returns the destination of broadcasts of the job: a locally administered group address, so that interfaces of
    /// other hosts need not listen.
    pub(crate) fn group(self) -> MacBytes {
        let [low, high] = self.job.to_le_bytes();
        [0x03, b'P', b'o', b'm', high, low]
    }
}

/// An Ethernet address as it travels.
pub(crate) type MacBytes = [u8; 6];

pub(crate) type HeaderBytes = [u8; HEADER_LEN];

/// Builds the header of a frame of `len` bytes, fewer than 2^16.
#[inline]
pub(crate) fn header(
    to: (MacBytes, u16),
    from: (MacBytes, FrameAddress),
    len: usize,
) -> HeaderBytes {
    let (mac, frame_address) = from;
    let mut head = [0; HEADER_LEN];
    head[..6].copy_from_slice(&to.0);
    head[6..12].copy_from_slice(&mac);
    head[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    head[14] = frame_address.kind();
    head[16..18].copy_from_slice(&frame_address.job.to_le_bytes());
    head[18..20].copy_from_slice(&frame_address.peer.0.to_le_bytes());
    head[20..22].copy_from_slice(&to.1.to_le_bytes());
    head[22..24].copy_from_slice(&(len as u16).to_le_bytes());
    head
}

/// Why a frame is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameError {
    /// It belongs to another protocol or job, or is for another peer.
    Foreign,
    /// It is shorter than its header says.
    Truncated,
}

/// A received frame.
pub(crate) struct ParsedFrame<'a> {
    pub(crate) mac: MacBytes,
    pub(crate) from: Peer,
    /// Whether the frame is for all peers.
    pub(crate) to_all: bool,
    pub(crate) bytes: &'a [u8],
}

/// Parses a frame that was received by that address.
#[inline]
pub(crate) fn parse(
    frame: &[u8],
    frame_address: FrameAddress,
) -> Result<ParsedFrame<'_>, FrameError> {
    let (head, rest) = frame.split_first_chunk().ok_or(FrameError::Truncated)?;
    let head: &HeaderBytes = head;
    let word = |at| u16::from_le_bytes([head[at], head[at + 1]]);
    let to = word(20);
    let ours = head[12..14] == ETHER_TYPE.to_be_bytes()
        && head[14..16] == [frame_address.kind(), 0]
        && word(16) == frame_address.job
        && (to == frame_address.peer.0 || to == EVERYBODY);
    if !ours {
        return Err(FrameError::Foreign);
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
    Ok(ParsedFrame {
        mac,
        from: Peer(word(18)),
        to_all: to == EVERYBODY,
        bytes: rest.get(..word(22).into()).ok_or(FrameError::Truncated)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const FRAME_ADDRESS: FrameAddress = FrameAddress {
        job: 0x1234,
        peer: Peer(7),
        traffic: Traffic::Unicast,
    };

    fn frame(to: u16) -> Vec<u8> {
        let from = FrameAddress {
            peer: Peer(0x0203),
            ..FRAME_ADDRESS
        };
        let head = header(([1; 6], to), ([2; 6], from), 3);
        [&head[..], b"abc", &[0; 40]].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        for (to, to_all) in [(7, false), (EVERYBODY, true)] {
            let frame = frame(to);
            let read = parse(&frame, FRAME_ADDRESS).expect("it is ours");
            assert_eq!(
                (read.mac, read.from, read.to_all, read.bytes),
                ([2; 6], Peer(0x0203), to_all, &b"abc"[..])
            );
        }
    }

    #[test]
    fn what_others_write_is_refused() {
        let refused = |frame: &[u8]| parse(frame, FRAME_ADDRESS).err();
        let frame = frame(7);
        for byte in 12..22 {
            let mut other = frame.clone();
            other[byte] ^= 0x10;
            // The caller looks up the source peer in its table.
            let expected = (!(18..20).contains(&byte)).then_some(FrameError::Foreign);
            assert_eq!(refused(&other), expected, "byte {byte}");
        }
        for len in 0..HEADER_LEN + 3 {
            assert_eq!(
                refused(&frame[..len]),
                Some(FrameError::Truncated),
                "{len} bytes"
            );
        }
        let group = FrameAddress {
            traffic: Traffic::Multicast,
            ..FRAME_ADDRESS
        };
        assert_eq!(parse(&frame, group).err(), Some(FrameError::Foreign));
    }
}
