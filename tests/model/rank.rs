//! One rank: the acts of a program, and the kernel's run on a sequence of inputs.
//!
//! The kernel is deterministic, so the state of a rank follows from its inputs. A rank is never copied or stored: it is
//! created again and its inputs are repeated, which also works within a scope.

use crate::header::{LONGEST, Numbered, content, number, select};
use crate::wire::{Answers, Call, Desk, Happening, Wire};
use pombo_kernel::facade::{Lengths, PointToPointExt};
use pombo_kernel::{
    Communicator, Completed, Config, Error, Lent, Limits, Loan, Mode, Peer, PointToPoint, Ticket,
};
use std::cell::RefCell;
use std::rc::Rc;
use zerocopy::little_endian::{U16, U32};

/// One step of a program. Operations are numbered per rank; `None` is a wildcard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Act {
    Send {
        to: u8,
        tag: u8,
        kind: Kind,
    },
    Receive {
        wish: Wish,
        room: u8,
    },
    /// Cancels the operation of that number.
    Cancel(u8),
    /// Detaches the operation of that number, if it may become a copy: it is then complete.
    Detach(u8),
    Probe(Wish),
    /// A probe that is repeated until it succeeds.
    Await(Wish),
    /// A receive for the message that the last probe found, if any.
    Take,
    Matched(Wish),
    /// A matched probe that is repeated until it succeeds.
    AwaitMatched(Wish),
    /// Receives the message that the last matched probe took, if any.
    Obtain {
        room: u8,
    },
    /// Opens a scope for the operations up to `Close`.
    Open,
    Close,
}

/// The pattern of a receive or a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Wish {
    pub(crate) source: Option<u8>,
    pub(crate) tag: Option<u8>,
}

/// Kinds of messages, which are transferred in different ways.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    Empty,
    Short,
    /// Announced, with one frame of data.
    Long,
    /// Announced, with more than one frame of data.
    Huge,
    EmptySync,
    ShortSync,
    /// Buffered: nothing is lent.
    Copied,
    /// Short, and injected if possible.
    Now,
}

impl Kind {
    pub(crate) fn len(self) -> usize {
        match self {
            Kind::Empty | Kind::EmptySync => 0,
            Kind::Short | Kind::ShortSync | Kind::Copied | Kind::Now => EAGER,
            Kind::Long => 2 * EAGER + 1,
            Kind::Huge => LONGEST,
        }
    }
}

/// The longest payload, in bytes, that is sent without an announcement.
pub(crate) const EAGER: usize = 4;

/// An input of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Input {
    pub(crate) stimulus: Stimulus,
    pub(crate) answers: Answers,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stimulus {
    Act(Act),
    /// A poll that reports up to two frames; [`NOTHING`] for none, [`END`] for a peer's end.
    Poll([(u8, u32); 2]),
    /// A poll that reports that the frame with this cookie has left.
    Landed(u64),
}

pub(crate) const NOTHING: (u8, u32) = (0, u32::MAX);
pub(crate) const END: u32 = u32::MAX - 1;
pub(crate) const IDLE: Stimulus = Stimulus::Poll([NOTHING; 2]);

/// The observable state of a rank.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Peeked {
    /// Numbers of operations, expected and unexpected entries; `None` inside a scope, where they cannot be queried.
    pub(crate) lengths: Option<(usize, usize, usize)>,
    pub(crate) rejected: u64,
    pub(crate) flushed: bool,
    /// Whether the last input was an act that must be tried again later.
    pub(crate) stalled: bool,
    /// Whether the last input was a poll that reported no progress.
    pub(crate) unmoved: bool,
    /// Tickets of the operations, and their states.
    pub(crate) tickets: Vec<u64>,
    pub(crate) ends: Vec<End>,
    pub(crate) found: Vec<Found>,
}

/// The state of an operation as its owner sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum End {
    Pending,
    /// A message that a matched probe took and that is not yet received.
    Taken {
        number: u8,
        len: usize,
    },
    Sent,
    Received {
        number: u8,
        len: usize,
    },
    Cancelled,
    /// A receive whose message was withdrawn by its sender.
    Revoked(u8),
    /// The peer was lost; with the message, if one had matched.
    Lost(Option<u8>),
    /// The scope ended before the operation was complete.
    Orphan,
    /// The kernel owns the operation.
    Copied,
    /// Never posted: a probe had found nothing, or the peer was known to be lost.
    Skipped,
}

impl End {
    /// Returns whether the kernel has this operation.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, End::Pending | End::Taken { .. })
    }
}

