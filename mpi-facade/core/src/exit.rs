//! Exit without the other ranks: `MPI_Abort`, and errors that end the program.

use crate::constants::{Comm, MPI_COMM_SELF, MPI_COMM_WORLD};
use crate::runtime::phase::{self, Phase, phase};
use crate::runtime::world;
use core::ffi::c_int;
use core::fmt::Write;
use pombo_job::log::{self, LogLine};
use pombo_job::process;

/// Ends this process with the code; the launcher ends the others.
pub fn abort(comm: Comm, code: c_int) -> ! {
    let mut line = LogLine::new();
    // A line that is too long is truncated.
    let _ = write!(
        line,
        "pombo: rank {} called MPI_Abort with code {code} on ",
        world_rank()
    );
    let _ = match comm {
        MPI_COMM_WORLD => line.write_str("MPI_COMM_WORLD"),
        MPI_COMM_SELF => line.write_str("MPI_COMM_SELF"),
        other => write!(line, "communicator {:#x}", other.0),
    };
    log::error(&line);
    exit(code)
}

/// Exits without finalising MPI, but flushes what the program has printed.
pub fn exit(code: c_int) -> ! {
    // An exit status is one byte; a failure must not look like success.
    let status = if code & 0xff == 0 { 1 } else { code };
    process::flush_streams();
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
