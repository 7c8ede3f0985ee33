//! The beginning and the end: `MPI_Init`, `MPI_Finalize`, `MPI_Abort`.

use crate::buffered;
use crate::collective;
use crate::comm::Comms;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::exit::world_rank;
use crate::kernel::{GroupBuffers, Kernel};
use crate::message_header::{FINGERPRINT, RANKS};
use crate::runtime::phase::{Phase, phase};
#[cfg(feature = "progress-thread")]
use crate::runtime::progress_thread;
use crate::runtime::world::{self, CommError, World};
use crate::settings;
use crate::world_allgather::world_allgather;
use alloc::boxed::Box;
use core::ffi::c_int;
use core::fmt::Write;
use pombo_job::environment::variable;
use pombo_job::log::{self, LogLine};
use pombo_job::settings::{STATS_FILE, Variable};
use pombo_job::{JobError, JoinError, Joined, Traffic, WorldChannel};
use pombo_kernel::{Channel, Limits};

/// Joins the world that the environment names, or makes a world of one, by [`pombo_job::join`] as every program over the
/// kernel does. Gives the level of thread support.
pub fn init(required: c_int) -> Result<c_int, CommError> {
    if phase() == Phase::Forked {
        return Err(world::absent());
    }
    if phase() != Phase::Before {
        return Err(Error::Argument {
            class: Class::Other,
            name: "MPI_Init",
            must: "called once, before anything else",
        }
        .into());
    }
    let Joined {
        mut channel,
        hosts,
        launcher,
    } = pombo_job::join::<RANKS, GroupBuffers>(settings::check_all(), FINGERPRINT)
        .map_err(turn_away)?;
    let single_copy = settings::SHM_SINGLE_COPY.read(settings::single_copy);
    channel
        .memory()
        .set_single_copy(single_copy.map_err(|error| refuse(&error))?);
    let limits = Limits {
        credit: Some(told(settings::UNEXPECTED_CREDIT)? as u32),
        eager: Some(told(settings::EAGER_LIMIT)?),
        copies: Some(told(settings::SEND_BUFFER_BYTES)?),
    };
    let (own, size) = (channel.me(), channel.peers());
    let kernel = Kernel::new(channel, limits)?;
    let threads = required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED);
    let comms = Comms::new(own, size, &hosts);
    let world = World::new(kernel, comms, hosts, launcher);
    world::begin(world, threads);
    world::with(collective::open_multicast)?;
    #[cfg(feature = "progress-thread")]
    progress_thread::start().map_err(|error| refuse(&error))?;
    Ok(threads)
}

/// Waits for everybody, lets the last frames leave, and ends the world.
pub fn finalize() -> Result<(), CommError> {
    // First, as it is refused where another call has the world.
    buffered::flush()?;
    #[cfg(feature = "progress-thread")]
    progress_thread::stop();
    // The others may need repairs of what this rank has broadcast.
    world::with(|world| {
        world.until(|world| {
            let channel = world.kernel.channel_mut();
            Ok(channel.has_settled_groups().then_some(()))
        })?;
        world_allgather(world, 0)?;
        world.until(|world| Ok(world.kernel.is_flushed().then_some(())))?;
        world.until(|world| Ok(world.kernel.channel_mut().is_settled().then_some(())))
    })?;
    if let Some(mut world) = world::end() {
        report(&mut world);
        world.kernel.channel_mut().leave();
        if let Some(launcher) = &mut world.launcher {
            launcher.finish();
        }
    }
    Ok(())
}

/// Appends what this rank has sent, and what became of its frames between hosts, to the file that `POMBO_STATS_FILE` names.
fn report(world: &mut World) {
    let Some(path) = variable(STATS_FILE.name) else {
        return;
    };
    let (rank, (messages, bytes)) = (world.kernel.me(), world.sent);
    let Traffic {
        frames,
        resent,
        repairs,
        duplicates,
        dropped,
        mut rejected,
    } = world.kernel.channel().traffic();
    rejected += world.kernel.rejected();
    let mut line = LogLine::new();
    // A line of nine numbers fits.
    let _ = write!(
        line,
        "{rank} {messages} {bytes} {frames} {resent} {repairs} {duplicates} {dropped} {rejected}"
    );
    if let Err(errno) = log::append(path, &line) {
        // On other hosts the launcher's file is not there.
        if errno.0 == libc::ENOENT && rank.index() > 0 {
            return;
        }
        let must = match errno.0 {
            libc::EPERM | libc::ELOOP => {
                "; it must be a plain file of this user alone, and no link"
            }
            _ => "",
        };
        log::error(&LogLine::of(format_args!(
            "pombo: rank {rank} cannot write the file that POMBO_STATS_FILE names: {errno}{must}"
        )));
    }
}

fn told(variable: &Variable) -> Result<usize, Error> {
    variable.number().map_err(|error| refuse(&error))
}

/// Who is refused says why, then ends the job with the code that this process will have.
fn turn_away(refused: Box<JoinError>) -> Error {
    let error = refuse_as(refused.rank(), refused.error());
    refused.abort(error.code());
    error
}

/// What is wrong with the environment is said where it is found, and classed as the standard has it.
fn refuse(error: &JobError) -> Error {
    refuse_as(world_rank(), error)
}

fn refuse_as(rank: usize, error: &JobError) -> Error {
    let mut line = LogLine::new();
    // A line that is too long is cut.
    let _ = write!(line, "pombo: rank {rank} cannot join its job: {error}");
    log::error(&line);
    Error::NotJoined
}
