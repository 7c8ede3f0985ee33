//! MPI without an operating system: the calls that a program of messages, broadcasts, reductions and barriers needs, over
//! the same kernel and without an allocator. Programs use it; whoever starts them brings the channel.
//!
//! Names, arguments and meaning are those of MPI 5.0, chapters 3, 6 and 11, in the one communicator `MPI_COMM_WORLD`. A
//! message is bytes, at most [`MOST`] of them. What a nonblocking call lends is [`SharedBytes`], which may be read and
//! written when the request is complete.
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | bytes of a message | 512 | `Failure::Kernel`, too long |
//! | requests under way | 16 | `Failure::Kernel`, the table is full; a blocking call may be over it by one |
//! | messages that wait for a receive | 16 of each rank | the sender waits; its requests are not posted before |
//! | bytes of a reduction | half of the memory of [`Mpi::init`] | `Failure::Wrong` |

use crate::composition::Small;
use crate::report::Failure;
use pombo_collective::topology::{Complete, Topology};
use pombo_collective::{
    Blocks, CommCall, NoOperator, OperationBuffers, Operator, Protocol, SharedBytes, SharedMemory,
    Step, barrier_tree, broadcast, reduce,
};
use pombo_kernel::prelude::*;
use pombo_kernel::{Channel, Completed, Loan, Select, Ticket};

header! {
    /// MPI's header: the source is the kernel's peer.
    pub struct MpiHeader {
        /// Messages of the program, or of collective operations.
        pub context: U32,
        /// The tag, or the number of the operation.
        pub tag: U32,
    }
}

const POINT_TO_POINT: u32 = 0;
const COLLECTIVE: u32 = 1;

/// Most bytes of a message.
pub const MOST: usize = 512;
/// For so many nanoseconds `finalize` goes on answering ranks that have not heard yet that all of theirs has arrived.
const LINGER: u64 = 300_000_000;

/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: Option<usize> = None;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: Option<u32> = None;

/// All ranks, and the messages under way between them; made by `World::new` of a channel.
pub type World<'buf, L> = Communicator<MpiHeader, L, SharedMemory<'buf>, Small>;
type Done<'buf> = Completed<MpiHeader, SharedMemory<'buf>, Small>;

/// A rank between `MPI_Init` and `MPI_Finalize`.
pub struct Mpi<'w, 'buf, L: Channel> {
    world: &'w mut World<'buf, L>,
    memory: SharedBytes<'buf>,
    /// The number of the next collective operation, by which ranks tell them apart.
    number: u32,
}

/// `MPI_Request`.
#[must_use = "it has to be waited for"]
#[derive(Debug)]
pub struct Request(Ticket);

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

impl Protocol<MpiHeader> for MpiHeader {
    fn header(&self) -> MpiHeader {
        *self
    }

    fn pattern(&self, from: Peer) -> Select<MpiHeader> {
        Select::from(Exact(*self)).from_peer(from)
    }
}

fn header(context: u32, tag: u32) -> MpiHeader {
    MpiHeader {
        context: U32::new(context),
        tag: U32::new(tag),
    }
}

fn wanted(source: Option<usize>, tag: Option<u32>) -> Select<MpiHeader> {
    let mut pattern = MpiHeader::context(U32::new(POINT_TO_POINT));
    if let Some(tag) = tag {
        pattern = pattern & MpiHeader::tag(U32::new(tag));
    }
    match source {
        Some(source) => pattern.from_peer(Peer(source as u16)),
        None => pattern,
    }
}

fn status(envelope: &Envelope<MpiHeader, Small>) -> Status {
    Status {
        source: envelope.peer().index(),
        tag: envelope.header().tag.get(),
        bytes: envelope.len(),
    }
}

impl<'w, 'buf, L: Channel> Mpi<'w, 'buf, L> {
    /// `MPI_Init`: joins all ranks. Reductions use `memory`.
    pub fn init(world: &'w mut World<'buf, L>, memory: SharedBytes<'buf>) -> Self {
        let number = 0;
        Mpi {
            world,
            memory,
            number,
        }
    }

    /// `MPI_Comm_rank`.
    pub fn rank(&self) -> usize {
        self.world.me().index()
    }

    /// `MPI_Comm_size`.
    pub fn size(&self) -> usize {
        self.world.peers()
    }

    /// `MPI_Send`: returns when `message` may be written again.
    ///
    /// # Errors
    /// There is no such rank, or the message is too long.
    pub fn send(&mut self, message: &[u8], to: usize, tag: u32) -> Result<(), Failure> {
        let (to, header) = (self.peer(to)?, header(POINT_TO_POINT, tag));
        Ok(self.world.send(to, header, message)?)
    }

    /// `MPI_Recv`: waits for a message and receives it.
    ///
    /// # Errors
    /// There is no such rank, or the message is longer than `into`, which then has its beginning.
    pub fn recv(
        &mut self,
        into: &mut [u8],
        source: Option<usize>,
        tag: Option<u32>,
    ) -> Result<Status, Failure> {
        self.check(source)?;
        let envelope = self.world.recv(wanted(source, tag), into)?;
        Ok(status(&envelope))
    }

