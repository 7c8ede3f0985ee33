//! Ranks that met without a launcher: they notice by themselves when one of them is killed, and sleep soundly.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use pombo_kernel::channel::{Channel, Event};
use pombo_kernel::header::Peer;
use pombo_netdrivers::shm::{Shm, bootstrap};

use super::processes::{again, until};
use super::{Traffic, sleeps};

const RANK: &str = "POMBO_TEST_MEETING_RANK";
const JOB: &str = "POMBO_TEST_MEETING_JOB";
const RANKS: usize = 3;

/// The channel of this process, if it is a rank that `start` has started.
fn this_rank() -> Option<Shm> {
    let rank = std::env::var(RANK).ok()?.parse().expect("a rank");
    let job = std::env::var(JOB).expect("a name");
    let shm = bootstrap(&job, rank, RANKS, 5).expect("the others");
    println!("\n{MET}");
    Some(shm)
}

/// The line that a rank prints when it has met the others.
const MET: &str = "met";

/// All have met. Killed when dropped.
struct Ranks(Vec<Child>);

impl Ranks {
    fn start(test: &str) -> Self {
        let name = test.rsplit(':').next().expect("a name");
        let job = format!("{name}-{}", std::process::id());
        let start = |rank: usize| {
            let mut command = again(test);
            command.env(RANK, rank.to_string()).env(JOB, &job);
            command.stdout(Stdio::piped()).spawn().expect("a process")
        };
        let mut ranks = Self((0..RANKS).map(start).collect());
        for (rank, child) in ranks.0.iter_mut().enumerate() {
            let said = child.stdout.as_mut().expect("a pipe");
            assert!(has_met(said), "rank {rank} has not met the others");
        }
        ranks
    }

    fn wait_until_asleep(&self) {
        for rank in &self.0 {
            until(|| sleeps(rank.id()));
        }
    }

    /// Kills a rank, and lets nobody ask for its status before the others have ended well.
    fn kill(mut self, rank: usize) {
        self.0[rank].kill().expect("a running process");
        for other in (0..RANKS).filter(|other| *other != rank) {
            let child = &mut self.0[other];
            until(|| child.try_wait().expect("a child").is_some());
            assert!(child.wait().expect("a child").success(), "rank {other}");
        }
    }
}

/// Waits for the line; false if the rank ends without it.
fn has_met(said: &mut ChildStdout) -> bool {
    let mut lines = BufReader::new(said).lines();
    lines.any(|line| line.expect("a line") == MET)
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn sleepers_notice_a_killed_rank() {
    if let Some(shm) = this_rank() {
        return Traffic::new(shm).sleep_until_lost(Peer(0));
    }
    let ranks = Ranks::start(path!(sleepers_notice_a_killed_rank));
    ranks.wait_until_asleep();
    ranks.kill(0);
}

/// One that only looks, as a program that tests its requests does.
#[test]
fn a_rank_that_never_waits_notices_too() {
    if let Some(mut shm) = this_rank() {
        let mut lost = false;
        while !lost {
            let polled =
                shm.poll(|event| lost |= matches!(event, Event::PeerLost(peer) if peer == Peer(2)));
            polled.expect("a poll");
        }
        return shm.finish();
    }
    let ranks = Ranks::start(path!(a_rank_that_never_waits_notices_too));
    ranks.kill(2);
}

/// Nobody sends anything, so the only reason to wake is to look after the others: twice a second. On a busy machine ranks
/// nap for a second before they sleep; whoever naps for ever does so a thousand times a second.
#[test]
fn waiting_costs_nothing() {
    if let Some(shm) = this_rank() {
        return Traffic::new(shm).sleep_until_lost(Peer(1));
    }
    let ranks = Ranks::start(path!(waiting_costs_nothing));
    for rank in &ranks.0 {
        until(|| {
            let before = awakenings(rank.id());
            let start = Instant::now();
            std::thread::sleep(Duration::from_millis(500));
            // Far more than twice a second, as threads sleep for other reasons too.
            let most = start.elapsed().as_millis() as u64 / 25;
            awakenings(rank.id()) - before <= most
        });
    }
    ranks.kill(1);
}

/// How often the threads of a process went to sleep.
fn awakenings(process: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let of = |status: String| {
        let mut lines = status.lines();
        let times = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        times
            .expect("a count")
            .trim()
            .parse::<u64>()
            .expect("a number")
    };
    threads
        .map(|thread| {
            let path = thread.expect("a thread").path().join("status");
            of(std::fs::read_to_string(path).expect("a status"))
        })
        .sum()
}
