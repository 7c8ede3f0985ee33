//! A broadcast over the network's own that is under way at one rank.

use super::table::{Casting, Open};
use crate::error::Error;
use crate::memory::Region;
use crate::world::World;
use pombo_kernel::{ChannelError, Node};
use pombo_transport::group::Begun;

/// One rank's part in a broadcast.
pub(in crate::collective) struct Cast {
    group: u32,
    root: Node,
    region: Region,
    /// Which one of its root's in this group.
    number: u32,
    /// It is being sent, piece by piece.
    lent: bool,
    is_over: bool,
}

impl Cast {
    /// The broadcast of that number in its group, not yet begun.
    pub(super) fn new(group: u32, root: Node, region: Region, number: u32) -> Self {
        Cast {
            group,
            root,
            region,
            number,
            lent: false,
            is_over: false,
        }
    }

    /// Goes as far as it can.
    pub(in crate::collective) fn poll(&mut self, world: &mut World) -> Result<bool, Error> {
        let own = world.kernel.node() == self.root;
        let casts = world.parts.get::<Casting>();
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

    fn send(&mut self, casts: &mut Open) -> Result<bool, Error> {
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
    pub(in crate::collective) fn abandon(&mut self, world: &mut World, error: Error) {
        if let Ok(Some(casts)) = world.parts.get::<Casting>().open()
            && !self.is_over
        {
            casts.abandon(self.group, self.root, error);
        }
    }
}
