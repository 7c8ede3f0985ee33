//! A table of multicast groups whose members send anything, and random calls of its user.

use super::feed::Feed;
use super::line::{Line, PEERS, number};
use pombo_kernel::aspect::Static;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::{Error, Peer};
use pombo_transport::multicast::{
    BufferProvider, GroupCapacities, GroupId, GroupTable, SendStatus,
};
use std::collections::HashMap;

type Small = GroupTable<Line, GroupCapacities<2, 256, 4, 40, 2>, Static>;

const EPOCH: u32 = 7;
/// Kinds of packets, repairs, polls, announcements, reports.
const KINDS: [u8; 5] = [0x13, 0x14, 0x15, 0x16, 0x17];
/// Offsets of group, message, packet and stamp; the credit is between the first two.
const GROUP: usize = 12;
const NUMBERS: [usize; 3] = [18, 22, 26];
const ROOM: usize = 600;

/// The table, and the memory of its user.
struct Table {
    table: Small,
    line: Line,
    next: u32,
    open: Vec<GroupId>,
    memory: Memory,
    stale: u64,
}

struct Memory {
    /// The long message that a group is sending.
    out: HashMap<GroupId, &'static [u8]>,
    /// Memory in which any message may be reassembled.
    into: Vec<u8>,
    shown: usize,
}

impl BufferProvider for Memory {
    type Out = &'static [u8];
    type Into = [u8];

    fn outgoing(&mut self, group: GroupId) -> Option<&&'static [u8]> {
        self.out.get(&group)
    }

    fn incoming(&mut self, _: GroupId, _: Peer) -> Option<&mut [u8]> {
        self.into.get_mut(..self.shown)
    }
}

/// Performs any acts until the bytes are used up.
pub(crate) fn run(feed: &mut Feed<'_>) {
    let line = Line::new(feed.below(8));
    let mut table = Table {
        table: GroupTable::new(line.clone(), EPOCH),
        line,
        next: 0,
        open: Vec::new(),
        memory: Memory {
            out: HashMap::new(),
            into: vec![0; ROOM],
            shown: ROOM,
        },
        stale: 0,
    };
    while !feed.is_empty() {
        table.act(feed);
        table.check();
    }
    table.finish();
}

impl Table {
    fn act(&mut self, feed: &mut Feed<'_>) {
        match feed.byte() % 16 {
            0..7 => {
                let from = Peer(feed.below(PEERS.into()) as u16);
                let frame = self.frame(feed);
                self.line.arrive(from, frame);
            }
            7 => self.open(feed),
            8 => self.close(feed),
            9 => self.send(feed),
            10 | 11 => self.receive(feed),
            12 => self.line.pass(1 << (feed.byte() % 40)),
            13 => self.line.fill(feed.below(3) == 0),
            14 if feed.below(6) == 0 => self.table.declare_lost(Peer(feed.below(4) as u16)),
            _ => self.poll(),
        }
    }

    /// Returns any bytes, or a frame of valid form.
    fn frame(&self, feed: &mut Feed<'_>) -> Vec<u8> {
        let byte = usize::from(feed.byte());
        if byte % 16 == 0 {
            let len = feed.below(256);
            return feed.bytes(len).to_vec();
        }
        let kind = KINDS[byte % KINDS.len()];
        let mut frame = vec![kind, feed.byte() % 8, 0, 0, 0, 0, 0, 0];
        let epoch = if feed.byte() == 255 { 8 } else { EPOCH };
        frame.extend(epoch.to_le_bytes());
        frame.extend(number(feed, &self.line, GROUP));
        frame.extend([feed.byte() % 9, 0]);
        for offset in NUMBERS {
            frame.extend(number(feed, &self.line, offset));
        }
        let rest = match kind {
            0x14 => vec![feed.byte() % 4, feed.byte() % 4, 0, 0, 0, 0, 0],
            0x16 => vec![
                feed.byte(),
                feed.byte() % 3,
                0,
                0,
                0,
                0,
                0,
                0,
                feed.byte(),
                0,
            ],
            0x17 => vec![feed.byte() % 64; 1],
            _ => Vec::new(),
        };
        let len = match kind {
            0x13 => feed.below(60),
            0x14 => 7 + feed.below(220),
            0x17 => 32,
            _ => rest.len(),
        };
        let more = feed.bytes(len - rest.len());
        frame[2] = match feed.byte() {
            255 => 200,
            _ => len as u8,
        };
        frame.extend(rest);
        frame.extend(more);
        frame.resize(30 + len, 0);
        frame
    }

