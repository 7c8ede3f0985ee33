//! Replaces `multicast_bcast` in builds without networks.

use super::prepare::Call;
use crate::comm::Multicast;
use crate::constants::Comm;
use crate::error::{CommError, Error};
use crate::runtime::world::World;
use crate::user_buffer::Region;
use pombo_kernel::Peer;
use pombo_kernel::channel::GroupId;

/// An operation that cannot exist.
pub(super) enum MulticastOperation {}

pub(crate) fn enter(_: &mut World, _: Comm) -> Result<(), CommError> {
    Ok(())
}

pub(crate) fn has_room(_: &mut World) -> bool {
    false
}

pub(crate) fn open_group(_: &mut World, _: u32, _: &[Peer]) -> Multicast {
    Multicast::None
}

pub(crate) fn close_group(_: &mut World, _: u32) {}

pub(super) fn take_ended(_: &mut World) -> bool {
    false
}

impl Call<'_> {
    pub(super) fn uses_multicast(&mut self, _: usize) -> Result<bool, Error> {
        Ok(self.record()?.multicast == Multicast::Group)
    }

    pub(super) fn multicast(&mut self, _: usize, _: Region) -> Result<MulticastOperation, Error> {
        Err(pombo_kernel::Error::NoSuchGroup(GroupId(0)).into())
    }
}

impl MulticastOperation {
    pub(super) fn poll(&mut self, _: &mut World) -> Result<bool, Error> {
        match *self {}
    }

    pub(super) fn abandon(&mut self, _: &mut World, _: Error) {
        match *self {}
    }
}
