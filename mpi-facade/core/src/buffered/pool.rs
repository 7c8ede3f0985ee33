//! The attached buffers, and the copies under way of each.

use crate::constants::*;
use crate::error::{Class, Error};
use crate::packed_message::PackedMessage;
use crate::request::{RequestState, test_one};
use crate::runtime::world::World;
use crate::status::Status;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ffi::c_void;

/// At most one buffer of each owner, in the order in which they were attached.
#[derive(Default)]
struct Pools {
    all: Vec<Pool>,
    /// Number of copies so far, which numbers them.
    copied: u64,
}

/// Whose buffer it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Process,
    /// A communicator's, whose context no other one has, also when it is freed.
    Context(u32),
}

/// An attached buffer and its copies under way.
struct Pool {
    owner: Owner,
    buffer: Attached,
    /// The copies, oldest first.
    copies: VecDeque<Copied>,
    /// Bytes that all copies take of the buffer.
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
    number: u64,
    request: Request,
    /// Bytes that the copy takes of the attached buffer.
    takes: usize,
    /// The copy, which the kernel reads until the request is complete.
    _copy: PackedMessage,
}

/// Attaches a buffer; fails if the owner has one.
pub(super) fn attach(world: &mut World, owner: Owner, buffer: Attached) -> Result<(), Error> {
    if pool(world, owner).is_some() {
        return Err(refused("detached before another one is attached"));
    }
    pools(world).all.push(Pool {
        owner,
        buffer,
        copies: VecDeque::new(),
        taken: 0,
        most: FEW,
    });
    Ok(())
}

/// Detaches a buffer, whose copies are sent; `None` if there is none.
pub(super) fn detach(world: &mut World, owner: Owner) -> Option<Attached> {
    let all = &mut pools(world).all;
    let place = all.iter().position(|pool| pool.owner == owner)?;
    Some(all.remove(place).buffer)
}

/// Returns whose buffer sends on a communicator use.
pub(super) fn of_sends(world: &mut World, comm: Owner) -> Owner {
    match pool(world, comm) {
        Some(_) => comm,
        None => Owner::Process,
    }
}

/// Returns whose buffers are attached.
pub(super) fn owners(world: &mut World) -> Vec<Owner> {
    pools(world).all.iter().map(|pool| pool.owner).collect()
}

/// Returns the number of the oldest copy under way.
pub(super) fn oldest(world: &mut World, owner: Owner) -> Option<u64> {
    let copies = &pool(world, owner)?.copies;
    copies.front().map(|copy| copy.number)
}

/// Returns the number that the next copy will have.
pub(super) fn next(world: &mut World) -> u64 {
    pools(world).copied
}

/// Returns the requests of all copies under way.
pub(super) fn requests(world: &mut World, owner: Owner) -> Vec<Request> {
    let copies = pool(world, owner).map(|pool| pool.copies.iter());
    copies.into_iter().flatten().map(|it| it.request).collect()
}

/// Keeps a copy until its send is complete.
pub(super) fn add(
    world: &mut World,
    owner: Owner,
    request: Request,
    takes: usize,
    copy: PackedMessage,
) {
    let number = next(world);
    pools(world).copied += 1;
    if let Some(pool) = pool(world, owner) {
        pool.taken += takes;
        pool.copies.push_back(Copied {
            number,
            request,
            takes,
            _copy: copy,
        });
    }
}

/// Frees the oldest copies, up to the first whose send is not complete. The error of a failed send is dropped, as it
/// has no handle; the calls of its receiver report it.
pub(super) fn reap(world: &mut World, owner: Owner) {
    loop {
        let oldest = pool(world, owner).and_then(|pool| pool.copies.front());
        let Some(request) = oldest.map(|oldest| oldest.request) else {
            break;
        };
        if is_needed(world, request) {
            break;
        }
        if let Some(pool) = pool(world, owner)
            && let Some(sent) = pool.copies.pop_front()
        {
            pool.taken -= sent.takes;
        }
    }
}

/// Frees all copies whose sends are complete.
fn sweep(world: &mut World, owner: Owner) {
    let copies = pool(world, owner).map(|pool| core::mem::take(&mut pool.copies));
    let mut copies = copies.unwrap_or_default();
    copies.retain(|copy| is_needed(world, copy.request));
    if let Some(pool) = pool(world, owner) {
        pool.taken = copies.iter().map(|copy| copy.takes).sum();
        pool.most = FEW.max(2 * copies.len());
        pool.copies = copies;
    }
}

fn is_needed(world: &mut World, request: Request) -> bool {
    let standing = test_one(world, &mut { request }, &mut { Status::EMPTY });
    matches!(standing, Ok(RequestState::Pending))
}

/// Checks that the attached buffer has room for one more copy.
pub(super) fn reserve(world: &mut World, owner: Owner, takes: usize) -> Result<(), Error> {
    let now = pool(world, owner).ok_or(refused("attached before the first buffered send"))?;
    if !now.has_room(takes) || now.copies.len() >= now.most {
        sweep(world, owner);
    }
    match pool(world, owner).is_some_and(|pool| pool.has_room(takes)) {
        true => Ok(()),
        false => Err(refused(
            "large enough for all messages under way, with MPI_BSEND_OVERHEAD for each",
        )),
    }
}

impl Pool {
    fn has_room(&self, takes: usize) -> bool {
        self.buffer.address == MPI_BUFFER_AUTOMATIC
            || takes <= self.buffer.size.saturating_sub(self.taken)
    }
}

fn pool(world: &mut World, owner: Owner) -> Option<&mut Pool> {
    let all = &mut pools(world).all;
    all.iter_mut().find(|pool| pool.owner == owner)
}

fn pools(world: &mut World) -> &mut Pools {
    world.objects.extensions.get()
}

/// Returns the error of a wrong buffer.
pub(super) fn refused(must: &'static str) -> Error {
    Error::Argument {
        class: Class::Buffer,
        name: "buffer",
        must,
    }
}
