//! Collective operations over shared memory: which communicators have a region for them, and the blocking call.
//!
//! Only blocking calls use it: all ranks of a communicator make them in the same order, and number them alike.
//! Non-blocking calls go by messages.
//!
//! Ranks that disagree on the length of an operation still complete it: every payload is marked with its operation and
//! the length by its rank's arguments. A rank that expects another mark notes the error and leaves the operation. The
//! ranks that still need its payloads are told that none will come, and all ranks take part in the next operation.

pub(super) use super::algorithm::Method;
use super::prepare::{Call, CallError};
use super::schedule::{Position, StepSource};
use super::shm_buffers::{BlockedBuffer, ShmBuffers};
use super::shm_executor::{End, Received, ShmExecutor};
use super::{Algorithm, Operation};
use crate::comm::Boards;
use crate::datatype::Datatypes;
use crate::error::Error;
use crate::runtime::world::World;
use alloc::vec::Vec;
use core::iter;
use pombo_collective::{Execution, Step, barrier_shm};
use pombo_kernel::Peer;
use pombo_netdrivers::shm::collective::{MAX_PAYLOAD, REGIONS};
use pombo_netdrivers::tuning::{PAIR_DIRECT, PAIR_EXCHANGED, PIPELINED_PAYLOAD};

/// The region of `MPI_COMM_WORLD`.
const WORLD: usize = 0;
/// Bytes of a cache line, the unit at which payloads are cut.
const LINE: usize = 64;

/// Returns the bytes of each payload, and the number of payloads, for `bytes` bytes of items of `item` bytes that go from
/// one rank to others: one is written while another is read. The bytes are whole items.
#[inline]
pub(super) fn segments(bytes: usize, item: usize) -> (usize, usize) {
    cut(bytes, PIPELINED_PAYLOAD, item)
}

/// Returns the bytes of each payload's share, and the number of payloads, where `parts` ranks give each other a share of
/// `bytes` bytes of items of `item` bytes: all write at the same time, and then all read.
#[inline]
pub(super) fn shares(bytes: usize, parts: usize, item: usize) -> (usize, usize) {
    cut(bytes, MAX_PAYLOAD / parts, item)
}

/// Cuts bytes into pieces of at most so many, but of one item at least, and returns their length and number.
#[inline]
fn cut(bytes: usize, most: usize, item: usize) -> (usize, usize) {
    if bytes <= most {
        return (bytes, usize::from(bytes > 0));
    }
    let unit = match LINE.is_multiple_of(item) {
        true => LINE,
        false => item,
    };
    let grain = ((most / unit).max(1) * unit).min(bytes);
    (grain, bytes.div_ceil(grain))
}

/// Returns the most bytes of an operation that goes directly, as its algorithm is selected by them.
fn most_direct(operation: Operation) -> usize {
    match operation {
        Operation::Bcast | Operation::Reduce | Operation::Allreduce => PAIR_DIRECT,
        Operation::Alltoall => PAIR_EXCHANGED,
        // The contributions of both ranks.
        Operation::Allgather => 2 * PAIR_EXCHANGED,
        _ => 0,
    }
}

