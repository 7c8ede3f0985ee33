//! Broadcasts over the network's own: one frame for all hosts. Which communicators have it, and an operation of one
//! rank. Only the other collective calls, `init` and `groups` look here.
//!
//! Every communicator whose ranks are on several hosts has a group of the kernel's [`Casts`], as long as all its ranks
//! have a place for one; else it does as without. The first rank of every host is in the group, and hands on to the
//! others of its host. Messages of one root on one communicator carry no tag: they come in the order of the calls.
//!
//! Whether frames for all arrive is tried when the job starts: by multicast, then, where somebody filters that, by the
//! broadcast of IP; else there are no groups. Where they stop later, each rank gets its own (`Source::is_singly`).
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | communicators | 32 in a rank | broadcasts by messages |
//! | hosts | 64 of a communicator | the same |
//! | ranks | 64 of a job | the same |
//! | small messages of a root that not all have | 32, of up to 1024 bytes | the root waits |
//!
//! [`Casts`]: pombo_kernel::channel::group::Casts

mod opening;
mod table;

pub(crate) use opening::open;
pub(crate) use table::{Casting, progress};

use super::call::Call;
use super::choice::Ground;
use super::requests::ongoing;
use super::{Algorithm, Operation};
use crate::error::Error;
use crate::memory::Region;
use crate::world::World;
use pombo_kernel::channel::group::Begun;
use pombo_kernel::{ChannelError, Node};

/// One rank's part in a broadcast.
pub(super) struct Cast {
    group: u32,
    root: Node,
    region: Region,
    /// Which one of its root's in this group.
    number: u32,
    /// It is being sent, piece by piece.
    lent: bool,
    is_over: bool,
}

impl Call<'_> {
    /// Does a broadcast of so many bytes between the hosts go over the network's own? All ranks get the same answer.
    pub(super) fn casts(&mut self, bytes: usize) -> Result<bool, Error> {
        let group = self.group()?;
        let Some(levels) = group.levels.as_ref().filter(|_| group.casts) else {
            return Ok(false);
        };
        let ground = Ground {
            ranks: levels.first().len(),
            apart: true,
            cast: true,
            ..Ground::default()
        };
        let choices = &ongoing(self.world).choices;
        Ok(choices.pick(Operation::Bcast, bytes, ground) == Algorithm::Cast)
    }

    /// The broadcast of this region among the first ranks of all hosts, of which this is one.
    pub(super) fn cast(&mut self, host: usize, region: Region) -> Result<Cast, Error> {
        let group = self.group()?;
        let first = group.levels.as_ref().map(|levels| levels.first());
        let root = first.and_then(|first| first.get(host).copied());
        let (group, root) = (table::number(group.context), root.unwrap_or(Node(0)));
        // They are sent in the order of the calls, not in that in which they can begin.
        let casts = ongoing(self.world).casts.open()?;
        let number = casts.map(|casts| casts.begin(group, root));
        Ok(Cast {
            group,
            root,
            region,
            number: number.unwrap_or(0),
            lent: false,
            is_over: false,
        })
    }
}

impl Cast {
    /// Goes as far as it can.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<bool, Error> {
        let own = world.kernel.node() == self.root;
        let casts = &mut ongoing(world).casts;
        let Some(casts) = casts.open()? else {
            // It was closed by an error that others were told of.
            return Err(pombo_kernel::Error::NoSuchGroup(self.group).into());
        };
        let (group, root) = (self.group, self.root);
        if !casts.is_next(group, root, self.number)? {
            return Ok(false);
        }
        let over = match own {
            true => self.send(casts),
            false => casts.receive(group, root, self.region),
        };
        if !matches!(over, Ok(false)) {
            casts.end(group, root);
            self.is_over = true;
        }
        over
    }

    fn send(&mut self, casts: &mut table::Open) -> Result<bool, Error> {
        if self.lent {
            return casts.is_sent(self.group);
        }
        match casts.send(self.group, self.region) {
            Ok(begun) => {
                self.lent = begun == Begun::Lent;
                Ok(!self.lent)
            }
            Err(pombo_kernel::Error::Channel(ChannelError::Full)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Its memory goes away, for this error. What comes after it from the same root fails likewise: its frames may have
    /// reached some.
    pub(super) fn abandon(&mut self, world: &mut World, error: Error) {
        if let Ok(Some(casts)) = ongoing(world).casts.open()
            && !self.is_over
        {
            casts.abandon(self.group, self.root, error);
        }
    }
}
