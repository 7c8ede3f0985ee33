//! The place of `casts` in a library for one host: shared memory needs none.

use super::directory::{Delivery, Directory};
use super::frame::GroupHeader;
use super::ports::ScopedPorts;
use super::processes::Processes;
use pombo_kernel::{Error, Peer};

type Ports<'a, 'buf> = &'a mut (dyn ScopedPorts<'buf> + 'a);

/// No casts.
pub(super) struct CastService;

impl CastService {
    pub(super) fn new(_: Peer, _: usize) -> Self {
        CastService
    }

    pub(super) fn is_ready(&self) -> bool {
        false
    }

    pub(super) fn advance(&mut self, _: Ports<'_, '_>) -> Result<(), Error> {
        Ok(())
    }

    pub(super) fn reach(
        &self,
        _: Ports<'_, '_>,
        _: Processes,
        _: usize,
    ) -> Result<Processes, Error> {
        Ok(Processes::NONE)
    }

    pub(super) fn try_send(
        &mut self,
        _: Ports<'_, '_>,
        _: Processes,
        _: &GroupHeader,
        _: &[u8],
    ) -> Result<bool, Error> {
        Ok(false)
    }

    pub(super) fn may_wait(&self, _: u64) -> bool {
        false
    }

    pub(super) fn back_off(&mut self, _: u64) {}

    pub(super) fn before_unicasts(&mut self, _: Processes) -> u64 {
        0
    }

    pub(super) fn find(
        &mut self,
        _: Ports<'_, '_>,
        _: &Directory,
        _: u32,
    ) -> Result<Option<(Peer, u64)>, Error> {
        Ok(None)
    }

    pub(super) fn delivery(
        &self,
        _: Ports<'_, '_>,
        _: &Directory,
        _: &GroupHeader,
        _: Peer,
    ) -> Delivery {
        Delivery::Deliver
    }

    pub(super) fn take(
        &mut self,
        _: Ports<'_, '_>,
        _: (Peer, u64),
        _: &mut [u8],
    ) -> Result<usize, Error> {
        Ok(0)
    }

    pub(super) fn drop_former(&self, _: Ports<'_, '_>, _: &Directory) {}
}
