//! Finds the segment of ranks that were not started by our launcher: rank 0 passes its descriptor to the others over a
//! socket in the abstract namespace, which leaves no file behind. Programs call [`bootstrap()`].

use alloc::boxed::Box;
use alloc::vec;
use core::time::Duration;

use rustix::fd::OwnedFd;

use super::bootstrap_socket::{Deadline, JobAddress, Socket};
use super::channel::Shm;
use super::error::ShmError;
use super::file::File;
use super::layout::{Layout, MAGIC, VERSION};
use super::pid_monitor;
use super::segment::Segment;
use crate::tuning::{BOOTSTRAP_NOTICE, BOOTSTRAP_RETRY, BOOTSTRAP_TIMEOUT, HELLO_TIMEOUT};

/// Joins the job of that name on this machine as one of `ranks` ranks of the same user. Returns when the segment
/// exists; in rank 0 when all others have fetched it.
///
/// # Errors
/// As [`Shm::attach`]; and [`ShmError::RanksMissing`] or [`ShmError::NoAnswer`] after [`BOOTSTRAP_TIMEOUT`],
/// [`ShmError::OtherJob`], [`ShmError::OtherUser`], [`ShmError::JobName`].
pub fn bootstrap(job: &str, rank: usize, ranks: usize, fingerprint: u64) -> Result<Shm, ShmError> {
    bootstrap_within(job, rank, ranks, fingerprint, BOOTSTRAP_TIMEOUT)
}

/// Joins a job as [`bootstrap()`], with another time limit.
///
/// # Errors
/// As [`bootstrap()`].
pub fn bootstrap_within(
    job: &str,
    rank: usize,
    ranks: usize,
    fingerprint: u64,
    limit: Duration,
) -> Result<Shm, ShmError> {
    Ok(*join(job, (rank, ranks), fingerprint, limit, &mut |_| {})?)
}

/// Joins a job as [`bootstrap()`]. Calls `waiting` once if that takes longer than [`BOOTSTRAP_NOTICE`], with the number
/// of ranks that have joined, as far as this rank knows: rank 0 counts them, and the others know of themselves. The
/// channel is in its own memory.
///
/// # Errors
/// As [`bootstrap()`].
pub fn bootstrap_observed(
    job: &str,
    rank: usize,
    ranks: usize,
    fingerprint: u64,
    waiting: &mut dyn FnMut(usize),
) -> Result<Box<Shm>, ShmError> {
    join(job, (rank, ranks), fingerprint, BOOTSTRAP_TIMEOUT, waiting)
}

fn join(
    job: &str,
    (rank, ranks): (usize, usize),
    fingerprint: u64,
    limit: Duration,
    waiting: &mut dyn FnMut(usize),
) -> Result<Box<Shm>, ShmError> {
    let deadline = Deadline::after(limit);
    let mut notice = Notice {
        due: Some(deadline.within(BOOTSTRAP_NOTICE)),
        waiting,
    };
    Layout::new(ranks)?;
    if rank >= ranks {
        return Err(ShmError::NoSuchRank { rank, ranks });
    }
    if rank > 0 {
        let segment = fetch(&JobAddress::of(job)?, rank, ranks, deadline, &mut notice)?;
        return Shm::attach_boxed(segment, rank, fingerprint);
    }
    let segment = Segment::create(ranks, fingerprint)?;
    if ranks > 1 {
        segment.set_monitored_pid(0, pid_monitor::pid());
        serve(&segment, &JobAddress::of(job)?, deadline, &mut notice)?;
    }
    Shm::attach_boxed(segment, rank, fingerprint)
}

/// What is said once of a long wait.
struct Notice<'a> {
    /// When it is due; `None` once it was said.
    due: Option<Deadline>,
    waiting: &'a mut dyn FnMut(usize),
}

impl Notice<'_> {
    /// Says it if it is due. Returns whether it was.
    fn say(&mut self, joined: usize) -> bool {
        let is_due = self.due.is_some_and(Deadline::is_over);
        if is_due {
            self.due = None;
            (self.waiting)(joined);
        }
        is_due
    }
}

/// The first message of a rank: [`MAGIC`], [`VERSION`], its number of ranks, its rank.
type Hello = [u64; 4];

/// The reply of rank 0: a verdict, and its own value of a mismatched field. The descriptor comes with it.
type Reply = [u64; 2];

