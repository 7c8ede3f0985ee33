//! The common preparation of all collective calls: counting, checks and choice of the path.

use super::layout::Layout;
use super::operation::{Operation, PreparedOperation};
use super::p2p_executor::Addressing;
use super::requests;
use super::schedule::Position;
use super::scratch::Pool;
use super::segmentation::blocks;
use super::selection::{Conditions, Selector, selector};
use super::{Algorithm, Operation as Kind, enter_multicast};
use crate::comm::{Boards, CommRecord, Multicast};
use crate::constants::{Comm, Request};
use crate::datatype::Datatypes;
use crate::errhandler;
use crate::error::Error;
use crate::hosts::HostLayout;
use crate::message_header::MpiHeader;
use crate::objects::Objects;
use crate::op::Reduction;
use crate::persistent::{self, Kept};
use crate::runtime::world::{self, CommError, World};
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::ffi::c_int;
use pombo_kernel::Peer;

/// A collective call of this rank. It must be run or started, as the other ranks wait for it.
#[must_use = "the other ranks wait for it"]
pub trait Collective {
    /// Runs the blocking call.
    fn run(self) -> Result<(), CommError>;

    /// Starts the non-blocking call, which progresses whenever this rank is in a call. `'static`: buffers lent for the
    /// duration of a call suit the blocking form only.
    fn start(self) -> Result<Request, CommError>
    where
        Self: 'static;

    /// Makes a persistent request for the call, whose every start is one operation. It keeps `kept`.
    fn persist(self, kept: Kept) -> Result<Request, CommError>
    where
        Self: 'static;
}

/// A call with two paths: a fast one, over shared memory or hierarchical, where that is selected; and by messages.
struct CollectiveCall<B, M> {
    kind: Kind,
    comm: Comm,
    root: c_int,
    fast_path: B,
    messages: M,
}

/// A call by messages only.
struct MessageCall<M> {
    kind: Kind,
    comm: Comm,
    root: c_int,
    messages: M,
}

/// Prepares a call by messages. It is a trait object, so that the code after it is compiled once.
type Messages<'a> = &'a dyn Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>;

/// The state of a call while it is prepared and run.
pub(super) struct Call<'w> {
    pub(super) world: &'w mut World,
    pub(super) comm: Comm,
    /// The communicator's index in the table.
    pub(super) index: usize,
    pub(super) position: Position,
    /// The ranks that carry out the next part; `None`: all ranks.
    pub(super) subgroup: Option<SubGroup>,
    /// Whether the communicator is an intercommunicator: then `ranks` of the position counts the remote group, and `root`
    /// may be `MPI_ROOT` or `MPI_PROC_NULL`.
    pub(super) is_inter: bool,
    /// The number of a blocking call's next operation over shared memory.
    pub(super) number: u64,
    /// The last such number that the call may use: all ranks give the communicator's next call larger ones.
    last: u64,
    /// The tag of its messages. Each kind of call has its own count, because some programs order two calls of different
    /// kinds differently on different ranks, where neither synchronises.
    tag: u32,
    /// Whether all ranks begin the calls of this kind in one order, as multicast needs; starts of persistent requests
    /// need not.
    pub(super) in_order: bool,
    /// The error to return at the end if ranks disagree on lengths.
    disagreement: Option<Error>,
}

/// Some of the communicator's ranks, which carry out a part of an operation among themselves.
pub(super) struct SubGroup {
    /// Their peers, in the order of their ranks in the subgroup.
    pub(super) peers: Rc<[Peer]>,
    /// Whether they are all ranks of this host.
    pub(super) same_host: bool,
}

/// Why a call fails.
pub(super) enum CallError {
    /// An error that goes to the communicator's error handler.
    JoinError(Error),
    /// A failure that already has its communicator, such as that of another operation meanwhile.
    Failed(CommError),
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        CallError::JoinError(error)
    }
}

