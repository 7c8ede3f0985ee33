//! A task farm over `Communicator` with a header of its own: no MPI anywhere.
//!
//! `cargo run --release --example farm`
//!
//! Rank 0 hands out intervals of a sum, the workers (threads here; processes with the driver `shm`) give partial sums
//! back. The header says what a message is and which task it belongs to; a receive selects by kind.

use pombo_kernel::aspect::Rendezvous;
use pombo_kernel::matching::Linear;
use pombo_kernel::{Communicator, Compose, Error, Header, Lent, Node, Operate, Pattern, Size};
use pombo_netdrivers::{Growing, Loopback};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The protocol: every message is a task, an answer, or the end.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Work {
    kind: u8,
    task: U32,
}

const TASK: u8 = 1;
const ANSWER: u8 = 2;
const END: u8 = 3;

/// A receive wants one kind, or any (0), from anybody.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Kind(u8);

impl Header for Work {
    const NAME: &str = "Work";
    type Pattern = Kind;
}

impl Pattern<Work> for Kind {
    fn matches(&self, _from: Node, header: &Work) -> bool {
        self.0 == 0 || self.0 == header.kind
    }

    fn source(&self) -> Option<Node> {
        None
    }
}

/// The composition: 32-bit lengths, rendezvous above 1 KiB, linear matching, heap storage, and how much of everything.
type Farm = Compose<U32, Rendezvous<1024>, Linear, Growing, Size<64, 64, 1024, 8>>;
type Comm = Communicator<Work, Loopback, Lent<'static>, Farm>;

const TASKS: u32 = 1000;
const TERMS: u64 = 10_000;

fn work(kind: u8, task: u32) -> Work {
    Work {
        kind,
        task: U32::new(task),
    }
}

/// Gives every worker a task, then a new one for each answer.
fn manager(comm: &mut Comm) -> Result<f64, Error> {
    let workers = comm.nodes() as u16 - 1;
    let (mut next, mut sum) = (0, 0.0);
    for worker in 1..=workers {
        comm.send_from(Node(worker), work(TASK, next), &[])?;
        next += 1;
    }
    for _ in 0..TASKS {
        let mut answer = [0; 8];
        let envelope = comm.receive_into(Kind(ANSWER), &mut answer)?;
        sum += f64::from_le_bytes(answer);
        let kind = if next < TASKS { TASK } else { END };
        comm.send_from(envelope.node(), work(kind, next), &[])?;
        next += 1;
    }
    Ok(sum)
}

/// Answers tasks until the end.
fn worker(comm: &mut Comm) -> Result<(), Error> {
    loop {
        let header = comm.receive_into(Kind(0), &mut [])?.header();
        if header.kind == END {
            return Ok(());
        }
        let task = header.task.get();
        let first = u64::from(task) * TERMS;
        let part: f64 = (first..first + TERMS)
            .map(|k| if k % 2 == 0 { 4.0 } else { -4.0 } / (2 * k + 1) as f64)
            .sum();
        comm.send_from(Node(0), work(ANSWER, task), &part.to_le_bytes())?;
    }
}

fn main() -> Result<(), Error> {
    let mut channels = Loopback::world(4).into_iter();
    let zero = channels.next().expect("a world of four has a first rank");
    let workers: Vec<_> = channels
        .map(|channel| std::thread::spawn(move || worker(&mut Comm::new(channel)?)))
        .collect();
    let pi = manager(&mut Comm::new(zero)?)?;
    for worker in workers {
        worker.join().expect("no worker panics")?;
    }
    println!("pi is {pi:.9} after {TASKS} tasks");
    println!(
        "an envelope takes {} bytes",
        size_of::<pombo_kernel::Envelope<Work, Farm>>()
    );
    Ok(())
}
