//! The attributes of communicators. Source: MPI 5.0, sections 7.7.2 and 9.1.2.

use crate::attribute::list::Attributes;
use crate::attribute::{self, Attributed, KeyvalKind};
use crate::constants::*;
use crate::error::Error;
use crate::error_codes;
use crate::objects::Objects;
use crate::p2p::LARGEST_TAG;
use crate::runtime::world::{self, CommError, World};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

/// The values of predefined keys. An attribute is the address of its value.
static TAG_UB: AtomicI32 = AtomicI32::new(LARGEST_TAG);
/// No process is the host of the others.
static HOST: AtomicI32 = AtomicI32::new(MPI_PROC_NULL);
/// Every process can read and write files.
static IO: AtomicI32 = AtomicI32::new(MPI_ANY_SOURCE);
static WTIME_IS_GLOBAL: AtomicI32 = AtomicI32::new(0);
static UNIVERSE_SIZE: AtomicI32 = AtomicI32::new(0);

/// Sets those values of predefined keys that depend on the job.
pub(crate) fn describe_job(world: &World) {
    // All processes of a host read one clock.
    let is_global = c_int::from(world.hosts.is_single());
    WTIME_IS_GLOBAL.store(is_global, Ordering::Relaxed);
    let ranks = world.kernel.peers() as c_int;
    UNIVERSE_SIZE.store(ranks, Ordering::Relaxed);
}

impl Attributed for Comm {
    const KIND: KeyvalKind = KeyvalKind::Comm;

    fn bits(self) -> usize {
        self.0
    }

    fn attributes(self, objects: &mut Objects) -> Result<&mut Attributes, Error> {
        Ok(&mut objects.comms.get(self)?.attributes)
    }

    /// Every communicator has them.
    fn predefined(self, keyval: c_int) -> Option<Option<*mut c_void>> {
        let value = match keyval {
            MPI_TAG_UB => &TAG_UB,
            MPI_HOST => &HOST,
            MPI_IO => &IO,
            MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
            MPI_UNIVERSE_SIZE => &UNIVERSE_SIZE,
            MPI_LASTUSEDCODE => error_codes::last_used(),
            // The launcher does not say which of several programs this is.
            MPI_APPNUM => return Some(None),
            _ => return None,
        };
        Some(Some(value.as_ptr().cast()))
    }

    fn failure(self, error: Error) -> CommError {
        CommError::new(error, self)
    }
}

/// Returns an attribute, as `MPI_Comm_get_attr`; `None` if it is not set.
pub fn get_attribute(comm: Comm, keyval: c_int) -> Result<Option<*mut c_void>, CommError> {
    attribute::get(comm, keyval)
}

/// Sets an attribute, as `MPI_Comm_set_attr`.
pub fn set_attribute(comm: Comm, keyval: c_int, value: *mut c_void) -> Result<(), CommError> {
    world::local(|objects| {
        objects.delete_attributes = Some(attribute::delete_all::<Comm>);
        Ok(())
    })?;
    attribute::set(comm, keyval, value)
}

/// Deletes an attribute, as `MPI_Comm_delete_attr`.
pub fn delete_attribute(comm: Comm, keyval: c_int) -> Result<(), CommError> {
    attribute::delete(comm, keyval)
}
