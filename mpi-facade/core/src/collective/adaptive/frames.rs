//! The frames of trees: short messages in a context of their own, so that no message of the program and no other
//! operation matches them. Only `tree` uses it.

use crate::comm::PARTITIONED;
use crate::constants::Request;
use crate::datatype::Shape;
use crate::kernel::{Posted, PostedSet};
use crate::message_header::{MpiHeader, MpiPattern};
use crate::request::{RequestState, test_one};
use crate::runtime::world::World;
use crate::status::Status;
use crate::user_buffer::UserAddress;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pombo_kernel::{Error, Peer};
use zerocopy::FromBytes;

/// Most bytes of a frame.
pub(super) const LONGEST: usize = 64;

/// What a frame is; the tag says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A message of the tree's protocol.
    Tree,
    /// A probe of a link.
    Probe,
    /// The answer to a probe.
    Reply,
    /// The answer of a rank that cannot say when the probe came.
    Late,
}

const KINDS: [Kind; 4] = [Kind::Tree, Kind::Probe, Kind::Reply, Kind::Late];

type Bytes = Box<[u8; LONGEST]>;

/// A frame on its way in.
struct Incoming {
    kind: Option<Kind>,
    from: Peer,
    bytes: Bytes,
    len: usize,
    request: Request,
}

/// The frames of one communicator.
pub(super) struct Frames {
    context: u32,
    incoming: VecDeque<Incoming>,
    /// Sends that wait for credit, and their memory: at most what the protocol has under way.
    posted: PostedSet,
    waiting: Vec<Bytes>,
}

impl Frames {
    /// Makes the frames of the communicator with that context.
    pub(super) fn new(context: u32) -> Self {
        Frames {
            context: (context | PARTITIONED) * 2 + 1,
            incoming: VecDeque::new(),
            posted: PostedSet::default(),
            waiting: Vec::new(),
        }
    }

    /// Sends a frame; the order of those to one peer stays.
    pub(super) fn send(
        &mut self,
        world: &mut World,
        to: Peer,
        kind: Kind,
        content: &[u8],
    ) -> Result<(), Error> {
        let len = content.len().min(LONGEST);
        let mut bytes = Box::new([0; LONGEST]);
        bytes[..len].copy_from_slice(&content[..len]);
        let message = UserAddress::of(&mut bytes[..]).region(len, Shape::BYTE);
        let header = MpiHeader::new(self.context, kind as u32);
        if self.waiting.is_empty() && world.kernel.send_now(to, header, &message)? {
            return Ok(());
        }
        self.waiting.push(bytes);
        self.posted.send(&mut world.kernel, to, header, message)
    }

    /// Frees the memory of sends that are complete.
    pub(super) fn settle(&mut self, world: &mut World) -> Result<(), Error> {
        if self.posted.settle(&mut world.kernel, 0, |_, _| ())? {
            self.waiting.clear();
        }
        Ok(())
    }

    /// Receives the next frame. What is none of these is dropped.
    pub(super) fn receive(
        &mut self,
        world: &mut World,
    ) -> Result<Option<(Peer, Kind, [u8; LONGEST], usize)>, Error> {
        let any = MpiPattern::new(self.context, None, None);
        while let Some((ticket, envelope)) = world.kernel.matched_probe(any)? {
            let tag = envelope.header().tag.get() as usize;
            let len = envelope.len();
            let mut bytes = Box::new([0; LONGEST]);
            let into = UserAddress::of(&mut bytes[..]).region(LONGEST, Shape::BYTE);
            let request = Posted::receive_matched(world, ticket, into)?.hand_out();
            self.incoming.push_back(Incoming {
                kind: KINDS.get(tag).copied().filter(|_| len <= LONGEST),
                from: envelope.peer(),
                bytes,
                len,
                request,
            });
        }
        while let Some(first) = self.incoming.front_mut() {
            let state = test_one(world, &mut first.request, &mut { Status::EMPTY });
            if matches!(state, Ok(RequestState::Pending)) {
                break;
            }
            let is_whole = matches!(state, Ok(RequestState::Complete));
            if let Some(frame) = self.incoming.pop_front()
                && let Some(kind) = frame.kind.filter(|_| is_whole)
            {
                return Ok(Some((frame.from, kind, *frame.bytes, frame.len)));
            }
        }
        Ok(None)
    }

    /// Returns whether no frame is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.incoming.is_empty() && self.waiting.is_empty()
    }
}

/// Returns the value that a frame holds.
pub(super) fn read<T: FromBytes>(bytes: &[u8; LONGEST], len: usize) -> Option<T> {
    T::read_from_bytes(bytes.get(..len)?).ok()
}
