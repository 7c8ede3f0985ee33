//! A task farm over `Communicator` with a header of its own, without MPI.
//!
//! ```text
//! cargo build --release --example farm
//! target/release/examples/farm threads                     # four threads
//! pombo run -n 4 target/release/examples/farm              # four processes
//! mpiexec.mpich -hosts one,two -n 4 target/release/examples/farm # on two hosts
//! ```
//!
//! Rank 0 distributes intervals of a sum, and the workers return partial sums. The header gives a message's kind and
//! its task; a receive selects by kind.

use pombo_job::Joined;
use pombo_kernel::aspect::Rendezvous;
use pombo_kernel::matching::Linear;
use pombo_kernel::prelude::*;
use pombo_kernel::{Capacities, Channel, Composition};
use pombo_netdrivers::{HeapStorage, Loopback};

header! {
    /// The protocol: every message is a task, an answer, or the end.
    struct Work { kind: u8, task: U32 }
}

const TASK: u8 = 1;
const ANSWER: u8 = 2;
const END: u8 = 3;

/// The most ranks that a job of this program may have.
const RANKS: usize = 64;
/// The composition: 32-bit lengths, rendezvous above 1 KiB, linear matching, heap storage, and the capacities.
type Farm =
    Composition<U32, Rendezvous<1024>, Linear, HeapStorage, Capacities<64, 64, 1024, RANKS>>;
type Comm<L> = Communicator<Work, L, Lent<'static>, Farm>;

const TASKS: u32 = 1000;
const TERMS: u64 = 10_000;

fn work(kind: u8, task: u32) -> Work {
    Work {
        kind,
        task: task.into(),
    }
}

/// Sends every worker a task, then a new one for each answer; a worker without a task gets the end message.
fn manager(comm: &mut Comm<impl Channel>) -> Result<f64, Error> {
    let workers = comm.peers() as u32 - 1;
    let (mut next, mut sum) = (0, 0.0);
    let mut give = |comm: &mut Comm<_>, worker| {
        let kind = if next < TASKS { TASK } else { END };
        next += 1;
        comm.send(worker, work(kind, next - 1), &[])
    };
    for worker in 1..=workers {
        give(comm, Peer(worker as u16))?;
    }
    for _ in 0..TASKS {
        let mut answer = [0; 8];
        let envelope = comm.recv(Work::kind(ANSWER), &mut answer)?;
        sum += f64::from_le_bytes(answer);
        give(comm, envelope.peer())?;
    }
    Ok(sum)
}

/// Answers tasks until the end message.
fn worker(comm: &mut Comm<impl Channel>) -> Result<(), Error> {
    loop {
        let header = comm.recv(Any.into(), &mut [])?.header();
        if header.kind == END {
            return Ok(());
        }
        let task = header.task.get();
        let first = u64::from(task) * TERMS;
        let part: f64 = (first..first + TERMS)
            .map(|k| if k % 2 == 0 { 4.0 } else { -4.0 } / (2 * k + 1) as f64)
            .sum();
        comm.send(Peer(0), work(ANSWER, task), &part.to_le_bytes())?;
    }
}

/// Runs one rank, over any channel.
fn farm(comm: &mut Comm<impl Channel>) -> Result<(), Error> {
    match comm.me() {
        Peer(0) if comm.peers() > 1 => println!("pi is {:.9} after {TASKS} tasks", manager(comm)?),
        Peer(0) => println!("a farm takes two ranks or more: farm threads, or pombo run -n 4 farm"),
        _ => worker(comm)?,
    }
    Ok(())
}

/// Runs the ranks as threads of this process.
fn threads() -> Result<(), Error> {
    let run = |channel| farm(&mut Comm::new(channel)?);
    let ranks = Loopback::world(4).into_iter();
    let ranks: Vec<_> = ranks
        .map(|channel| std::thread::spawn(move || run(channel)))
        .collect();
    let mut ended = ranks
        .into_iter()
        .map(|rank| rank.join().expect("no rank panics"));
    ended.try_for_each(|ended| ended)
}

/// Runs this process as a rank of the job that a launcher has started.
fn job() -> Result<(), Box<dyn std::error::Error>> {
    let Joined {
        channel, launcher, ..
    } = pombo_job::enter::<Work, Farm, RANKS>()?;
    let mut comm = Comm::new(channel)?;
    farm(&mut comm)?;
    Ok(pombo_job::leave(comm, launcher)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("threads") => Ok(threads()?),
        _ => job(),
    }
}