/// A successful probe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Found {
    pub(crate) number: u8,
    pub(crate) tag: u8,
    pub(crate) len: usize,
    pub(crate) wish: Wish,
    /// Number of operations before it.
    pub(crate) operations: usize,
    /// Number of inputs before it.
    pub(crate) inputs: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Setup {
    pub(crate) me: u8,
    pub(crate) peers: u8,
    pub(crate) credit: u32,
    /// Whether operations are claimed as soon as they are complete, so that their slots are reused; otherwise never.
    pub(crate) claim_early: bool,
}

/// Access to frames by number.
pub(crate) trait Frames {
    fn frame(&self, id: u32) -> Rc<[u8]>;
}

/// Repeats the inputs of a rank. Returns what the last input did and the state after it.
pub(crate) fn replay<C: Config>(
    setup: Setup,
    inputs: &[Input],
    frames: &impl Frames,
) -> (Peeked, Vec<Call>) {
    let desk = Rc::new(RefCell::new(Desk::default()));
    let wire = Wire::new(setup.me, setup.peers.into(), desk.clone());
    let limits = Limits {
        credit: Some(setup.credit),
        eager: Some(EAGER),
        copies: None,
    };
    let mut run = Run {
        setup,
        inputs,
        at: 0,
        frames,
        desk: &desk,
        operations: Vec::new(),
        depth: 0,
        over: false,
        last: None,
        seen: Peeked::default(),
        calls: Vec::new(),
    };
    let mut rooms = [[0; LONGEST]; ROOMS];
    let mut rank = Communicator::<Numbered, Wire, Lent<'_>, C>::with_limits(wire, limits)
        .expect("it fits the composition");
    run.drive(&mut rank, &mut rooms.iter_mut());
    let Lengths {
        operations,
        expected,
        unexpected,
    } = rank.lengths();
    let mut seen = run.seen;
    if run.depth == 0 {
        seen.lengths = Some((operations, expected, unexpected));
        seen.flushed = rank.is_flushed();
    } else {
        let answers = inputs.last().map(|input| input.answers);
        seen.flushed = answers.is_none_or(|answers| answers.full == 0);
    }
    seen.rejected = rank.rejected();
    (seen, run.calls)
}

/// Largest number of receives of one rank.
const ROOMS: usize = 12;

type Rooms<'b> = std::slice::IterMut<'b, [u8; LONGEST]>;

struct Run<'r, F> {
    setup: Setup,
    inputs: &'r [Input],
    at: usize,
    frames: &'r F,
    desk: &'r RefCell<Desk>,
    operations: Vec<Operation>,
    /// Nesting depth of scopes.
    depth: usize,
    over: bool,
    /// The message that the last probe found.
    last: Option<Found>,
    seen: Peeked,
    calls: Vec<Call>,
}

struct Operation {
    ticket: Ticket,
    depth: usize,
    /// Bytes of the message, or of the buffer.
    len: usize,
}

