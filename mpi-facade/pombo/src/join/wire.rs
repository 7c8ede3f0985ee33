//! A connection between the launcher's machine and one that joins: records in order, which only who knows the job's key can
//! write. `proxy` and `mirror` have its two ends.
//!
//! A record is its length, a tag, a kind, a place, a number, and the bytes of a frame. The tag (SipHash-2-4) covers the rest
//! and the record's number, under a key of this connection and direction; so nothing is forged, changed, left out, or
//! repeated. Whoever listens can read the frames.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{setsockopt, sockopt};
use pombo_job::settings::HOST_TIMEOUT;
use pombo_netdrivers::shm::FRAME_LIMIT;
use pombo_transport::authenticated::Key;

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// The process at that place has attached; with the fingerprint of the job. The job's side says it.
    Started,
    /// A frame: from that place, or to it.
    Frame,
    /// Frames that [`cost`] so much have been passed on: to that place, or to the program that joined if it is its own.
    Passed,
    /// The process at that place has ended: see [`End`].
    Lost,
    /// The program that joins has attached, with that fingerprint.
    Attached,
    /// The program that joined has ended; the number tells whether in good order.
    Left,
}

/// A record.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) kind: Kind,
    pub(super) place: usize,
    pub(super) number: u64,
    pub(super) frame: Vec<u8>,
}

/// Bytes of the length and of the tag.
const LENGTH: usize = 4;
const TAG: usize = 8;
/// Bytes of the kind, of the place, and of the number.
const FIELDS: usize = 11;
/// Bytes that one read takes at most, and that wait for their record to be whole.
const READ: usize = 64 << 10;
/// Bytes that may wait to be sent before frames wait where they are.
const MOST_WAITING: usize = 256 << 10;

/// What the frames to a process may [`cost`] that the mirror sends before it hears that they were passed on.
pub(super) const WINDOW: usize = 64 << 10;
/// What all frames to the program that joined may [`cost`] that the proxy sends before it hears that they were passed on. The
/// mirror keeps them, so that it can always read: the system would take a connection that is not read for a dead one.
pub(super) const PROGRAM_WINDOW: usize = 256 << 10;
/// What a frame costs beside its bytes: who keeps it needs memory for an empty one, too.
const OVERHEAD: usize = 64;

/// Returns what a frame of so many bytes counts in a window.
pub(super) const fn cost(len: usize) -> usize {
    len + OVERHEAD
}

/// One end of such a connection. Nothing that it does waits.
pub(super) struct Wire {
    stream: TcpStream,
    /// Of what is sent, and of what is received; each has the number of the next record.
    keys: [Key; 2],
    waiting: Vec<u8>,
    received: Vec<u8>,
}

