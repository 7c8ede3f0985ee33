//! The messages by which processes agree, and their bytes.

use super::BATCH;
use super::entry::{Entry, Name, Operation, Request};
use super::processes::Processes;
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
}

/// The most bytes of a message.
pub const MESSAGE_LEN: usize = 32 + 32 + BATCH * (2 + 4 + 3 + 1 + super::NAME_LEN);

struct Writer(Vec<u8>);

impl Writer {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn ballot(&mut self, ballot: Ballot) -> &mut Self {
        self.put(&ballot.round.to_le_bytes())
            .put(&ballot.leader.to_le_bytes())
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
        self.put(&[kind]).put(&count.to_le_bytes());
        self.put(&[name.len() as u8]).put(name.as_bytes())
    }

    fn request(&mut self, request: &Request) -> &mut Self {
        self.put(&request.origin.0.to_le_bytes())
            .put(&request.number.to_le_bytes())
            .operation(request.operation)
    }

    fn entry(&mut self, entry: &Entry) -> &mut Self {
        for word in entry.removed.0 {
            self.put(&word.to_le_bytes());
        }
        self.put(&[entry.requests.len() as u8]);
        for request in &entry.requests {
            self.request(request);
        }
        self
    }
}

/// Reads from the start of what is left.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn ballot(&mut self) -> Option<Ballot> {
        let round = u32::from_le_bytes(self.take()?);
        let leader = u16::from_le_bytes(self.take()?);
        Some(Ballot { round, leader })
    }

    fn operation(&mut self) -> Option<Operation> {
        let (kind, count) = (self.byte()?, u16::from_le_bytes(self.take()?));
        let len = self.byte()?.into();
        let (name, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let name = || Name::new(core::str::from_utf8(name).ok()?).ok();
        Some(match kind {
            0 => Operation::Join(name()?),
            1 => Operation::Leave(name()?),
            2 => Operation::Barrier(name()?, count),
            3 => Operation::Freeze(name()?, count),
            4 => Operation::Fence,
            5 => Operation::Withdraw,
            _ => return None,
        })
    }

    fn request(&mut self) -> Option<Request> {
        Some(Request {
            origin: Peer(u16::from_le_bytes(self.take()?)),
            number: u32::from_le_bytes(self.take()?),
            operation: self.operation()?,
        })
    }

    fn entry(&mut self) -> Option<Entry> {
        let mut removed = Processes::NONE;
        for word in &mut removed.0 {
            *word = u64::from_le_bytes(self.take()?);
        }
        let len = usize::from(self.byte()?);
        if len > BATCH {
            return None;
        }
        let mut requests = Vec::with_capacity(len);
        for _ in 0..len {
            requests.push(self.request()?);
        }
        Some(Entry { removed, requests })
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
        };
        to.0
    }

    /// Reads a message; `None` if the bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let view = u64::from_le_bytes(from.take()?);
        let body = match from.byte()? {
            0 => Body::Request(from.request()?),
            1 => Body::Prepare(from.ballot()?),
            2 => Body::Promise(from.ballot()?, None),
            3 => Body::Promise(from.ballot()?, Some((from.ballot()?, from.entry()?))),
            4 => Body::Accept(from.ballot()?, from.entry()?),
            5 => Body::Accepted(from.ballot()?, u64::from_le_bytes(from.take()?)),
            6 => Body::Rejected(from.ballot()?),
            7 => Body::Decided(u64::from_le_bytes(from.take()?), from.entry()?),
            8 => Body::Behind,
            9 => Body::Removed,
            10 => Body::Gone,
            _ => return None,
        };
        from.0.is_empty().then_some(Message { view, body })
    }
}
