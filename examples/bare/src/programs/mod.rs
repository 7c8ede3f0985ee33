//! The programs: each is run by all ranks of a job, and checks every byte that arrives.

#[cfg(feature = "programs")]
mod broadcast;
mod leave;
#[cfg(feature = "programs")]
mod mpi;
mod ping_pong;
#[cfg(feature = "programs")]
mod stencil;
#[cfg(feature = "programs")]
mod stream;

use crate::composition::{Comm, Message};
use crate::job::Job;
use crate::report::{Failure, Report};
use pombo_collective::SharedBytes;
use pombo_kernel::Channel;
use pombo_kernel::prelude::*;

/// What a message is for.
mod kind {
    pub(super) const PING: u8 = 1;
    pub(super) const PONG: u8 = 2;
    pub(super) const LEAVE: u8 = 3;
    #[cfg(feature = "programs")]
    pub(super) const STREAM: u8 = 4;
    #[cfg(feature = "programs")]
    pub(super) const TOTAL: u8 = 5;
    #[cfg(feature = "programs")]
    pub(super) const BROADCAST: u8 = 6;
    #[cfg(feature = "programs")]
    pub(super) const HALO: u8 = 7;
    #[cfg(feature = "programs")]
    pub(super) const SUM: u8 = 8;
}

/// Bytes of memory that the collectives take.
#[cfg(not(feature = "programs"))]
pub const MEMORY: usize = 512;
/// Bytes of memory that the programs take.
#[cfg(feature = "programs")]
pub const MEMORY: usize = mpi::MEMORY;

/// Runs the programs of a job over a channel, and tells by `told` what became of its frames. They use `memory`, of
/// [`MEMORY`] bytes. The channel is made where it is used: moved there, it would be on the stack twice.
///
/// # Errors
/// The first failure: of the channel, of the kernel, or of a check that the program makes.
pub fn start<L: Channel>(
    channel: impl FnOnce() -> Result<L, Failure>,
    memory: SharedBytes<'_>,
    job: &Job,
    report: &mut Report<'_>,
    told: fn(&L, &mut Report<'_>),
) -> Result<(), Failure> {
    #[cfg(feature = "programs")]
    if job.is_mpi {
        return mpi::run(channel, memory, job.count, report, told);
    }
    over_comm(channel, memory, job.count, report, told)
}

#[cfg_attr(feature = "programs", inline(never))]
fn over_comm<L: Channel>(
    channel: impl FnOnce() -> Result<L, Failure>,
    memory: SharedBytes<'_>,
    count: u32,
    report: &mut Report<'_>,
    told: fn(&L, &mut Report<'_>),
) -> Result<(), Failure> {
    let mut comm = Comm::new(channel()?)?;
    run(&mut comm, memory, count, report)?;
    told(comm.channel(), report);
    Ok(())
}

/// Runs all programs but MPI's, one after the other, and returns when all ranks have.
fn run<'buf, L: Channel>(
    comm: &mut Comm<'buf, L>,
    memory: SharedBytes<'buf>,
    count: u32,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    ping_pong::run(comm, count, report)?;
    others(comm, memory, count, report)?;
    leave::run(comm)
}

#[cfg(feature = "programs")]
fn others<'buf, L: Channel>(
    comm: &mut Comm<'buf, L>,
    memory: SharedBytes<'buf>,
    count: u32,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    stream::run(comm, count, report)?;
    broadcast::run(comm, memory, report)?;
    stencil::run(comm, memory, report)
}

#[cfg(not(feature = "programs"))]
fn others<'buf, L: Channel>(
    _: &mut Comm<'buf, L>,
    _: SharedBytes<'buf>,
    _: u32,
    _: &mut Report<'_>,
) -> Result<(), Failure> {
    Ok(())
}

fn message(kind: u8, number: u32) -> Message {
    Message {
        kind,
        number: U32::new(number),
    }
}

/// The bytes of message `number`: others for each number, of lengths from 0 to 511.
fn fill(buffer: &mut [u8; 512], number: u32) -> &mut [u8] {
    let len = number.wrapping_mul(37) as usize % 512;
    let mut state = number.wrapping_mul(0x9e37_79b9) | 1;
    for byte in buffer.iter_mut().take(len) {
        state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        *byte = (state >> 24) as u8;
    }
    buffer.get_mut(..len).unwrap_or_default()
}

/// Adds bytes to a checksum (FNV-1a).
fn checksum(sum: u32, bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(sum, step)
}

const CHECKSUM: u32 = 0x811c_9dc5;
