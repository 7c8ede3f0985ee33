//! Communicators: each is a context and a list of peers.

pub mod create;

use crate::collective::KINDS;
use crate::constants::*;
use crate::error::{Error, Kind};
use crate::hosts::HostLayout;
use crate::runtime::world::CommError;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_job::Hosts;
use pombo_kernel::Peer;

/// A communicator as one rank sees it.
pub(crate) struct CommRecord {
    /// The communicator's number: twice this is the context of point-to-point messages, one more that of collective
    /// ones.
    pub(crate) context: u32,
    /// This rank in the communicator.
    pub(crate) rank: usize,
    /// The peer of every rank. Duplicates share it and what is derived from it.
    pub(crate) peers: Rc<[Peer]>,
    /// The rank of every peer of the communicator; empty if ranks equal peers.
    ranks: Rc<[Option<u16>]>,
    /// The error handler.
    pub(crate) handler: Errhandler,
    /// Number of operations over shared memory so far.
    pub(crate) operations: u64,
    /// Number of calls of each kind so far.
    pub(crate) calls_by_kind: [u32; KINDS],
    /// The region of shared memory for its ranks on this host.
    pub(crate) boards: Boards,
    /// How its ranks are placed on hosts, if on several.
    pub(crate) host_layout: Option<Rc<HostLayout>>,
    /// Whether the first ranks of all hosts form a multicast group.
    pub(crate) multicast: bool,
    /// Number of requests that still refer to it.
    pub(crate) pending: usize,
    /// Whether the user has freed it.
    freed: bool,
}

/// Whether a communicator's ranks on this host have a region of shared memory for collective operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Boards {
    /// It is not yet determined: `MPI_COMM_WORLD` before its first operation.
    NotEntered,
    /// It has none: it has no other rank on this host, or no region was free.
    None,
    /// It uses this region.
    Area(u8),
}

impl CommRecord {
    /// Creates the communicator of these peers; `own` is among them.
    pub(crate) fn new(
        context: u32,
        own: Peer,
        peers: Vec<Peer>,
        world: usize,
        handler: Errhandler,
    ) -> Self {
        let identity = peers.len() == world
            && peers
                .iter()
                .enumerate()
                .all(|(rank, peer)| peer.index() == rank);
        let mut ranks = Vec::new();
        if !identity {
            ranks.resize(world, None);
            for (rank, peer) in peers.iter().enumerate() {
                if let Some(place) = ranks.get_mut(peer.index()) {
                    *place = Some(rank as u16);
                }
            }
        }
        let rank = peers.iter().position(|&peer| peer == own).unwrap_or(0);
        CommRecord {
            context,
            rank,
            peers: peers.into(),
            ranks: ranks.into(),
            handler,
            operations: 0,
            calls_by_kind: [0; KINDS],
            boards: Boards::None,
            host_layout: None,
            multicast: false,
            pending: 0,
            freed: false,
        }
    }

    /// Creates another communicator of the same ranks.
    pub(crate) fn duplicate(&self, context: u32) -> Self {
        CommRecord {
            context,
            rank: self.rank,
            peers: self.peers.clone(),
            ranks: self.ranks.clone(),
            handler: self.handler,
            operations: 0,
            calls_by_kind: [0; KINDS],
            boards: Boards::None,
            host_layout: self.host_layout.clone(),
            multicast: false,
            pending: 0,
            freed: false,
        }
    }

    /// Returns the number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    /// Returns the peer of a rank.
    #[inline]
    pub(crate) fn peer(&self, rank: c_int) -> Result<Peer, Error> {
        usize::try_from(rank)
            .ok()
            .and_then(|rank| self.peers.get(rank).copied())
            .ok_or(Error::Rank {
                got: rank,
                size: self.size() as c_int,
            })
    }

    /// Checks a root's rank.
    pub(crate) fn root(&self, root: c_int) -> Result<usize, Error> {
        let size = self.size();
        usize::try_from(root)
            .ok()
            .filter(|&root| root < size)
            .ok_or(Error::Root {
                got: root,
                size: size as c_int,
            })
    }

    /// Returns the rank of a peer; messages arrive only from peers that have one.
    #[inline]
    pub(crate) fn rank_of(&self, peer: Peer) -> c_int {
        if self.ranks.is_empty() {
            return c_int::from(peer.0);
        }
        let rank = self.ranks.get(peer.index()).copied().flatten();
        rank.map_or(MPI_UNDEFINED, c_int::from)
    }
}

/// All communicators of a process.
pub(crate) struct Comms {
    table: Vec<Option<CommRecord>>,
    /// Indices of the table without a communicator.
    free: Vec<u32>,
    /// Contexts and their indices, in ascending order as contexts only grow; those of freed communicators remain for a
    /// while.
    places: Vec<(u32, u32)>,
    /// The first context that this process has never used.
    pub(crate) next_context: u32,
}

const WORLD: usize = 0;
const SELF: usize = 1;
/// The first index of a communicator that the program makes.
const OWN: usize = 2;

