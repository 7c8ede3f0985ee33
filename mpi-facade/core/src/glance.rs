//! Requests that are looked at and stay, requests that end together or not at all, and handles that are given up.
//! Source: MPI 5.0, sections 3.7.3 to 3.7.6.

use crate::constants::*;
use crate::error::{Error, Kind};
use crate::forsaken;
use crate::request::{self, Standing, test_one};
use crate::several::Look;
use crate::stall;
use crate::status::Status;
use crate::world::{self, Fault};
use alloc::vec::Vec;

/// Requests whose handles were given up while they were under way.
#[derive(Default)]
struct Freed {
    requests: Vec<Request>,
    /// When there are so many, those that are over go. Twice as many as were left the last time.
    most: usize,
}

/// Fewer freed requests than this are never gone through.
const FEW: usize = 16;

/// Hears of each request: its index, its status, what went wrong with it.
pub type Hear<'a> = &'a mut dyn FnMut(usize, &Status, Option<Fault>);

/// `MPI_Testall`: false, and nothing has changed, while one of them is not over. Else all handles become null, and
/// `over` hears of each with its index, its status and what went wrong with it.
pub fn test_all(requests: &mut [Request], over: Hear<'_>) -> Result<bool, Fault> {
    let all = get_status_all(requests, over)?;
    if all {
        world::with(|world| {
            for request in requests {
                test_one(world, *request, &mut { Status::EMPTY })?;
                *request = Request::NULL;
            }
            Ok(())
        })?;
    }
    Ok(all)
}

/// `MPI_Request_get_status_all`: false while one of them is not over. Else `over` hears of each as in [`test_all`],
/// and the handles stay.
pub fn get_status_all(requests: &[Request], over: Hear<'_>) -> Result<bool, Fault> {
    world::with(|world| {
        world.glance()?;
        if forsaken::is_due_once(world) {
            stall::attend(world, requests);
        }
        let (mut status, mut all) = (Status::EMPTY, true);
        for &request in requests {
            all &= !matches!(request::peek(world, request, &mut status)?, Standing::Open);
        }
        if all {
            for (index, &request) in requests.iter().enumerate() {
                let fault = match request::peek(world, request, &mut status)? {
                    Standing::Failed(fault) => Some(fault),
                    _ => None,
                };
                over(index, &status, fault);
            }
        } else {
            world.in_vain()?;
        }
        Ok(all)
    })
}

/// `MPI_Request_get_status` of one request, and `_any` of several: the first from `first` on that is over; its handle
/// stays.
pub fn get_status(requests: &[Request], first: usize, status: &mut Status) -> Result<Look, Fault> {
    world::with(|world| {
        if first == 0 {
            world.glance()?;
            if forsaken::is_due_once(world) {
                stall::attend(world, requests);
            }
        }
        let mut seen = Look::Nothing;
        *status = Status::EMPTY;
        for (index, &request) in requests.iter().enumerate().skip(first) {
            if request == Request::NULL {
                continue;
            }
            match request::peek(world, request, status)? {
                Standing::Open => seen = Look::Open,
                Standing::Over => return Ok(Look::Over(index, None)),
                Standing::Failed(fault) => return Ok(Look::Over(index, Some(fault))),
            }
        }
        if let (Look::Open, 0) = (seen, first) {
            world.in_vain()?;
        }
        Ok(seen)
    })
}

/// `MPI_Request_free`: the operation goes on, and nobody hears how it ends.
pub fn free(request: Request) -> Result<(), Fault> {
    world::with(|world| {
        if request == Request::NULL || request::is_of_engine(request) {
            let (kind, got) = (Kind::Request, request.0);
            return Err(Error::Handle { kind, got }.into());
        }
        if let Standing::Open = test_one(world, request, &mut { Status::EMPTY })? {
            let mut freed = core::mem::take(world.parts.get::<Freed>());
            if freed.requests.len() >= freed.most {
                freed.requests.retain(|&request| {
                    let standing = test_one(world, request, &mut { Status::EMPTY });
                    matches!(standing, Ok(Standing::Open))
                });
                freed.most = FEW.max(2 * freed.requests.len());
            }
            freed.requests.push(request);
            *world.parts.get() = freed;
        }
        Ok(())
    })
}
