//! Communicators: each is a context and a list of peers.

pub mod attributes;
pub mod create;
pub mod create_group;
pub mod duplicate;
pub mod inquiry;
pub mod intercommunicator;
pub mod split_type;

use crate::attribute::list::Attributes;
use crate::collective::algorithm::{Algorithms, KINDS, LastMethods, set_hint};
use crate::constants::*;
use crate::error::{Class, Error, Kind};
use crate::hosts::HostLayout;
use crate::info::list::InfoList;
use crate::runtime::world::CommError;
use crate::topology::kinds::Topology;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ops::Range;
use pombo_job::Hosts;
use pombo_kernel::Peer;

/// A communicator as one rank sees it.
pub(crate) struct CommRecord {
    /// The communicator's number: twice this is the context of point-to-point messages, one more that of collective
    /// ones.
    pub(crate) context: u32,
    /// This rank in the communicator.
    pub(crate) rank: usize,
    /// The peer of every rank that messages name: those of the remote group in an intercommunicator. Duplicates share
    /// it and what is derived from it.
    pub(crate) peers: Rc<[Peer]>,
    /// The rank of every peer of the communicator; empty if ranks equal peers.
    ranks: Rc<[Option<u16>]>,
    /// The local group of an intercommunicator, which shares no member with the remote one; `None` in an
    /// intracommunicator.
    local: Option<Rc<[Peer]>>,
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
    pub(crate) multicast: Multicast,
    /// Contexts that no other communicator of its ranks has: for those that `MPI_Comm_idup` makes of it, without a
    /// message. All ranks have the same ones.
    pub(crate) spare_contexts: Range<u32>,
    /// The name that `MPI_Comm_set_name` has set; none: the predefined one.
    pub(crate) name: Option<Vec<u8>>,
    /// The hints of the program.
    hints: InfoList,
    /// The algorithms of collective operations that the hints name.
    pub(crate) algorithms: Algorithms,
    /// How the last blocking calls were carried out.
    pub(crate) last_methods: LastMethods,
    /// The attributes of the program.
    pub(crate) attributes: Attributes,
    /// Number of persistent requests of neighbourhoods so far.
    pub(crate) persistent_neighbourhoods: u32,
    /// Its topology, if it has one.
    pub(crate) topology: Option<Rc<Topology>>,
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

/// Whether the first ranks of a communicator's hosts form a multicast group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Multicast {
    /// It is not yet determined: `MPI_COMM_WORLD` on several hosts before its ranks have entered groups.
    NotEntered,
    /// They form none: they are on one host, or there is no multicast or no room.
    None,
    /// They form the group of the communicator's context.
    Group,
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
        let (mut rank, mut are_peers) = (0, peers.len() == world);
        let mut ranks = vec![None; world];
        for (place, &peer) in peers.iter().enumerate() {
            if peer == own {
                rank = place;
            }
            are_peers &= peer.index() == place;
            if let Some(of_peer) = ranks.get_mut(peer.index()) {
                *of_peer = Some(place as u16);
            }
        }
        if are_peers {
            ranks = Vec::new();
        }
        CommRecord {
            context,
            rank,
            peers: peers.into(),
            ranks: ranks.into(),
            local: None,
            handler,
            operations: 0,
            calls_by_kind: [0; KINDS],
            boards: Boards::None,
            host_layout: None,
            multicast: Multicast::None,
            spare_contexts: 0..0,
            name: None,
            hints: InfoList::default(),
            algorithms: Algorithms::default(),
            last_methods: LastMethods::default(),
            attributes: Attributes::default(),
            persistent_neighbourhoods: 0,
            topology: None,
            pending: 0,
            freed: false,
        }
    }

    /// Creates the intercommunicator of two groups that share no member; `own` is in the local one.
    pub(crate) fn new_inter(
        context: u32,
        own: Peer,
        [local, remote]: [Vec<Peer>; 2],
        world: usize,
        handler: Errhandler,
    ) -> Self {
        CommRecord {
            rank: local.iter().position(|&peer| peer == own).unwrap_or(0),
            local: Some(local.into()),
            ..CommRecord::new(context, own, remote, world, handler)
        }
    }

    /// Creates another communicator of the same ranks.
    pub(crate) fn duplicate(&self, context: u32) -> Self {
        CommRecord {
            context,
            rank: self.rank,
            peers: self.peers.clone(),
            ranks: self.ranks.clone(),
            local: self.local.clone(),
            handler: self.handler,
            operations: 0,
            calls_by_kind: [0; KINDS],
            boards: Boards::None,
            host_layout: self.host_layout.clone(),
            multicast: Multicast::None,
            spare_contexts: 0..0,
            name: None,
            hints: self.hints.clone(),
            algorithms: self.algorithms,
            last_methods: LastMethods::default(),
            attributes: Attributes::default(),
            persistent_neighbourhoods: 0,
            topology: self.topology.clone(),
            pending: 0,
            freed: false,
        }
    }

    /// Returns the hints of the program.
    pub(crate) fn hints(&self) -> &InfoList {
        &self.hints
    }

    /// Takes these hints in place of all others.
    pub(crate) fn replace_hints(&mut self, hints: &InfoList) {
        self.hints = InfoList::default();
        self.algorithms = Algorithms::default();
        self.set_hints(hints);
    }

    /// Sets the hints of the program; those that are not among these stay.
    pub(crate) fn set_hints(&mut self, hints: &InfoList) {
        self.last_methods = LastMethods::default();
        for (key, value) in hints.iter() {
            self.hints.set(key, value);
            set_hint(&mut self.algorithms, key, value);
        }
    }

    /// Returns the number of ranks that messages name: those of the remote group in an intercommunicator.
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    /// Returns whether it is an intercommunicator.
    #[inline]
    pub(crate) fn is_inter(&self) -> bool {
        self.local.is_some()
    }

    /// Returns the group that this process is in: the local one of an intercommunicator.
    pub(crate) fn group(&self) -> &Rc<[Peer]> {
        self.local.as_ref().unwrap_or(&self.peers)
    }

    /// Returns the members of both groups of an intercommunicator, in an order that is the same in all of them; all
    /// peers of an intracommunicator.
    pub(crate) fn everybody(&self) -> Vec<Peer> {
        match &self.local {
            None => self.peers.to_vec(),
            Some(local) if self.starts().0 == 0 => [&**local, &*self.peers].concat(),
            Some(local) => [&*self.peers, &**local].concat(),
        }
    }

    /// Iterates over the same members, in any order.
    pub(crate) fn members(&self) -> impl Iterator<Item = Peer> {
        let local = self.local.iter().flat_map(|local| local.iter());
        self.peers.iter().chain(local).copied()
    }

    /// Returns where this process's group and the one that messages name begin in [`everybody`](Self::everybody).
    pub(crate) fn starts(&self) -> (usize, usize) {
        match &self.local {
            None => (0, 0),
            Some(local) if local.first() < self.peers.first() => (0, local.len()),
            Some(_) => (self.peers.len(), 0),
        }
    }

    /// Refuses an intercommunicator, for calls that the standard defines on intracommunicators only.
    pub(crate) fn check_intra(&self) -> Result<(), Error> {
        match self.is_inter() {
            false => Ok(()),
            true => Err(Error::Argument {
                class: Class::Comm,
                name: "comm",
                must: "an intracommunicator: the standard does not define this call on an intercommunicator",
            }),
        }
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

    /// Refuses an intracommunicator, for calls about the remote group.
    pub(crate) fn check_inter(&self) -> Result<(), Error> {
        match self.is_inter() {
            true => Ok(()),
            false => Err(Error::Argument {
                class: Class::Comm,
                name: "comm",
                must: "an intercommunicator: only these have a remote group",
            }),
        }
    }

    /// Checks a root's rank. In the root's own group of an intercommunicator, `MPI_ROOT` and `MPI_PROC_NULL` stand for
    /// it.
    pub(crate) fn check_root(&self, root: c_int) -> Result<(), Error> {
        let size = self.size();
        match usize::try_from(root) {
            Ok(root) if root < size => Ok(()),
            _ if self.is_inter() && matches!(root, MPI_ROOT | MPI_PROC_NULL) => Ok(()),
            _ => Err(Error::Root {
                got: root,
                size: size as c_int,
            }),
        }
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
    /// Removes a freed communicator; comes with the first one.
    remove: Option<fn(&mut Comms, usize)>,
    /// Contexts and their indices, in ascending order; those of freed communicators remain for a while.
    places: Vec<(u32, u32)>,
    /// The first context that this process has never used. Such contexts are below [`FIRST_SPARE`].
    pub(crate) next_context: u32,
    /// The first context from there on that this process has never reserved.
    pub(crate) next_spare: u32,
}

/// The first of the contexts that communicators keep in reserve. They are a half of their own, so that those of the
/// other half stay near the indices of the table.
pub(crate) const FIRST_SPARE: u32 = 1 << 29;
/// Makes another context of a communicator's, for its partitioned messages. Those of communicators are below.
pub(crate) const PARTITIONED: u32 = 1 << 30;
/// The context of messages by which ranks agree before they have a communicator. Twice its value fits the header.
pub(crate) const AGREEMENT: u32 = (1 << 31) - 1;
/// Spare contexts that `MPI_COMM_WORLD` and `MPI_COMM_SELF` begin with.
const FIRST_SPARES: u32 = 1 << 20;

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
        let (first, second) = (FIRST_SPARE + FIRST_SPARES, FIRST_SPARE + 2 * FIRST_SPARES);
        let mut table = Vec::with_capacity(2);
        let mut record = CommRecord::new(0, own, all, world, handler);
        record.boards = Boards::NotEntered;
        if layout.is_some() {
            record.multicast = Multicast::NotEntered;
        }
        record.host_layout = layout;
        record.spare_contexts = FIRST_SPARE..first;
        table.push(Some(record));
        let mut record = CommRecord::new(1, own, [own].into(), world, handler);
        record.spare_contexts = first..second;
        table.push(Some(record));
        Comms {
            table,
            free: Vec::new(),
            remove: None,
            places: [(0, WORLD as u32), (1, SELF as u32)].into(),
            next_context: 2,
            next_spare: second,
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
        self.known_at(index, comm)
    }

    /// Returns the communicator at an index that the handle had: it may be freed, and keeps its index as long as
    /// requests refer to it.
    #[inline]
    pub(crate) fn known_at(&mut self, index: usize, comm: Comm) -> Result<&mut CommRecord, Error> {
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

    /// Returns whether a communicator has this error handler.
    pub(crate) fn have_handler(&self, handler: Errhandler) -> bool {
        let mut records = self.table.iter().flatten();
        records.any(|record| record.handler == handler)
    }

    /// Adds the error handler to a failure of a communicator, which may be freed before the failure is raised.
    #[cold]
    pub(crate) fn noted(&mut self, failure: CommError) -> CommError {
        match self.at(place(failure.comm)) {
            Some(record) if failure.handler == Errhandler::NULL => {
                CommError::with_handler(failure.error, failure.comm, record.handler)
            }
            _ => failure,
        }
    }

    /// Adds the sender's rank to the error of a collective operation's message.
    #[cold]
    pub(crate) fn with_sender(&mut self, index: usize, error: Error, peer: Option<Peer>) -> Error {
        match self.at(index).zip(peer) {
            Some((record, peer)) => error.of_message(record.rank_of(peer), None),
            None => error,
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

    /// Adds a new communicator.
    pub(crate) fn insert(&mut self, record: CommRecord) -> Comm {
        let index = self.free.pop().unwrap_or_else(|| {
            self.table.push(None);
            (self.table.len() - 1) as u32
        });
        let context = record.context;
        let place = self.places.partition_point(|(it, _)| *it < context);
        match self.places.get_mut(place) {
            // A context is used again only where it names no communicator of the program.
            Some(known) if known.0 == context => known.1 = index,
            _ => self.places.insert(place, (context, index)),
        }
        if let Some(place) = self.table.get_mut(index as usize) {
            *place = Some(record);
        }
        handle(index as usize)
    }

    /// Checks that a communicator may be freed: it exists and is not predefined.
    pub(crate) fn check_free(&self, comm: Comm) -> Result<usize, Error> {
        if comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF {
            return Err(Error::Handle {
                kind: Kind::Comm,
                got: comm.0,
            });
        }
        self.index(comm)
    }

    /// Frees a communicator, at once or when its last request is complete.
    pub(crate) fn free(&mut self, comm: Comm) -> Result<(), Error> {
        let index = self.check_free(comm)?;
        if let Some(record) = self.at(index) {
            record.freed = true;
        }
        self.remove = Some(Comms::sweep);
        self.sweep(index);
        Ok(())
    }

    /// Notes that a request that refers to a communicator by its context is complete.
    #[inline]
    pub(crate) fn settled(&mut self, context: u32) {
        self.settled_many(context, 1);
    }

    /// Notes that so many requests that refer to a communicator by its context are complete.
    #[inline]
    pub(crate) fn settled_many(&mut self, context: u32, requests: usize) {
        match self.table.get_mut(context as usize / 2) {
            Some(Some(it)) if it.context == context / 2 && !it.freed => {
                it.pending = it.pending.saturating_sub(requests);
            }
            _ => self.settled_late(context, requests),
        }
    }

    /// Does so for a communicator whose index differs from its context, or that was freed.
    #[cold]
    fn settled_late(&mut self, context: u32, requests: usize) {
        if let Some((comm, record)) = self.of_context(context) {
            record.pending = record.pending.saturating_sub(requests);
            if record.freed
                && let Some(remove) = self.remove
            {
                remove(self, place(comm));
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
