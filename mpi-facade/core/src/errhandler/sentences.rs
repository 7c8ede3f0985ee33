//! What an error that nobody handles says. Only `errhandler` uses it; `brief` stands in its place where the library is
//! built without diagnostics.

use super::communicator_name::CommunicatorName;
use crate::constants::Comm;
use crate::error::Error;
use crate::exit::world_rank;
use crate::runtime::phase::{Phase, phase};
use crate::runtime::world;
use core::ffi::c_int;
use pombo_job::WorldChannel;
use pombo_job::log::{self, LogLine};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::text::{ToText, fields, fill};

/// Prints an error that ends the job. `first` is the rank that caused the loss of a rank.
pub(super) fn report(function: &'static str, error: &Error, first: c_int, comm: Comm) {
    let mut line = LogLine::new();
    line.put("pombo: ");
    if phase() == Phase::Running {
        fill!(&mut line, "rank {}: ", world_rank());
    }
    fill!(&mut line, "fatal error in {}: {}: ", function, name(error));
    match *error {
        Error::PeerLost { rank } => write_peer_lost(rank, first, &mut line),
        ref error => error.put_text(&mut line),
    }
    if let Error::Kernel(pombo_kernel::Error::Channel(ChannelError::Device(errno))) = error {
        let _ = world::with(|world| {
            world.kernel.channel().explain(*errno, &mut line);
            Ok(())
        });
    }
    CommunicatorName::of(comm).put(&mut line);
    // A process that could not join has printed the reason already.
    if *error != Error::NotJoined {
        log::error(&line);
    }
}

/// Describes a rank that has ended; the message names the one because of which it has, if there is one.
fn write_peer_lost(rank: c_int, first: c_int, line: &mut LogLine) {
    Error::PeerLost { rank: first }.put_text(line);
    if first != rank {
        fill!(line, "; rank {} ended because of it", rank);
    }
}

/// Returns the class's name, from its text "MPI_ERR_X: what it means".
fn name(error: &Error) -> &'static str {
    let text = error.class().text();
    fields(text, b':').next().unwrap_or(text)
}
