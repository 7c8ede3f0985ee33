//! The first of several requests that is over, and taking one back. Source: MPI 5.0, sections 3.7.5 and 3.8.4.

use crate::constants::*;
use crate::error::{Error, Kind};
use crate::forsaken;
use crate::request::{self, Standing, test_one};
use crate::stall;
use crate::status::Status;
use crate::world::{self, Fault, World};
use pombo_kernel::Ticket;

/// What a look at several requests shows.
#[derive(Clone, Copy, Debug)]
pub enum Look {
    /// None of them names an operation.
    Nothing,
    /// None of them is over.
    Open,
    /// That one is over; if something went wrong with it, what.
    Over(usize, Option<Fault>),
}

/// `MPI_Waitany`: the first one that is over. Its handle becomes null. Never [`Look::Open`].
pub fn wait_any(requests: &mut [Request], status: &mut Status) -> Result<Look, Fault> {
    world::with(|world| {
        world.until(|world| match look(world, requests, status)? {
            Look::Open => {
                if forsaken::is_due(world.looks.waiting) {
                    stall::attend(world, requests);
                }
                Ok(None)
            }
            seen => Ok(Some(seen)),
        })
    })
}

/// `MPI_Testany`: as [`wait_any`], without waiting.
pub fn test_any(requests: &mut [Request], status: &mut Status) -> Result<Look, Fault> {
    world::with(|world| {
        world.glance()?;
        if forsaken::is_due_once(world) {
            stall::attend(world, requests);
        }
        let seen = look(world, requests, status)?;
        if let Look::Open = seen {
            world.in_vain()?;
        }
        Ok(seen)
    })
}

/// `MPI_Testsome`, and `MPI_Waitsome` after it has waited for one: `over` hears of each that is over, with its index
/// from `first` on. Makes no progress.
pub fn all_over(
    requests: &mut [Request],
    first: usize,
    mut over: impl FnMut(usize, Status, Option<Fault>),
) -> Result<(), Fault> {
    world::with(|world| {
        let mut at = first;
        while let Some(rest) = requests.get_mut(at..) {
            let mut status = Status::EMPTY;
            let Look::Over(index, fault) = look(world, rest, &mut status)? else {
                break;
            };
            over(at + index, status, fault);
            at += index + 1;
        }
        Ok(())
    })
}

fn look(world: &mut World, requests: &mut [Request], status: &mut Status) -> Result<Look, Fault> {
    let mut seen = Look::Nothing;
    *status = Status::EMPTY;
    for (index, request) in requests.iter_mut().enumerate() {
        if *request == Request::NULL {
            continue;
        }
        let fault = match test_one(world, *request, status)? {
            Standing::Open => {
                seen = Look::Open;
                continue;
            }
            Standing::Over => None,
            Standing::Failed(fault) => Some(fault),
        };
        *request = Request::NULL;
        return Ok(Look::Over(index, fault));
    }
    Ok(seen)
}

/// `MPI_Cancel`: the operation is over soon, with or without a message; its status says which.
pub fn cancel(request: Request) -> Result<(), Fault> {
    let unknown = Error::Handle {
        kind: Kind::Request,
        got: request.0,
    };
    world::with(|world| match request {
        // What is over stays as it is.
        request::SENT | request::RECEIVED_FROM_NOBODY => Ok(()),
        _ if request == Request::NULL || request::is_of_engine(request) => Err(unknown.into()),
        _ => match world.kernel.cancel(Ticket::from_bits(request.0 as u64)) {
            Err(pombo_kernel::Error::UnknownTicket) => Err(unknown.into()),
            done => Ok(done?),
        },
    })
}