const WELCOME: u64 = 0;
const OTHER_VERSION: u64 = 1;
const OTHER_JOB: u64 = 2;
const RANK_TAKEN: u64 = 3;

fn serve(
    segment: &Segment,
    address: &JobAddress,
    deadline: Deadline,
    notice: &mut Notice<'_>,
) -> Result<(), ShmError> {
    let ranks = segment.ranks();
    let taken = |error: ShmError| match error {
        error if error.is(libc::EADDRINUSE) => ShmError::RankTaken { rank: 0 },
        error => error,
    };
    let listener = Socket::listen(address, ranks).map_err(taken)?;
    let mut joined = vec![false; ranks];
    joined[0] = true;
    if let Some(space) = pid_monitor::pid_namespace() {
        segment.set_pid_namespace(space);
    }
    while joined.contains(&false) {
        match listener.accept(notice.due.unwrap_or(deadline)) {
            Ok(Some(client)) => welcome(&client, segment, &mut joined, deadline),
            Ok(None) => {
                let joined = joined.iter().filter(|joined| **joined).count();
                if notice.say(joined) && !deadline.is_over() {
                    continue;
                }
                return Err(ShmError::RanksMissing { joined, ranks });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Serves a joining rank. A failed exchange concerns only that rank: it tries again, or is missing.
fn welcome(client: &Socket, segment: &Segment, joined: &mut [bool], deadline: Deadline) {
    let mut hello = Hello::default();
    let Ok(process) = client.pid_of_this_user() else {
        return;
    };
    if client
        .receive(&mut hello, deadline.within(HELLO_TIMEOUT))
        .is_err()
    {
        return;
    }
    let reply = judge(hello, joined);
    let welcome = reply[0] == WELCOME;
    if welcome {
        segment.set_monitored_pid(hello[3] as usize, process);
    }
    let descriptor = welcome.then_some(segment.fd());
    if client.send(&reply, descriptor).is_ok() && welcome {
        joined[hello[3] as usize] = true;
    }
}

fn judge(hello: Hello, joined: &[bool]) -> Reply {
    let [magic, version, ranks, rank] = hello;
    let ours = joined.len() as u64;
    if magic != MAGIC || version != VERSION {
        [OTHER_VERSION, VERSION]
    } else if ranks != ours || rank >= ours {
        [OTHER_JOB, ours]
    } else if joined[rank as usize] {
        [RANK_TAKEN, rank]
    } else {
        [WELCOME, ours]
    }
}

fn fetch(
    address: &JobAddress,
    rank: usize,
    ranks: usize,
    deadline: Deadline,
    notice: &mut Notice<'_>,
) -> Result<Segment, ShmError> {
    let mut pause = *BOOTSTRAP_RETRY.start();
    while !deadline.is_over() {
        if let Some(segment) = ask(address, rank, ranks, deadline)? {
            return Ok(segment);
        }
        notice.say(1);
        deadline.pause(Duration::from_millis(pause));
        pause = (pause * 2).min(*BOOTSTRAP_RETRY.end());
    }
    Err(ShmError::NoAnswer)
}

/// Asks rank 0 for the segment; returns `None` if it does not answer now.
fn ask(
    address: &JobAddress,
    rank: usize,
    ranks: usize,
    deadline: Deadline,
) -> Result<Option<Segment>, ShmError> {
    let Some(host) = Socket::connect(address, deadline)? else {
        return Ok(None);
    };
    host.pid_of_this_user()?;
    let hello: Hello = [MAGIC, VERSION, ranks as u64, rank as u64];
    let mut reply = Reply::default();
    let replied = host
        .send(&hello, None)
        .and_then(|()| host.receive(&mut reply, deadline));
    let Ok(descriptor) = replied else {
        return Ok(None);
    };
    decide(reply, descriptor, rank).map(Some)
}

fn decide(reply: Reply, descriptor: Option<OwnedFd>, rank: usize) -> Result<Segment, ShmError> {
    let [verdict, theirs] = reply;
    match (verdict, descriptor) {
        (WELCOME, Some(descriptor)) => Segment::from_file(File::of(descriptor)),
        (OTHER_JOB, _) => Err(ShmError::OtherJob {
            ranks: theirs as usize,
        }),
        (RANK_TAKEN, _) => Err(ShmError::RankTaken { rank }),
        (OTHER_VERSION, _) => Err(ShmError::Version {
            ours: VERSION,
            theirs,
        }),
        _ => Err(ShmError::NotASegment),
    }
}