impl<F: Frames> Run<'_, F> {
    /// Repeats inputs until a scope is closed or none is left.
    fn drive<'b, O>(&mut self, rank: &mut O, rooms: &mut Rooms<'b>)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        while !self.over {
            let Some(input) = self.inputs.get(self.at) else {
                self.claim_all(rank);
                self.over = true;
                // Calls that an open scope makes when it is dropped here do not belong to the history.
                self.calls = std::mem::take(&mut self.desk.borrow_mut().calls);
                return;
            };
            self.at += 1;
            {
                let desk = &mut *self.desk.borrow_mut();
                desk.answers = input.answers;
                desk.noting = self.at == self.inputs.len();
                desk.calls.clear();
            }
            self.seen.stalled = false;
            self.seen.unmoved = false;
            match input.stimulus {
                Stimulus::Act(Act::Open) => self.scope(rank),
                Stimulus::Act(Act::Close) => {
                    self.claim_all(rank);
                    return;
                }
                Stimulus::Act(act) => self.act(rank, act, rooms),
                Stimulus::Poll(_) | Stimulus::Landed(_) => self.poll(rank, input.stimulus),
            }
            if self.setup.claim_early && !self.over {
                self.claim_all(rank);
            }
        }
    }

    fn scope<'b, O>(&mut self, rank: &mut O)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        let mut rooms = [[0; LONGEST]; ROOMS];
        self.depth += 1;
        rank.scope(|scope| self.drive(scope, &mut rooms.iter_mut()));
        if !self.over {
            for (operation, end) in self.operations.iter().zip(&mut self.seen.ends) {
                if operation.depth == self.depth && *end == End::Pending {
                    *end = End::Orphan;
                }
            }
            self.depth -= 1;
        }
    }

    fn poll<'b, O>(&mut self, rank: &mut O, stimulus: Stimulus)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        let happenings = match stimulus {
            Stimulus::Landed(cookie) => vec![Happening::Landed(cookie)],
            Stimulus::Poll(frames) => frames
                .into_iter()
                .filter(|frame| *frame != NOTHING)
                .map(|(from, id)| match id {
                    END => Happening::Lost(from),
                    id => Happening::Frame(from, self.frames.frame(id)),
                })
                .collect(),
            Stimulus::Act(_) => Vec::new(),
        };
        self.desk.borrow_mut().happenings = happenings;
        let moved = rank.check_messages().expect("the channel does not break");
        self.seen.unmoved = !moved;
    }

    fn act<'b, O>(&mut self, rank: &mut O, act: Act, rooms: &mut Rooms<'b>)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        match act {
            Act::Send { to, tag, kind } => self.send(rank, to, tag, kind),
            Act::Receive { wish, room } => self.receive(rank, wish, room.into(), rooms),
            Act::Cancel(operation) => self.cancel(rank, operation.into()),
            Act::Detach(operation) => self.detach(rank, operation.into()),
            Act::Probe(wish) => {
                self.probe(rank, wish);
            }
            Act::Await(wish) => self.seen.stalled = !self.probe(rank, wish),
            Act::Matched(wish) => {
                self.matched_probe(rank, wish);
            }
            Act::AwaitMatched(wish) => self.seen.stalled = !self.matched_probe(rank, wish),
            Act::Obtain { room } => self.obtain(rank, room.into(), rooms),
            Act::Take => match self.last {
                Some(Found { number, tag, .. }) => {
                    let (source, tag) = (Some(number / 32), Some(tag));
                    self.receive(rank, Wish { source, tag }, LONGEST, rooms);
                }
                None => self.note(Ticket::from_bits(0), 0, End::Skipped),
            },
            Act::Open | Act::Close => {}
        }
    }

    fn note(&mut self, ticket: Ticket, len: usize, end: End) {
        let depth = self.depth;
        self.operations.push(Operation { ticket, depth, len });
        self.seen.ends.push(end);
        self.seen.tickets.push(ticket.to_bits());
    }

    fn send<'b, O>(&mut self, rank: &mut O, to: u8, tag: u8, kind: Kind)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        let id = number(self.setup.me, self.operations.len());
        let header = Numbered {
            tag: U16::new(tag.into()),
            number: U32::new(id.into()),
        };
        let mode = match kind {
            Kind::EmptySync | Kind::ShortSync => Mode::Synchronous,
            _ => Mode::Standard,
        };
        let bytes = &content(id)[..kind.len()];
        let to = Peer(to.into());
        if kind == Kind::Now && matches!(rank.try_inject(to, header, &bytes), Ok(true)) {
            return self.note(Ticket::from_bits(0), 0, End::Sent);
        }
        let sent = match kind {
            Kind::Copied => rank.send_buffered(to, header, &bytes).map(|()| None),
            _ => rank
                .isend_as(mode, to, header, bytes)
                .map(Some)
                .map_err(Error::from),
        };
        match sent {
            Ok(Some(ticket)) => self.note(ticket, kind.len(), End::Pending),
            Ok(None) => self.note(Ticket::from_bits(0), 0, End::Copied),
            Err(Error::NoCredit(_)) => self.seen.stalled = true,
            Err(Error::PeerLost(_)) => self.note(Ticket::from_bits(0), 0, End::Skipped),
            Err(error) => panic!("a send is refused: {error}"),
        }
    }

    fn receive<'b, O>(&mut self, rank: &mut O, wish: Wish, room: usize, rooms: &mut Rooms<'b>)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        let room = &mut rooms.next().expect("few receives")[..room];
        let len = room.len();
        let ticket = rank
            .irecv(select(wish.source, wish.tag), room)
            .map_err(Error::from)
            .expect("the table is large enough");
        self.note(ticket, len, End::Pending);
    }

    /// Returns true when the probe is done.
    fn probe<'b, O>(&mut self, rank: &mut O, wish: Wish) -> bool
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        self.last = None;
        match rank.probe(select(wish.source, wish.tag)) {
            Ok(Some(envelope)) => {
                let header = envelope.header();
                let number = header.number.get() as u8;
                assert_eq!(envelope.peer(), Peer(u16::from(number / 32)));
                let found = Found {
                    number,
                    len: envelope.len(),
                    tag: header.tag.get() as u8,
                    wish,
                    operations: self.operations.len(),
                    inputs: self.at - 1,
                };
                self.last = Some(found);
                self.seen.found.push(found);
                true
            }
            Ok(None) => false,
            Err(Error::PeerLost(_)) => true,
            Err(error) => panic!("a probe fails: {error}"),
        }
    }

    /// Returns true when the matched probe is done.
    fn matched_probe<'b, O>(&mut self, rank: &mut O, wish: Wish) -> bool
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        match rank.matched_probe(select(wish.source, wish.tag)) {
            Ok(Some((ticket, envelope))) => {
                let number = envelope.header().number.get() as u8;
                assert_eq!(envelope.peer(), Peer(u16::from(number / 32)));
                let len = envelope.len();
                self.note(ticket, 0, End::Taken { number, len });
                true
            }
            Ok(None) => false,
            Err(Error::PeerLost(_)) => true,
            Err(error) => panic!("a matched probe fails: {error}"),
        }
    }

    fn obtain<'b, O>(&mut self, rank: &mut O, room: usize, rooms: &mut Rooms<'b>)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        let taken = |end: &End| matches!(end, End::Taken { .. });
        let Some(index) = self.seen.ends.iter().rposition(taken) else {
            return;
        };
        let operation = &mut self.operations[index];
        operation.depth = self.depth;
        operation.len = room;
        let room = &mut rooms.next().expect("few receives")[..room];
        rank.irecv_matched(operation.ticket, room)
            .map_err(Error::from)
            .expect("the message was taken");
        self.seen.ends[index] = End::Pending;
    }

    fn cancel<'b, O>(&mut self, rank: &mut O, operation: usize)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        // A program may cancel an operation that does not exist because its probe found nothing.
        let Some(Operation { ticket, .. }) = self.operations.get(operation) else {
            return;
        };
        let end = &self.seen.ends[operation];
        let known = *end == End::Pending || !self.setup.claim_early && *end != End::Copied;
        match rank.cancel(*ticket) {
            Err(Error::UnknownTicket) if !known => {}
            done => done.expect("the operation is known"),
        }
    }

    fn detach<'b, O>(&mut self, rank: &mut O, operation: usize)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        let Some(Operation { ticket, .. }) = self.operations.get(operation) else {
            return;
        };
        match rank.detach(*ticket) {
            Ok(true) => {
                let claimed = rank.claim(*ticket).expect("it is known");
                let completed = claimed.expect("it is over");
                assert!(completed.outcome.is_ok());
                self.seen.ends[operation] = End::Copied;
            }
            // The message has left, cannot become a copy, or belongs to another level.
            Ok(false) => {}
            Err(error) => panic!("there is room for a copy: {error}"),
        }
    }

    /// Claims the complete operations of this level.
    fn claim_all<'b, O>(&mut self, rank: &mut O)
    where
        O: PointToPoint<Header = Numbered, Memory = Lent<'b>, Channel = Wire>,
    {
        for index in 0..self.operations.len() {
            let operation = &self.operations[index];
            if operation.depth != self.depth || self.seen.ends[index] != End::Pending {
                continue;
            }
            let len = operation.len;
            let completed = rank.claim(operation.ticket).expect("it is not over");
            if let Some(completed) = completed {
                self.seen.ends[index] = judge(completed, number(self.setup.me, index), len);
            }
        }
    }
}

