//! Buffered sends: each takes a copy and is over at once. Source: MPI 5.0, section 3.6.
//!
//! The copies lie in memory of the library's own. What the program attaches says how much they may take, in the
//! standard's way of counting: their bytes and `MPI_BSEND_OVERHEAD` for each. Beyond it a send fails with
//! `MPI_ERR_BUFFER`.

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
    /// Oldest first.
    copies: VecDeque<Copied>,
    /// What they take, together.
    taken: usize,
    /// When there are so many, all are looked at. Twice as many as were needed the last time.
    most: usize,
}

/// Fewer copies than this are never gone through.
const FEW: usize = 16;

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
pub fn send(
    buf: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(), CommError> {
    if to == MPI_PROC_NULL {
        // Nothing is copied.
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

/// `MPI_Buffer_attach`.
pub fn attach(buffer: Attached) -> Result<(), CommError> {
    world::with(|world| match &mut buffered(world).attached {
        none @ None => {
            *none = Some(buffer);
            Ok(())
        }
        Some(_) => Err(refused("detached before another one is attached").into()),
    })
}

/// `MPI_Buffer_detach`: waits for the copies.
pub fn detach() -> Result<Attached, CommError> {
    flush()?;
    world::with(|world| {
        let attached = buffered(world).attached.take();
        attached.ok_or(refused("attached before it is detached").into())
    })
}

/// `MPI_Buffer_flush`: waits until every copy has gone.
pub fn flush() -> Result<(), CommError> {
    world::with(|world| {
        world.until(|world| {
            reap(world)?;
            Ok(buffered(world).copies.is_empty().then_some(()))
        })
    })
}

/// Lets go of the oldest copies, up to the first that is still needed. A send that failed has no handle that could tell:
/// what its receiver does will.
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

/// The same of all of them.
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

/// Is there room for one more?
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
