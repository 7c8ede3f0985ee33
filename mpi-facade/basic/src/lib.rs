//! MPI without a system: the calls that a program of short messages, broadcasts, reductions and barriers needs, over any
//! channel and in any composition of the kernel, without an allocator. A program on bare metal calls it as it is; as a C
//! library it is the package `pombo-basic-abi`.
//!
//! Names, arguments and meaning are those of MPI 5.0, chapters 3, 6 and 11, in the one communicator `MPI_COMM_WORLD`. A
//! message is bytes. What a call lends is [`SharedBytes`], which may be read and written when the request is complete.
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | bytes of a message | a cell of the composition | [`Error::TooLong`] |
//! | requests under way | the composition's operations | [`Error::Full`] |
//! | messages that wait for a receive | the composition's pool, divided among the ranks | the sender waits; its requests are not posted before |
#![no_std]
#![forbid(unsafe_code)]

mod header;

pub use header::MpiHeader;
pub use pombo_collective::{Combining, Operator, SharedBytes, SharedMemory};

use header::{COLLECTIVE, MpiPattern, POINT_TO_POINT};
use pombo_collective::topology::{Complete, Topology, Tree};
use pombo_collective::{Blocks, CommCall, NoOperator, OperationBuffers, Step, broadcast, reduce};
use pombo_kernel::{Channel, Communicator, Completed, Config, Envelope, Loan, Peer, Ticket};

/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: Option<usize> = None;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: Option<u32> = None;
/// The number that the messages of barriers have in place of that of an operation.
const BARRIER: u32 = u32::MAX;

/// The communicator below, made by `World::new` of a channel.
pub type World<'buf, L, C> = Communicator<MpiHeader, L, SharedMemory<'buf>, C>;

/// A rank between `MPI_Init` and `MPI_Finalize`.
pub struct Mpi<'buf, L: Channel, C: Config> {
    world: World<'buf, L, C>,
    /// The number of the next collective operation, by which ranks tell them apart.
    number: u32,
}

/// `MPI_Request`.
#[must_use = "it has to be waited for"]
#[derive(Clone, Copy, Debug)]
pub struct Request(pub Ticket);

/// `MPI_Status`, with the number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// The rank that has sent the message.
    pub source: usize,
    /// The tag that the sender gave it.
    pub tag: u32,
    /// The length of the message in bytes.
    pub bytes: usize,
}

/// Why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no such rank.
    NoSuchRank,
    /// The memory of a reduction is too short.
    NoMemory,
    /// No rank is left that could send what is waited for.
    NoSender,
    /// This rank is gone.
    PeerLost(Peer),
    /// The message was longer than its buffer, which has its beginning.
    Truncated,
    /// The message is longer than this composition or the channel carries.
    TooLong,
    /// Too many requests are under way.
    Full,
    /// There is no such request.
    NoSuchRequest,
    /// The channel failed.
    Channel,
}

impl From<pombo_kernel::Error> for Error {
    fn from(error: pombo_kernel::Error) -> Self {
        use pombo_kernel::Error as Below;
        match error {
            Below::PeerLost(peer) => Error::PeerLost(peer),
            Below::Truncated { .. } => Error::Truncated,
            Below::TooLong { .. } => Error::TooLong,
            Below::Full => Error::Full,
            Below::UnknownTicket => Error::NoSuchRequest,
            _ => Error::Channel,
        }
    }
}

fn status<C: Config>(envelope: Envelope<MpiHeader, C>) -> Status {
    Status {
        source: envelope.peer().index(),
        tag: envelope.header().tag.get(),
        bytes: envelope.len(),
    }
}

impl<'buf, L: Channel, C: Config> Mpi<'buf, L, C> {
    /// `MPI_Init`: joins all ranks.
    pub fn init(world: World<'buf, L, C>) -> Self {
        Mpi { world, number: 0 }
    }

    /// `MPI_Comm_rank`.
    pub fn rank(&self) -> usize {
        self.world.me().index()
    }

    /// `MPI_Comm_size`.
    pub fn size(&self) -> usize {
        self.world.peers()
    }

    /// Returns the channel below.
    pub fn channel(&self) -> &L {
        self.world.channel()
    }

    /// Returns the channel below. Sending on it directly breaks the order of messages.
    pub fn channel_mut(&mut self) -> &mut L {
        self.world.channel_mut()
    }

    /// `MPI_Send`: returns when `message` may be written again.
    ///
    /// # Errors
    /// As [`Mpi::isend`].
    pub fn send(&mut self, message: SharedBytes<'buf>, to: usize, tag: u32) -> Result<(), Error> {
        let request = self.isend(message, to, tag)?;
        self.wait(request).map(drop)
    }

