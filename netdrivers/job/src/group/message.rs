//! The messages by which processes agree, and their bytes.

use super::entry::{Entry, Name, Operation, Request};
use super::processes::Processes;
use super::{BATCH, SNAPSHOT_PIECE};
use alloc::vec::Vec;
use pombo_kernel::Peer;

/// The rank of a proposal: of two proposals for one entry, the processes follow the higher.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Ballot {
    pub(super) round: u32,
    pub(super) leader: u16,
}

/// A message between two processes. `view` is the sender's. Any message may be lost or repeated; those of one sender
/// arrive in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub(super) view: u64,
    pub(super) body: Body,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Body {
    /// A process asks the leader for an operation.
    Request(Request),
    /// A leader asks what its predecessors have proposed.
    Prepare(Ballot),
    /// The answer: the sender follows no lower ballot, and has accepted this for the next view.
    Promise(Ballot, Option<(Ballot, Entry)>),
    /// A leader proposes the entry after its view.
    Accept(Ballot, Entry),
    /// The answer: the sender has accepted the entry that leads to that view.
    Accepted(Ballot, u64),
    /// The sender follows a higher ballot.
    Rejected(Ballot),
    /// The entry that leads to that view is decided.
    Decided(u64, Entry),
    /// The sender lacks entries.
    Behind,
    /// The receiver is no process of the sender's view any more.
    Removed,
    /// The sender is no process of the others' view any more.
    Gone,
    /// The sender has no directory yet: it asks to be admitted, or for the rest of the message's view from this byte on.
    Admit(u32),
    /// Of that many bytes of the directory, those from an offset on.
    Snapshot(u32, u32, Vec<u8>),
    /// The sender cannot lead, but may follow: it is a minority unless what it has accepted is decided.
    CannotLead,
}

/// The most bytes of a message.
pub const MESSAGE_LEN: usize = 32 + 2 * 32 + BATCH * (2 + 4 + 3 + 1 + super::NAME_LEN);

const _: () = assert!(8 + 1 + 4 + 4 + SNAPSHOT_PIECE <= MESSAGE_LEN);

pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn ballot(&mut self, ballot: Ballot) -> &mut Self {
        self.put(&ballot.round.to_le_bytes())
            .put(&ballot.leader.to_le_bytes())
    }

    pub(super) fn processes(&mut self, processes: Processes) -> &mut Self {
        processes
            .0
            .iter()
            .fold(self, |to, word| to.put(&word.to_le_bytes()))
    }

    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        self.put(&[name.len() as u8]).put(name.as_bytes())
    }

    fn operation(&mut self, operation: Operation) -> &mut Self {
        let (kind, name, count) = match operation {
            Operation::Join(name) => (0, Some(name), 0),
            Operation::Leave(name) => (1, Some(name), 0),
            Operation::Barrier(name, count) => (2, Some(name), count),
            Operation::Freeze(name, count) => (3, Some(name), count),
            Operation::Fence => (4, None, 0),
            Operation::Withdraw => (5, None, 0),
        };
        let name = name.as_ref().map_or("", Name::as_str);
        self.put(&[kind]).put(&count.to_le_bytes()).name(name)
    }

    fn request(&mut self, request: &Request) -> &mut Self {
        self.put(&request.origin.0.to_le_bytes())
            .put(&request.number.to_le_bytes())
            .operation(request.operation)
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> &mut Self {
        self.processes(entry.removed).processes(entry.admitted);
        self.put(&[entry.requests.len() as u8]);
        for request in &entry.requests {
            self.request(request);
        }
        self
    }
}

