//! Buffered sends: each takes a copy and is over at once. Source: MPI 5.0, section 3.6.
//!
//! The copies lie in memory of the library's own. What the program attaches says how much they may take, in the
//! standard's way of counting: their bytes and `MPI_BSEND_OVERHEAD` for each. Beyond it a send fails with
//! `MPI_ERR_BUFFER`.

use crate::constants::*;
use crate::error::{Class, Error};
use crate::point;
use crate::request::{self, Standing, test_one};
use crate::status::Status;
use crate::world::{self, Fault, World};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use pombo_kernel::{Mode, Source};

/// The attached buffer and the copies under way.
#[derive(Default)]
pub(crate) struct Buffered {
    attached: Option<Attached>,
    copies: Vec<Copied>,
}

/// What the program attached: never used, given back as it came.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// Its address, or `MPI_BUFFER_AUTOMATIC`.
    pub address: *mut c_void,
    /// Its bytes.
    pub size: usize,
}

struct Copied {
    request: Request,
    /// Of the attached buffer.
    takes: usize,
    /// Read by the kernel until the request is over.
    _memory: Vec<u8>,
}

/// `MPI_Bsend` and `MPI_Ibsend`: over when it returns.
///
/// # Safety
/// `buf` holds `count` items of `datatype`.
pub unsafe fn send(
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(), Fault> {
    let (copy, copied) = world::with(|world| {
        world.comms.get(comm)?;
        // SAFETY: the caller's promise.
        let region =
            unsafe { point::region(buf.cast_mut(), count, datatype) }.map_err(Fault::on(comm))?;
        let takes = region.len().saturating_add(MPI_BSEND_OVERHEAD as usize);
        reap(world)?;
        reserve(world, takes).map_err(Fault::on(comm))?;
        let bytes = region.items().saturating_mul(region.extent());
        let mut memory = Vec::<u8>::new();
        let reserved = memory.try_reserve_exact(bytes);
        let bytes = bytes as u64;
        reserved.map_err(|_| Fault::on(comm)(Error::NoMemory { bytes }))?;
        let copy = memory.as_mut_ptr().cast();
        // SAFETY: the memory has room for all items; the other side is the caller's promise.
        unsafe { region.copy_to(&region.at(copy)) };
        let request = request::SENT;
        let _memory = memory;
        Ok((
            copy,
            Copied {
                request,
                takes,
                _memory,
            },
        ))
    })?;
    // SAFETY: the memory stays where it is until the request is over.
    let request = unsafe { point::isend(Mode::Standard, copy, count, datatype, to, tag, comm) }?;
    world::with(|world| {
        if request != request::SENT {
            world.buffered.copies.push(Copied { request, ..copied });
        }
        Ok(())
    })
}

/// `MPI_Buffer_attach`.
pub fn attach(buffer: Attached) -> Result<(), Fault> {
    world::with(|world| match world.buffered.attached {
        None => {
            world.buffered.attached = Some(buffer);
            Ok(())
        }
        Some(_) => Err(refused("detached before another one is attached").into()),
    })
}

/// `MPI_Buffer_detach`: waits for the copies.
pub fn detach() -> Result<Attached, Fault> {
    flush()?;
    world::with(|world| {
        let attached = world.buffered.attached.take();
        attached.ok_or(refused("attached before it is detached").into())
    })
}

/// `MPI_Buffer_flush`: waits until every copy has gone.
pub fn flush() -> Result<(), Fault> {
    world::with(|world| {
        world.until(|world| {
            reap(world)?;
            Ok(world.buffered.copies.is_empty().then_some(()))
        })
    })
}

/// Lets go of the copies that are not needed any more. A send that failed has no handle that could tell: what its
/// receiver does will.
fn reap(world: &mut World) -> Result<(), Fault> {
    if world.buffered.copies.is_empty() {
        return Ok(());
    }
    world.kernel.check_messages()?;
    let mut copies = core::mem::take(&mut world.buffered.copies);
    copies.retain(|copy| {
        let standing = test_one(world, copy.request, &mut { Status::EMPTY });
        matches!(standing, Ok(Standing::Open))
    });
    world.buffered.copies = copies;
    Ok(())
}

/// Is there room for one more?
fn reserve(world: &World, takes: usize) -> Result<(), Error> {
    let Buffered { attached, copies } = &world.buffered;
    let taken: usize = copies.iter().map(|copy| copy.takes).sum();
    match attached {
        None => Err(refused("attached before the first buffered send")),
        Some(buffer) if buffer.address == MPI_BUFFER_AUTOMATIC => Ok(()),
        Some(buffer) if taken.saturating_add(takes) <= buffer.size => Ok(()),
        Some(_) => Err(refused(
            "large enough for all messages under way, with MPI_BSEND_OVERHEAD for each",
        )),
    }
}

fn refused(must: &'static str) -> Error {
    Error::Argument {
        class: Class::Buffer,
        name: "buffer",
        must,
    }
}
