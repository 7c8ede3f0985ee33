//! Communicators: a context and a list of peers.

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
    /// Twice this is the context of point-to-point messages; one more that of collective ones.
    pub(crate) context: u32,
    /// This rank's number in it.
    pub(crate) rank: usize,
    /// The peer of every rank. Duplicates share it, and what follows from it.
    pub(crate) peers: Rc<[Peer]>,
    /// The rank of every peer, where it has one; empty if ranks are peers.
    ranks: Rc<[Option<u16>]>,
    /// What happens on errors.
    pub(crate) handler: Errhandler,
    /// Numbers of collective operations so far.
    pub(crate) operations: u64,
    /// How many calls of each kind there were.
    pub(crate) calls_by_kind: [u32; KINDS],
    /// Where its ranks on this host publish for each other.
    pub(crate) boards: Boards,
    /// How its ranks lie on hosts, if on several.
    pub(crate) host_layout: Option<Rc<HostLayout>>,
    /// The first ranks of all hosts form a group of the network's own broadcast.
    pub(crate) multicast: bool,
    /// Requests that still name it.
    pub(crate) pending: usize,
    /// Freed by its user.
    freed: bool,
}

/// Whether a communicator's ranks have boards in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Boards {
    /// Not yet looked for: `MPI_COMM_WORLD` before its first operation.
    NotEntered,
    /// No: no other is on this host, or there was no area left.
    None,
    /// In this area.
    Area(u8),
}

impl CommRecord {
    /// Of these peers; `own` is among them.
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

    /// Another one of the same ranks.
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

    /// How many ranks.
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    /// The peer of a rank.
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

    /// A root's rank.
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

    /// The rank of a peer; messages come only from peers that have one.
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
    /// Places without a communicator.
    free: Vec<u32>,
    /// Contexts and places, in ascending order as contexts only grow; those of freed communicators stay for a while.
    places: Vec<(u32, u32)>,
    /// Contexts from here up were never used by this process.
    pub(crate) next_context: u32,
}

const WORLD: usize = 0;
const SELF: usize = 1;
/// The first place of a communicator of the program's own.
const OWN: usize = 2;

impl Comms {
    /// `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
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

    /// The index behind a handle.
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

    /// The communicator behind a handle.
    #[inline]
    pub(crate) fn get(&mut self, comm: Comm) -> Result<&mut CommRecord, Error> {
        let index = self.index(comm)?;
        self.at(index).ok_or(Error::Handle {
            kind: Kind::Comm,
            got: comm.0,
        })
    }

    /// The communicator at an index.
    #[inline]
    pub(crate) fn at(&mut self, index: usize) -> Option<&mut CommRecord> {
        self.table.get_mut(index)?.as_mut()
    }

    /// The communicator whose messages carry this context, and its handle.
    #[inline]
    pub(crate) fn of_context(&mut self, context: u32) -> Option<(Comm, &mut CommRecord)> {
        let context = context / 2;
        let is_it =
            |record: &Option<CommRecord>| matches!(record, Some(it) if it.context == context);
        // Contexts and places are both counted, so it is nearly always there.
        let place = context as usize;
        let index = match self.table.get(place).is_some_and(is_it) {
            true => place,
            false => self.place(context)?,
        };
        Some((handle(index), self.at(index)?))
    }

    /// A fault of a communicator that may be freed, and gone as soon as its last request is over: it notes the handler.
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

    /// The place of a communicator that took one that was free again.
    #[cold]
    fn place(&self, context: u32) -> Option<usize> {
        let found = self.places.binary_search_by_key(&context, |(it, _)| *it);
        let &(_, place) = self.places.get(found.ok()?)?;
        let record = self.table.get(place as usize)?.as_ref();
        record.filter(|record| record.context == context)?;
        Some(place as usize)
    }

    /// Takes a new communicator in, whose context is larger than all before it.
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

    /// Forgets a communicator, at once or when its last request is over.
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

    /// A request that named a communicator by its context is over.
    #[inline]
    pub(crate) fn settled(&mut self, context: u32) {
        match self.table.get_mut(context as usize / 2) {
            Some(Some(it)) if it.context == context / 2 && !it.freed => {
                it.pending = it.pending.saturating_sub(1);
            }
            _ => self.settled_late(context),
        }
    }

    /// The communicator has another place, or was freed.
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

    /// Forgets the contexts of freed communicators when they are most.
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

/// Where a communicator stands, if it does.
#[inline]
fn place(comm: Comm) -> usize {
    match comm {
        MPI_COMM_WORLD => WORLD,
        MPI_COMM_SELF => SELF,
        // No number leads to the first two.
        _ => comm.0.wrapping_sub(FIRST_OWN_HANDLE).saturating_add(OWN),
    }
}

/// So many contexts of freed communicators are never gone through.
const FEW: usize = 64;

fn handle(index: usize) -> Comm {
    match index {
        WORLD => MPI_COMM_WORLD,
        SELF => MPI_COMM_SELF,
        _ => Comm(index - OWN + FIRST_OWN_HANDLE),
    }
}
