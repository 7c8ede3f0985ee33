//! One side of a partitioned operation: its data, and the messages under way.

use super::meeting::{Meeting, Messages};
use super::refused;
use crate::comm::Comms;
use crate::constants::*;
use crate::datatype::Shape;
use crate::errhandler;
use crate::error::Error;
use crate::kernel::Posted;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::p2p;
use crate::packed_message::PackedMessage;
use crate::request::{self, Activity, RequestState, test_one};
use crate::runtime::world::{CommError, World};
use crate::status::Status;
use crate::user_buffer::Region;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::mem::take;
use pombo_kernel::{Mode, Source};

/// The side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Send,
    Receive,
}

/// The data of a side.
pub(super) struct Buffer {
    region: Region,
    shape: Shape,
    /// Number of items of each partition.
    items: usize,
    partitions: usize,
    /// Where a receiver's data arrives if it has gaps: a partition of the sender may end inside an item.
    packed: Option<PackedMessage>,
}

/// A request's state.
pub(super) struct Endpoint {
    side: Side,
    buffer: Buffer,
    meeting: Meeting,
    rank: c_int,
    tag: c_int,
    comm: Comm,
    /// The context of the communicator's messages.
    context: u32,
    /// The error handler of the communicator, whose handle may be freed.
    handler: Errhandler,
    activity: Activity,
    /// Whether the messages of the receiver, which the sender decides, are posted.
    posted: bool,
    parts: Vec<Part>,
    /// The parts with a message under way.
    pending: Vec<usize>,
    /// Number of parts that are not over.
    left: usize,
    failed: Option<CommError>,
}

/// The state of a message.
#[derive(Clone, Copy)]
enum Part {
    /// The partition is not ready.
    Waiting,
    UnderWay(Request),
    Over,
}

impl Buffer {
    pub(super) fn new(
        side: Side,
        region: Region,
        shape: Shape,
        items: usize,
        partitions: usize,
    ) -> Result<Self, Error> {
        let packed = match side == Side::Receive && !region.is_dense() {
            true => Some(PackedMessage::of(&region)?),
            false => None,
        };
        Ok(Buffer {
            region,
            shape,
            items,
            partitions,
            packed,
        })
    }

    /// Returns no data, for `MPI_PROC_NULL`.
    pub(super) fn nothing(partitions: usize) -> Self {
        Buffer {
            region: Region::nothing(),
            shape: Shape::BYTE,
            items: 0,
            partitions,
            packed: None,
        }
    }

    /// Returns the bytes of all partitions.
    pub(super) fn bytes(&self) -> u64 {
        self.region.len() as u64
    }

    /// Returns the items of a sender's partition.
    fn partition(&self, partition: usize) -> Region {
        let first = partition * self.items;
        self.region.part(first..first + self.items, &self.shape)
    }

    /// Returns where these bytes of data arrive.
    fn place(&mut self, offset: usize, len: usize) -> Region {
        match &mut self.packed {
            Some(packed) => packed.region().bytes_at(offset, len),
            None => self.region.bytes_at(offset, len),
        }
    }

    /// Notes that these bytes of data have arrived.
    fn arrived(&mut self, offset: usize, len: usize) {
        if let Some(packed) = &mut self.packed {
            packed
                .region()
                .copy_range(offset, &self.region, offset, len);
        }
    }
}

impl Messages {
    /// Returns the bytes of one message.
    fn len(&self) -> usize {
        (self.bytes / self.count.max(1) as u64) as usize
    }
}

impl Endpoint {
    pub(super) fn new(
        side: Side,
        buffer: Buffer,
        meeting: Meeting,
        (rank, tag): (c_int, c_int),
        (comm, context): (Comm, u32),
    ) -> Self {
        Endpoint {
            side,
            buffer,
            meeting,
            rank,
            tag,
            comm,
            context,
            handler: Errhandler::NULL,
            activity: Activity::Inactive,
            posted: false,
            parts: Vec::new(),
            pending: Vec::new(),
            left: 0,
            failed: None,
        }
    }

