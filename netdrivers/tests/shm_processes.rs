//! The conformance suite with ranks as real processes, heavier traffic, and what happens when a process dies.
#![cfg(all(feature = "shm", target_os = "linux"))]

mod processes;

/// The path of the test of that name in this module.
macro_rules! path {
    ($test:ident) => {
        concat!(module_path!(), "::", stringify!($test))
    };
}

#[path = "shm_processes/boards.rs"]
mod boards;
#[path = "shm_processes/crowd.rs"]
mod crowd;
#[path = "shm_processes/single_copy.rs"]
mod single_copy;
#[path = "shm_processes/unwatched.rs"]
mod unwatched;

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_netdrivers::shm::{FRAME_LIMIT, Shm};
use pombo_testing::conformance::Harness;
use processes::{Crew, this_rank, until};

mod conformance {
    use super::*;

    struct Processes;

    impl Harness for Processes {
        type Channel = Shm;

        fn run(test: &str, peers: u16, body: fn(Shm)) {
            processes::run(test, peers.into(), body);
        }
    }

    pombo_testing::conformance!(Processes);
}

#[test]
fn two_processes_exchange_checked_frames() {
    processes::run(path!(two_processes_exchange_checked_frames), 2, |shm| {
        Traffic::new(shm).exchange(20_000)
    });
}

#[test]
fn four_processes_exchange_checked_frames() {
    processes::run(path!(four_processes_exchange_checked_frames), 4, |shm| {
        Traffic::new(shm).exchange(3_000)
    });
}

#[test]
fn eight_processes_exchange_checked_frames() {
    processes::run(path!(eight_processes_exchange_checked_frames), 8, |shm| {
        Traffic::new(shm).exchange(600)
    });
}

/// How often a rank is killed, each time in a world of its own.
const KILLS: u32 = 500;

#[test]
fn a_killed_rank_is_reported_in_the_middle_of_traffic() {
    if let Some(shm) = this_rank() {
        return Traffic::new(shm).until_lost(Peer(1));
    }
    let path = path!(a_killed_rank_is_reported_in_the_middle_of_traffic);
    let mut rng = 1_u64;
    for _ in 0..KILLS {
        let mut crew = Crew::start(path, 3);
        crew.wait_until_attached();
        // At any instruction of any operation.
        rng = rng.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        std::thread::sleep(std::time::Duration::from_nanos(rng >> 33 & 0x1f_ffff));
        crew.kill(1);
        crew.join();
    }
}

#[test]
fn a_killed_rank_is_reported_to_sleepers() {
    if let Some(shm) = this_rank() {
        return Traffic::new(shm).sleep_until_lost(Peer(1));
    }
    let mut crew = Crew::start(path!(a_killed_rank_is_reported_to_sleepers), 3);
    crew.wait_until_attached();
    for rank in 0..3 {
        let process = crew.process(rank);
        until(|| sleeps(process));
    }
    crew.kill(1);
    crew.join();
}

/// All threads of a process wait for something.
fn sleeps(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let mut states = threads.map(|thread| {
        let stat = thread.expect("a thread").path().join("stat");
        let stat = std::fs::read_to_string(stat).expect("a thread's state");
        let (_, state) = stat.rsplit_once(") ").expect("a name in brackets");
        state.starts_with('S')
    });
    states.all(|sleeps| sleeps)
}

/// One rank's part in traffic where every frame carries its number and a checksum.
struct Traffic {
    shm: Shm,
    rng: u64,
    sent: Vec<u64>,
    got: Vec<u64>,
    lost: Vec<bool>,
    bytes: Vec<u8>,
    idle: u32,
}

impl Traffic {
    fn new(shm: Shm) -> Self {
        let ranks = shm.peers();
        Self {
            rng: 0x1234_5678_9abc_def1 ^ u64::from(shm.me().0) << 17,
            sent: vec![0; ranks],
            got: vec![0; ranks],
            lost: vec![false; ranks],
            bytes: (0..FRAME_LIMIT).map(|i| (i * 7) as u8).collect(),
            idle: 0,
            shm,
        }
    }

