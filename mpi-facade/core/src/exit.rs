//! Exit without the other ranks: `MPI_Abort`, and errors that end the program.

use crate::constants::{Comm, MPI_COMM_SELF, MPI_COMM_WORLD};
use crate::runtime::phase::{self, Phase, phase};
use crate::runtime::world;
use core::ffi::c_int;
use pombo_job::log::{self, LogLine};
use pombo_job::process;

/// Ends this process with the code; the launcher ends the others.
pub fn abort(comm: Comm, code: c_int) -> ! {
    let mut line = LogLine::new();
    line.put("pombo: rank ")
        .put_number(world_rank() as i64)
        .put(" called MPI_Abort with code ")
        .put_number(code)
        .put(" on ");
    match comm {
        MPI_COMM_WORLD => line.put("MPI_COMM_WORLD"),
        MPI_COMM_SELF => line.put("MPI_COMM_SELF"),
        other => line.put("communicator ").put_number(other.0 as i64),
    };
    log::error(&line);
    exit(code)
}

/// Exits without finalising MPI, but flushes what the program has printed.
pub fn exit(code: c_int) -> ! {
    // An exit status is one byte; a failure must not look like success.
    let status = if code & 0xff == 0 { 1 } else { code };
    process::flush_streams(status);
    world::if_free(|world| {
        if let Some(launcher) = &mut world.launcher {
            launcher.abort(status);
        }
    });
    process::exit(status)
}

/// Returns this process's rank in `MPI_COMM_WORLD`, from the launcher's environment before `MPI_Init`.
pub fn world_rank() -> usize {
    match phase() {
        Phase::Before => pombo_job::rank(),
        _ => phase::rank(),
    }
}
