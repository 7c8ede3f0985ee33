//! What every call does before its operation can begin.

use super::choice::{Choices, Ground};
use super::exchange::Line;
use super::layout::Layout;
use super::prepared::{Operation, Ready};
use super::requests;
use super::schedule::Stand;
use super::scratch::Pool;
use super::{Algorithm, Operation as Kind};
use crate::comm::{Boards, Group};
use crate::constants::{Comm, Request};
use crate::error::{Error, Kind as What};
use crate::fault;
use crate::header::Envelope;
use crate::hosts::Levels;
use crate::world::{self, Fault, World};
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::ffi::c_int;
use pombo_collective::Segments;
use pombo_kernel::Node;

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

/// A call whose two ways are known: at once, over boards or host by host, where that is chosen; and by messages.
struct Prepared<B, M> {
    kind: Kind,
    comm: Comm,
    root: c_int,
    at_once: B,
    messages: M,
}

/// A call that knows messages only.
struct ByMessages<M> {
    kind: Kind,
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
    /// Who carries out what is next; none: all ranks.
    pub(super) part: Option<Part>,
    /// The number of its next operation over boards.
    pub(super) number: u64,
    /// The last number that it may use: what comes next on the communicator has a larger one, on all ranks.
    last: u64,
    /// What its messages carry. Calls of each kind are numbered by themselves, as programs have been seen that make calls
    /// of two kinds in another order on another rank, where nobody waits for all.
    tag: u32,
    /// The ranks do not agree on lengths, as this one has seen: what it returns when it is through.
    noted: Option<Error>,
}

