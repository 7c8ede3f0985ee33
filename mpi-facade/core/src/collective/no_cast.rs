//! Broadcasts over the network's own, where there is no network: see `cast`.

use super::call::Call;
use crate::error::Error;
use crate::memory::Region;
use crate::world::{Fault, World};
use pombo_job::Traffic;
use pombo_kernel::Node;

/// There are none.
#[derive(Default)]
pub(crate) struct Casting {}

/// There is none.
pub(super) enum Cast {}

impl Casting {
    pub(crate) fn has_room(&self) -> bool {
        false
    }

    pub(crate) fn enter(&mut self, _: u32, _: &[Node]) -> bool {
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

pub(crate) fn open() -> Result<(), Fault> {
    Ok(())
}

impl Call<'_> {
    pub(super) fn casts(&mut self, _: usize) -> Result<bool, Error> {
        Ok(self.group()?.casts)
    }

    pub(super) fn cast(&mut self, _: usize, _: Region) -> Result<Cast, Error> {
        Err(pombo_kernel::Error::NoSuchGroup(0).into())
    }
}

impl Cast {
    pub(super) fn poll(&mut self, _: &mut World) -> Result<bool, Error> {
        match *self {}
    }

    pub(super) fn abandon(&mut self, _: &mut World, _: Error) {
        match *self {}
    }
}
