//! A pool of workers that grows and shrinks while its job runs: processes join the job, and a group in it, without MPI.
//!
//! ```text
//! cargo build --release --example pool
//! pombo run -n 1 --spare 3 --job-file job target/release/examples/pool 100000 2 & # begins with two workers
//! pombo join job target/release/examples/pool # as often as there are places, at any time
//! ```
//!
//! Rank 0 gives numbers to the members of the group "workers" and adds their squares, which come to the group "results".
//! The number of a worker that has left or was killed goes to another one.

use pombo_job::group::{
    GroupComposition, GroupEndpoint, GroupError, GroupHeader, GroupPorts, Groups, Member,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most processes, and short messages that each can have unread in all.
type Composition = GroupComposition<64, 1024>;

/// The time that an operation gets: far more than it takes.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(1);

/// Lets the workers, `least` at the beginning, square the numbers from 1 to `last`; returns the sum.
fn coordinate(
    groups: &mut Groups,
    comm: &mut impl GroupPorts,
    last: u64,
    least: usize,
) -> Result<u64, GroupError> {
    let (mut sum, mut answer) = (0, [0; 16]);
    let mut numbers: Vec<u64> = (1..=last).rev().collect();
    let mut given: BTreeMap<u64, Member> = BTreeMap::new();
    groups.join(comm, "results", TIMEOUT)?;
    while groups.members("workers").unwrap_or_default().len() < least {
        groups.serve(comm, MOMENT)?;
    }
    println!("begins with {least} workers or more");
    while !(numbers.is_empty() && given.is_empty()) {
        let workers = groups.members("workers").unwrap_or_default();
        given.retain(|number, worker| {
            let is_there = workers.contains(worker);
            if !is_there {
                numbers.push(*number);
            }
            is_there
        });
        for worker in workers {
            if given.values().any(|busy| *busy == worker) {
                continue;
            }
            let Some(number) = numbers.pop() else { break };
            let bytes = number.to_le_bytes();
            match groups.multicast(comm, "workers", &[worker], &bytes, TIMEOUT) {
                Ok(1) => drop(given.insert(number, worker)),
                // It has gone meanwhile.
                Ok(_) | Err(GroupError::NoSuchMember | GroupError::UnknownGroup) => {
                    numbers.push(number)
                }
                Err(error) => return Err(error),
            }
        }
        match groups.recv(comm, "results", &mut answer, MOMENT) {
            Ok(_) => {
                let [number, square] = [&answer[..8], &answer[8..]]
                    .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
                // Another worker may have done it again.
                sum += given.remove(&number).map_or(0, |_| square);
            }
            Err(GroupError::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    groups.leave(comm, "results", TIMEOUT)?;
    Ok(sum)
}

/// Squares what comes, until nobody wants results any more; returns how many.
fn work(groups: &mut Groups, comm: &mut impl GroupPorts) -> Result<u64, GroupError> {
    let (mut squared, mut number) = (0, [0; 8]);
    groups.synchronize(comm, TIMEOUT)?;
    while !groups.exists("results")? {
        groups.serve(comm, MOMENT)?;
    }
    let own = groups.join(comm, "workers", TIMEOUT)?;
    println!("rank {} is worker {}", own.peer, own.number);
    while groups.exists("results")? {
        match groups.recv(comm, "workers", &mut number, MOMENT) {
            Ok(_) => {
                let square = u64::from_le_bytes(number).pow(2);
                let answer = [number, square.to_le_bytes()].concat();
                match groups.broadcast(comm, "results", &answer, TIMEOUT) {
                    Ok(_) | Err(GroupError::UnknownGroup) => squared += 1,
                    Err(error) => return Err(error),
                }
            }
            Err(GroupError::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    groups.leave(comm, "workers", TIMEOUT)?;
    Ok(squared)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let joined = pombo_job::enter::<GroupHeader, Composition, 64>()?;
    let mut comm = GroupEndpoint::<_, Composition>::two(joined.channel)?;
    let mut groups = Groups::new(&comm)?;
    if comm.me().0 == 0 {
        let mut words = std::env::args().skip(1);
        let last = words.next().map_or(Ok(1000), |word| word.parse())?;
        let least = words.next().map_or(Ok(1), |word| word.parse())?;
        let sum = coordinate(&mut groups, &mut comm, last, least)?;
        println!("the sum of {last} squares is {sum}");
    } else {
        println!("{} squares", work(&mut groups, &mut comm)?);
    }
    Ok(pombo_job::leave_groups(comm, joined.launcher)?)
}