    /// Starts the operation; returns whether the messages are known.
    pub(super) fn start(&mut self, world: &mut World) -> Result<bool, CommError> {
        if self.activity != Activity::Inactive {
            return Err(self.failure(refused("request", "inactive: it is started twice")));
        }
        self.activity = Activity::Pending;
        self.posted = false;
        self.left = 0;
        if self.side == Side::Send {
            self.posted = true;
            self.left = self.buffer.partitions;
            self.parts = vec![Part::Waiting; self.left];
        }
        self.poll(world)?;
        Ok(self.is_met())
    }

    /// Returns whether nothing is to be learned from the partner any more.
    pub(super) fn is_met(&self) -> bool {
        self.posted || self.activity != Activity::Pending
    }

    /// Progresses the operation as far as possible.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<Activity, CommError> {
        let met = self.meeting.poll(world);
        if self.activity != Activity::Pending {
            return Ok(self.activity);
        }
        match met {
            Ok(Some(messages)) if !self.posted => self.receive(world, messages),
            Ok(_) => {}
            Err(failure) => self.fail(failure.error),
        }
        self.settle(world)?;
        let is_fatal = self.failed.is_some() && errhandler::aborts(self.handler);
        if self.posted && self.left == 0 || is_fatal {
            self.activity = Activity::Over;
        }
        Ok(self.activity)
    }

    /// Posts a receive for each message of the sender.
    fn receive(&mut self, world: &mut World, messages: Messages) {
        self.posted = true;
        let room = self.buffer.bytes();
        if messages.bytes != room {
            let error = Error::unequal(messages.bytes, room);
            return self.fail(error.of_message(self.rank, Some(self.tag)));
        }
        self.left = messages.count;
        self.parts = vec![Part::Over; self.left];
        let len = messages.len();
        for part in 0..messages.count {
            let Some((peer, MpiHeader { context, tag })) = self.meeting.address(part) else {
                self.left = 0;
                return;
            };
            let pattern = MpiPattern::new(context.get(), Some(peer), Some(tag.get()));
            let into = self.buffer.place(part * len, len);
            match Posted::receive(world, pattern, into, Comm::NULL).begun() {
                Ok(posted) => self.note(part, posted.hand_out()),
                Err(failure) => {
                    self.left -= 1;
                    self.fail(failure.error);
                }
            }
        }
    }

    /// Notes the message under way of a part.
    fn note(&mut self, part: usize, operation: Request) {
        match operation {
            request::SENT => {
                self.parts[part] = Part::Over;
                self.left -= 1;
            }
            _ => {
                self.parts[part] = Part::UnderWay(operation);
                self.pending.push(part);
            }
        }
    }

    /// Ends the messages that are complete.
    fn settle(&mut self, world: &mut World) -> Result<(), CommError> {
        let len = self.meeting.messages().map_or(0, |messages| messages.len());
        let mut place = 0;
        while let Some(&part) = self.pending.get(place) {
            let Part::UnderWay(mut operation) = self.parts[part] else {
                self.pending.swap_remove(place);
                continue;
            };
            match test_one(world, &mut operation, &mut { Status::EMPTY })? {
                RequestState::Pending => {
                    place += 1;
                    continue;
                }
                RequestState::Complete => self.buffer.arrived(part * len, len),
                RequestState::Failed(failure) => self.fail(failure.error),
            }
            self.parts[part] = Part::Over;
            self.pending.swap_remove(place);
            self.left -= 1;
        }
        Ok(())
    }

    /// Checks partitions that are said to be ready, before any of them is sent.
    pub(super) fn check_ready(&self, partitions: &[c_int]) -> Result<(), CommError> {
        if self.side != Side::Send || self.activity == Activity::Inactive {
            return Err(self.failure(refused("request", "an active one of MPI_Psend_init")));
        }
        let place = |partition: c_int| usize::try_from(partition).ok();
        let part = |partition: c_int| self.parts.get(place(partition)?);
        let mut all = partitions.iter();
        let are_waiting = all.all(|partition| matches!(part(*partition), Some(Part::Waiting)));
        let mut sorted = Vec::from(partitions);
        sorted.sort_unstable();
        if !are_waiting || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            let must = "0 to the number of partitions less 1, and not ready yet";
            return Err(self.failure(refused("partition", must)));
        }
        Ok(())
    }

    /// Sends a partition. If that fails, the operation does.
    pub(super) fn send(&mut self, world: &mut World, partition: usize) {
        let Some((peer, header)) = self.meeting.address(partition) else {
            return self.note(partition, request::SENT);
        };
        let message = (peer, header, self.buffer.partition(partition));
        let posted = p2p::post_checked_send(world, message, Comm::NULL, Mode::Standard);
        match posted.begun() {
            Ok(posted) => self.note(partition, posted.hand_out()),
            Err(failure) => {
                self.note(partition, request::SENT);
                self.fail(failure.error);
            }
        }
    }

    /// Returns whether a partition of the receiver has arrived: all messages with a part of it.
    pub(super) fn has_arrived(&self, partition: c_int) -> Result<bool, CommError> {
        if self.side != Side::Receive {
            return Err(self.failure(refused("request", "one of MPI_Precv_init")));
        }
        let partition = usize::try_from(partition).ok();
        let Some(partition) = partition.filter(|it| *it < self.buffer.partitions) else {
            let must = "0 to the number of partitions less 1";
            return Err(self.failure(refused("partition", must)));
        };
        if self.activity != Activity::Pending {
            return Ok(true);
        }
        let messages = self.meeting.messages().filter(|_| self.posted);
        let Some(len) = messages.map(|messages| messages.len()) else {
            return Ok(false);
        };
        let own = self.buffer.items * self.buffer.shape.size();
        if own == 0 || len == 0 {
            return Ok(self.left == 0);
        }
        let parts = partition * own / len..((partition + 1) * own).div_ceil(len);
        let mut parts = self.parts[parts].iter();
        Ok(parts.all(|part| matches!(part, Part::Over)))
    }

    /// Returns the result of an operation that is over, and writes its status.
    pub(super) fn result(&self, status: &mut Status) -> RequestState {
        *status = match self.side {
            Side::Send => Status::SENT,
            Side::Receive if self.rank == MPI_PROC_NULL => Status::PROC_NULL,
            Side::Receive => Status::received(self.rank, self.tag, self.buffer.bytes()),
        };
        match self.failed.clone() {
            None => RequestState::Complete,
            Some(failure) => RequestState::Failed(failure),
        }
    }

    /// Makes the request inactive.
    pub(super) fn end(&mut self, world: &mut World) {
        self.activity = Activity::Inactive;
        self.failed = None;
        // A fatal failure does not wait for the other messages, which are withdrawn.
        for part in take(&mut self.pending) {
            if let Part::UnderWay(operation) = self.parts[part] {
                drop(Posted::over(world, operation));
            }
        }
        self.parts.clear();
    }

    /// Returns the operations that the request waits for.
    pub(super) fn under_way(&self) -> Vec<Request> {
        let parts = self
            .pending
            .iter()
            .filter_map(|part| match self.parts[*part] {
                Part::UnderWay(operation) => Some(operation),
                _ => None,
            });
        parts.chain([self.meeting.request()]).collect()
    }

    /// Ends a request that is freed, and returns its messages under way, which continue.
    pub(super) fn take_apart(mut self, world: &mut World) -> Vec<Request> {
        if self.buffer.packed.is_some() {
            self.end(world);
        }
        let parts = self.pending.iter().map(|part| self.parts[*part]);
        let under_way = parts.filter_map(|part| match part {
            Part::UnderWay(operation) => Some(operation),
            _ => None,
        });
        let under_way = under_way.collect();
        self.meeting.leave(world);
        under_way
    }

    /// Takes the error handler that the communicator has now.
    pub(super) fn refresh_handler(&mut self, comms: &mut Comms) {
        if let Some((_, record)) = comms.of_context(self.context) {
            self.handler = record.handler;
        }
    }

    /// Returns the context of the communicator's messages.
    pub(super) fn context(&self) -> u32 {
        self.context
    }

    /// Returns an error of the request's communicator.
    pub(super) fn failure(&self, error: Error) -> CommError {
        CommError::with_handler(error, self.comm, self.handler)
    }

    /// Notes the first failure of the operation.
    fn fail(&mut self, error: Error) {
        let failure = self.failure(error);
        self.failed.get_or_insert(failure);
        // Without the sender's division there are no messages to wait for.
        self.posted = true;
    }
}