    /// `MPI_Isend`: waits only where the receiver has no room for another message.
    ///
    /// # Errors
    /// As [`Mpi::send`], or 16 requests are under way.
    pub fn isend(
        &mut self,
        message: SharedBytes<'buf>,
        to: usize,
        tag: u32,
    ) -> Result<Request, Failure> {
        let (to, header) = (self.peer(to)?, header(POINT_TO_POINT, tag));
        let mut idle = 0;
        loop {
            match self.world.isend(to, header, message) {
                Ok(ticket) => return Ok(Request(ticket)),
                Err(refused) if matches!(refused.error, Error::NoCredit(_)) => {
                    self.world.progress_or_wait(&mut idle)?;
                }
                Err(refused) => return Err(refused.error.into()),
            }
        }
    }

    /// `MPI_Irecv`.
    ///
    /// # Errors
    /// There is no such rank, or 16 requests are under way.
    pub fn irecv(
        &mut self,
        into: SharedBytes<'buf>,
        source: Option<usize>,
        tag: Option<u32>,
    ) -> Result<Request, Failure> {
        self.check(source)?;
        let posted = self.world.irecv(wanted(source, tag), into);
        Ok(Request(posted.map_err(|refused| refused.error)?))
    }

    /// `MPI_Wait`: returns the status of a receive, and nothing of a send.
    ///
    /// # Errors
    /// A message was longer than its buffer, or a rank is gone.
    pub fn wait(&mut self, request: Request) -> Result<Option<Status>, Failure> {
        let done: Done<'buf> = self.world.wait(request.0)?;
        done.outcome?;
        Ok(match done.loan {
            Loan::Received(_) => done.envelope.as_ref().map(status),
            Loan::Sent(_) => None,
        })
    }

    /// `MPI_Bcast`: all ranks get the bytes of the root, of which all pass as many.
    ///
    /// # Errors
    /// There is no such rank, or the ranks disagree on the length.
    pub fn bcast(&mut self, buffer: SharedBytes<'buf>, root: usize) -> Result<(), Failure> {
        self.peer(root)?;
        let steps = broadcast(self.tree(root), 1);
        let output = Blocks::one(buffer);
        let buffers = OperationBuffers {
            output,
            ..OperationBuffers::NONE
        };
        self.run(steps, buffers, NoOperator)
    }

    /// `MPI_Reduce`, of an operation that commutes: the root's `output` gets the result.
    ///
    /// # Errors
    /// As [`Mpi::bcast`], or the memory has not twice the bytes of `input`.
    pub fn reduce(
        &mut self,
        input: SharedBytes<'buf>,
        output: SharedBytes<'buf>,
        operation: impl Operator,
        root: usize,
    ) -> Result<(), Failure> {
        self.peer(root)?;
        let (len, is_root) = (input.len(), self.rank() == root);
        if self.memory.len() < 2 * len || is_root && output.len() < len {
            return Err(Failure::Wrong("MPI_Reduce: there is too little memory"));
        }
        let work = match is_root {
            true => output.part(0, len),
            false => self.memory.part(0, len),
        };
        let buffers = OperationBuffers {
            input: Blocks::one(input),
            work: Blocks::one(work),
            incoming: Blocks::one(self.memory.part(len, 2 * len)),
            ..OperationBuffers::NONE
        };
        self.run(reduce(self.tree(root), 1), buffers, operation)
    }

    /// `MPI_Barrier`.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn barrier(&mut self) -> Result<(), Failure> {
        self.run(
            barrier_tree(self.tree(0)),
            OperationBuffers::NONE,
            NoOperator,
        )
    }

    /// `MPI_Finalize`: returns when all ranks have called it, and a part of a second later.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn finalize(mut self) -> Result<(), Failure> {
        self.barrier()?;
        if self.size() > 1 {
            // A message of this number never comes.
            let never = Select::from(Exact(header(COLLECTIVE, u32::MAX)));
            match self.world.recv_timeout(never, &mut [], LINGER) {
                Ok(_) | Err(Error::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn tree(&self, root: usize) -> impl pombo_collective::topology::Tree + use<'w, 'buf, L> {
        Complete::new(self.size()).tree(self.rank(), root)
    }

    fn run<O: Operator>(
        &mut self,
        steps: impl Iterator<Item = Step>,
        buffers: OperationBuffers<'buf>,
        operator: O,
    ) -> Result<(), Failure> {
        let header = header(COLLECTIVE, self.number);
        self.number = (self.number + 1) % u32::MAX;
        Ok(CommCall::new(steps, header, buffers, operator).wait(self.world)?)
    }

    fn check(&self, source: Option<usize>) -> Result<(), Failure> {
        source.map_or(Ok(()), |source| self.peer(source).map(|_| ()))
    }

    fn peer(&self, rank: usize) -> Result<Peer, Failure> {
        match rank < self.size() {
            true => Ok(Peer(rank as u16)),
            false => Err(Failure::Wrong("MPI: there is no such rank")),
        }
    }
}
