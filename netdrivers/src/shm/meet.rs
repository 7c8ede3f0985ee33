//! How ranks find their segment when no launcher of ours started them: rank 0 hands its descriptor to the others over
//! a socket in the abstract namespace, which leaves no file behind. Programs call [`meet`].

use alloc::vec;
use core::time::Duration;

use super::device::Shm;
use super::error::ShmError;
use super::file::{Descriptor, File};
use super::layout::{Layout, MAGIC, VERSION};
use super::segment::Segment;
use super::socket::{Address, Deadline, Socket};
use super::watch;

/// How long ranks wait for each other in [`meet`].
pub const MEETING: Duration = Duration::from_secs(60);

/// Becomes one of `ranks` ranks of the job of that name, which all run on this machine as the same user. Returns when
/// the segment is there; in rank 0 when all others have fetched it.
///
/// # Errors
/// As [`Shm::attach`]; and [`ShmError::Missing`] or [`ShmError::NoAnswer`] after [`MEETING`], [`ShmError::OtherJob`],
/// [`ShmError::OtherUser`], [`ShmError::JobName`].
pub fn meet(job: &str, rank: usize, ranks: usize, fingerprint: u64) -> Result<Shm, ShmError> {
    meet_within(job, rank, ranks, fingerprint, MEETING)
}

/// [`meet`] with another limit.
///
/// # Errors
/// As [`meet`].
pub fn meet_within(
    job: &str,
    rank: usize,
    ranks: usize,
    fingerprint: u64,
    limit: Duration,
) -> Result<Shm, ShmError> {
    let deadline = Deadline::after(limit);
    Layout::new(ranks)?;
    if rank >= ranks {
        return Err(ShmError::NoSuchRank { rank, ranks });
    }
    if rank > 0 {
        let segment = fetch(&Address::of(job)?, rank, ranks, deadline)?;
        return Shm::attach(segment, rank, fingerprint);
    }
    let segment = Segment::create(ranks, fingerprint)?;
    if ranks > 1 {
        segment.set_watched(0, watch::process());
        serve(&segment, &Address::of(job)?, deadline)?;
    }
    Shm::attach(segment, rank, fingerprint)
}

/// What a rank says first: [`MAGIC`], [`VERSION`], its number of ranks, its rank.
type Hello = [u64; 4];

/// What rank 0 answers: a verdict, and what it has in place of what the other said. The descriptor comes with it.
type Answer = [u64; 2];

const WELCOME: u64 = 0;
const OTHER_VERSION: u64 = 1;
const OTHER_JOB: u64 = 2;
const TAKEN: u64 = 3;

/// A rank says hello at once; whoever does not is not waited for.
const HELLO: Duration = Duration::from_secs(2);

fn serve(segment: &Segment, address: &Address, deadline: Deadline) -> Result<(), ShmError> {
    let ranks = segment.ranks();
    let taken = |error: ShmError| match error {
        error if error.is(libc::EADDRINUSE) => ShmError::RankTaken { rank: 0 },
        error => error,
    };
    let door = Socket::listen(address, ranks).map_err(taken)?;
    let mut came = vec![false; ranks];
    came[0] = true;
    if let Some(space) = watch::process_space() {
        segment.watch(space);
    }
    while came.contains(&false) {
        match door.accept(deadline) {
            Ok(Some(guest)) => welcome(&guest, segment, &mut came, deadline),
            Ok(None) => {
                let came = came.iter().filter(|came| **came).count();
                return Err(ShmError::Missing { came, ranks });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A guest that goes wrong is its own affair: it tries again, or is missing.
fn welcome(guest: &Socket, segment: &Segment, came: &mut [bool], deadline: Deadline) {
    let mut hello = Hello::default();
    let Ok(process) = guest.process_of_this_user() else {
        return;
    };
    if guest.receive(&mut hello, deadline.within(HELLO)).is_err() {
        return;
    }
    let answer = judge(hello, came);
    let welcome = answer[0] == WELCOME;
    if welcome {
        segment.set_watched(hello[3] as usize, process);
    }
    let descriptor = welcome.then_some(segment.fd());
    if guest.send(&answer, descriptor).is_ok() && welcome {
        came[hello[3] as usize] = true;
    }
}

fn judge(hello: Hello, came: &[bool]) -> Answer {
    let [magic, version, ranks, rank] = hello;
    let ours = came.len() as u64;
    if magic != MAGIC || version != VERSION {
        [OTHER_VERSION, VERSION]
    } else if ranks != ours || rank >= ours {
        [OTHER_JOB, ours]
    } else if came[rank as usize] {
        [TAKEN, rank]
    } else {
        [WELCOME, ours]
    }
}

/// Between two attempts to find rank 0.
const PAUSES: core::ops::RangeInclusive<u64> = 1..=50;

fn fetch(
    address: &Address,
    rank: usize,
    ranks: usize,
    deadline: Deadline,
) -> Result<Segment, ShmError> {
    let mut pause = *PAUSES.start();
    while !deadline.is_over() {
        if let Some(segment) = ask(address, rank, ranks, deadline)? {
            return Ok(segment);
        }
        deadline.pause(Duration::from_millis(pause));
        pause = (pause * 2).min(*PAUSES.end());
    }
    Err(ShmError::NoAnswer)
}

/// `None` if nobody answers now.
fn ask(
    address: &Address,
    rank: usize,
    ranks: usize,
    deadline: Deadline,
) -> Result<Option<Segment>, ShmError> {
    let Some(host) = Socket::connect(address, deadline)? else {
        return Ok(None);
    };
    host.process_of_this_user()?;
    let hello: Hello = [MAGIC, VERSION, ranks as u64, rank as u64];
    let mut answer = Answer::default();
    let answered = host
        .send(&hello, None)
        .and_then(|()| host.receive(&mut answer, deadline));
    let Ok(descriptor) = answered else {
        return Ok(None);
    };
    decide(answer, descriptor, rank).map(Some)
}

fn decide(
    answer: Answer,
    descriptor: Option<Descriptor>,
    rank: usize,
) -> Result<Segment, ShmError> {
    let [verdict, theirs] = answer;
    match (verdict, descriptor) {
        (WELCOME, Some(descriptor)) => Segment::from_file(File::of(descriptor)),
        (OTHER_JOB, _) => Err(ShmError::OtherJob {
            ranks: theirs as usize,
        }),
        (TAKEN, _) => Err(ShmError::RankTaken { rank }),
        (OTHER_VERSION, _) => Err(ShmError::Version {
            ours: VERSION,
            theirs,
        }),
        _ => Err(ShmError::NotASegment),
    }
}
