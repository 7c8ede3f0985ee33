//! The start of a program that was linked for one host: alone, or by the launcher of this project, whose memory file the
//! ranks share. Everything else that asks for ranks is refused by name, so the program is never a world of one by
//! mistake. `bootstrap` has it in place of the exchange between ranks.

use super::{Bootstrapped, JobError, JoinError, processor, segment, unsupported_launcher};
use crate::environment::{number, variable, wrong};
use crate::host_map::Hosts;
use crate::settings::{FAKE_HOST, JOB, NET, RANK, SHM_FD, SIZE};
use alloc::boxed::Box;
use core::ffi::CStr;
use pombo_kernel::Channel;
use pombo_netdrivers::shm::{Segment, Shm};
use pombo_netdrivers::tuning::FAST_PATHS;

/// Finds the job, by what [`join`](crate::join) was given.
#[cold]
#[inline(never)]
pub(crate) fn start(
    checked: Result<(), JobError>,
    fingerprint: u64,
) -> Result<Bootstrapped, Box<JoinError>> {
    // One place makes the error that the caller gets.
    Ok(find(checked, fingerprint)?)
}

fn find(checked: Result<(), JobError>, fingerprint: u64) -> Result<Bootstrapped, JobError> {
    checked?;
    refuse_hosts()?;
    let (segment, rank, fingerprint) = match (number(RANK.name)?, number(SIZE.name)?) {
        (None, None) => {
            unsupported_launcher::refuse()?;
            alone()?
        }
        (Some(rank), Some(size)) if rank < size => match number(SHM_FD.name)? {
            Some(file) => (segment(file)?, rank, fingerprint),
            None if size == 1 => alone()?,
            None => return Err(refused("POMBO_SIZE is above 1 without POMBO_SHM_FD")),
        },
        _ => {
            let must = "a rank below a size, both set or neither";
            return Err(wrong(c"POMBO_RANK and POMBO_SIZE", must));
        }
    };
    let shm = Shm::attach_boxed(segment, rank, fingerprint)?;
    let ranks = shm.peers();
    if FAST_PATHS && ranks > 1 {
        processor::spread(rank, ranks, processor::number_of(shm.segment()));
    }
    Ok(Bootstrapped {
        shm,
        hosts: Hosts::single(ranks),
        launcher: None,
        info: None,
    })
}

/// Returns what a world of one is made of.
fn alone() -> Result<(Segment, usize, u64), JobError> {
    Ok((Segment::create(1, 0)?, 0, 0))
}

/// Refuses a start in which ranks are to find each other by other means than the launcher's memory.
fn refuse_hosts() -> Result<(), JobError> {
    let size = number(c"PMI_SIZE")?;
    let by_pmi = [c"PMI_FD", c"PMI_PORT"]
        .into_iter()
        .any(|name| variable(name).is_some());
    let because = match variable(NET.name).map(CStr::to_bytes) {
        // The launcher of this project sets both, and its own variables count.
        _ if variable(RANK.name).is_none() && by_pmi && size != Some(1) => {
            "its launcher speaks PMI-1"
        }
        Some(net) if ![&b"auto"[..], b"shm"].contains(&net) => "POMBO_NET names a network",
        _ if variable(FAKE_HOST.name).is_some() => "POMBO_FAKE_HOST names a host",
        _ if variable(JOB.name).is_some() && variable(SHM_FD.name).is_none() => {
            "POMBO_JOB names ranks that no launcher started"
        }
        _ => return Ok(()),
    };
    Err(refused(because))
}

fn refused(because: &'static str) -> JobError {
    JobError::OneHost { because }
}