    /// `MPI_Recv`: waits for a message and receives it.
    ///
    /// # Errors
    /// As [`Mpi::irecv`] and [`Mpi::wait`].
    pub fn recv(
        &mut self,
        into: SharedBytes<'buf>,
        source: Option<usize>,
        tag: Option<u32>,
    ) -> Result<Status, Error> {
        let request = self.irecv(into, source, tag)?;
        self.wait(request)?.ok_or(Error::NoSender)
    }

    /// `MPI_Isend`: waits only where the receiver has no room for another message.
    ///
    /// # Errors
    /// There is no such rank, the rank is gone, the message is too long, or too many requests are under way.
    pub fn isend(
        &mut self,
        message: SharedBytes<'buf>,
        to: usize,
        tag: u32,
    ) -> Result<Request, Error> {
        self.begin_send(message, to, MpiHeader::new(POINT_TO_POINT, tag))
    }

    fn begin_send(
        &mut self,
        message: SharedBytes<'buf>,
        to: usize,
        header: MpiHeader,
    ) -> Result<Request, Error> {
        let (to, mut idle) = (self.peer(to)?, 0);
        loop {
            match self.world.isend(to, header, message) {
                Ok(ticket) => return Ok(Request(ticket)),
                Err(refused) if matches!(refused.error, pombo_kernel::Error::NoCredit(_)) => {
                    self.world.progress_or_wait(&mut idle)?;
                }
                Err(refused) => return Err(refused.error.into()),
            }
        }
    }

    /// `MPI_Irecv`.
    ///
    /// # Errors
    /// There is no such rank, or too many requests are under way.
    pub fn irecv(
        &mut self,
        into: SharedBytes<'buf>,
        source: Option<usize>,
        tag: Option<u32>,
    ) -> Result<Request, Error> {
        self.begin_recv(into, source, POINT_TO_POINT, tag)
    }

    fn begin_recv(
        &mut self,
        into: SharedBytes<'buf>,
        source: Option<usize>,
        context: u32,
        tag: Option<u32>,
    ) -> Result<Request, Error> {
        let source = source.map(|source| self.peer(source)).transpose()?;
        let posted = self
            .world
            .irecv(MpiPattern::new(context, source, tag), into);
        Ok(Request(posted.map_err(|refused| refused.error)?))
    }

    /// `MPI_Wait`: returns the status of a receive, and nothing of a send.
    ///
    /// # Errors
    /// As [`Mpi::test`], or no rank is left that could send.
    pub fn wait(&mut self, request: Request) -> Result<Option<Status>, Error> {
        let mut idle = 0;
        loop {
            if let Some(done) = self.claim(request)? {
                return Ok(done);
            }
            self.world.progress_or_wait(&mut idle)?;
            if idle > 0 && self.is_left_alone() {
                return self.claim(request)?.ok_or(Error::NoSender);
            }
        }
    }

    /// `MPI_Test`: returns what [`Mpi::wait`] returns if the request is complete.
    ///
    /// # Errors
    /// A message was longer than its buffer, which then has its beginning, or a rank is gone.
    pub fn test(&mut self, request: Request) -> Result<Option<Option<Status>>, Error> {
        self.world.check_messages()?;
        self.claim(request)
    }

    fn claim(&mut self, Request(ticket): Request) -> Result<Option<Option<Status>>, Error> {
        let done: Option<Completed<MpiHeader, SharedMemory<'buf>, C>> = self.world.claim(ticket)?;
        let Some(done) = done else {
            return Ok(None);
        };
        done.outcome?;
        let envelope = done
            .envelope
            .filter(|_| matches!(done.loan, Loan::Received(_)));
        Ok(Some(envelope.map(status)))
    }

    /// `MPI_Iprobe`: returns the status of the first message that such a receive would get, if it has arrived.
    ///
    /// # Errors
    /// There is no such rank, or it is gone.
    pub fn iprobe(
        &mut self,
        source: Option<usize>,
        tag: Option<u32>,
    ) -> Result<Option<Status>, Error> {
        let source = source.map(|source| self.peer(source)).transpose()?;
        self.world.check_messages()?;
        let found = self
            .world
            .probe(MpiPattern::new(POINT_TO_POINT, source, tag))?;
        Ok(found.map(status))
    }

    /// `MPI_Probe`: waits for such a message.
    ///
    /// # Errors
    /// As [`Mpi::iprobe`], or no rank is left that could send.
    pub fn probe(&mut self, source: Option<usize>, tag: Option<u32>) -> Result<Status, Error> {
        let mut idle = 0;
        loop {
            if let Some(found) = self.iprobe(source, tag)? {
                return Ok(found);
            }
            if self.is_left_alone() {
                return self.iprobe(source, tag)?.ok_or(Error::NoSender);
            }
            self.world.progress_or_wait(&mut idle)?;
        }
    }