impl Comms {
    /// Creates `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub(crate) fn new(own: Peer, world: usize, hosts: &Hosts) -> Self {
        let all: Vec<Peer> = (0..world).map(|peer| Peer(peer as u16)).collect();
        let layout = HostLayout::of(hosts, &all, own);
        let handler = MPI_ERRORS_ARE_FATAL;
        let mut table = [
            CommRecord::new(0, own, all, world, handler),
            CommRecord::new(1, own, [own].into(), world, handler),
        ];
        table[WORLD].boards = Boards::NotEntered;
        table[WORLD].host_layout = layout;
        Comms {
            table: table.into_iter().map(Some).collect(),
            free: Vec::new(),
            places: [(0, WORLD as u32), (1, SELF as u32)].into(),
            next_context: 2,
        }
    }

    /// Returns the index of a handle.
    #[inline]
    pub(crate) fn index(&self, comm: Comm) -> Result<usize, Error> {
        let index = place(comm);
        match self.table.get(index) {
            Some(Some(record)) if !record.freed => Ok(index),
            _ => Err(Error::Handle {
                kind: Kind::Comm,
                got: comm.0,
            }),
        }
    }

    /// Returns the communicator of a handle.
    #[inline]
    pub(crate) fn get(&mut self, comm: Comm) -> Result<&mut CommRecord, Error> {
        let index = self.index(comm)?;
        self.at(index).ok_or(Error::Handle {
            kind: Kind::Comm,
            got: comm.0,
        })
    }

    /// Returns the communicator at an index.
    #[inline]
    pub(crate) fn at(&mut self, index: usize) -> Option<&mut CommRecord> {
        self.table.get_mut(index)?.as_mut()
    }

    /// Returns the communicator whose messages carry this context, and its handle.
    #[inline]
    pub(crate) fn of_context(&mut self, context: u32) -> Option<(Comm, &mut CommRecord)> {
        let context = context / 2;
        let is_it =
            |record: &Option<CommRecord>| matches!(record, Some(it) if it.context == context);
        // Contexts and indices are assigned in the same order, so the index nearly always equals the context.
        let place = context as usize;
        let index = match self.table.get(place).is_some_and(is_it) {
            true => place,
            false => self.place(context)?,
        };
        Some((handle(index), self.at(index)?))
    }

    /// Adds the error handler to a failure of a communicator, which may be freed before the failure is raised.
    #[cold]
    pub(crate) fn noted(&mut self, failure: CommError) -> CommError {
        match self.at(place(failure.comm)) {
            Some(record) if failure.handler == Errhandler::NULL => CommError {
                handler: record.handler,
                ..failure
            },
            _ => failure,
        }
    }

    /// Looks up the index of a communicator that reuses a freed one.
    #[cold]
    fn place(&self, context: u32) -> Option<usize> {
        let found = self.places.binary_search_by_key(&context, |(it, _)| *it);
        let &(_, place) = self.places.get(found.ok()?)?;
        let record = self.table.get(place as usize)?.as_ref();
        record.filter(|record| record.context == context)?;
        Some(place as usize)
    }

    /// Adds a new communicator; its context is larger than all before it.
    pub(crate) fn insert(&mut self, record: CommRecord) -> Comm {
        let index = self.free.pop().unwrap_or_else(|| {
            self.table.push(None);
            (self.table.len() - 1) as u32
        });
        self.places.push((record.context, index));
        if let Some(place) = self.table.get_mut(index as usize) {
            *place = Some(record);
        }
        handle(index as usize)
    }

    /// Frees a communicator, at once or when its last request is complete.
    pub(crate) fn free(&mut self, comm: Comm) -> Result<(), Error> {
        if comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF {
            return Err(Error::Handle {
                kind: Kind::Comm,
                got: comm.0,
            });
        }
        let index = self.index(comm)?;
        if let Some(record) = self.at(index) {
            record.freed = true;
        }
        self.sweep(index);
        Ok(())
    }

    /// Notes that a request that refers to a communicator by its context is complete.
    #[inline]
    pub(crate) fn settled(&mut self, context: u32) {
        match self.table.get_mut(context as usize / 2) {
            Some(Some(it)) if it.context == context / 2 && !it.freed => {
                it.pending = it.pending.saturating_sub(1);
            }
            _ => self.settled_late(context),
        }
    }

    /// Does so for a communicator whose index differs from its context, or that was freed.
    #[cold]
    fn settled_late(&mut self, context: u32) {
        if let Some((comm, record)) = self.of_context(context) {
            record.pending = record.pending.saturating_sub(1);
            if record.freed {
                self.sweep(place(comm));
            }
        }
    }

    #[cold]
    fn sweep(&mut self, index: usize) {
        if let Some(place) = self.table.get_mut(index)
            && place
                .as_ref()
                .is_some_and(|record| record.freed && record.pending == 0)
        {
            *place = None;
            self.free.push(index as u32);
            self.forget_places();
        }
    }

    /// Removes the contexts of freed communicators when they are the majority.
    fn forget_places(&mut self) {
        let (table, live) = (&self.table, self.table.len() - self.free.len());
        if self.places.len() > 2 * live + FEW {
            self.places.retain(|&(context, place)| {
                let record = table.get(place as usize).and_then(Option::as_ref);
                record.is_some_and(|record| record.context == context)
            });
        }
    }
}

/// Returns the index of a handle, which need not be in the table.
#[inline]
fn place(comm: Comm) -> usize {
    match comm {
        MPI_COMM_WORLD => WORLD,
        MPI_COMM_SELF => SELF,
        // No computed handle gives the index of the two predefined communicators.
        _ => comm.0.wrapping_sub(FIRST_OWN_HANDLE).saturating_add(OWN),
    }
}

/// Up to this many contexts of freed communicators are never removed.
const FEW: usize = 64;

fn handle(index: usize) -> Comm {
    match index {
        WORLD => MPI_COMM_WORLD,
        SELF => MPI_COMM_SELF,
        _ => Comm(index - OWN + FIRST_OWN_HANDLE),
    }
}
