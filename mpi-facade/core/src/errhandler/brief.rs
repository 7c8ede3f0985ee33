//! What an error that nobody handles says where the library is built without diagnostics: the function, the rank and the
//! number of the class, whose text `MPI_Error_string` has, with what the last error of that class said.

use crate::constants::Comm;
use crate::error::Error;
use crate::exit::world_rank;
use core::ffi::c_int;
use pombo_job::log::{self, LogLine};

/// Prints an error that ends the job. `first` is the rank that caused the loss of a rank.
pub(super) fn report(function: &'static str, error: &Error, first: c_int, _: Comm) {
    // A process that could not join has printed the reason already.
    if *error == Error::NotJoined {
        return;
    }
    let mut line = LogLine::new();
    line.put("pombo: rank ")
        .put_number(world_rank() as i64)
        .put(": fatal error in ")
        .put(function)
        .put(": class ")
        .put_number(error.class() as i32);
    match *error {
        Error::PeerLost { .. } => line.put(": ended is rank ").put_number(first),
        Error::Argument { name, must, .. } => line.put(": ").put(name).put(" must be ").put(must),
        Error::Unsupported { name } => line.put(": not in this program is ").put(name),
        _ => &mut line,
    };
    log::error(&line);
}
