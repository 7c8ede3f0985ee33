//! The beginning and the end: `MPI_Init`, `MPI_Finalize`, `MPI_Abort`.

use crate::asking::Asked;
use crate::buffered::{self, Buffered};
use crate::collective::{self, Collective, Ongoing};
use crate::comm::Comms;
use crate::constants::*;
use crate::environment::variable;
use crate::error::{Class, Error};
use crate::glance::Freed;
use crate::kernel::Kernel;
use crate::output::{self, Line};
use crate::place::launcher::Launcher;
use crate::place::{self, Joined, PlaceError, Refused};
#[cfg(feature = "progress-thread")]
use crate::progress;
use crate::settings::{self, Variable};
use crate::stall::Stall;
use crate::way::{self, Traffic};
use crate::world::{self, Fault, Phase, World};
use alloc::boxed::Box;
use core::ffi::c_int;
use core::fmt::Write;
use pombo_kernel::{Channel, Limits};

/// Joins the world that the environment names, or makes a world of one. Gives the level of thread support.
pub fn init(required: c_int) -> Result<c_int, Fault> {
    if world::phase() == Phase::Forked {
        return Err(world::absent());
    }
    if world::phase() != Phase::Before {
        return Err(Error::Argument {
            class: Class::Other,
            name: "MPI_Init",
            must: "called once, before anything else",
        }
        .into());
    }
    let Joined {
        mut way,
        hosts,
        launcher,
    } = place::join(settings::check_all()).map_err(turn_away)?;
    let one_copy = settings::ONE_COPY.read(settings::one_copy);
    way::near(&mut way).set_one_copy(one_copy.map_err(|error| refuse(&error))?);
    let limits = Limits {
        credit: Some(told(settings::CREDIT)? as u32),
        eager: Some(told(settings::EAGER_LIMIT)?),
        copies: Some(told(settings::SEND_BUFFER_BYTES)?),
    };
    let (own, size) = (way.node(), way.nodes());
    let kernel = Kernel::new(way, limits)?;
    let threads = required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED);
    let world = World {
        kernel,
        comms: Comms::new(own, size, &hosts),
        collectives: Ongoing::new()?,
        refused: None,
        buffered: Buffered::default(),
        stall: Stall::default(),
        freed: Freed::default(),
        asked: Asked::default(),
        tested: 0,
        vain: 0,
        sent: (0, 0),
        hosts,
        launcher,
        #[cfg(feature = "progress-thread")]
        thread: None,
    };
    world::begin(world, threads);
    collective::open_casts()?;
    #[cfg(feature = "progress-thread")]
    {
        let thread = progress::start().map_err(|error| refuse(&error))?;
        world::with(|world| {
            world.thread = thread;
            Ok(())
        })?;
    }
    Ok(threads)
}

/// Waits for everybody, lets the last frames leave, and ends the world.
pub fn finalize() -> Result<(), Fault> {
    #[cfg(feature = "progress-thread")]
    if let Some(thread) = world::with(|world| Ok(world.thread.take()))? {
        progress::stop(thread);
    }
    buffered::flush()?;
    // The others may need repairs of what this rank has broadcast.
    world::with(|world| {
        world.until(|world| Ok(world.collectives.casts.is_settled().then_some(())))
    })?;
    collective::barrier(MPI_COMM_WORLD).run()?;
    world::with(|world| {
        world.until(|world| Ok(world.kernel.is_flushed().then_some(())))?;
        world.until(|world| Ok(way::is_settled(world.kernel.channel_mut()).then_some(())))
    })?;
    if let Some(mut world) = world::end() {
        report(&mut world);
        way::finish(world.kernel.channel_mut());
        if let Some(launcher) = &mut world.launcher {
            launcher.finish();
        }
    }
    Ok(())
}

/// Ends this process with the code; the launcher ends the others.
pub fn abort(comm: Comm, code: c_int) -> ! {
    let mut line = Line::new();
    // A line that is too long is cut.
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
    output::error(&line);
    exit(code)
}

/// Leaves without cleaning up, but with what the program has printed.
pub fn exit(code: c_int) -> ! {
    // An exit status is one byte; a failure must not look like success.
    let status = if code & 0xff == 0 { 1 } else { code };
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    world::if_free(|world| {
        if let Some(launcher) = &mut world.launcher {
            launcher.abort(status);
        }
    });
    // SAFETY: takes a number and never returns.
    unsafe { libc::_exit(status) }
}

/// This process's rank in `MPI_COMM_WORLD`, as well as it is known.
pub fn world_rank() -> usize {
    match world::phase() {
        Phase::Before => place::rank(),
        _ => world::rank(),
    }
}

/// Appends what this rank has sent, and what became of its frames between hosts, to the file that `POMBO_STATS` names.
fn report(world: &mut World) {
    let Some(path) = variable(settings::STATS.name) else {
        return;
    };
    let (rank, (messages, bytes)) = (world.kernel.node(), world.sent);
    let Traffic {
        frames,
        resent,
        repairs,
        duplicates,
        dropped,
        mut rejected,
    } = way::traffic(world.kernel.channel_mut());
    rejected += world.kernel.rejected();
    let casts = world.collectives.casts.traffic();
    let (frames, resent, repairs) = (
        frames + casts.frames,
        resent + casts.resent,
        repairs + casts.repairs,
    );
    let (duplicates, dropped) = (duplicates + casts.duplicates, dropped + casts.dropped);
    rejected += casts.rejected;
    let mut line = Line::new();
    // A line of nine numbers fits.
    let _ = write!(
        line,
        "{rank} {messages} {bytes} {frames} {resent} {repairs} {duplicates} {dropped} {rejected}"
    );
    if let Err(errno) = output::append(path, &line) {
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
        output::error(&Line::of(format_args!(
            "pombo: rank {rank} cannot write the file that POMBO_STATS names: {errno}{must}"
        )));
    }
}

fn told(variable: &Variable) -> Result<usize, Error> {
    variable.number().map_err(|error| refuse(&error))
}

/// Who is refused says why, then ends the job with the code that this process will have.
fn turn_away(refused: Box<Refused>) -> Error {
    let Refused { error, launcher } = *refused;
    let rank = launcher.as_ref().map_or_else(place::rank, Launcher::rank);
    let refused = refuse_as(rank, &error);
    match launcher {
        Some(mut launcher) => {
            launcher.abort(refused.code());
            // When its connection closes the launcher may kill this process before it has that code.
            core::mem::forget(launcher);
        }
        None => place::last_words(),
    }
    refused
}

/// What is wrong with the environment is said where it is found, and classed as the standard has it.
fn refuse(error: &PlaceError) -> Error {
    refuse_as(world_rank(), error)
}

fn refuse_as(rank: usize, error: &PlaceError) -> Error {
    let mut line = Line::new();
    // A line that is too long is cut.
    let _ = write!(line, "pombo: rank {rank} cannot join its job: {error}");
    output::error(&line);
    Error::NotJoined
}
