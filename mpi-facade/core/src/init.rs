//! The beginning and the end: `MPI_Init`, `MPI_Finalize`, `MPI_Abort`.

use crate::collective::{self, Ongoing};
use crate::comm::Comms;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::header::{CREDIT, FINGERPRINT, Kernel};
use crate::output::{self, Line};
use crate::world::{self, Fault, Phase, World};
use core::ffi::{CStr, c_char, c_int};
use core::fmt::Write;
use pombo_kernel::{Channel, Limits};
use pombo_netdrivers::shm::{self, Segment, Shm, ShmError};

/// Joins the world that the environment names, or makes a world of one. Gives the level of thread support.
pub fn init(required: c_int) -> Result<c_int, Fault> {
    if world::phase() != Phase::Before {
        return Err(argument("MPI_Init", "called once, before anything else").into());
    }
    let place = Place::read()?;
    let channel = place.join().map_err(|error| {
        let mut line = Line::new();
        // A line that is too long is cut.
        let _ = write!(
            line,
            "pombo: rank {} cannot join its job: {error}",
            place.rank
        );
        output::error(&line);
        Error::Argument {
            class: Class::Other,
            name: "job",
            must: "one that this process can join; see the message above",
        }
    })?;
    let limits = Limits {
        credit: Some(number(c"POMBO_CREDIT")?.map_or(CREDIT, |credit| credit as u32)),
        eager: number(c"POMBO_EAGER_LIMIT")?,
    };
    let (own, size) = (channel.node(), channel.nodes());
    let kernel = Kernel::with_limits(channel, limits)?;
    let threads = required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED);
    world::begin(World {
        kernel,
        comms: Comms::new(own, size),
        collectives: Ongoing::new()?,
        threads,
        sent: (0, 0),
    });
    Ok(threads)
}

/// The level of thread support that was granted.
pub fn threads() -> Result<c_int, Fault> {
    world::with(|world| Ok(world.threads))
}

/// Waits for everybody, lets the last frames leave, and ends the world.
pub fn finalize() -> Result<(), Fault> {
    collective::barrier(MPI_COMM_WORLD)?.run()?;
    world::with(|world| world.until(|world| Ok(world.kernel.is_flushed().then_some(()))))?;
    if let Some(mut world) = world::end() {
        report(&world);
        world.kernel.channel_mut().finish();
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
    // SAFETY: a null stream means all of them; `_exit` never returns.
    unsafe {
        libc::fflush(core::ptr::null_mut());
        libc::_exit(status)
    }
}

/// This process's rank in `MPI_COMM_WORLD`, as well as it is known.
pub fn world_rank() -> usize {
    world::with(|world| Ok(world.kernel.node().index()))
        .ok()
        .or_else(|| number(c"POMBO_RANK").ok().flatten())
        .unwrap_or(0)
}

/// What the environment says about this process.
struct Place {
    rank: usize,
    size: usize,
    /// The memory file that the launcher made.
    file: Option<usize>,
    /// The name under which ranks without a launcher meet.
    job: Option<&'static str>,
}

impl Place {
    fn read() -> Result<Place, Error> {
        let rank = number(c"POMBO_RANK")?;
        let size = number(c"POMBO_SIZE")?;
        let file = number(c"POMBO_SHM_FD")?;
        let job = text(c"POMBO_JOB");
        match (rank, size) {
            (Some(rank), Some(size)) if rank < size => Ok(Place {
                rank,
                size,
                file,
                job,
            }),
            (None, None) => Ok(Place {
                rank: 0,
                size: 1,
                file: None,
                job: None,
            }),
            _ => Err(argument(
                "POMBO_RANK and POMBO_SIZE",
                "a rank below a size, both set or neither",
            )),
        }
    }

    fn join(&self) -> Result<Shm, ShmError> {
        match (self.file, self.job) {
            (Some(file), _) => Shm::attach(Segment::open(file as c_int)?, self.rank, FINGERPRINT),
            (None, Some(job)) => shm::meet(job, self.rank, self.size, FINGERPRINT),
            (None, None) => Shm::alone(),
        }
    }
}

/// Appends messages and bytes to the file that `POMBO_STATS` names.
fn report(world: &World) {
    let Some(path) = variable(c"POMBO_STATS") else {
        return;
    };
    let mut line = Line::new();
    // A line of three numbers fits.
    let _ = write!(
        line,
        "{} {} {}",
        world.kernel.node(),
        world.sent.0,
        world.sent.1
    );
    output::append(path, &line);
}

fn argument(name: &'static str, must: &'static str) -> Error {
    Error::Argument {
        class: Class::Other,
        name,
        must,
    }
}

/// An environment variable that holds a number.
fn number(name: &'static CStr) -> Result<Option<usize>, Error> {
    let Some(value) = text(name) else {
        return Ok(None);
    };
    let name = name.to_str().unwrap_or("environment variable");
    value
        .parse()
        .map(Some)
        .map_err(|_| argument(name, "a number"))
}

/// An environment variable that holds text.
pub(crate) fn text(name: &CStr) -> Option<&'static str> {
    variable(name)?.to_str().ok()
}

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero.
    let value: *const c_char = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, so a string of the environment, which nobody changes during MPI_Init and MPI_Finalize.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}