impl Wire {
    /// Makes the end of a connection whose secret both sides know; the launcher's side is `first`.
    pub(super) fn new(stream: TcpStream, secret: [u8; 16], first: bool) -> io::Result<Wire> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let key = |domain| Key {
            secret,
            epoch: 0,
            domain,
        };
        let (own, other) = if first { (0, 1) } else { (1, 0) };
        Ok(Wire {
            stream,
            keys: [key(own), key(other)],
            waiting: Vec::new(),
            received: Vec::new(),
        })
    }

    /// Returns whether frames may be added.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    /// Returns whether something waits to be sent.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a record without a frame.
    pub(super) fn say(&mut self, kind: Kind, place: usize, number: u64) {
        self.add(kind, place, number, |_| ());
    }

    /// Adds a frame from or to that place; returns what it costs.
    pub(super) fn add_frame(&mut self, place: usize, frame: &[u8]) -> usize {
        self.add(Kind::Frame, place, 0, |to| to.extend(frame));
        cost(frame.len())
    }

    /// Adds a record with the frame that `write` appends.
    fn add(&mut self, kind: Kind, place: usize, number: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.waiting.len();
        self.waiting.extend([0; LENGTH + TAG]);
        self.waiting.push(kind as u8);
        self.waiting.extend((place as u16).to_le_bytes());
        self.waiting.extend(number.to_le_bytes());
        write(&mut self.waiting);
        let (head, body) = self.waiting[start..].split_at_mut(LENGTH + TAG);
        head[..LENGTH].copy_from_slice(&(body.len() as u32).to_le_bytes());
        head[LENGTH..].copy_from_slice(&next_tag(&mut self.keys[0], body));
    }

    /// Sends what the system takes. Returns whether it took anything.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        let mut taken = 0;
        while taken < self.waiting.len() {
            match self.stream.write(&self.waiting[taken..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => taken += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.waiting.drain(..taken);
        Ok(taken > 0)
    }

    /// Receives what has come, if the records before have been taken. Returns false at the end.
    pub(super) fn receive(&mut self) -> io::Result<bool> {
        if self.is_whole() {
            return Ok(true);
        }
        let len = self.received.len();
        self.received.resize(len + READ, 0);
        let got = self.stream.read(&mut self.received[len..]);
        self.received
            .truncate(len + got.as_ref().copied().unwrap_or(0));
        match got {
            Ok(bytes) => Ok(bytes > 0),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// Returns whether a record is there.
    fn is_whole(&self) -> bool {
        let len = self.received.first_chunk().map(length);
        len.is_some_and(|len| self.received.len() >= LENGTH + TAG + len)
    }

    /// Takes the next record, if it is there.
    ///
    /// # Errors
    /// It is none of the other side: the connection is of no use any more.
    pub(super) fn next(&mut self) -> io::Result<Option<Record>> {
        let Some(len) = self.received.first_chunk().map(length) else {
            return Ok(None);
        };
        let forged = || io::Error::from(ErrorKind::InvalidData);
        if !(FIELDS..=FIELDS + FRAME_LIMIT).contains(&len) {
            return Err(forged());
        }
        let end = LENGTH + TAG + len;
        let Some(whole) = self.received.get(LENGTH..end) else {
            return Ok(None);
        };
        let (tag, body) = whole.split_at(TAG);
        if tag != next_tag(&mut self.keys[1], body) {
            return Err(forged());
        }
        let (fields, frame) = body.split_first_chunk::<FIELDS>().ok_or_else(forged)?;
        let [kind, low, high, number @ ..] = *fields;
        let record = Record {
            kind: Kind::of(kind).ok_or_else(forged)?,
            place: u16::from_le_bytes([low, high]).into(),
            number: u64::from_le_bytes(number),
            frame: frame.to_vec(),
        };
        self.received.drain(..end);
        Ok(Some(record))
    }

    /// Sends the end. The other side still sends.
    pub(super) fn end(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        use Kind::{Attached, Frame, Left, Lost, Passed, Started};
        let all = [Started, Frame, Passed, Lost, Attached, Left];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// How a process has ended, in the number of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// Whether in good order.
    pub(super) has_left: bool,
    /// The rank because of which it has ended, if it named one.
    pub(super) because_of: Option<u16>,
}

impl End {
    pub(super) fn number(self) -> u64 {
        let because_of = self.because_of.map_or(0, |rank| u64::from(rank) + 1);
        because_of << 1 | u64::from(self.has_left)
    }

    pub(super) fn of(number: u64) -> End {
        let because_of = (number >> 1).checked_sub(1);
        End {
            has_left: number & 1 == 1,
            because_of: because_of.and_then(|rank| u16::try_from(rank).ok()),
        }
    }
}

/// Makes the system give the connection up when the other machine has not answered for so long as POMBO_HOST_TIMEOUT says, by
/// the same times as ranks on several hosts.
pub(super) fn watch(stream: &TcpStream) -> io::Result<()> {
    let seconds = HOST_TIMEOUT.number().map_err(io::Error::other)? as u32;
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &(seconds * 2 / 5).max(1))?;
    setsockopt(stream, sockopt::TcpKeepInterval, &(seconds / 5).max(1))?;
    setsockopt(stream, sockopt::TcpKeepCount, &3)?;
    Ok(setsockopt(
        stream,
        sockopt::TcpUserTimeout,
        &(seconds * 1000),
    )?)
}

fn length(bytes: &[u8; LENGTH]) -> usize {
    u32::from_le_bytes(*bytes) as usize
}

fn next_tag(key: &mut Key, body: &[u8]) -> [u8; TAG] {
    let tag = key.tag(body);
    key.epoch += 1;
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [one, listener.accept().unwrap().0]
    }

    /// Returns the bytes of some records of the launcher's side, and those of each.
    fn records() -> (Vec<u8>, Vec<usize>) {
        let [stream, _] = pair();
        let mut wire = Wire::new(stream, [7; 16], true).unwrap();
        let mut ends = Vec::new();
        for number in 0..3 {
            wire.add(Kind::Frame, 300, number, |to| to.extend([number as u8; 9]));
            ends.push(wire.waiting.len());
        }
        (wire.waiting, ends)
    }

    /// Returns the records that the other side reads before it finds an invalid one, and whether it has found one.
    fn read(bytes: &[u8], secret: u8) -> (Vec<Record>, bool) {
        let [mut launcher, stream] = pair();
        launcher.write_all(bytes).unwrap();
        launcher.shutdown(Shutdown::Write).unwrap();
        let (mut wire, mut records) = (Wire::new(stream, [secret; 16], false).unwrap(), Vec::new());
        loop {
            let is_open = wire.receive().unwrap();
            loop {
                match wire.next() {
                    Ok(Some(record)) => records.push(record),
                    Ok(None) => break,
                    Err(_) => return (records, true),
                }
            }
            if !is_open {
                return (records, false);
            }
        }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        let (all, false) = read(&records().0, 7) else {
            panic!("they are valid");
        };
        let said = all.iter().map(|one| (one.kind, one.place, one.number));
        let frame = |number: u64| (Kind::Frame, 300, number);
        assert_eq!(said.collect::<Vec<_>>(), [0, 1, 2].map(frame));
        assert_eq!(all[2].frame, [2; 9]);
        for because_of in [None, Some(0), Some(u16::MAX)] {
            for has_left in [false, true] {
                let end = End {
                    has_left,
                    because_of,
                };
                assert_eq!(End::of(end.number()), end);
            }
        }
    }

    #[test]
    fn changed_missing_and_repeated_records_are_noticed() {
        let (bytes, ends) = records();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let (read, is_noticed) = read(&changed, 7);
            let before = ends.iter().filter(|end| **end <= at).count();
            // A record that claims to be longer is never whole.
            assert!(
                read.len() == before
                    && (is_noticed || at - ends.get(before.wrapping_sub(1)).unwrap_or(&0) < LENGTH)
            );
        }
        let without = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
        let twice = [&bytes[..ends[0]], &bytes[..]].concat();
        for wrong in [without, twice] {
            let (read, is_noticed) = read(&wrong, 7);
            assert!(read.len() == 1 && is_noticed);
        }
        assert!(read(&bytes, 8).1);
    }
}
