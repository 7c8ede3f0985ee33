//! Frames whose payload stays with the sender, for the receiver to read it there: the conformance suite beside them,
//! much traffic, and ranks that are killed in the middle.

use core::mem::MaybeUninit;
use std::time::Duration;

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, CopyTarget, Event, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::{Part, Source};
use pombo_netdrivers::shm::{FRAME_LIMIT, Shm, SingleCopy};
use pombo_testing::conformance::Harness;

use super::processes::{self, Crew, this_rank};

mod conformance {
    use super::*;

    struct Forced;

    impl Harness for Forced {
        type Channel = Shm;

        fn run(test: &str, peers: u16, body: fn(Shm)) {
            match this_rank() {
                Some(shm) => body(forced(shm)),
                None => Crew::start(test, peers.into()).join(),
            }
        }
    }

    pombo_testing::conformance!(Forced);
}

fn forced(mut shm: Shm) -> Shm {
    shm.set_single_copy(SingleCopy::AtLeast(0));
    shm
}

/// Memory that is there for good.
struct Still(&'static [u8]);

impl Source for Still {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn fixed(&self, offset: usize, len: usize) -> Option<*const u8> {
        Some(self.0[offset..][..len].as_ptr())
    }

    fn copy_out(&self, _offset: usize, _into: &mut [u8]) {
        panic!("nobody copies what does not fit into a frame");
    }
}

/// Where a payload goes: into one piece of room, or piece by piece.
struct Room {
    bytes: Vec<MaybeUninit<u8>>,
    filled: usize,
    one_piece: bool,
}

impl CopyTarget for Room {
    fn append(&mut self, piece: &[u8]) {
        for byte in piece {
            self.bytes[self.filled].write(*byte);
            self.filled += 1;
        }
    }

    fn spare_capacity(&mut self, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        self.one_piece
            .then_some(&mut self.bytes[self.filled..][..len])
    }
}

const LONGEST: usize = 300_000;

/// One rank's part in traffic of which every frame is offered, with its number and a place in the pattern in front.
struct Traffic {
    shm: Shm,
    rng: u64,
    /// What payloads are cut from.
    bytes: &'static [u8],
    sent: Vec<u64>,
    /// To each peer, without an answer.
    open: Vec<u64>,
    got: Vec<u64>,
    /// From whom something could not be read.
    failed: Vec<bool>,
    lost: Vec<bool>,
    room: Room,
    idle: u32,
}

const HEAD: usize = 16;
/// In place of a number: no more comes.
const END: u64 = u64::MAX;

impl Traffic {
    fn new(shm: Shm) -> Self {
        let (ranks, me) = (shm.peers(), usize::from(shm.me().0));
        let bytes: Vec<_> = (0..2 * LONGEST).map(|at| pattern(me, at)).collect();
        Self {
            shm: forced(shm),
            rng: 0x1234_5678_9abc_def1 ^ (me as u64) << 17,
            bytes: bytes.leak(),
            sent: vec![0; ranks],
            open: vec![0; ranks],
            got: vec![0; ranks],
            failed: vec![false; ranks],
            lost: vec![false; ranks],
            room: Room {
                bytes: vec![MaybeUninit::new(0); LONGEST],
                filled: 0,
                one_piece: true,
            },
            idle: 0,
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.shm.me().index();
        (0..self.sent.len()).filter(move |rank| *rank != me)
    }

    /// Offers that many frames to everybody and gets as many.
    fn exchange(mut self, count: u64) {
        while self
            .others()
            .any(|to| self.sent[to] < count || self.got[to] < count)
        {
            for to in self.others() {
                if self.sent[to] < count {
                    self.send(to);
                }
            }
            self.progress();
        }
        while self.open.iter().any(|open| *open > 0) {
            self.progress();
        }
        assert!(!self.failed.contains(&true));
        self.shm.finish();
    }

    /// Offers to everybody until that peer is lost, then lets the others read all of it.
    fn until_lost(mut self, gone: Peer) {
        while !self.lost[gone.index()] {
            for to in self.others() {
                self.send(to);
            }
            self.progress();
        }
        let rest: Vec<_> = self.others().filter(|to| *to != gone.index()).collect();
        while self.open.iter().any(|open| *open > 0) {
            self.progress();
        }
        for to in &rest {
            self.end(Peer(*to as u16));
        }
        while rest.iter().any(|from| self.got[*from] != END) {
            self.progress();
        }
        assert!(rest.iter().all(|from| !self.failed[*from]));
        self.shm.finish();
    }

    /// Everything to that peer was read.
    fn end(&mut self, to: Peer) {
        let end = [Part::Bytes(&END.to_le_bytes()), Part::Bytes(&[0; 8])];
        while self.shm.try_send(to, Cookie::COPY, &end) == Err(ChannelError::Full) {
            self.progress();
        }
    }

    fn send(&mut self, to: usize) {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        let len = FRAME_LIMIT + 1 + (self.rng >> 20) as usize % (LONGEST - FRAME_LIMIT - 1);
        let start = (self.rng >> 40) as usize % LONGEST;
        let peer = Peer(to as u16);
        if !self.shm.supports_single_copy(peer, len, false) {
            return;
        }
        let body = Still(&self.bytes[start..start + len]);
        let head = [self.sent[to], start as u64].map(u64::to_le_bytes);
        let parts = [
            Part::Bytes(head.as_flattened()),
            Part::Held {
                source: &body,
                offset: 0,
                len,
                swapped: false,
            },
        ];
        match self.shm.try_send(peer, Cookie(to as u64), &parts) {
            Ok(sent) => {
                assert_eq!(sent, Sent::Later);
                self.sent[to] += 1;
                self.open[to] += 1;
                self.idle = 0;
            }
            Err(ChannelError::Full) => {}
            Err(ChannelError::PeerLost(peer)) => assert_eq!(peer.index(), to),
            Err(error) => panic!("{error}"),
        }
    }

    fn progress(&mut self) {
        let Self {
            shm,
            open,
            got,
            failed,
            lost,
            room,
            ..
        } = self;
        let polled = shm.poll(|event| match event {
            Event::Arrival(arrival) => take(&arrival, room, got, failed),
            Event::Completed(Cookie(to)) => open[to as usize] -= 1,
            Event::PeerLost(peer) => {
                lost[peer.index()] = true;
                open[peer.index()] = 0;
            }
            _ => panic!("nobody refuses"),
        });
        if polled.expect("a poll") {
            self.idle = 0;
        } else {
            self.shm.wait(self.idle).expect("a wait");
            self.idle += 1;
        }
    }
}

/// Reads a frame and checks it.
fn take(arrival: &impl Arrival, room: &mut Room, got: &mut [u64], failed: &mut [bool]) {
    let from = arrival.from().index();
    let field = |at: usize| {
        let head = arrival.head(HEAD).expect("a head");
        u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"))
    };
    let (number, start) = (field(0), field(8) as usize);
    if number == END {
        got[from] = END;
        return;
    }
    assert_eq!(got[from], number);
    got[from] += 1;
    let len = arrival.len() - HEAD;
    room.filled = 0;
    room.one_piece = number % 3 > 0;
    room.bytes[..len].fill(MaybeUninit::new(0xEE));
    if !arrival.read_into(HEAD, len, room) {
        failed[from] = true;
        return;
    }
    assert!(!failed[from], "what was refused once is refused again");
    for (at, byte) in room.bytes[..len].iter().enumerate() {
        // SAFETY: all were written when the room was made.
        assert_eq!(unsafe { byte.assume_init() }, pattern(from, start + at));
    }
}

fn pattern(rank: usize, at: usize) -> u8 {
    (at * 7 + (at >> 9) + rank * 3) as u8
}

#[test]
fn two_processes_read_from_each_other() {
    processes::run(path!(two_processes_read_from_each_other), 2, |shm| {
        Traffic::new(shm).exchange(400)
    });
}

#[test]
fn five_processes_read_from_each_other() {
    processes::run(path!(five_processes_read_from_each_other), 5, |shm| {
        Traffic::new(shm).exchange(60)
    });
}

/// As without offers: whoever was killed is reported, and nobody reads anything wrong.
#[test]
fn a_rank_is_killed_while_others_read() {
    if let Some(shm) = this_rank() {
        return Traffic::new(shm).until_lost(Peer(1));
    }
    let path = path!(a_rank_is_killed_while_others_read);
    let mut rng = 1_u64;
    for _ in 0..super::KILLS {
        let mut crew = Crew::start(path, 3);
        crew.wait_until_attached();
        rng = rng.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        std::thread::sleep(Duration::from_nanos(rng >> 33 & 0x7f_ffff));
        crew.kill(1);
        crew.join();
    }
}
