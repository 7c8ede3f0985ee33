//! Start and end of MPI: `MPI_Init` and `MPI_Finalize`.

#[cfg(feature = "groups-at-start")]
use crate::collective;
use crate::comm::{Comms, attributes};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::exit::world_rank;
use crate::kernel::{GroupBuffers, JobChannel, Kernel};
use crate::message_header::{FINGERPRINT, RANKS};
use crate::objects::Objects;
use crate::runtime::phase::{Phase, phase};
#[cfg(feature = "progress-thread")]
use crate::runtime::progress_thread;
use crate::runtime::world::{self, CommError, World};
use crate::settings;
use crate::world_barrier::world_barrier;
use alloc::boxed::Box;
use core::ffi::c_int;
#[cfg(feature = "diagnostics")]
use pombo_job::Traffic;
#[cfg(feature = "launchers")]
use pombo_job::closed_streams::ClosedStreams;
use pombo_job::log::{self, LogLine};
#[cfg(feature = "diagnostics")]
use pombo_job::settings::STATS_FILE;
use pombo_job::settings::{SPARE, spare_places};
#[cfg(feature = "diagnostics")]
use pombo_job::text;
use pombo_job::{JobError, JoinError, Joined, WorldChannel};
#[cfg(feature = "diagnostics")]
use pombo_kernel::text::{ToText, fill};
use pombo_kernel::{Channel, Limits};
use pombo_netdrivers::tuning::FAST_PATHS;

/// Joins the world that the environment names, or creates a world of one rank, by [`pombo_job::join`] like every
/// program over the kernel. Returns the granted level of thread support.
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
    #[cfg(feature = "launchers")]
    let _closed = ClosedStreams::take();
    let mut limits = Limits::default();
    let checked = checked_settings().and_then(|()| read_limits(&mut limits));
    let Joined {
        mut channel,
        hosts,
        launcher,
    } = pombo_job::join::<RANKS, GroupBuffers>(checked, FINGERPRINT)
        .map_err(|refused| turn_away(*refused))?;
    let is_direct = configure(&mut channel).map_err(|error| refuse(&error))?;
    let (own, size) = (channel.me(), channel.peers());
    let kernel = Kernel::new(channel, limits, is_direct)?;
    let threads = required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED);
    let objects = Objects::new(Comms::new(own, size, &hosts));
    let world = World::new(kernel, objects, hosts, launcher);
    attributes::describe_job(&world);
    world::begin(world, threads);
    #[cfg(feature = "groups-at-start")]
    world::with(|world| collective::enter_multicast(world, MPI_COMM_WORLD))?;
    #[cfg(feature = "progress-thread")]
    progress_thread::start().map_err(|error| refuse(&error))?;
    Ok(threads)
}

/// Reads the limits of the kernel. Refuses places for processes that join later.
fn read_limits(limits: &mut Limits) -> Result<(), Box<JobError>> {
    if spare_places() > 0 {
        let must = "0 in an MPI program, whose world cannot grow: start without --spare";
        return Err(SPARE.must_be(must));
    }
    limits.credit = Some(settings::UNEXPECTED_CREDIT.number()? as u32);
    // Without rendezvous a lower limit would refuse messages.
    if cfg!(feature = "rendezvous") {
        limits.eager = Some(settings::EAGER_LIMIT.number()?);
    }
    limits.copies = Some(settings::SEND_BUFFER_BYTES.number()?);
    Ok(())
}

/// Sets the channel as the environment tells; returns whether blocking receives go without the queues. It is apart from
/// [`init`], which would drop the channel for each variable.
#[inline(never)]
fn configure(channel: &mut JobChannel) -> Result<bool, Box<JobError>> {
    // Who lacks the fast paths has nothing to switch off.
    if !FAST_PATHS {
        return Ok(false);
    }
    let memory = channel.memory();
    memory.set_single_copy(settings::SHM_SINGLE_COPY.read(settings::single_copy)?);
    if !settings::SHM_RING_RESTART.switch()? {
        memory.disable_ring_restart();
    }
    memory.set_mail(settings::SHM_MAIL.switch()?);
    memory.set_burst_pause(settings::SHM_BURST_PAUSE.switch()?);
    memory.set_burst_cells(settings::SHM_BURST_CELLS.switch()?);
    memory.set_passed_cells(settings::SHM_PASSED_CELLS.switch()?);
    memory.set_early_data(settings::EARLY_DATA.switch()?);
    settings::DIRECT_RECEIVE.switch()
}

