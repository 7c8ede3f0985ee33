//! Checks of arguments that all topologies share.

use crate::error::{Class, Error};
use core::ffi::c_int;

/// Checks a rank.
pub(super) fn known_rank(rank: c_int, size: usize) -> Result<usize, Error> {
    let known = usize::try_from(rank).ok().filter(|&rank| rank < size);
    known.ok_or(Error::Rank {
        got: rank,
        size: size as c_int,
    })
}

/// Returns the error of a wrong argument.
pub(super) fn wrong(class: Class, name: &'static str, must: &'static str) -> Error {
    Error::Argument { class, name, must }
}