/// Prepares a call without a root. `fast_path` returns true if it has completed the call.
pub(super) fn prepare(
    kind: Kind,
    comm: Comm,
    fast_path: impl Fn(&mut Call<'_>) -> Result<bool, CallError>,
    messages: impl Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>,
) -> impl Collective {
    prepare_rooted(kind, comm, 0, fast_path, messages)
}

/// Prepares a call with a root.
pub(super) fn prepare_rooted(
    kind: Kind,
    comm: Comm,
    root: c_int,
    fast_path: impl Fn(&mut Call<'_>) -> Result<bool, CallError>,
    messages: impl Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>,
) -> impl Collective {
    CollectiveCall {
        kind,
        comm,
        root,
        fast_path,
        messages,
    }
}

/// Prepares a call by messages only.
pub(super) fn by_messages(
    kind: Kind,
    comm: Comm,
    root: c_int,
    messages: impl Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>,
) -> impl Collective {
    MessageCall {
        kind,
        comm,
        root,
        messages,
    }
}

impl<B, M> Collective for CollectiveCall<B, M>
where
    B: Fn(&mut Call<'_>) -> Result<bool, CallError>,
    M: Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>,
{
    fn run(self) -> Result<(), CommError> {
        world::with(|world| {
            let index = world.objects.comms.index(self.comm)?;
            let mut call = Call::at(world, index, self.comm);
            call.count(self.kind, self.root, true)?;
            let done = match call.is_inter {
                false => (self.fast_path)(&mut call),
                true => Ok(false),
            };
            match done {
                Ok(true) => call.verdict(),
                Ok(false) => call.run(&self.messages),
                Err(stop) => Err(call.refuse(stop)),
            }
        })
    }

    fn start(self) -> Result<Request, CommError> {
        start(self.kind, self.comm, self.root, &self.messages)
    }

    fn persist(self, kept: Kept) -> Result<Request, CommError>
    where
        Self: 'static,
    {
        persist(
            self.kind,
            self.comm,
            self.root,
            Rc::new(self.messages),
            kept,
        )
    }
}

impl<M: Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>> Collective for MessageCall<M> {
    fn run(self) -> Result<(), CommError> {
        run(self.kind, self.comm, self.root, &self.messages)
    }

    fn start(self) -> Result<Request, CommError> {
        start(self.kind, self.comm, self.root, &self.messages)
    }

    fn persist(self, kept: Kept) -> Result<Request, CommError>
    where
        Self: 'static,
    {
        persist(
            self.kind,
            self.comm,
            self.root,
            Rc::new(self.messages),
            kept,
        )
    }
}

fn run(kind: Kind, comm: Comm, root: c_int, messages: Messages<'_>) -> Result<(), CommError> {
    world::with(|world| {
        let index = world.objects.comms.index(comm)?;
        let mut call = Call::at(world, index, comm);
        call.count(kind, root, true)?;
        call.run(messages)
    })
}

fn start(
    kind: Kind,
    comm: Comm,
    root: c_int,
    messages: Messages<'_>,
) -> Result<Request, CommError> {
    world::with(|world| {
        let index = world.objects.comms.index(comm)?;
        let mut call = Call::at(world, index, comm);
        call.count(kind, root, false)?;
        let operation = call.operation(messages)?;
        requests::start(world, operation)
    })
}

/// Makes a persistent request. All its operations have the tag that the request was given when it was made: requests
/// of one communicator may be started in another order on each rank. One start is over before the next one begins.
fn persist(
    kind: Kind,
    comm: Comm,
    root: c_int,
    messages: Rc<dyn Fn(&mut Call<'_>) -> Result<PreparedOperation, Error>>,
    kept: Kept,
) -> Result<Request, CommError> {
    world::with(|world| {
        let checked = check(world, kind, comm, root, &*messages);
        let (tag, index) = match checked {
            Ok(made) => made,
            Err(failure) => {
                kept.free(&mut world.objects);
                return Err(failure);
            }
        };
        let start = move |world: &mut World| {
            let mut call = Call::at(world, index, comm);
            call.count(kind, root, false)?;
            (call.tag, call.in_order) = (tag, false);
            let operation = call.operation(&*messages)?;
            requests::start(world, operation)
        };
        persistent::collective(world, Rc::new(start), kept, comm)
    })
}

/// Checks the arguments of a call, as its start does; returns the tag and the communicator's index.
fn check(
    world: &mut World,
    kind: Kind,
    comm: Comm,
    root: c_int,
    messages: Messages<'_>,
) -> Result<(u32, usize), CommError> {
    let index = world.objects.comms.index(comm)?;
    let mut call = Call::at(world, index, comm);
    call.count(kind, root, false)?;
    call.in_order = false;
    match messages(&mut call) {
        Ok(ready) => call.pool().give(ready.scratch),
        Err(error) => return Err(call.refuse(error.into())),
    }
    Ok((call.tag, call.index))
}

impl<'w> Call<'w> {
    /// Makes a call on the communicator at an index; the program may have freed its handle. [`Call::count`] must follow:
    /// a call that could fail here would be moved, which takes longer than a short message.
    #[inline]
    fn at(world: &'w mut World, index: usize, comm: Comm) -> Self {
        Call {
            world,
            comm,
            index,
            position: Position {
                rank: 0,
                ranks: 0,
                root: 0,
            },
            subgroup: None,
            is_inter: false,
            number: 0,
            last: 0,
            tag: 0,
            in_order: true,
            disagreement: None,
        }
    }

    /// Counts the call among those of its communicator, and checks its root. A blocking call takes numbers of operations
    /// over shared memory. Others need none, as they go by messages; so they may come before it on one rank and behind
    /// it on another.
    #[inline(never)]
    fn count(&mut self, kind: Kind, root: c_int, is_blocking: bool) -> Result<(), CommError> {
        let record = self.world.objects.comms.known_at(self.index, self.comm)?;
        // Calls are counted before anything can fail, also those that are refused, so that all ranks count alike. A
        // hierarchical call takes two operations over shared memory.
        self.number = record.operations + 1;
        if is_blocking {
            record.operations = self.number + u64::from(record.host_layout.is_some());
        }
        self.last = record.operations;
        let calls_by_kind = &mut record.calls_by_kind[kind as usize];
        *calls_by_kind = calls_by_kind.wrapping_add(1);
        self.tag = kind.tag(*calls_by_kind);
        self.position = Position {
            rank: record.rank,
            ranks: record.size(),
            root: root as usize,
        };
        self.is_inter = record.is_inter();
        let enters =
            is_blocking && kind.waits_for_all() && record.multicast == Multicast::NotEntered;
        let checked = record.check_root(root);
        if enters {
            enter_multicast(self.world, self.comm)
                .map_err(|failure| self.refuse(CallError::Failed(failure)))?;
        }
        checked.map_err(|error| self.refuse(error.into()))
    }

    #[inline(never)]
    fn run(&mut self, messages: Messages<'_>) -> Result<(), CommError> {
        self.operation(messages)?.run(self.world)
    }

    #[inline(never)]
    fn operation(&mut self, messages: Messages<'_>) -> Result<Box<Operation>, CommError> {
        let ready = messages(self).map_err(|error| self.refuse(error.into()))?;
        self.begin(ready)
    }

    /// Refuses this rank's call. The other ranks are told over shared memory, unless the error ends this rank, which
    /// they detect as well.
    #[cold]
    fn refuse(&mut self, stop: CallError) -> CommError {
        let failure = match stop {
            CallError::JoinError(error) => CommError::new(error, self.comm),
            CallError::Failed(failure) => failure,
        };
        let last = self.last;
        if !errhandler::is_fatal(self.world, &failure)
            && let Ok(&mut CommRecord {
                boards: Boards::Area(area),
                ..
            }) = self.record()
            && let Some(mut group) = self.world.shm().group(area.into())
        {
            group.skip(last);
        }
        failure
    }

    /// Notes that the ranks disagree on lengths; the first such error counts.
    #[cold]
    pub(super) fn note(&mut self, error: Error) {
        self.disagreement.get_or_insert(error);
    }

    /// Runs a part of the call, and returns the disagreement that came up in it, which is not noted.
    pub(super) fn disagreement_in(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<(), CallError>,
    ) -> Result<Option<Error>, CallError> {
        let before = self.disagreement.take();
        let done = part(self);
        let found = core::mem::replace(&mut self.disagreement, before);
        done.map(|()| found)
    }

    /// Returns the result of a call that has completed.
    #[inline]
    pub(super) fn verdict(&mut self) -> Result<(), CommError> {
        match self.disagreement {
            None => Ok(()),
            Some(error) => Err(CommError::new(error, self.comm)),
        }
    }

    /// Makes a call on a communicator that is none of the program, with a tag of its own.
    #[cfg(feature = "hosts")]
    pub(super) fn internal(world: &'w mut World, comm: Comm, tag: u32) -> Result<Self, Error> {
        let index = world.objects.comms.index(comm)?;
        let mut call = Call::at(world, index, comm);
        let record = call.record()?;
        (call.position.rank, call.position.ranks, call.tag) = (record.rank, record.size(), tag);
        Ok(call)
    }

    pub(super) fn begin(&mut self, ready: PreparedOperation) -> Result<Box<Operation>, CommError> {
        let peers = self
            .subgroup
            .as_ref()
            .map(|subgroup| subgroup.peers.clone());
        let addressing = Addressing {
            index: self.index,
            comm: self.comm,
            header: self.header()?,
            peers,
        };
        Ok(Box::new(Operation::new(addressing, ready)))
    }

    /// Returns the header of the call's messages.
    #[inline]
    pub(super) fn header(&mut self) -> Result<MpiHeader, Error> {
        let tag = self.tag;
        Ok(MpiHeader::new(self.record()?.context * 2 + 1, tag))
    }

    /// Returns the peer of a rank of the operation, or of its part.
    #[inline]
    pub(super) fn peer(&mut self, rank: usize) -> Result<Peer, Error> {
        match &self.subgroup {
            Some(subgroup) => Ok(subgroup.peers[rank]),
            None => self.record()?.peer(rank as c_int),
        }
    }

    /// Runs a part of an operation by messages or multicast.
    #[inline(never)]
    pub(super) fn run_part(&mut self, ready: PreparedOperation) -> Result<(), CallError> {
        let operation = self.begin(ready).map_err(CallError::Failed)?;
        self.finish(operation)
    }

    /// Runs such a part, which has begun.
    pub(super) fn finish(&mut self, operation: Box<Operation>) -> Result<(), CallError> {
        match operation.run(self.world) {
            Err(failure) if failure.error.is_unequal() => self.note(failure.error),
            done => done.map_err(CallError::Failed)?,
        }
        Ok(())
    }

    /// Returns the objects of this process.
    pub(super) fn objects(&self) -> &Objects {
        &self.world.objects
    }

    /// Returns the datatypes of this process.
    #[inline]
    pub(super) fn datatypes(&self) -> &Datatypes {
        &self.world.objects.datatypes
    }

    /// Returns the selector of algorithms.
    pub(super) fn selector(&mut self) -> &Selector {
        selector(&mut self.world.objects)
    }

    pub(super) fn record(&mut self) -> Result<&mut CommRecord, Error> {
        self.world.objects.comms.known_at(self.index, self.comm)
    }

    /// Returns how the ranks are placed on hosts, if on several.
    pub(super) fn host_layout(&mut self) -> Result<Option<&HostLayout>, Error> {
        Ok(self.record()?.host_layout.as_deref())
    }

    /// Returns the conditions under which the operation, or its part, runs.
    #[inline]
    pub(super) fn conditions(&mut self, kind: Kind) -> Result<Conditions, Error> {
        let ranks = self.position.ranks;
        let same_host = self.subgroup.as_ref().map(|subgroup| subgroup.same_host);
        let several_hosts = self.spans_hosts()?;
        let record = self.record()?;
        let asked = record.algorithms[kind as usize];
        let layout = record.host_layout.as_deref();
        Ok(Conditions {
            ranks,
            several_hosts,
            shared_memory: !several_hosts,
            multicast: false,
            adaptive: same_host.is_none(),
            asked,
            hierarchical: same_host.is_none()
                && layout.is_some_and(|layout| {
                    layout.has_shared_host() && (kind != Kind::Allgather || layout.in_order())
                }),
        })
    }

    /// Selects the algorithm by messages for an operation of `bytes` bytes.
    pub(super) fn select(&mut self, kind: Kind, bytes: usize) -> Result<Algorithm, Error> {
        let conditions = self.conditions(kind)?;
        let conditions = Conditions {
            shared_memory: false,
            hierarchical: false,
            adaptive: false,
            ..conditions
        };
        Ok(self.selector().select(kind, bytes, conditions))
    }

    /// Returns the number of blocks of an algorithm for so many items of `size` bytes.
    pub(super) fn blocks(
        &mut self,
        items: usize,
        size: usize,
        algorithm: Algorithm,
    ) -> Result<usize, Error> {
        let among = (self.position.ranks, self.spans_hosts()?);
        Ok(blocks(items, size, algorithm, among))
    }

    /// Cuts a vector into the blocks of an algorithm; returns it and the number of blocks.
    pub(super) fn cut(
        &mut self,
        vector: Layout,
        algorithm: Algorithm,
    ) -> Result<(Layout, usize), Error> {
        let blocks = self.blocks(vector.items(), vector.shape().size(), algorithm)?;
        Ok((vector.evenly(blocks), blocks))
    }

    /// Returns whether the operation, or its part, is among ranks of several hosts.
    fn spans_hosts(&mut self) -> Result<bool, Error> {
        let same_host = self.subgroup.as_ref().map(|subgroup| subgroup.same_host);
        let on_one = self.record()?.host_layout.is_none();
        Ok(!same_host.unwrap_or(on_one))
    }

    /// Returns whether the whole call runs along the adaptive tree.
    pub(super) fn is_adaptive(&mut self, kind: Kind) -> Result<bool, Error> {
        let conditions = self.conditions(kind)?;
        let requested = self.selector().requested(kind, conditions);
        let is_it = requested.is_some_and(|it| it.algorithm == Algorithm::Adaptive);
        Ok(conditions.ranks > 1 && is_it)
    }

    /// Selects the algorithm for a reduction: one that keeps the order of the ranks where the operation needs it.
    pub(super) fn select_for(
        &mut self,
        reduction: &Reduction,
        kind: Kind,
        bytes: usize,
    ) -> Result<Algorithm, Error> {
        match (reduction.commutes(), kind) {
            (true, _) | (_, Kind::Scan | Kind::Exscan) => self.select(kind, bytes),
            (false, Kind::Allreduce) => Ok(Algorithm::RecursiveDoubling),
            (false, _) => Ok(Algorithm::Binomial),
        }
    }

    /// Returns the tag of its messages.
    pub(super) fn tag(&self) -> u32 {
        self.tag
    }

    /// Returns the pool of scratch memory.
    pub(super) fn pool(&mut self) -> &mut Pool {
        self.world.objects.extensions.get()
    }
}