/// Checks all variables of this process. Without diagnostics only those that are read are checked, as they are read.
fn checked_settings() -> Result<(), Box<JobError>> {
    #[cfg(feature = "diagnostics")]
    return settings::check_all();
    #[cfg(not(feature = "diagnostics"))]
    Ok(())
}

/// Waits for all ranks, flushes the last frames, and ends the world.
pub fn finalize() -> Result<(), CommError> {
    world::check_not_lent()?;
    // The flush is the next step, as it is refused where another call has the world.
    flush_buffers()?;
    // The functions of attributes may still call all of MPI.
    let delete_attributes = world::with(|world| Ok(world.objects.delete_attributes))?;
    if let Some(delete_attributes) = delete_attributes {
        delete_attributes(MPI_COMM_SELF)?;
        delete_attributes(MPI_COMM_WORLD)?;
        flush_buffers()?;
    }
    #[cfg(feature = "progress-thread")]
    progress_thread::stop();
    // The other ranks may need repairs of this rank's broadcasts.
    world::with(|world| {
        #[cfg(feature = "hosts")]
        world.until(|world| {
            let channel = world.kernel.channel_mut();
            Ok(channel.has_settled_groups().then_some(()))
        })?;
        world_barrier(world)?;
        world.until(|world| {
            let is_over = world.kernel.is_flushed() && world.kernel.channel_mut().is_settled();
            Ok(is_over.then_some(()))
        })
    })?;
    let mut world = world::end().ok_or_else(world::absent)?;
    #[cfg(feature = "diagnostics")]
    report(&mut world);
    world.kernel.channel_mut().leave();
    if let Some(launcher) = &mut world.launcher {
        launcher.finish();
    }
    // Without diagnostics its memory stays until the process ends: what gives it back is as long as a small program's
    // other steps of an end together.
    #[cfg(not(feature = "diagnostics"))]
    core::mem::forget(world);
    Ok(())
}

/// Flushes the buffers of buffered sends, if there was one.
fn flush_buffers() -> Result<(), CommError> {
    match world::with(|world| Ok(world.objects.flush_buffers))? {
        Some(flush) => flush(),
        None => Ok(()),
    }
}

/// Appends this rank's counts of messages sent, and those of its frames between hosts, to the file that
/// `POMBO_STATS_FILE` names.
#[cfg(feature = "diagnostics")]
fn report(world: &mut World) {
    let Some(path) = world.objects.environment.get(STATS_FILE.name) else {
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
    fill!(&mut line, "{} {} {}", rank, messages, bytes);
    for count in [frames, resent, repairs, duplicates, dropped, rejected] {
        fill!(&mut line, " {}", count);
    }
    if let Err(errno) = log::append(path, &line) {
        // The launcher's file is not on other hosts.
        if errno.0 == libc::ENOENT && rank.index() > 0 {
            return;
        }
        let must = match errno.0 {
            libc::EPERM | libc::ELOOP => {
                "; it must be a plain file of this user alone, and no link"
            }
            _ => "",
        };
        log::error(&text!(
            "pombo: rank {} cannot write the file that POMBO_STATS_FILE names: {}{}",
            rank,
            errno,
            must
        ));
    }
}

/// Prints the reason of a refused join, then ends the job with this process's exit code.
fn turn_away(refused: JoinError) -> Error {
    let error = refuse_as(refused.rank(), refused.error());
    refused.abort(error.code());
    error
}

/// Prints an error of the environment, and converts it to an error of MPI.
fn refuse(error: &JobError) -> Error {
    refuse_as(world_rank(), error)
}

fn refuse_as(rank: usize, error: &JobError) -> Error {
    let mut line = LogLine::new();
    line.put("pombo: rank ")
        .put_number(rank as i64)
        .put(" cannot join its job: ");
    #[cfg(feature = "diagnostics")]
    error.put_text(&mut line);
    #[cfg(not(feature = "diagnostics"))]
    error.write_brief(&mut line);
    log::error(&line);
    Error::NotJoined
}
