//! A work queue with mailboxes and threads, without MPI.
//!
//! ```text
//! cargo build --release --example mailboxes
//! target/release/examples/mailboxes threads                # four ranks in this process
//! pombo run -n 4 target/release/examples/mailboxes         # four processes
//! mpiexec.mpich -hosts one,two -n 4 target/release/examples/mailboxes # on two hosts
//! ```
//!
//! Rank 0 owns the mailbox "results", every rank a mailbox "tasks N" with two threads that work. Tasks are numbers of an
//! interval of a sum; each result names its worker's mailbox, which gets the next task. A picture of the terms goes back as
//! a large message in the end.

use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::mailbox::{Error, Mailbox, Mailboxes, Message, Numbers, SizeClasses};
use std::time::Duration;

const RANKS: usize = 64;
const TASKS: u64 = 2000;
const TERMS: u64 = 5000;
/// Threads that work in each rank, and tasks that wait in its mailbox for them.
const THREADS: u64 = 2;
const AHEAD: u64 = 2 * THREADS;
/// In place of a task: there is none any more.
const END: u64 = u64::MAX;
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a part of the sum whose limit is pi.
fn part(task: u64) -> f64 {
    let terms = task * TERMS..(task + 1) * TERMS;
    terms
        .map(|k| if k % 2 == 0 { 4.0 } else { -4.0 } / (2 * k + 1) as f64)
        .sum()
}

/// Works on tasks until the end comes: one of several threads at the same mailbox.
fn work<L: Channel + Send>(
    tasks: &Mailbox<L>,
    results: &Mailbox<L>,
    me: Peer,
) -> Result<(), Error> {
    let (mut task, mut result) = (Message::new(), Message::new());
    loop {
        tasks.retrieve(&mut task)?;
        let number: u64 = task.unpack()?;
        if number == END {
            return Ok(());
        }
        result.clear();
        results.post(result.pack(me.0).pack(part(number)))?;
    }
}

/// Gives every rank some tasks, and another one for each result; then the end to each thread, and waits for the last word
/// of each rank, a large message.
fn distribute<L: Channel + Send>(
    mailboxes: &Mailboxes<L>,
    results: &Mailbox<L>,
) -> Result<f64, Error> {
    let workers = (0..mailboxes.peers()).map(|rank| tasks_of(mailboxes, rank));
    let workers = workers.collect::<Result<Vec<_>, _>>()?;
    let (mut next, mut sum) = (0, 0.0);
    let mut message = Message::new();
    let mut give = |to: &Mailbox<L>| -> Result<(), Error> {
        if next < TASKS {
            message.clear();
            to.post(message.pack(next))?;
            next += 1;
        }
        Ok(())
    };
    for _ in 0..AHEAD {
        workers.iter().try_for_each(&mut give)?;
    }
    let mut result = Message::new();
    for _ in 0..TASKS {
        results.retrieve(&mut result)?;
        let worker: u16 = result.unpack()?;
        sum += result.unpack::<f64>()?;
        give(&workers[usize::from(worker)])?;
    }
    for worker in &workers {
        for _ in 0..THREADS {
            worker.post(Message::new().pack(END))?;
        }
    }
    for _ in &workers {
        results.retrieve(&mut result)?;
        let last: Numbers<'_, f64> = result.unpack()?;
        assert_eq!(last.len(), 100_000, "the last word of a rank");
    }
    Ok(sum)
}

fn tasks_of<L: Channel + Send>(mailboxes: &Mailboxes<L>, rank: usize) -> Result<Mailbox<L>, Error> {
    mailboxes.clone_mailbox(&format!("tasks {rank}"), PATIENCE)
}

/// Runs one rank, over any channel.
fn run<L: Channel + Send>(mailboxes: &Mailboxes<L>) -> Result<(), Error> {
    let me = mailboxes.me();
    let mine = match me {
        Peer(0) => Some(mailboxes.create("results", PATIENCE)?),
        _ => None,
    };
    let done = mailboxes.create(&format!("done {me}"), PATIENCE)?;
    let tasks = mailboxes.create(&format!("tasks {me}"), PATIENCE)?;
    let results = mailboxes.clone_mailbox("results", PATIENCE)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| work(&tasks, &results, me)))
            .collect();
        if let Some(mine) = &mine {
            let last = scope.spawn(|| {
                threads
                    .into_iter()
                    .try_for_each(|thread| thread.join().expect("no thread panics"))?;
                last_word(&results)
            });
            println!(
                "pi is {:.9} after {TASKS} tasks",
                distribute(mailboxes, mine)?
            );
            last.join().expect("no thread panics")
        } else {
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().expect("no thread panics"))?;
            last_word(&results)
        }
    })?;
    // A rank that has left answers nobody: all leave when rank 0 says that all are done.
    let mut message = Message::new();
    if me == Peer(0) {
        // All are found before the first is told: it may be the keeper of the others' names.
        let others = (1..mailboxes.peers())
            .map(|rank| mailboxes.clone_mailbox(&format!("done {rank}"), PATIENCE));
        for other in others.collect::<Result<Vec<_>, _>>()? {
            other.post(&mut message)?;
        }
    } else {
        done.retrieve(&mut message)?;
    }
    Ok(())
}

/// Posts the terms of the last task: a large message, which waits for no buffer.
fn last_word<L: Channel + Send>(results: &Mailbox<L>) -> Result<(), Error> {
    let mut message = Message::new();
    let terms: Vec<f64> = (0..100_000).map(|k| 4.0 / (2 * k + 1) as f64).collect();
    results.post_large(message.pack(&terms[..]))?.wait()?;
    Ok(())
}

/// Runs four ranks in this process, each with threads of its own.
fn threads() -> Result<(), Error> {
    let world = Loopback::world(4).into_iter();
    let world = world.map(|channel| Mailboxes::new(channel, SizeClasses::default()));
    let world = world.collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = world.iter().map(|rank| scope.spawn(|| run(rank))).collect();
        let mut ended = ranks
            .into_iter()
            .map(|rank| rank.join().expect("no rank panics"));
        ended.try_for_each(|ended| ended)
    })
}

/// Runs this process as a rank of the job that a launcher has started.
fn job() -> Result<(), Box<dyn std::error::Error>> {
    let (mailboxes, launcher) = pombo_job::enter_mailboxes::<RANKS>(SizeClasses::default())?;
    run(&mailboxes)?;
    Ok(pombo_job::leave_mailboxes(&mailboxes, launcher)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("threads") => Ok(threads()?),
        _ => job(),
    }
}
