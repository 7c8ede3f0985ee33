//! Buffered sends: each copies its message and is complete on return. Source: MPI 5.0, section 3.6.
//!
//! The copies are in the library's own memory. The attached buffer bounds their size as the standard counts it: the
//! bytes of each and `MPI_BSEND_OVERHEAD`. Beyond that a send fails with `MPI_ERR_BUFFER`.

use crate::constants::*;
use crate::error::{Class, Error};
use crate::p2p;
use crate::request::{self, RequestState, test_one};
use crate::runtime::world::{self, CommError, World};
use crate::status::Status;
use crate::user_buffer::UserAddress;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use pombo_kernel::{Mode, Source};

/// The attached buffer and the copies under way.
#[derive(Default)]
struct Buffered {
    attached: Option<Attached>,
    /// The copies, oldest first.
    copies: VecDeque<Copied>,
    /// Bytes that all copies take of the attached buffer.
    taken: usize,
    /// Number of copies at which all are tested: twice the number that the last such test left.
    most: usize,
}

/// Fewest copies at which all are tested.
const FEW: usize = 16;

/// The buffer that the program attached: it is never used, and is returned unchanged.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// Its address, or `MPI_BUFFER_AUTOMATIC`.
    pub address: *mut c_void,
    /// Its size in bytes.
    pub size: usize,
}

struct Copied {
    request: Request,
    /// Bytes that the copy takes of the attached buffer.
    takes: usize,
    /// The copy, which the kernel reads until the request is complete.
    _memory: Vec<u8>,
}

/// Sends as `MPI_Bsend` and `MPI_Ibsend`: the send is complete on return.
pub fn send(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(), CommError> {
    if to == MPI_PROC_NULL {
        // A send to `MPI_PROC_NULL` needs no copy.
        return p2p::send(Mode::Standard, buf, count, datatype, to, tag, comm);
    }
    world::with(|world| {
        world.comms.get(comm)?;
        let region = buf.checked(count, datatype).map_err(CommError::on(comm))?;
        let takes = region.len().saturating_add(MPI_BSEND_OVERHEAD as usize);
        reap(world)?;
        reserve(world, takes).map_err(CommError::on(comm))?;
        let bytes = region.items().saturating_mul(region.extent());
        let mut memory = Vec::<u8>::new();
        let reserved = memory.try_reserve_exact(bytes);
        let bytes = bytes as u64;
        reserved.map_err(|_| CommError::on(comm)(Error::NoMemory { bytes }))?;
        let copy = UserAddress::of(memory.spare_capacity_mut());
        region.copy_to(&copy.region(region.items(), region.shape()));
        let mode = Mode::Standard;
        let posted = p2p::post_send(world, copy, count, datatype, to, tag, comm, mode);
        let request = posted.begun()?.hand_out();
        if request != request::SENT {
            let buffered = buffered(world);
            buffered.taken += takes;
            buffered.copies.push_back(Copied {
                request,
                takes,
                _memory: memory,
            });
        }
        Ok(())
    })
}

/// Attaches a buffer, as `MPI_Buffer_attach`.
pub fn attach(buffer: Attached) -> Result<(), CommError> {
    world::with(|world| match &mut buffered(world).attached {
        none @ None => {
            *none = Some(buffer);
            Ok(())
        }
        Some(_) => Err(refused("detached before another one is attached").into()),
    })
}

/// Detaches the buffer after all copies are sent, as `MPI_Buffer_detach`.
pub fn detach() -> Result<Attached, CommError> {
    flush()?;
    world::with(|world| {
        let attached = buffered(world).attached.take();
        attached.ok_or(refused("attached before it is detached").into())
    })
}

/// Waits until every copy is sent, as `MPI_Buffer_flush`.
pub fn flush() -> Result<(), CommError> {
    world::with(|world| {
        world.until(|world| {
            reap(world)?;
            Ok(buffered(world).copies.is_empty().then_some(()))
        })
    })
}

/// Frees the oldest copies, up to the first whose send is not complete. The error of a failed send is dropped, as it
/// has no handle; the calls of its receiver report it.
fn reap(world: &mut World) -> Result<(), CommError> {
    if buffered(world).copies.is_empty() {
        return Ok(());
    }
    world.kernel.check_messages()?;
    while let Some(oldest) = buffered(world).copies.front() {
        let (request, takes) = (oldest.request, oldest.takes);
        if is_needed(world, request) {
            break;
        }
        let buffered = buffered(world);
        buffered.copies.pop_front();
        buffered.taken -= takes;
    }
    Ok(())
}

/// Frees all copies whose sends are complete.
fn sweep(world: &mut World) {
    let mut copies = core::mem::take(&mut buffered(world).copies);
    copies.retain(|copy| is_needed(world, copy.request));
    let buffered = buffered(world);
    buffered.taken = copies.iter().map(|copy| copy.takes).sum();
    buffered.most = FEW.max(2 * copies.len());
    buffered.copies = copies;
}

fn is_needed(world: &mut World, request: Request) -> bool {
    let standing = test_one(world, request, &mut { Status::EMPTY });
    matches!(standing, Ok(RequestState::Pending))
}

/// Checks that the attached buffer has room for one more copy.
fn reserve(world: &mut World, takes: usize) -> Result<(), Error> {
    let buffer = buffered(world).attached;
    let buffer = buffer.ok_or(refused("attached before the first buffered send"))?;
    let fits = |buffered: &Buffered| {
        buffer.address == MPI_BUFFER_AUTOMATIC
            || takes <= buffer.size.saturating_sub(buffered.taken)
    };
    let now = buffered(world);
    if !fits(now) || now.copies.len() >= now.most {
        sweep(world);
    }
    match fits(buffered(world)) {
        true => Ok(()),
        false => Err(refused(
            "large enough for all messages under way, with MPI_BSEND_OVERHEAD for each",
        )),
    }
}

fn buffered(world: &mut World) -> &mut Buffered {
    world.extensions.get()
}

fn refused(must: &'static str) -> Error {
    Error::Argument {
        class: Class::Buffer,
        name: "buffer",
        must,
    }
}
