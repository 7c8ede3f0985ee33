//! Broadcasts over the network's own: one frame for all ranks, on whichever hosts they are. Which communicators have
//! it, and an operation of one rank. Only the other collective calls, `init` and `groups` look here.
//!
//! Every communicator whose ranks are on several hosts has a group of the kernel's [`Casts`] under the number of its
//! context, as long as all its ranks have a place for one; else it does as without. Messages of one root on one
//! communicator carry no tag: they come in the order of the calls.
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | communicators | 32 in a rank | broadcasts by messages |
//! | ranks | 64 of a communicator | the same |
//! | small messages of a root that not all have | 32, of up to 1024 bytes | the root waits |
//!
//! [`Casts`]: pombo_kernel::channel::group::Casts

mod opening;
mod table;

pub(crate) use opening::open;
pub(crate) use table::{Casting, progress};

use super::call::Call;
use super::{Algorithm, Operation};
use crate::error::Error;
use crate::memory::Region;
use crate::world::World;
use pombo_kernel::channel::group::Begun;
use pombo_kernel::{ChannelError, Node, Source};

/// One rank's part in a broadcast.
pub(super) struct Cast {
    group: u32,
    root: Node,
    region: Region,
    /// Which one of its root's in this group, once it was begun.
    number: Option<u32>,
    /// It is being sent, piece by piece.
    lent: bool,
    is_over: bool,
}

impl Call<'_> {
    /// The broadcast of this region, if it goes over the network's own. All ranks get the same answer.
    pub(super) fn cast(&mut self, region: Region) -> Result<Option<Cast>, Error> {
        let (ranks, bytes) = (self.stand.ranks, Source::len(&region));
        let root = self.stand.root as i32;
        let group = self.group()?;
        let (context, root) = (group.context, group.node(root)?);
        let ongoing = &self.world.collectives;
        let chosen = || {
            let choices = &ongoing.choices;
            choices.pick_cast(Operation::Bcast, ranks, bytes) == Algorithm::Cast
        };
        let can = ongoing.casts.has(context) && chosen();
        Ok(can.then_some(Cast {
            group: context,
            root,
            region,
            number: None,
            lent: false,
            is_over: false,
        }))
    }
}

impl Cast {
    /// Goes as far as it can.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<bool, Error> {
        let own = world.kernel.node() == self.root;
        let casts = &mut world.collectives.casts;
        let Some(casts) = casts.open()? else {
            // It was closed by an error that others were told of.
            return Err(pombo_kernel::Error::NoSuchGroup(self.group).into());
        };
        let (group, root) = (self.group, self.root);
        let number = *self.number.get_or_insert_with(|| casts.begin(group, root));
        if !casts.is_next(group, root, number)? {
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

    /// Its memory goes away. What comes after an operation that did not come to its end fails.
    pub(super) fn abandon(&mut self, world: &mut World) {
        if let Ok(Some(casts)) = world.collectives.casts.open()
            && self.number.is_some()
            && !self.is_over
        {
            casts.abandon(self.group, self.root);
        }
    }
}