    /// Returns whether all other ranks are gone, and there were some.
    fn is_left_alone(&self) -> bool {
        let me = self.world.me();
        let mut others = (0..self.size() as u16).map(Peer).filter(|peer| *peer != me);
        self.size() > 1 && others.all(|peer| self.world.is_dead(peer))
    }

    /// `MPI_Barrier`: messages go up a binary tree and down again.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn barrier(&mut self) -> Result<(), Error> {
        let (me, ranks) = (self.rank(), self.size());
        let children = || (2 * me + 1..2 * me + 3).take_while(|child| *child < ranks);
        for child in children() {
            self.hear(child)?;
        }
        if let Some(parent) = me.checked_sub(1).map(|above| above / 2) {
            self.tell(parent)?;
            self.hear(parent)?;
        }
        children().try_for_each(|child| self.tell(child))
    }

    fn tell(&mut self, other: usize) -> Result<(), Error> {
        let header = MpiHeader::new(COLLECTIVE, BARRIER);
        let request = self.begin_send(SharedBytes::nothing(), other, header)?;
        self.wait(request).map(drop)
    }

    fn hear(&mut self, other: usize) -> Result<(), Error> {
        let nothing = SharedBytes::nothing();
        let request = self.begin_recv(nothing, Some(other), COLLECTIVE, Some(BARRIER))?;
        self.wait(request).map(drop)
    }

    /// `MPI_Bcast`: all ranks get the bytes of the root, of which all pass as many.
    ///
    /// # Errors
    /// There is no such rank, a rank is gone, or this rank has passed fewer bytes than the root. More than the root's are an error
    /// of the program that is not seen.
    pub fn bcast(&mut self, buffer: SharedBytes<'buf>, root: usize) -> Result<(), Error> {
        self.peer(root)?;
        let buffers = OperationBuffers {
            output: Blocks::one(buffer),
            ..OperationBuffers::NONE
        };
        self.run(broadcast(self.tree(root), 1), buffers, NoOperator)
    }

    /// `MPI_Reduce`, of an operation that commutes: the root's `output` gets the result, and may be its `input`. `scratch` has
    /// twice the bytes of `input`.
    ///
    /// # Errors
    /// As [`Mpi::bcast`], or [`Error::NoMemory`].
    pub fn reduce(
        &mut self,
        input: SharedBytes<'buf>,
        output: SharedBytes<'buf>,
        scratch: SharedBytes<'buf>,
        operation: impl Operator,
        root: usize,
    ) -> Result<(), Error> {
        self.peer(root)?;
        let (len, is_root) = (input.len(), self.rank() == root);
        if scratch.len() < 2 * len || is_root && output.len() < len {
            return Err(Error::NoMemory);
        }
        let work = match is_root {
            true => output.part(0, len),
            false => scratch.part(0, len),
        };
        let buffers = OperationBuffers {
            input: Blocks::one(input),
            work: Blocks::one(work),
            incoming: Blocks::one(scratch.part(len, 2 * len)),
            ..OperationBuffers::NONE
        };
        self.run(reduce(self.tree(root), 1), buffers, operation)
    }

    /// The part of `MPI_Finalize` that all ranks do together: returns when all have called it and what this one has sent
    /// is in the channel.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn finalize(&mut self) -> Result<(), Error> {
        self.barrier()?;
        let mut idle = 0;
        while !self.world.is_flushed() {
            self.world.progress_or_wait(&mut idle)?;
        }
        Ok(())
    }

    /// Goes on answering for so many nanoseconds: over networks that lose frames a rank may not have heard yet that all
    /// of its own have arrived.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn linger(&mut self, nanoseconds: u64) -> Result<(), Error> {
        // A message of this number never comes.
        let never = MpiPattern::new(COLLECTIVE, None, Some(BARRIER - 1));
        match self.world.recv_timeout(never, &mut [], nanoseconds) {
            Ok(_) | Err(pombo_kernel::Error::TimedOut) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn tree(&self, root: usize) -> impl Tree + use<'buf, L, C> {
        Complete::new(self.size()).tree(self.rank(), root)
    }

    fn run<O: Operator>(
        &mut self,
        steps: impl Iterator<Item = Step>,
        buffers: OperationBuffers<'buf>,
        operator: O,
    ) -> Result<(), Error> {
        let header = MpiHeader::new(COLLECTIVE, self.number);
        self.number = (self.number + 1) % (BARRIER - 1);
        Ok(CommCall::new(steps, header, buffers, operator).wait(&mut self.world)?)
    }

    fn peer(&self, rank: usize) -> Result<Peer, Error> {
        match rank < self.size() {
            true => Ok(Peer(rank as u16)),
            false => Err(Error::NoSuchRank),
        }
    }
}