/// Interprets the end of an operation, and checks what came back.
fn judge<C: Config>(
    completed: Completed<Numbered, Lent<'_>, C>,
    own_number: u8,
    len: usize,
) -> End {
    let Completed {
        loan,
        envelope,
        outcome,
    } = completed;
    let named = envelope.map(|envelope| {
        let number = envelope.header().number.get() as u8;
        (number, envelope.len(), envelope.peer())
    });
    match (loan, outcome) {
        (Loan::Sent(bytes), outcome) => {
            assert_eq!(bytes, &content(own_number)[..len]);
            match outcome {
                Ok(sent) => {
                    assert_eq!(sent, len, "bytes of a send");
                    End::Sent
                }
                Err(Error::Cancelled) => End::Cancelled,
                Err(Error::PeerLost(_)) => End::Lost(None),
                Err(error) => panic!("a send ends with: {error}"),
            }
        }
        (Loan::Received(_), Err(Error::Cancelled)) => {
            assert!(named.is_none(), "a cancelled receive has a message");
            End::Cancelled
        }
        (Loan::Received(_), Err(Error::PeerLost(_))) => End::Lost(named.map(|named| named.0)),
        (Loan::Received(_), Err(Error::Revoked)) => End::Revoked(named.expect("it had matched").0),
        (Loan::Received(bytes), outcome) => {
            let (number, sent, from) = named.expect("a message came");
            assert_eq!(from, Peer(u16::from(number / 32)), "the source");
            let stored = sent.min(len);
            let expected = match sent > len {
                true => Err(Error::Truncated { sent, room: len }),
                false => Ok(sent),
            };
            assert_eq!(outcome, expected, "the outcome of a receive");
            assert_eq!(bytes[..stored], content(number)[..stored], "the bytes");
            assert!(
                bytes[stored..].iter().all(|byte| *byte == 0),
                "bytes behind"
            );
            End::Received { number, len: sent }
        }
    }
}
