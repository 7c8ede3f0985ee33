//! What every call does before its operation can begin.

use super::cast::Cast;
use super::exchange::{Buffers as Memory, Line};
use super::layout::Layout;
use super::prepared::Operation;
use super::requests;
use super::schedule::{Stand, Steps};
use super::scratch::{Pool, Scratch};
use super::{Algorithm, Operation as Kind};
use crate::constants::{Comm, Request};
use crate::error::Error;
use crate::header::Envelope;
use crate::world::{self, Fault, World};
use alloc::boxed::Box;
use core::ffi::c_int;
use pombo_kernel::collective::Segments;

/// Long messages go through chains in segments of so many bytes.
const SEGMENT: usize = 32 << 10;

/// A collective call of this rank. Run or start it: the other ranks count on it.
#[must_use = "the other ranks wait for it"]
pub trait Collective {
    /// The blocking call.
    fn run(self) -> Result<(), Fault>;

    /// The non-blocking call: it goes on whenever this rank is in a call.
    fn start(self) -> Result<Request, Fault>;
}

/// A call whose two ways are known: over boards, where that is chosen, and by messages.
struct Prepared<B, M> {
    comm: Comm,
    root: c_int,
    boards: B,
    messages: M,
}

/// A call that knows messages only.
struct ByMessages<M> {
    comm: Comm,
    root: c_int,
    messages: M,
}

/// How a call goes by messages: behind a pointer, so that what comes after it is compiled once.
type Messages<'a> = &'a dyn Fn(&mut Call<'_>) -> Result<Ready, Error>;

/// A call while it is made.
pub(super) struct Call<'w> {
    pub(super) world: &'w mut World,
    pub(super) comm: Comm,
    /// The communicator's place in the table.
    pub(super) index: usize,
    pub(super) stand: Stand,
}

/// Why a call does not come to its end.
pub(super) enum Stop {
    /// The communicator's handler hears of it.
    Refused(Error),
    /// Something else has failed meanwhile.
    Failed(Fault),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Refused(error)
    }
}

/// A call without a root. Over boards it is over when the first function returns true.
pub(super) fn prepare(
    comm: Comm,
    boards: impl Fn(&mut Call<'_>) -> Result<bool, Stop>,
    messages: impl Fn(&mut Call<'_>) -> Result<Ready, Error>,
) -> impl Collective {
    prepare_rooted(comm, 0, boards, messages)
}

/// A call with a root.
pub(super) fn prepare_rooted(
    comm: Comm,
    root: c_int,
    boards: impl Fn(&mut Call<'_>) -> Result<bool, Stop>,
    messages: impl Fn(&mut Call<'_>) -> Result<Ready, Error>,
) -> impl Collective {
    Prepared {
        comm,
        root,
        boards,
        messages,
    }
}

/// A call that knows messages only.
pub(super) fn by_messages(
    comm: Comm,
    root: c_int,
    messages: impl Fn(&mut Call<'_>) -> Result<Ready, Error>,
) -> impl Collective {
    ByMessages {
        comm,
        root,
        messages,
    }
}

impl<B, M> Collective for Prepared<B, M>
where
    B: Fn(&mut Call<'_>) -> Result<bool, Stop>,
    M: Fn(&mut Call<'_>) -> Result<Ready, Error>,
{
    fn run(self) -> Result<(), Fault> {
        world::with(|world| {
            let mut call = Call::new(world, self.comm, self.root)?;
            let over = (self.boards)(&mut call);
            match over.map_err(|stop| stop.on(self.comm))? {
                true => Ok(()),
                false => call.run(&self.messages),
            }
        })
    }

    fn start(self) -> Result<Request, Fault> {
        start(self.comm, self.root, &self.messages)
    }
}

impl<M: Fn(&mut Call<'_>) -> Result<Ready, Error>> Collective for ByMessages<M> {
    fn run(self) -> Result<(), Fault> {
        run(self.comm, self.root, &self.messages)
    }

    fn start(self) -> Result<Request, Fault> {
        start(self.comm, self.root, &self.messages)
    }
}

fn run(comm: Comm, root: c_int, messages: Messages<'_>) -> Result<(), Fault> {
    world::with(|world| Call::new(world, comm, root)?.run(messages))
}

fn start(comm: Comm, root: c_int, messages: Messages<'_>) -> Result<Request, Fault> {
    world::with(|world| {
        let operation = Call::new(world, comm, root)?.operation(messages)?;
        requests::start(world, operation)
    })
}

impl Stop {
    fn on(self, comm: Comm) -> Fault {
        match self {
            Stop::Refused(error) => Fault { error, comm },
            Stop::Failed(fault) => fault,
        }
    }
}

/// Everything that an operation needs.
pub(super) struct Ready {
    pub(super) steps: Steps,
    pub(super) memory: Memory,
    pub(super) scratch: [Scratch; 2],
}

impl Ready {
    /// Without temporary memory.
    pub(super) fn plain(steps: Steps, input: Layout, output: Layout) -> Ready {
        let memory = Memory {
            input,
            output,
            ..Memory::nothing()
        };
        Ready {
            steps,
            memory,
            scratch: Default::default(),
        }
    }

    /// Over the network's own broadcast.
    pub(super) fn cast(cast: Cast) -> Ready {
        Ready::plain(Steps::Cast(cast), Layout::nothing(), Layout::nothing())
    }
}

impl<'w> Call<'w> {
    #[inline]
    fn new(world: &'w mut World, comm: Comm, root: c_int) -> Result<Self, Fault> {
        let index = world.comms.index(comm)?;
        let group = world.comms.get(comm)?;
        let root = group.root(root).map_err(Fault::on(comm))?;
        let stand = Stand {
            rank: group.rank,
            ranks: group.size(),
            root,
        };
        Ok(Call {
            world,
            comm,
            index,
            stand,
        })
    }

    #[inline(never)]
    fn run(&mut self, messages: Messages<'_>) -> Result<(), Fault> {
        self.operation(messages)?.run(self.world)
    }

    /// The next operation by messages on the communicator: they carry its number.
    #[inline(never)]
    fn operation(&mut self, messages: Messages<'_>) -> Result<Box<Operation>, Fault> {
        let ready = messages(self).map_err(Fault::on(self.comm))?;
        let group = self.world.comms.get(self.comm)?;
        group.operations = group.operations.wrapping_add(1) & (u32::MAX >> 1);
        let line = Line {
            index: self.index,
            comm: self.comm,
            header: Envelope::new(group.context * 2 + 1, group.operations),
        };
        Ok(Box::new(Operation::new(line, ready)))
    }

    /// The algorithm by messages for an operation of so many bytes.
    pub(super) fn pick(&self, kind: Kind, bytes: usize) -> Algorithm {
        let choices = &self.world.collectives.choices;
        choices.pick(kind, self.stand.ranks, bytes, false)
    }

    /// Where temporary memory comes from.
    pub(super) fn pool(&mut self) -> &mut Pool {
        &mut self.world.collectives.pool
    }
}

/// A vector cut as an algorithm wants it, and into how many blocks.
pub(super) fn cut(vector: Layout, algorithm: Algorithm, ranks: usize) -> (Layout, usize) {
    let blocks = match algorithm {
        Algorithm::Chain => {
            let most = SEGMENT / vector.shape().size().max(1);
            Segments::at_most(vector.items(), most).blocks().max(1)
        }
        Algorithm::Scattered | Algorithm::Ring => ranks,
        Algorithm::Halving => 1 << ranks.ilog2(),
        _ => 1,
    };
    (vector.evenly(blocks), blocks)
}