    /// Sends that many frames to everybody and gets as many.
    fn exchange(mut self, count: u64) {
        while self.sent.iter().chain(&self.got).any(|done| *done < count) {
            for to in 0..self.sent.len() {
                if self.sent[to] < count {
                    self.send(to);
                }
            }
            self.progress();
        }
        // Whoever finishes first still delivers everything.
        self.shm.finish();
    }

    /// Sends to everybody until that peer is lost, then makes sure that the others still talk.
    fn until_lost(mut self, gone: Peer) {
        while !self.lost[gone.index()] {
            (0..self.sent.len()).for_each(|to| self.send(to));
            self.progress();
        }
        let end = u64::MAX;
        for to in self.others(gone) {
            self.send_number(to, end);
        }
        while self.others(gone).any(|from| self.got[from] != end) {
            self.progress();
        }
        self.shm.finish();
    }

    fn sleep_until_lost(mut self, gone: Peer) {
        while !self.lost[gone.index()] {
            self.progress();
        }
        self.shm.finish();
    }

    fn others(&self, gone: Peer) -> impl Iterator<Item = usize> + use<> {
        let me = self.shm.me();
        let ranks = 0..self.sent.len();
        ranks.filter(move |rank| *rank != gone.index() && *rank != me.index())
    }

    /// Sends the next frame if there is room.
    fn send(&mut self, to: usize) {
        if self.try_send(to, self.sent[to]) {
            self.sent[to] += 1;
        }
    }

    fn send_number(&mut self, to: usize, number: u64) {
        while !self.try_send(to, number) {
            self.progress();
        }
    }

    fn try_send(&mut self, to: usize, number: u64) -> bool {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        let most = if self.rng & 3 == 0 {
            FRAME_LIMIT - 16
        } else {
            300
        };
        let len = (self.rng >> 20) as usize % (most + 1);
        let start = (self.rng >> 40) as usize % (FRAME_LIMIT - 16 - len + 1);
        let body = &self.bytes[start..start + len];
        let sum = checksum(number, body).to_le_bytes();
        let parts = [
            Part::Bytes(&number.to_le_bytes()),
            Part::Bytes(&sum),
            Part::Bytes(body),
        ];
        match self.shm.try_send(Peer(to as u16), Cookie(0), &parts) {
            Ok(_) => {
                self.idle = 0;
                true
            }
            Err(ChannelError::Full) => false,
            Err(ChannelError::PeerLost(peer)) => peer.index() == to,
            Err(error) => panic!("{error}"),
        }
    }

    /// Looks once for frames and checks them. Waits if there are none and none could be sent.
    fn progress(&mut self) {
        let (got, lost) = (&mut self.got, &mut self.lost);
        let polled = self.shm.poll(|event| match event {
            Event::Arrival(arrival) => check(&arrival, got),
            Event::PeerLost(peer) => lost[peer.index()] = true,
            _ => panic!("a driver that copies completes nothing"),
        });
        if polled.expect("a poll") {
            self.idle = 0;
        } else {
            self.shm.wait(self.idle).expect("a wait");
            self.idle += 1;
        }
    }
}

fn check(arrival: &impl Arrival, got: &mut [u64]) {
    let mut bytes = Vec::new();
    arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
    let (number, rest) = bytes.split_first_chunk().expect("a number");
    let (sum, body) = rest.split_first_chunk().expect("a checksum");
    let number = u64::from_le_bytes(*number);
    assert_eq!(checksum(number, body), u64::from_le_bytes(*sum));
    let from = &mut got[arrival.from().index()];
    if number == u64::MAX {
        *from = number;
    } else {
        assert_eq!(*from, number);
        *from += 1;
    }
}

fn checksum(number: u64, body: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    body.iter().fold(number ^ 0xcbf2_9ce4_8422_2325, step)
}
