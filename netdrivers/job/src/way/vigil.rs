//! Who lives on other hosts. Each pair of ranks on different hosts has a connection that carries nothing: the systems
//! keep it up while both processes live, whatever they compute, close it when one ends, and give it up when a host is
//! gone. A rank that goes in good order says so with one byte, one that goes because another has gone with that one's
//! number.
//!
//! Whoever knocks at a rank's door shows first that it knows the job's key. A child that a rank forks lets go of the
//! connections; one that is made without the C library's fork keeps them, and of such a rank the others learn only when
//! the child has ended too.

use super::address::of_socket;
use super::guests::Guests;
use crate::place::descriptor::{Descriptor, check};
use crate::place::{Job, JobError, Seal};
use alloc::vec::Vec;
use core::ffi::{c_int, c_long};
use core::net::{IpAddr, SocketAddr};
use pombo_kernel::Node;
use pombo_netdrivers::udp::Raw;

/// Ranks that a job over several hosts has, at most: each keeps a connection to each.
const MOST: usize = 256;

/// The connections of a rank.
pub(super) struct Vigil {
    peers: Vec<Peer>,
    polled: Vec<libc::pollfd>,
    /// Who has gone because of whom.
    blamed: Vec<(Node, Node)>,
    /// Who has gone in good order.
    finished: Vec<Node>,
}

struct Peer {
    node: Node,
    line: Descriptor,
}

/// What a rank says when it goes in good order.
const BYE: &[u8] = b"!";
/// What it says before the number of another when it goes because of that one.
const BLAME: u8 = b'?';