/// Reads from the start of what is left.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn peer(&mut self) -> Option<Peer> {
        self.u16().map(Peer)
    }

    pub(super) fn processes(&mut self) -> Option<Processes> {
        let mut set = Processes::NONE;
        for word in &mut set.0 {
            *word = self.u64()?;
        }
        Some(set)
    }

    /// Reads a name; the inner `None` for the empty one.
    pub(super) fn name(&mut self) -> Option<Option<Name>> {
        let len = self.byte()?.into();
        let (name, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        match name {
            [] => Some(None),
            name => Name::new(core::str::from_utf8(name).ok()?).ok().map(Some),
        }
    }

    fn ballot(&mut self) -> Option<Ballot> {
        let (round, leader) = (self.u32()?, self.u16()?);
        Some(Ballot { round, leader })
    }

    fn operation(&mut self) -> Option<Operation> {
        let (kind, count, name) = (self.byte()?, self.u16()?, self.name()?);
        Some(match kind {
            0 => Operation::Join(name?),
            1 => Operation::Leave(name?),
            2 => Operation::Barrier(name?, count),
            3 => Operation::Freeze(name?, count),
            4 => Operation::Fence,
            5 => Operation::Withdraw,
            _ => return None,
        })
    }

    fn request(&mut self) -> Option<Request> {
        Some(Request {
            origin: self.peer()?,
            number: self.u32()?,
            operation: self.operation()?,
        })
    }

    pub(super) fn entry(&mut self) -> Option<Entry> {
        let (removed, admitted) = (self.processes()?, self.processes()?);
        let len = usize::from(self.byte()?);
        if len > BATCH {
            return None;
        }
        let mut requests = Vec::with_capacity(len);
        for _ in 0..len {
            requests.push(self.request()?);
        }
        Some(Entry {
            removed,
            admitted,
            requests,
        })
    }
}

impl Message {
    /// Returns the bytes: at most [`MESSAGE_LEN`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer(Vec::with_capacity(64));
        to.put(&self.view.to_le_bytes());
        match &self.body {
            Body::Request(request) => to.put(&[0]).request(request),
            Body::Prepare(ballot) => to.put(&[1]).ballot(*ballot),
            Body::Promise(ballot, None) => to.put(&[2]).ballot(*ballot),
            Body::Promise(ballot, Some((its, entry))) => {
                to.put(&[3]).ballot(*ballot).ballot(*its).entry(entry)
            }
            Body::Accept(ballot, entry) => to.put(&[4]).ballot(*ballot).entry(entry),
            Body::Accepted(ballot, view) => to.put(&[5]).ballot(*ballot).put(&view.to_le_bytes()),
            Body::Rejected(ballot) => to.put(&[6]).ballot(*ballot),
            Body::Decided(view, entry) => to.put(&[7]).put(&view.to_le_bytes()).entry(entry),
            Body::Behind => to.put(&[8]),
            Body::Removed => to.put(&[9]),
            Body::Gone => to.put(&[10]),
            Body::Admit(offset) => to.put(&[11]).put(&offset.to_le_bytes()),
            Body::Snapshot(len, offset, piece) => to
                .put(&[12])
                .put(&len.to_le_bytes())
                .put(&offset.to_le_bytes())
                .put(piece),
            Body::CannotLead => to.put(&[13]),
        };
        to.0
    }

    /// Reads a message; `None` if the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let view = from.u64()?;
        let body = match from.byte()? {
            0 => Body::Request(from.request()?),
            1 => Body::Prepare(from.ballot()?),
            2 => Body::Promise(from.ballot()?, None),
            3 => Body::Promise(from.ballot()?, Some((from.ballot()?, from.entry()?))),
            4 => Body::Accept(from.ballot()?, from.entry()?),
            5 => Body::Accepted(from.ballot()?, from.u64()?),
            6 => Body::Rejected(from.ballot()?),
            7 => Body::Decided(from.u64()?, from.entry()?),
            8 => Body::Behind,
            9 => Body::Removed,
            10 => Body::Gone,
            11 => Body::Admit(from.u32()?),
            12 => {
                let (len, offset) = (from.u32()?, from.u32()?);
                let piece = core::mem::take(&mut from.0);
                Body::Snapshot(len, offset, piece.to_vec())
            }
            13 => Body::CannotLead,
            _ => return None,
        };
        from.0.is_empty().then_some(Message { view, body })
    }
}
