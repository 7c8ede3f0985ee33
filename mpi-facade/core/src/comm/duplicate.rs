//! Duplicates of communicators. Source: MPI 5.0, section 7.4.2.

use super::create::{SPARES, agree, free, insert};
use crate::attribute;
use crate::comm::CommRecord;
use crate::constants::*;
use crate::info::{self, list::InfoList};
use crate::request;
use crate::runtime::world::{self, CommError};
use core::ops::Range;

/// Spare contexts that a communicator without any agrees on.
const MORE_SPARES: u32 = 4096;
/// Most spare contexts that a duplicate gets of its parent's.
const MOST_INHERITED: u32 = 64;

/// Duplicates a communicator, as `MPI_Comm_dup`.
pub fn duplicate(comm: Comm) -> Result<Comm, CommError> {
    let agreed = agree(comm, SPARES)?;
    let made = world::with(|world| {
        let record = world.objects.comms.get(comm)?.duplicate(agreed.context);
        Ok(insert(world, record, agreed))
    })?;
    finish(comm, made)
}

/// Duplicates a communicator with other hints, as `MPI_Comm_dup_with_info`.
pub fn duplicate_with_info(comm: Comm, info: Info) -> Result<Comm, CommError> {
    let hints = hints(comm, info)?;
    let made = duplicate(comm)?;
    world::local(|objects| {
        objects.comms.get(made)?.replace_hints(&hints);
        Ok(made)
    })
}

fn hints(comm: Comm, info: Info) -> Result<InfoList, CommError> {
    world::local(|objects| info::hints(info, &objects.environment).map_err(CommError::on(comm)))
}

/// Starts to duplicate a communicator, as `MPI_Comm_idup`; the request is complete. All ranks take the same one of the
/// parent's spare contexts, as they make the calls on a communicator in the same order. Only where none is left do the
/// ranks wait for each other, to agree on more.
pub fn start_duplicate(comm: Comm) -> Result<(Comm, Request), CommError> {
    let spares = world::local(|objects| Ok(objects.comms.get(comm)?.spare_contexts.clone()))?;
    let (context, inherited, left) = if spares.is_empty() {
        let agreed = agree(comm, MORE_SPARES)?;
        (agreed.context, 0..0, agreed.spares)
    } else {
        take_spare(spares)
    };
    let made = world::local(|objects| {
        let parent = objects.comms.get(comm)?;
        parent.spare_contexts = left;
        let record = CommRecord {
            spare_contexts: inherited,
            ..parent.duplicate(context)
        };
        Ok(objects.comms.insert(record))
    })?;
    Ok((finish(comm, made)?, request::SENT))
}

/// Does what [`start_duplicate`] does, with other hints, as `MPI_Comm_idup_with_info`.
pub fn start_duplicate_with_info(comm: Comm, info: Info) -> Result<(Comm, Request), CommError> {
    let hints = hints(comm, info)?;
    let (made, request) = start_duplicate(comm)?;
    world::local(|objects| {
        objects.comms.get(made)?.replace_hints(&hints);
        Ok((made, request))
    })
}

/// Takes the first spare context for a duplicate, and some for duplicates of that. Returns these and the rest.
fn take_spare(spares: Range<u32>) -> (u32, Range<u32>, Range<u32>) {
    let first = spares.start + 1;
    let inherited = (spares.len() as u32 / 16).min(MOST_INHERITED);
    (
        spares.start,
        first..first + inherited,
        first + inherited..spares.end,
    )
}

/// Copies the parent's attributes. Their functions may call all of MPI, so no call has the world here. If one fails,
/// there is no duplicate.
fn finish(parent: Comm, made: Comm) -> Result<Comm, CommError> {
    match attribute::copy_all(parent, made) {
        Ok(()) => Ok(made),
        Err(failure) => {
            free(made)?;
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_communicators_get_one_spare_context() {
        assert_eq!(take_spare(10..11), (10, 11..11, 11..11));
        assert_eq!(take_spare(10..42), (10, 11..13, 13..42));
        assert_eq!(take_spare(0..2000), (0, 1..65, 65..2000));
    }

    /// Returns the number of duplicates that these spare contexts suffice for.
    fn duplicates(mut spares: Range<u32>) -> u32 {
        let mut duplicates = 0;
        while !spares.is_empty() {
            (_, _, spares) = take_spare(spares);
            duplicates += 1;
        }
        duplicates
    }

    #[test]
    fn as_many_duplicates_as_the_readme_says_wait_for_nobody() {
        assert_eq!(duplicates(0..SPARES), 32);
        assert!(duplicates(0..1 << 20) > 16_000);
        assert!(duplicates(0..MORE_SPARES) > 100);
    }
}