    fn open(&mut self, feed: &mut Feed<'_>) {
        let group = GroupId(self.next + feed.below(3) as u32);
        let room = self.table.has_room();
        let opened = self.table.open(group, (0..PEERS).map(Peer));
        assert_eq!(opened, if room { Ok(()) } else { Err(Error::Full) });
        if room {
            self.open.push(group);
            self.next = group.0 + 1;
        }
        let old = self.table.open(group, [Peer(1)]);
        assert!(old.is_err(), "numbers grow");
    }

    fn nth(&self, feed: &mut Feed<'_>) -> Option<GroupId> {
        let nth = feed.below(4);
        self.open.get(nth).copied()
    }

    fn close(&mut self, feed: &mut Feed<'_>) {
        let Some(group) = self.nth(feed) else { return };
        if self.memory.out.contains_key(&group) {
            return;
        }
        self.open.retain(|open| *open != group);
        assert_eq!(self.table.close(group), Ok(()));
        assert_eq!(self.table.close(group), Err(Error::NoSuchGroup(group)));
    }

    fn send(&mut self, feed: &mut Feed<'_>) {
        static BYTES: [u8; ROOM] = [3; ROOM];
        let Some(group) = self.nth(feed) else { return };
        let len = [0, 1, 39, 40, 41, 250, ROOM][feed.below(7)];
        let message = &BYTES[..len];
        match self.table.send(group, &message) {
            Ok(SendStatus::Copied) => assert!(len <= 40),
            Ok(SendStatus::Borrowed) => {
                assert!(len > 40);
                self.memory.out.insert(group, message);
            }
            Err(error) => assert_eq!(error, Error::Channel(ChannelError::Full)),
        }
    }

    fn receive(&mut self, feed: &mut Feed<'_>) {
        let Some(group) = self.nth(feed) else { return };
        let source = Peer(1 + feed.below(2) as u16);
        self.memory.shown = [0, 5, 40, ROOM][feed.below(4)];
        let room = self.memory.shown;
        let into = &mut self.memory.into[..room];
        match self.table.receive(group, source, into) {
            Ok(len) => assert!(len.unwrap_or(0) <= ROOM),
            Err(Error::Truncated { sent, room }) => assert!(sent > room),
            Err(error) => assert_eq!(error, Error::PeerLost(source)),
        }
    }

    fn poll(&mut self) {
        let polled = self.table.poll(&mut self.memory);
        polled.expect("the line does not break");
        let (table, out) = (&mut self.table, &mut self.memory.out);
        out.retain(|group, _| table.is_sent(*group) != Ok(true));
    }

    /// Checks the invariants.
    fn check(&mut self) {
        let counts = self.table.counts();
        let refused = counts.foreign + counts.stale + counts.impossible + counts.elsewhere;
        assert!(refused >= self.stale, "{counts:?}");
        self.stale = refused;
        assert_eq!(counts.corrupt, 0, "nothing is checked");
    }

    /// Checks that without peers nothing is under way, and that every slot can be used again.
    fn finish(mut self) {
        self.line.fill(false);
        (1..PEERS).for_each(|peer| self.table.declare_lost(Peer(peer)));
        self.poll();
        assert!(self.table.is_settled() && self.memory.out.is_empty());
        for group in core::mem::take(&mut self.open) {
            assert_eq!(self.table.close(group), Ok(()));
        }
        // A report to a lost peer may have had to wait for room.
        self.line.pass(1_000_000_000);
        self.poll();
        for _ in 0..2 {
            let opened = self.table.open(GroupId(self.next), [Peer(0)]);
            assert_eq!(opened, Ok(()));
            self.next += 1;
        }
    }
}