impl Call<'_> {
    /// Returns the method of this operation, or of its part. All its ranks get the same answer.
    #[inline]
    pub(super) fn method(&mut self, operation: Operation, bytes: usize) -> Result<Method, Error> {
        let last = self.record()?.last_methods[operation as usize];
        match last {
            Some((of, method)) if of == bytes && self.subgroup.is_none() => {
                Ok(self.numbered(method))
            }
            _ => self.find_method(operation, bytes),
        }
    }

    #[inline(never)]
    fn find_method(&mut self, operation: Operation, bytes: usize) -> Result<Method, Error> {
        let conditions = self.conditions(operation)?;
        let is_pair = conditions.ranks == 2 && conditions.shared_memory;
        let is_short_pair = is_pair && bytes <= most_direct(operation);
        let over: Option<fn(u8) -> Method> = match conditions.ranks {
            ..2 => None,
            _ => match self.selector().select(operation, bytes, conditions) {
                Algorithm::SharedMemory => Some(Method::SharedMemory),
                Algorithm::Hierarchical => return Ok(Method::Hierarchical),
                Algorithm::Linear
                | Algorithm::Binomial
                | Algorithm::RecursiveDoubling
                | Algorithm::SpreadOut
                    if is_short_pair =>
                {
                    Some(Method::Direct)
                }
                _ => None,
            },
        };
        let area = match over {
            Some(_) => self.area()?,
            None => None,
        };
        let method = over
            .zip(area)
            .map_or(Method::Messages, |(method, area)| method(area));
        if self.subgroup.is_none() {
            self.record()?.last_methods[operation as usize] = Some((bytes, method));
        }
        Ok(self.numbered(method))
    }

    /// Returns the method, or messages where the communicator's numbers of operations over shared memory are used up.
    #[inline]
    fn numbered(&mut self, method: Method) -> Method {
        match method {
            Method::SharedMemory(area) | Method::Direct(area) if !self.has_number(area) => {
                Method::Messages
            }
            _ => method,
        }
    }

    /// Returns whether the operation is hierarchical. `bytes` is called only where ranks are on several hosts.
    #[inline]
    pub(super) fn is_hierarchical(
        &mut self,
        operation: Operation,
        bytes: impl FnOnce(&Datatypes) -> Result<usize, Error>,
    ) -> Result<bool, Error> {
        if self.host_layout()?.is_none() {
            return Ok(false);
        }
        let bytes = bytes(self.datatypes())?;
        Ok(matches!(
            self.method(operation, bytes)?,
            Method::Hierarchical
        ))
    }

    /// Returns the communicator's region of shared memory, if it has one.
    #[inline]
    fn area(&mut self) -> Result<Option<u8>, Error> {
        let boards = match self.record()?.boards {
            Boards::NotEntered => self.enter_world()?,
            known => known,
        };
        Ok(match boards {
            Boards::Area(area) => Some(area),
            _ => None,
        })
    }

    /// Compares the lengths of all ranks before an operation of `taken` bytes goes by messages, where shorter ones go
    /// over shared memory or directly: else two ranks that disagree on the length would wait for each other on different paths. All
    /// ranks see all lengths, so either all continue or none does. Returns true if they disagree: the call is over.
    #[inline(never)]
    pub(super) fn disagrees(
        &mut self,
        operation: Operation,
        (given, taken): (usize, usize),
    ) -> Result<bool, CallError> {
        if !self.conditions(operation)?.shared_memory {
            return Ok(false);
        }
        let (Method::SharedMemory(area) | Method::Direct(area)) = self.method(operation, 0)? else {
            return Ok(false);
        };
        let mut buffers = ShmBuffers::plain(
            operation,
            taken,
            BlockedBuffer::nothing(),
            BlockedBuffer::nothing(),
        );
        if given != taken {
            // The largest mark agrees with no other rank's.
            buffers = buffers.giving(operation, usize::MAX);
        }
        let Position { rank, ranks, .. } = self.position;
        let own = (given != taken).then(|| Error::unequal(given as u64, taken as u64));
        let found = self.disagreement_in(|call| {
            let done = call.run_shm(area, &mut barrier_shm(rank, ranks), &buffers);
            done.map(|_| ())
        })?;
        let Some(error) = own.or(found) else {
            return Ok(false);
        };
        // The root of a broadcast needs nothing of the others.
        if operation != Operation::Bcast || !self.position.is_root() {
            self.note(error);
        }
        Ok(true)
    }

    #[cold]
    fn enter_world(&mut self) -> Result<Boards, Error> {
        let record = self.record()?;
        let peers = record.peers.clone();
        let boards = enter(self.world, &peers, WORLD, 0);
        self.record()?.boards = boards;
        Ok(boards)
    }

    #[inline]
    fn has_number(&mut self, area: u8) -> bool {
        let number = self.number;
        let group = self.world.shm().group(area.into());
        group.is_some_and(|group| group.has_number_for(number))
    }

    /// Runs an operation over shared memory until it is complete. A trait object costs an indirect call for each step,
    /// but this code exists once.
    #[inline(never)]
    pub(super) fn run_shm(
        &mut self,
        area: u8,
        steps: &mut dyn StepSource,
        buffers: &ShmBuffers,
    ) -> Result<bool, CallError> {
        self.run_steps(area, iter::from_fn(|| steps.next()), buffers)
    }

    /// Does what [`Call::run_shm`] does with inlined steps: for short operations, where an indirect call for each step
    /// is measurable.
    #[inline]
    pub(super) fn run_steps(
        &mut self,
        area: u8,
        steps: impl Iterator<Item = Step>,
        buffers: &ShmBuffers,
    ) -> Result<bool, CallError> {
        let (mut running, mut received) = (Execution::new(steps), Received::nothing());
        let (rank, number) = (self.position.rank, self.number);
        // Each part of a call has a number of its own.
        self.number += 1;
        if let Some(mut group) = self.world.shm().group(area.into()) {
            group.begin(number, buffers.gives);
        }
        let mut end = None;
        let idle = self.world.first_idle();
        let done = self.world.until_after(idle, |world| {
            let group = world.shm().group(area.into());
            let group = group.map(|group| {
                if idle > 0 {
                    group.without_spinning()
                } else {
                    group
                }
            });
            let polled = group.map(|group| {
                running.poll(&mut ShmExecutor {
                    group,
                    rank,
                    buffers,
                    received: &mut received,
                })
            });
            Ok(match polled {
                Some(Ok(over)) => over.then_some(()),
                Some(Err(error)) => {
                    end = Some(error);
                    Some(())
                }
                None => Some(()),
            })
        });
        if end.is_none() && done.is_ok() {
            return Ok(true);
        }
        self.leave(area, end)?;
        done.map_err(CallError::Failed)?;
        Ok(true)
    }

    /// Ends an operation early.
    #[cold]
    fn leave(&mut self, area: u8, end: Option<End>) -> Result<(), CallError> {
        if let Some(mut group) = self.world.shm().group(area.into()) {
            group.end();
        }
        match end {
            None => {}
            Some(End::Unequal { sent, room }) => {
                self.drop_message()?;
                self.note(Error::unequal(sent, room));
            }
            Some(End::Lost(near)) => {
                let world = &mut self.world;
                let host = world.hosts.of(world.kernel.me());
                let peer = world.hosts.members(host).get(near.index()).copied();
                let lost = pombo_kernel::Error::PeerLost(peer.unwrap_or(near));
                return Err(CallError::JoinError(lost.into()));
            }
        }
        Ok(())
    }
}

/// Returns, for each region that is free in this rank, the number of a new communicator's first operation in it. The
/// region of `MPI_COMM_WORLD` is never free.
pub(crate) fn areas(world: &mut World) -> [Option<u64>; REGIONS] {
    let mut areas = world.shm().free_regions();
    areas[WORLD] = None;
    areas
}

/// Takes a region for those peers of a new communicator that are on this host; all of them have found it free.
pub(crate) fn enter(world: &mut World, peers: &[Peer], area: usize, first: u64) -> Boards {
    let host = world.hosts.of(world.kernel.me());
    let near = world.hosts.members(host);
    let place = |peer: &Peer| near.binary_search(peer).ok();
    let peers = peers.iter().filter_map(place);
    let peers: Vec<Peer> = peers.map(|place| Peer(place as u16)).collect();
    if peers.len() < 2 {
        return Boards::None;
    }
    match world.shm().enter_group(area, peers.into_iter(), first) {
        true => Boards::Area(area as u8),
        false => Boards::None,
    }
}
