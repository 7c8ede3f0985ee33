//! Broadcasts over the network's own, where there is no network: see `multicast_bcast`.

use super::prepare::Call;
use crate::error::Error;
use crate::runtime::world::{CommError, World};
use crate::user_buffer::Region;
use pombo_job::Traffic;
use pombo_kernel::Peer;

/// There are none.
#[derive(Default)]
pub(crate) struct MulticastBcast {}

/// There is none.
pub(super) enum MulticastOperation {}

impl MulticastBcast {
    pub(crate) fn has_room(&self) -> bool {
        false
    }

    pub(crate) fn enter(&mut self, _: u32, _: &[Peer]) -> bool {
        false
    }

    pub(crate) fn leave(&mut self, _: u32) {}

    pub(crate) fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    pub(crate) fn is_settled(&self) -> bool {
        true
    }
}

pub(crate) fn open() -> Result<(), CommError> {
    Ok(())
}

impl Call<'_> {
    pub(super) fn uses_multicast(&mut self, _: usize) -> Result<bool, Error> {
        Ok(self.record()?.multicast)
    }

    pub(super) fn multicast(&mut self, _: usize, _: Region) -> Result<MulticastOperation, Error> {
        Err(pombo_kernel::Error::NoSuchGroup(0).into())
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
