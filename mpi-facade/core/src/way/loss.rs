//! `POMBO_LOSS`: frames that are lost on purpose. `way` only.

use crate::environment::{text, wrong};
use crate::place::PlaceError;
use crate::settings::loss::{LOSS, parse};

/// Arriving frames that are lost, in a million, and the seed that chooses them.
pub(super) fn loss() -> Result<(u32, u64), PlaceError> {
    match text(c"POMBO_LOSS") {
        None => Ok((0, 0)),
        Some(text) => parse(text).ok_or(wrong(c"POMBO_LOSS", LOSS)),
    }
}
