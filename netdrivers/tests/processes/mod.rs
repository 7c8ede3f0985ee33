//! Runs a test's ranks as processes: the test program again, with that test alone and a rank in its environment.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pombo_netdrivers::shm::{RankState, Segment, Shm};
use pombo_testing::conformance::HANG;

/// The composition that all test ranks claim to have.
const FINGERPRINT: u64 = 0x7e57;

const RANK: &str = "POMBO_TEST_RANK";
const DESCRIPTOR: &str = "POMBO_TEST_DESCRIPTOR";

/// The channel of this process, if it is a rank that [`Crew::start`] has started.
pub(crate) fn this_rank() -> Option<Shm> {
    let rank = std::env::var(RANK).ok()?.parse().expect("a rank");
    let fd = std::env::var(DESCRIPTOR).ok()?.parse().expect("a number");
    let segment = Segment::open(fd).expect("the parent's segment");
    Some(Shm::attach(segment, rank, FINGERPRINT).expect("this process' rank"))
}

/// Runs `body` as each rank, and expects all to end well.
pub(crate) fn run(test: &str, ranks: usize, body: fn(Shm)) {
    match this_rank() {
        Some(shm) => body(shm),
        None => Crew::start(test, ranks).join(),
    }
}

/// The running ranks of a test. Dropped early it kills them.
pub(crate) struct Crew {
    pub(crate) segment: Segment,
    children: Vec<(usize, Child)>,
}

impl Crew {
    /// Starts the ranks of a world. `test` is the path of the calling test, crate first.
    pub(crate) fn start(test: &str, ranks: usize) -> Self {
        let segment = Segment::create(ranks, FINGERPRINT).expect("a segment");
        let inherited = Inherited::of(&segment);
        let start = |rank: usize| {
            let mut command = again(test);
            command.env(RANK, rank.to_string());
            command.env(DESCRIPTOR, inherited.0.to_string());
            (rank, command.spawn().expect("a process"))
        };
        let children = (0..ranks).map(start).collect();
        Self { segment, children }
    }

    /// Waits until all ranks are at work.
    pub(crate) fn wait_until_attached(&self) {
        for rank in 0..self.segment.ranks() {
            until(|| self.segment.state(rank) == Ok(RankState::Attached));
        }
    }

    /// Kills a rank as a launcher sees it: its process ends, then the others are told.
    pub(crate) fn kill(&mut self, rank: usize) {
        let place = self.children.iter().position(|(other, _)| *other == rank);
        let (_, mut child) = self.children.remove(place.expect("a running rank"));
        child.kill().expect("a running process");
        child.wait().expect("a child");
        self.segment.mark_dead(rank).expect("a rank");
    }

    /// The process of a rank.
    pub(crate) fn process(&self, rank: usize) -> u32 {
        let found = self.children.iter().find(|(other, _)| *other == rank);
        found.expect("a running rank").1.id()
    }

    /// Waits for all ranks that are left; each must end well.
    pub(crate) fn join(mut self) {
        until(|| {
            self.children.retain_mut(|(rank, child)| {
                let Some(status) = child.try_wait().expect("a child") else {
                    return true;
                };
                assert!(status.success(), "rank {rank}: {status}");
                self.segment.mark_dead(*rank).expect("a rank");
                false
            });
            self.children.is_empty()
        });
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// This test program, for that test alone.
pub(crate) fn again(test: &str) -> Command {
    let (_crate, test) = test.split_once("::").expect("the path of a test");
    let program = std::env::current_exe().expect("this program's path");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Waits for something that must come.
pub(crate) fn until(mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < HANG, "the ranks hang");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A duplicate of a segment's descriptor that children inherit.
struct Inherited(i32);

impl Inherited {
    fn of(segment: &Segment) -> Self {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::dup(segment.fd()) };
        assert!(fd >= 0, "dup failed");
        Self(fd)
    }
}

impl Drop for Inherited {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and this is its last use.
        unsafe { libc::close(self.0) };
    }
}
