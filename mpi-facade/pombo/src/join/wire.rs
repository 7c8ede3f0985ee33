//! A connection between the launcher's machine and one that joins: records in order, which only who knows the job's key can
//! write. `proxy` and `mirror` have its two ends.
//!
//! A record is its length, a tag, a kind, a place, a number, and the bytes of a frame. The tag (SipHash-2-4) covers the rest
//! and the record's number, under a key of this connection and direction; so nothing is forged, changed, left out, or
//! repeated. Whoever listens can read the frames.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | bytes that the other side has not read | 128 KiB and a record | records wait here |
//! | bytes of records that wait | 256 KiB and a poll | frames wait where they are |
//!
//! Either side says what it has read, so never more is sent than its system holds: while a process is stopped its system
//! answers for it, and would be given up only if it had no room.

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
    /// So many bytes of the connection have been read. [`Wire`] says and takes it.
    Read,
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
/// Bytes that are sent before the other side has said that it has read them.
const MOST_UNREAD: u64 = 128 << 10;
/// Bytes after which it says so.
const REPORT: u64 = MOST_UNREAD / 4;
/// Bytes that the system is asked to hold for a side that does not read: it grants up to twice as many, and needs some of
/// them itself.
const RECEIVE_BUFFER: usize = 2 * MOST_UNREAD as usize;

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
    /// Records that wait until the other side has read more; they have no tags yet.
    waiting: Vec<u8>,
    /// What is being sent.
    sending: Vec<u8>,
    received: Vec<u8>,
    /// How many bytes this side has begun to send, and how many of these the other side has read.
    sent: u64,
    read_there: u64,
    /// How many bytes this side has read, and how many it has reported.
    read: u64,
    reported: u64,
    /// This side sends nothing any more.
    has_ended: bool,
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
            sending: Vec::new(),
            received: Vec::new(),
            sent: 0,
            read_there: 0,
            read: 0,
            reported: 0,
            has_ended: false,
        })
    }

    /// Returns whether frames may be added.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    /// Returns whether something has not been sent.
    pub(super) fn is_waiting(&self) -> bool {
        !(self.waiting.is_empty() && self.sending.is_empty())
    }

    /// Returns whether something could be sent if the system had room.
    pub(super) fn is_full(&self) -> bool {
        !self.sending.is_empty()
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
        add_record(&mut self.waiting, kind, place, number);
        write(&mut self.waiting);
        let body = self.waiting.len() - start - LENGTH - TAG;
        self.waiting[start..start + LENGTH].copy_from_slice(&(body as u32).to_le_bytes());
    }

    /// Sends what the other side has room for, and the system takes. Returns whether it took anything.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        self.seal_some();
        let mut taken = 0;
        while taken < self.sending.len() {
            match self.stream.write(&self.sending[taken..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => taken += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sending.drain(..taken);
        Ok(taken > 0)
    }

    /// Moves records to what is being sent, as far as the other side has room.
    fn seal_some(&mut self) {
        if self.read - self.reported >= REPORT && !self.has_ended {
            // It waits for nothing: else both sides could wait for each other's.
            self.reported = self.read;
            let mut record = Vec::new();
            add_record(&mut record, Kind::Read, 0, self.read);
            record[..LENGTH].copy_from_slice(&(FIELDS as u32).to_le_bytes());
            self.seal(&record);
        }
        let waiting = std::mem::take(&mut self.waiting);
        let mut rest = &waiting[..];
        while let Some(len) = rest.first_chunk().map(length)
            && self.sent - self.read_there < MOST_UNREAD
        {
            let (record, more) = rest.split_at(LENGTH + TAG + len);
            self.seal(record);
            rest = more;
        }
        let done = waiting.len() - rest.len();
        self.waiting = waiting;
        self.waiting.drain(..done);
    }

    /// Adds a record with its tag to what is being sent.
    fn seal(&mut self, record: &[u8]) {
        let (head, body) = record.split_at(LENGTH + TAG);
        self.sending.extend(&head[..LENGTH]);
        self.sending.extend(next_tag(&mut self.keys[0], body));
        self.sending.extend(body);
        self.sent += record.len() as u64;
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
            Ok(bytes) => {
                self.read += bytes as u64;
                Ok(bytes > 0)
            }
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
        while let Some(record) = self.next_of_any()? {
            if record.kind != Kind::Read {
                return Ok(Some(record));
            }
            if !(self.read_there..=self.sent).contains(&record.number) {
                return Err(ErrorKind::InvalidData.into());
            }
            self.read_there = record.number;
        }
        Ok(None)
    }

    fn next_of_any(&mut self) -> io::Result<Option<Record>> {
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
    pub(super) fn end(&mut self) {
        self.has_ended = true;
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
        use Kind::{Attached, Frame, Left, Lost, Passed, Read, Started};
        let all = [Started, Frame, Passed, Lost, Attached, Left, Read];
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
/// the same times as ranks on several hosts, and hold what this side may leave unread.
pub(super) fn watch(stream: &TcpStream) -> io::Result<()> {
    setsockopt(stream, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
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

/// Appends a record without its length, tag, and frame.
fn add_record(to: &mut Vec<u8>, kind: Kind, place: usize, number: u64) {
    to.extend([0; LENGTH + TAG]);
    to.push(kind as u8);
    to.extend((place as u16).to_le_bytes());
    to.extend(number.to_le_bytes());
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
        wire.seal_some();
        (wire.sending, ends)
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

    /// A side that has said that it ends reads on what is under way to it, and reports nothing.
    #[test]
    fn who_has_ended_reads_on() {
        const FRAMES: usize = 200;
        let [one, other] = pair();
        let mut stays = Wire::new(one, [7; 16], true).unwrap();
        let mut ends = Wire::new(other, [7; 16], false).unwrap();
        ends.end();
        let (mut sent, mut read) = (0, 0);
        while read < 100 {
            // The other side knows of nothing that has been read.
            while sent < FRAMES && stays.has_room() {
                stays.add_frame(0, &[1; 1000]);
                sent += 1;
            }
            stays.flush().unwrap();
            assert!(ends.receive().unwrap());
            while ends.next().unwrap().is_some() {
                read += 1;
            }
            ends.flush().unwrap();
        }
        assert!(ends.read > REPORT && ends.sending.is_empty());
    }

    /// A side that reads nothing gets no more than its system holds; when it reads again nothing is missing, in either
    /// direction.
    #[test]
    fn who_does_not_read_is_not_sent_more_than_there_is_room_for() {
        const FRAMES: u64 = 4000;
        let [one, other] = pair();
        watch(&one).unwrap();
        watch(&other).unwrap();
        let wires = [(one, true), (other, false)];
        let mut wires = wires.map(|(stream, first)| Wire::new(stream, [7; 16], first).unwrap());
        let (mut added, mut taken) = ([0; 2], [0; 2]);
        let mut turn = |wire: &mut Wire, at: usize, reads: bool| {
            while added[at] < FRAMES && wire.has_room() {
                wire.add_frame(0, &[added[at] as u8; 1000]);
                added[at] += 1;
            }
            while reads && wire.receive().unwrap() {
                let Some(record) = wire.next().unwrap() else {
                    break;
                };
                assert_eq!(record.frame, [taken[at] as u8; 1000]);
                taken[at] += 1;
            }
            wire.flush().unwrap();
            taken.iter().all(|taken| *taken == FRAMES)
        };
        for _ in 0..100 {
            turn(&mut wires[0], 0, true);
            assert!(!wires[0].is_full(), "the system has no room");
        }
        assert!(wires[0].sent >= MOST_UNREAD && wires[0].is_waiting());
        while !turn(&mut wires[0], 0, true) {
            turn(&mut wires[1], 1, true);
        }
    }
}