/// Some of the communicator's ranks, which do a part of an operation by themselves.
pub(super) struct Part {
    /// Their nodes, in the order of their numbers in it.
    pub(super) nodes: Rc<[Node]>,
    /// They are all ranks of this host.
    pub(super) near: bool,
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

/// A call without a root. It is over when the first function returns true.
pub(super) fn prepare(
    kind: Kind,
    comm: Comm,
    at_once: impl Fn(&mut Call<'_>) -> Result<bool, Stop>,
    messages: impl Fn(&mut Call<'_>) -> Result<Ready, Error>,
) -> impl Collective {
    prepare_rooted(kind, comm, 0, at_once, messages)
}

/// A call with a root.
pub(super) fn prepare_rooted(
    kind: Kind,
    comm: Comm,
    root: c_int,
    at_once: impl Fn(&mut Call<'_>) -> Result<bool, Stop>,
    messages: impl Fn(&mut Call<'_>) -> Result<Ready, Error>,
) -> impl Collective {
    Prepared {
        kind,
        comm,
        root,
        at_once,
        messages,
    }
}

/// A call that knows messages only.
pub(super) fn by_messages(
    kind: Kind,
    comm: Comm,
    root: c_int,
    messages: impl Fn(&mut Call<'_>) -> Result<Ready, Error>,
) -> impl Collective {
    ByMessages {
        kind,
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
            let mut call = Call::new(world, self.kind, self.comm, self.root)?;
            match (self.at_once)(&mut call) {
                Ok(true) => call.verdict(),
                Ok(false) => call.run(&self.messages),
                Err(stop) => Err(call.refuse(stop)),
            }
        })
    }

    fn start(self) -> Result<Request, Fault> {
        start(self.kind, self.comm, self.root, &self.messages)
    }
}

impl<M: Fn(&mut Call<'_>) -> Result<Ready, Error>> Collective for ByMessages<M> {
    fn run(self) -> Result<(), Fault> {
        run(self.kind, self.comm, self.root, &self.messages)
    }

    fn start(self) -> Result<Request, Fault> {
        start(self.kind, self.comm, self.root, &self.messages)
    }
}

fn run(kind: Kind, comm: Comm, root: c_int, messages: Messages<'_>) -> Result<(), Fault> {
    world::with(|world| Call::new(world, kind, comm, root)?.run(messages))
}

fn start(kind: Kind, comm: Comm, root: c_int, messages: Messages<'_>) -> Result<Request, Fault> {
    world::with(|world| {
        let operation = Call::new(world, kind, comm, root)?.operation(messages)?;
        requests::start(world, operation)
    })
}

impl<'w> Call<'w> {
    #[inline]
    fn new(world: &'w mut World, kind: Kind, comm: Comm, root: c_int) -> Result<Self, Fault> {
        let index = world.comms.index(comm)?;
        let group = world.comms.get(comm)?;
        // Calls are counted before anything can go wrong with them, so that all ranks count alike, those whose call is
        // refused as well. Host by host a call takes two operations over boards.
        let number = group.operations + 1;
        group.operations = number + u64::from(group.levels.is_some());
        let last = group.operations;
        let of_kind = &mut group.of_kind[kind as usize];
        *of_kind = of_kind.wrapping_add(1);
        let tag = kind.tag(*of_kind);
        let stand = Stand {
            rank: group.rank,
            ranks: group.size(),
            root: root as usize,
        };
        let checked = group.root(root);
        let mut call = Call {
            world,
            comm,
            index,
            stand,
            part: None,
            number,
            last,
            tag,
            noted: None,
        };
        match checked {
            Ok(_) => Ok(call),
            Err(error) => Err(call.refuse(error.into())),
        }
    }

    #[inline(never)]
    fn run(&mut self, messages: Messages<'_>) -> Result<(), Fault> {
        self.operation(messages)?.run(self.world)
    }

    #[inline(never)]
    fn operation(&mut self, messages: Messages<'_>) -> Result<Box<Operation>, Fault> {
        let ready = messages(self).map_err(|error| self.refuse(error.into()))?;
        self.begin(ready)
    }

    /// Something is wrong with this rank's call. The others hear of it where they need it, unless this rank ends, which
    /// they hear as well.
    #[cold]
    fn refuse(&mut self, stop: Stop) -> Fault {
        let fault = match stop {
            Stop::Refused(error) => Fault::new(error, self.comm),
            Stop::Failed(fault) => fault,
        };
        let last = self.last;
        if !fault::is_fatal(self.world, &fault)
            && let Ok(&mut Group {
                boards: Boards::In(area),
                ..
            }) = self.group()
            && let Some(mut group) = self.world.near().group(area.into())
        {
            group.skip(last);
        }
        fault
    }

    /// The ranks do not agree on lengths.
    #[cold]
    pub(super) fn note(&mut self, error: Error) {
        self.noted.get_or_insert(error);
    }

    /// How a call ends that has come through.
    #[inline]
    pub(super) fn verdict(&mut self) -> Result<(), Fault> {
        match self.noted {
            None => Ok(()),
            Some(error) => Err(Fault::new(error, self.comm)),
        }
    }

    fn begin(&mut self, ready: Ready) -> Result<Box<Operation>, Fault> {
        let nodes = self.part.as_ref().map(|part| part.nodes.clone());
        let line = Line {
            index: self.index,
            comm: self.comm,
            header: Envelope::new(self.group()?.context * 2 + 1, self.tag),
            nodes,
        };
        Ok(Box::new(Operation::new(line, ready)))
    }

    /// Carries out a part of an operation by messages, or by a cast.
    #[inline(never)]
    pub(super) fn carry_out(&mut self, ready: Ready) -> Result<(), Stop> {
        let operation = self.begin(ready).map_err(Stop::Failed)?;
        match operation.run(self.world) {
            Err(fault) if fault.error.is_unequal() => self.note(fault.error),
            done => done.map_err(Stop::Failed)?,
        }
        Ok(())
    }

    /// How algorithms are chosen.
    pub(super) fn choices(&mut self) -> &Choices {
        self.world.parts.get()
    }

    pub(super) fn group(&mut self) -> Result<&mut Group, Error> {
        self.world.comms.at(self.index).ok_or(Error::Handle {
            kind: What::Comm,
            got: self.comm.0,
        })
    }

    /// How the ranks lie on hosts, if on several.
    pub(super) fn levels(&mut self) -> Result<Option<&Levels>, Error> {
        Ok(self.group()?.levels.as_deref())
    }

    /// Where the operation, or its part, runs.
    #[inline]
    pub(super) fn ground(&mut self, kind: Kind) -> Result<Ground, Error> {
        let ranks = self.stand.ranks;
        let near = self.part.as_ref().map(|part| part.near);
        let levels = self.levels()?;
        Ok(Ground {
            ranks,
            apart: !near.unwrap_or(levels.is_none()),
            boards: near.unwrap_or(levels.is_none()),
            cast: false,
            hosts: near.is_none()
                && levels.is_some_and(|levels| {
                    levels.is_deep() && (kind != Kind::Allgather || levels.in_order())
                }),
        })
    }

    /// The algorithm by messages for an operation of so many bytes.
    pub(super) fn pick(&mut self, kind: Kind, bytes: usize) -> Result<Algorithm, Error> {
        let ground = self.ground(kind)?;
        let ground = Ground {
            boards: false,
            hosts: false,
            ..ground
        };
        Ok(self.choices().pick(kind, bytes, ground))
    }

    /// Where temporary memory comes from.
    pub(super) fn pool(&mut self) -> &mut Pool {
        self.world.parts.get()
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
