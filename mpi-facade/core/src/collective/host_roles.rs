//! How the ranks of a call are placed on hosts, and which part of the operation each carries out. Only `hierarchical`
//! and `flat_movement` use it.

use super::prepare::{Call, SubGroup};
use super::schedule::Position;
use crate::error::Error;
use alloc::rc::Rc;
use pombo_kernel::Peer;

/// The state shared by the parts of one operation.
pub(super) struct HostRoles {
    on_host: Rc<[Peer]>,
    leaders: Rc<[Peer]>,
    /// This rank's host and its place on that host.
    own: (usize, usize),
    /// The root's host and its place on that host.
    root: (usize, usize),
    /// The root as a peer.
    peer: Peer,
}

impl HostRoles {
    pub(super) fn of(call: &mut Call<'_>) -> Result<HostRoles, Error> {
        let Position { rank, root, .. } = call.position;
        let record = call.record()?;
        let peer = record.peer(root as i32)?;
        let layout = record.host_layout.as_ref();
        // The callers have checked that there is a layout.
        let layout = layout.ok_or(pombo_kernel::Error::NoSuchPeer(peer))?;
        Ok(HostRoles {
            on_host: layout.on_host().clone(),
            leaders: layout.leaders().clone(),
            own: layout.place(rank),
            root: layout.place(root),
            peer,
        })
    }

    /// Returns whether this rank is the communicator's only one on this host.
    pub(super) fn is_alone(&self) -> bool {
        self.on_host.len() == 1
    }

    /// Returns whether the root is on this host.
    pub(super) fn is_on_root_host(&self) -> bool {
        self.own.0 == self.root.0
    }

    /// Returns the place of the root if it is on this host, else that of the first rank.
    pub(super) fn leader(&self) -> usize {
        if self.is_on_root_host() {
            self.root.1
        } else {
            0
        }
    }

    /// Makes the next part an operation among the ranks of this host.
    pub(super) fn enter_host(&self, call: &mut Call<'_>, root: usize) {
        self.enter(call, true, self.on_host.clone(), (self.own.1, root));
    }

    /// Makes the next part an operation among the leaders of the hosts; the root leads its own host.
    pub(super) fn enter_leaders(&self, call: &mut Call<'_>) {
        let mut leaders = self.leaders.clone();
        if self.root.1 > 0 {
            let all = self.leaders.iter().enumerate();
            let leader = |(host, peer): (usize, &Peer)| match host == self.root.0 {
                true => self.peer,
                false => *peer,
            };
            leaders = all.map(leader).collect();
        }
        self.enter(call, false, leaders, (self.own.0, self.root.0));
    }

    fn enter(
        &self,
        call: &mut Call<'_>,
        same_host: bool,
        peers: Rc<[Peer]>,
        position: (usize, usize),
    ) {
        call.position = Position {
            rank: position.0,
            ranks: peers.len(),
            root: position.1,
        };
        call.subgroup = Some(SubGroup { peers, same_host });
    }

    /// Returns the place of the rank that sends to the other hosts or receives from them, and the place of the root if
    /// the root must pass its data to that rank first.
    pub(super) fn multicast_leader(&self) -> (usize, Option<usize>) {
        let before = self.is_on_root_host() && self.root.1 > 0;
        (0, before.then_some(self.root.1))
    }

    /// Returns the index of this rank's host.
    pub(super) fn own_host(&self) -> usize {
        self.own.0
    }

    /// Returns the index of the root's host.
    pub(super) fn root_host(&self) -> usize {
        self.root.0
    }

    /// Returns this rank's place on its host.
    pub(super) fn local_rank(&self) -> usize {
        self.own.1
    }
}