impl Vigil {
    fn new(peers: Vec<Peer>) -> Self {
        let polled = peers.iter().map(|peer| libc::pollfd {
            fd: peer.line.number(),
            events: libc::POLLIN,
            revents: 0,
        });
        Vigil {
            polled: polled.collect(),
            peers,
            blamed: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Calls `gone` with every rank that has gone since the last look.
    pub(super) fn look(&mut self, mut gone: impl FnMut(Node)) {
        let (entries, count) = (self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t);
        // SAFETY: the entries are valid for the call.
        let ready = unsafe { libc::poll(entries, count, 0) };
        if ready == 0 {
            return;
        }
        // A process that may not have so many descriptors any more looks at each.
        let all = ready < 0;
        for index in (0..self.polled.len()).rev() {
            let Peer { node, line } = &self.peers[index];
            let said = |word| match word {
                Word::Bye => self.finished.push(*node),
                Word::Blame(other) => self.blamed.push((*node, other)),
            };
            if (all || self.polled[index].revents != 0) && has_ended(line, said) {
                self.polled.swap_remove(index);
                gone(self.peers.swap_remove(index).node);
            }
        }
    }

    /// Tells all that this rank goes because of that one.
    pub(super) fn blame(&self, other: Node) {
        let [low, high] = other.0.to_le_bytes();
        for peer in &self.peers {
            say(&peer.line, &[BLAME, low, high]);
        }
    }

    /// Because of whom that rank has gone, if it has said so.
    pub(super) fn blamed(&self, node: Node) -> Option<Node> {
        let blamed = self.blamed.iter().find(|(who, _)| *who == node);
        blamed.map(|(_, other)| *other)
    }

    /// Has that rank gone in good order?
    pub(super) fn has_finished(&self, node: Node) -> bool {
        self.finished.contains(&node)
    }

    /// Says good-bye to all.
    pub(super) fn finish(&mut self) {
        for peer in self.peers.drain(..) {
            say(&peer.line, BYE);
            // SAFETY: no memory is passed. Children may share the connection, so it is shut, not only closed.
            unsafe { libc::shutdown(peer.line.number(), libc::SHUT_WR) };
        }
        self.polled.clear();
    }
}

/// What a rank that goes has said.
enum Word {
    Bye,
    Blame(Node),
}

/// Whoever has gone does not listen, and nobody waits for it.
fn say(line: &Descriptor, bytes: &[u8]) {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes are valid for their length.
    unsafe { libc::send(line.number(), bytes.as_ptr().cast(), bytes.len(), flags) };
}

/// Reads what is there. A connection at its end has lost its process, or that has finished; of one that was reset or
/// given up the process or its host is gone.
fn has_ended(line: &Descriptor, mut said: impl FnMut(Word)) -> bool {
    let mut bytes = [0_u8; 16];
    loop {
        let (into, len) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the buffer is valid for its length.
        let got = unsafe { libc::recv(line.number(), into, len, libc::MSG_DONTWAIT) };
        match check(got, "hear of a rank") {
            Ok(0) => return true,
            // So few bytes come together.
            Ok(3) if bytes[0] == BLAME => {
                said(Word::Blame(Node(u16::from_le_bytes([bytes[1], bytes[2]]))));
            }
            Ok(1) if bytes[..1] == *BYE => said(Word::Bye),
            Ok(_) => {}
            Err(error) if error.is(libc::EINTR) => {}
            Err(error) => return !error.is(libc::EAGAIN),
        }
    }
}

/// Where ranks with higher numbers knock.
pub(super) struct Door {
    socket: Descriptor,
    address: SocketAddr,
}

/// Seconds that ranks wait for each other at the start.
const MEETING: u64 = 60;

impl Door {
    pub(super) fn open(ip: IpAddr) -> Result<Self, JobError> {
        const DOING: &str = "open a socket for other hosts";
        let raw = Raw::of(SocketAddr::new(ip, 0));
        let socket = stream(raw.family(), libc::SOCK_NONBLOCK, DOING)?;
        let (address, len) = raw.place();
        // SAFETY: the address is valid for its length.
        let bound = unsafe { libc::bind(socket.number(), address, len) };
        check(bound as isize, DOING)?;
        // SAFETY: no memory is passed.
        let listening = unsafe { libc::listen(socket.number(), MOST as c_int) };
        check(listening as isize, DOING)?;
        let address = of_socket(&socket)?;
        Ok(Door { socket, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to the doors of lower ranks and lets the higher ones in. A host that does not answer for `timeout`
    /// seconds counts as gone from then on.
    pub(super) fn meet(
        self,
        me: Node,
        doors: &[SocketAddr],
        is_near: impl Fn(Node) -> bool,
        job: Job,
        timeout: u32,
    ) -> Result<Vigil, JobError> {
        if doors.len() > MOST {
            return Err(JobError::TooManyRanks {
                ranks: doors.len(),
                most: MOST,
            });
        }
        let mut peers = Vec::new();
        for (rank, door) in doors.iter().enumerate().take(me.index()) {
            let node = Node(rank as u16);
            if !is_near(node) {
                let line = knock(node, *door, timeout)?;
                line.write_all(&Hello { from: me, to: node }.bytes(job))?;
                peers.push(Peer { node, line });
            }
        }
        let ranks = doors.len() as u16;
        let higher = (me.0 + 1..ranks).map(Node).filter(|node| !is_near(*node));
        self.let_in(&mut peers, higher.collect(), (me, job))?;
        for peer in &peers {
            keep_up(&peer.line, timeout)?;
        }
        Ok(Vigil::new(peers))
    }

    fn let_in(
        &self,
        peers: &mut Vec<Peer>,
        mut missing: Vec<Node>,
        (me, job): (Node, Job),
    ) -> Result<(), JobError> {
        let end = now() + MEETING * 1000;
        let mut guests = Guests::new(&MAGIC, MOST);
        while let Some(first) = missing.first() {
            let left = end.saturating_sub(now());
            if left == 0 {
                return Err(JobError::Missing {
                    rank: first.index(),
                    seconds: MEETING,
                });
            }
            guests.hear(&self.socket, left, |said, line| {
                // Strangers are sent away.
                let hello = Hello::read(said, job).filter(|hello| hello.to == me);
                let place =
                    hello.and_then(|hello| missing.iter().position(|node| *node == hello.from));
                if let Some(place) = place {
                    let node = missing.swap_remove(place);
                    peers.push(Peer { node, line });
                }
            })?;
        }
        Ok(())
    }
}

/// What one that knocks says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hello {
    from: Node,
    to: Node,
}

const MAGIC: [u8; 8] = *b"pombo-2\n";
/// Bytes of a hello: the magic, two ranks, and a tag that only ranks of the job can make.
const SIZE: usize = 20;

impl Hello {
    fn bytes(self, job: Job) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.from.0.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.to.0.to_le_bytes());
        let tag = job.key(Seal::Door).tag(&bytes[..12]);
        bytes[12..].copy_from_slice(&tag);
        bytes
    }

    fn read(bytes: &[u8; SIZE], job: Job) -> Option<Hello> {
        let node = |at: usize| Node(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let hello = Hello {
            from: node(8),
            to: node(10),
        };
        (hello.bytes(job) == *bytes).then_some(hello)
    }
}

/// Knocks until the door is reached. A host whose cable is out for a while is not gone before `timeout` seconds are over.
fn knock(node: Node, door: SocketAddr, timeout: u32) -> Result<Descriptor, JobError> {
    let end = now() + u64::from(timeout) * 1000;
    loop {
        match knock_once(node, door) {
            Err(JobError::NoWay { errno, .. }) if may_return(errno) && now() < end => {
                let pause = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: PAUSE,
                };
                // SAFETY: the time is valid for the call; the rest of an interrupted sleep is not asked for.
                unsafe { libc::nanosleep(&pause, core::ptr::null_mut()) };
            }
            knocked => return knocked,
        }
    }
}

/// Nanoseconds between two knocks at a host that is not reached.
const PAUSE: c_long = 50_000_000;

/// There is no way to that host now.
fn may_return(errno: c_int) -> bool {
    use libc::{EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH};
    [EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH].contains(&errno)
}

fn knock_once(node: Node, door: SocketAddr) -> Result<Descriptor, JobError> {
    const DOING: &str = "open a connection to another host";
    let raw = Raw::of(door);
    let line = stream(raw.family(), 0, DOING)?;
    // It limits how long connecting takes as well.
    let limit = libc::timeval {
        tv_sec: MEETING as libc::time_t,
        tv_usec: 0,
    };
    set(&line, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &limit)?;
    let (address, len) = raw.place();
    // SAFETY: the address is valid for its length.
    let connected = unsafe { libc::connect(line.number(), address, len) };
    match check(connected as isize, DOING) {
        Ok(_) => Ok(line),
        Err(JobError::System { errno, .. }) => Err(JobError::NoWay {
            rank: node.index(),
            address: door,
            errno,
        }),
        Err(error) => Err(error),
    }
}

/// Has the system look after the other side: the first question after two fifths of the time, then two more.
fn keep_up(line: &Descriptor, seconds: u32) -> Result<(), JobError> {
    let (first, next) = ((seconds * 2 / 5).max(1), (seconds / 5).max(1));
    set(line, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1_i32)?;
    set(
        line,
        libc::IPPROTO_TCP,
        libc::TCP_KEEPIDLE,
        &(first as c_int),
    )?;
    set(
        line,
        libc::IPPROTO_TCP,
        libc::TCP_KEEPINTVL,
        &(next as c_int),
    )?;
    set(line, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, &3_i32)?;
    set(
        line,
        libc::IPPROTO_TCP,
        libc::TCP_USER_TIMEOUT,
        &(seconds * 1000),
    )
}

fn stream(family: c_int, flags: c_int, doing: &'static str) -> Result<Descriptor, JobError> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
    // SAFETY: no memory is passed.
    Descriptor::returned(unsafe { libc::socket(family, kind, 0) }, doing)
}

fn set<T>(line: &Descriptor, level: c_int, name: c_int, value: &T) -> Result<(), JobError> {
    let size = size_of::<T>() as libc::socklen_t;
    let value = (&raw const *value).cast();
    // SAFETY: the option's value is valid for its size.
    let set = unsafe { libc::setsockopt(line.number(), level, name, value, size) };
    check(set as isize, "set up a connection").map(drop)
}

/// Milliseconds on a clock that never goes back.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

#[cfg(test)]
#[path = "vigil_tests.rs"]
mod tests;
