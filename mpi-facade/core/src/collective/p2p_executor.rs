//! Executes schedules by the kernel's point-to-point messages.

use super::layout::Layout;
use crate::error::{Error, Kind};
use crate::kernel::PostedSet;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::op::Reduction;
use crate::runtime::world::{CommError, World};
use crate::user_buffer::Region;
use alloc::rc::Rc;
use core::ffi::c_int;
use pombo_collective::{Buffer, Executor, Piece};
use pombo_kernel::{Peer, Source};

/// The peers of an operation and the header of its messages.
#[derive(Clone)]
pub(super) struct Addressing {
    /// The communicator's index in the table: its handle may be freed while the operation runs.
    pub(super) index: usize,
    /// The communicator that errors are reported on.
    pub(super) comm: crate::constants::Comm,
    pub(super) header: MpiHeader,
    /// The peers of the operation, unless they are all of the communicator's.
    pub(super) peers: Option<Rc<[Peer]>>,
}

/// The memory of one operation.
pub(super) struct OperationBuffers {
    pub(super) input: Layout,
    pub(super) output: Layout,
    pub(super) work: Layout,
    pub(super) incoming: Layout,
    pub(super) reduction: Option<Reduction>,
}

impl OperationBuffers {
    /// Returns empty buffers.
    pub(super) fn nothing() -> Self {
        OperationBuffers {
            input: Layout::nothing(),
            output: Layout::nothing(),
            work: Layout::nothing(),
            incoming: Layout::nothing(),
            reduction: None,
        }
    }

    fn layout(&self, piece: Piece) -> &Layout {
        match piece.buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Work => &self.work,
            Buffer::Incoming => &self.incoming,
        }
    }

    fn region(&self, piece: Piece) -> Region {
        self.layout(piece).region(piece)
    }

    /// Iterates over the regions of a piece, one for each message that it takes.
    fn regions(&self, piece: Piece) -> impl Iterator<Item = Region> {
        let layout = self.layout(piece);
        let (messages, step) = if layout.is_apart() && piece.blocks > 0 {
            (piece.blocks, 1)
        } else {
            (1, piece.blocks)
        };
        (0..messages).map(move |message| {
            layout.region(Piece {
                first: piece.first + message,
                blocks: step,
                ..piece
            })
        })
    }
}

/// One operation's state, borrowed while it is polled.
pub(super) struct P2pExecutor<'a> {
    pub(super) world: &'a mut World,
    pub(super) addressing: &'a Addressing,
    pub(super) buffers: &'a OperationBuffers,
    pub(super) posted: &'a mut PostedSet,
    /// The error of a message whose length differs from the expected one: the operation continues for the ranks that
    /// depend on this one, and then returns it.
    pub(super) disagreement: &'a mut Option<Error>,
}

impl P2pExecutor<'_> {
    fn failure(&self, error: pombo_kernel::Error) -> CommError {
        CommError::new(error, self.addressing.comm)
    }

    fn peer(&mut self, rank: usize) -> Result<Peer, CommError> {
        let &Addressing {
            index,
            comm,
            ref peers,
            ..
        } = self.addressing;
        if let Some(peer) = peers.as_ref().and_then(|peers| peers.get(rank)) {
            return Ok(*peer);
        }
        let unknown = Error::Handle {
            kind: Kind::Comm,
            got: comm.0,
        };
        let record = self.world.objects.comms.at(index);
        let record = record.ok_or(CommError::new(unknown, comm))?;
        Ok(record.peer(rank as c_int)?)
    }
}

impl Executor for P2pExecutor<'_> {
    type Error = CommError;

    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, CommError> {
        let peer = self.peer(to)?;
        let buffers = self.buffers;
        for region in buffers.regions(piece) {
            self.world.count(Source::len(&region));
            let header = self.addressing.header;
            let result = self
                .posted
                .send(&mut self.world.kernel, peer, header, region);
            result.map_err(|error| self.failure(error))?;
        }
        Ok(true)
    }

    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, CommError> {
        let peer = self.peer(from)?;
        let MpiHeader { context, tag } = self.addressing.header;
        let pattern = MpiPattern::new(context.get(), Some(peer), Some(tag.get()));
        let buffers = self.buffers;
        for region in buffers.regions(piece) {
            let result = self.posted.receive(&mut self.world.kernel, pattern, region);
            result.map_err(|error| self.failure(error))?;
        }
        Ok(true)
    }

    fn are_complete(&mut self, open: usize) -> Result<bool, CommError> {
        let World {
            kernel, objects, ..
        } = &mut *self.world;
        let (index, disagreement) = (self.addressing.index, &mut *self.disagreement);
        let settled = self.posted.settle(kernel, open, |error, peer| {
            let error = objects.comms.with_sender(index, error, peer);
            disagreement.get_or_insert(error);
        });
        settled.map_err(|error| self.failure(error))
    }

    fn combine(&mut self, left: Piece, right: Piece) {
        let (left, right) = (self.buffers.region(left), self.buffers.region(right));
        // Once lengths differ, data may be missing and is not combined.
        if let Some(reduction) = &self.buffers.reduction
            && self.disagreement.is_none()
        {
            reduction.apply(&mut self.world.objects, &left, &right);
        }
    }

    fn copy(&mut self, from: Piece, into: Piece) {
        let (from, into) = (self.buffers.region(from), self.buffers.region(into));
        from.copy_to(&into);
    }
}
