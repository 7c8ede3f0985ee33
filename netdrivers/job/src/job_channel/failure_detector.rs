//! Detects dead ranks of other hosts. Each pair of ranks on different hosts has a connection that carries no data: the
//! systems keep it up while both processes live, whatever they compute, close it when one ends, and give it up when a
//! host is lost. A rank that ends in good order sends one byte before; one that ends because another has ended sends
//! that one's number.
//!
//! A process that connects to a rank's listener first proves that it knows the job's key. A child that a rank forks
//! closes the connections; one that is created without the C library's fork keeps them, and the others detect the end
//! of such a rank only when the child has ended too.

use super::local_address::of_socket;
use super::pending_handshakes::PendingConnections;
use crate::bootstrap::file_descriptor::{Descriptor, check};
use crate::bootstrap::{JobError, JobKeys, KeyUse};
use alloc::vec::Vec;
use core::ffi::c_int;
use core::net::{IpAddr, SocketAddr};
use pombo_kernel::Peer;
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::udp::SockAddr;
use pombo_netdrivers::wait::constants::{
    BOOTSTRAP_TIMEOUT, CONNECT_RETRY, CONNECTION_CHECK_INTERVAL, CONNECTION_MAX_SLEEP,
};
use pombo_netdrivers::wait::{now, sleep};

/// Largest number of ranks of a job over several hosts: each keeps a connection to each.
const MOST_RANKS: usize = 256;

/// The connections of a rank, and the ends that it has detected.
pub(super) struct FailureDetector {
    connections: Vec<Connection>,
    polled: Vec<libc::pollfd>,
    /// The ranks that ended because of another, and that other rank.
    root_causes: Vec<(Peer, Peer)>,
    /// The ranks that ended in good order.
    finished: Vec<Peer>,
    /// The time of the next check in ns.
    due: u64,
}

struct Connection {
    peer: Peer,
    socket: Descriptor,
}

/// The message of a rank that ends in good order.
const GOODBYE: &[u8] = b"!";
/// The first byte of the message of a rank that ends because of another, whose number follows.
const ROOT_CAUSE: u8 = b'?';

impl FailureDetector {
    fn new(connections: Vec<Connection>) -> Self {
        let polled = connections.iter().map(|connection| libc::pollfd {
            fd: connection.socket.number(),
            events: libc::POLLIN,
            revents: 0,
        });
        FailureDetector {
            polled: polled.collect(),
            connections,
            root_causes: Vec::new(),
            finished: Vec::new(),
            due: 0,
        }
    }

    /// Sends a good-bye to all ranks.
    pub(super) fn finish(&mut self) {
        for connection in self.connections.drain(..) {
            send_bytes(&connection.socket, GOODBYE);
            // SAFETY: no memory is passed. Children may share the connection, so it is shut down, not only closed.
            unsafe { libc::shutdown(connection.socket.number(), libc::SHUT_WR) };
        }
        self.polled.clear();
    }
}

impl DeathSource for FailureDetector {
    fn poll_deaths(&mut self, now: u64, gone: &mut dyn FnMut(Peer)) {
        if now < self.due {
            return;
        }
        self.due = now.saturating_add(CONNECTION_CHECK_INTERVAL);
        let (entries, count) = (self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t);
        // SAFETY: the entries are valid for the call.
        let ready = unsafe { libc::poll(entries, count, 0) };
        if ready == 0 {
            return;
        }
        // If the process' descriptor limit is too low for `poll`, each connection is read.
        let all = ready < 0;
        for index in (0..self.polled.len()).rev() {
            let Connection { peer, socket } = &self.connections[index];
            let said = |word| match word {
                Farewell::Goodbye => self.finished.push(*peer),
                Farewell::RootCause(other) => self.root_causes.push((*peer, other)),
            };
            if (all || self.polled[index].revents != 0) && has_ended(socket, said) {
                self.polled.swap_remove(index);
                gone(self.connections.swap_remove(index).peer);
            }
        }
    }

    fn max_sleep(&self) -> u64 {
        CONNECTION_MAX_SLEEP
    }

    fn report_root_cause(&self, other: Peer) {
        let [low, high] = other.0.to_le_bytes();
        for connection in &self.connections {
            send_bytes(&connection.socket, &[ROOT_CAUSE, low, high]);
        }
    }

    fn root_cause_of(&self, peer: Peer) -> Option<Peer> {
        let root_cause = self.root_causes.iter().find(|(who, _)| *who == peer);
        root_cause.map(|(_, other)| *other)
    }

    fn has_finished(&self, peer: Peer) -> bool {
        self.finished.contains(&peer)
    }
}

/// The last message of a rank that ends.
enum Farewell {
    Goodbye,
    RootCause(Peer),
}

/// Sends bytes without waiting; a rank that has ended gets nothing.
fn send_bytes(socket: &Descriptor, bytes: &[u8]) {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes are valid for their length.
    unsafe { libc::send(socket.number(), bytes.as_ptr().cast(), bytes.len(), flags) };
}

/// Reads what has arrived; returns whether the connection has ended. At end of file the process has ended or finished;
/// after a reset or a time-out the process or its host is lost.
fn has_ended(socket: &Descriptor, mut said: impl FnMut(Farewell)) -> bool {
    let mut bytes = [0_u8; 16];
    loop {
        let (into, len) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the buffer is valid for its length.
        let got = unsafe { libc::recv(socket.number(), into, len, libc::MSG_DONTWAIT) };
        match check(got, "hear of a rank") {
            Ok(0) => return true,
            // A message of a few bytes arrives whole.
            Ok(3) if bytes[0] == ROOT_CAUSE => {
                said(Farewell::RootCause(Peer(u16::from_le_bytes([
                    bytes[1], bytes[2],
                ]))));
            }
            Ok(1) if bytes[..1] == *GOODBYE => said(Farewell::Goodbye),
            Ok(_) => {}
            Err(error) if error.is(libc::EINTR) => {}
            Err(error) => return !error.is(libc::EAGAIN),
        }
    }
}

/// The socket to which ranks with higher numbers connect.
pub(super) struct Listener {
    socket: Descriptor,
    address: SocketAddr,
}

impl Listener {
    pub(super) fn open(ip: IpAddr) -> Result<Self, JobError> {
        const DOING: &str = "open a socket for other hosts";
        let raw = SockAddr::new(SocketAddr::new(ip, 0));
        let socket = stream(raw.family(), libc::SOCK_NONBLOCK, DOING)?;
        let (address, len) = raw.as_raw();
        // SAFETY: the address is valid for its length.
        let bound = unsafe { libc::bind(socket.number(), address, len) };
        check(bound as isize, DOING)?;
        // SAFETY: no memory is passed.
        let listening = unsafe { libc::listen(socket.number(), MOST_RANKS as c_int) };
        check(listening as isize, DOING)?;
        let address = of_socket(&socket)?;
        Ok(Listener { socket, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to the listeners of lower ranks and accepts the higher ones. From then on a host that does not answer
    /// for `timeout` seconds counts as lost.
    pub(super) fn meet(
        self,
        me: Peer,
        listeners: &[SocketAddr],
        is_near: impl Fn(Peer) -> bool,
        job: JobKeys,
        timeout: u32,
    ) -> Result<FailureDetector, JobError> {
        if listeners.len() > MOST_RANKS {
            return Err(JobError::TooManyRanks {
                ranks: listeners.len(),
                most: MOST_RANKS,
            });
        }
        let mut connections = Vec::new();
        for (rank, listener) in listeners.iter().enumerate().take(me.index()) {
            let peer = Peer(rank as u16);
            if !is_near(peer) {
                let socket = connect(peer, *listener, timeout)?;
                socket.write_all(&Hello { from: me, to: peer }.bytes(job))?;
                connections.push(Connection { peer, socket });
            }
        }
        let ranks = listeners.len() as u16;
        let higher = (me.0 + 1..ranks).map(Peer).filter(|peer| !is_near(*peer));
        self.accept_peers(&mut connections, higher.collect(), (me, job))?;
        for connection in &connections {
            set_keepalive(&connection.socket, timeout)?;
        }
        Ok(FailureDetector::new(connections))
    }

    fn accept_peers(
        &self,
        connections: &mut Vec<Connection>,
        mut missing: Vec<Peer>,
        (me, job): (Peer, JobKeys),
    ) -> Result<(), JobError> {
        let end = now() + BOOTSTRAP_TIMEOUT.as_nanos() as u64;
        let mut pending = PendingConnections::new(&MAGIC, MOST_RANKS);
        while let Some(first) = missing.first() {
            let left = end.saturating_sub(now()) / 1_000_000;
            if left == 0 {
                return Err(JobError::Missing {
                    rank: first.index(),
                    seconds: BOOTSTRAP_TIMEOUT.as_secs(),
                });
            }
            pending.poll(&self.socket, left, |said, socket| {
                // Connections of other processes are closed.
                let hello = Hello::read(said, job).filter(|hello| hello.to == me);
                let place =
                    hello.and_then(|hello| missing.iter().position(|peer| *peer == hello.from));
                if let Some(place) = place {
                    let peer = missing.swap_remove(place);
                    connections.push(Connection { peer, socket });
                }
            })?;
        }
        Ok(())
    }
}

/// The first message of a connecting rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hello {
    from: Peer,
    to: Peer,
}

const MAGIC: [u8; 8] = *b"pombo-2\n";
/// Size in bytes of a hello: the magic, two ranks, and a tag that only ranks of the job can compute.
const SIZE: usize = 20;

impl Hello {
    fn bytes(self, job: JobKeys) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.from.0.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.to.0.to_le_bytes());
        let tag = job.key(KeyUse::Listener).tag(&bytes[..12]);
        bytes[12..].copy_from_slice(&tag);
        bytes
    }

    fn read(bytes: &[u8; SIZE], job: JobKeys) -> Option<Hello> {
        let peer = |at: usize| Peer(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let hello = Hello {
            from: peer(8),
            to: peer(10),
        };
        (hello.bytes(job) == *bytes).then_some(hello)
    }
}

/// Connects to a listener with retries: a host whose cable is out for a while is lost only after `timeout` seconds.
fn connect(peer: Peer, listener: SocketAddr, timeout: u32) -> Result<Descriptor, JobError> {
    let end = now() + u64::from(timeout) * 1_000_000_000;
    loop {
        match connect_once(peer, listener) {
            Err(JobError::Unreachable { errno, .. }) if may_return(errno) && now() < end => {
                sleep(CONNECT_RETRY);
            }
            connected => return connected,
        }
    }
}

/// Returns whether there is no route to that host for now.
fn may_return(errno: c_int) -> bool {
    use libc::{EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH};
    [EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH].contains(&errno)
}

fn connect_once(peer: Peer, listener: SocketAddr) -> Result<Descriptor, JobError> {
    const DOING: &str = "open a connection to another host";
    let raw = SockAddr::new(listener);
    let socket = stream(raw.family(), 0, DOING)?;
    // The option also limits the time of `connect`.
    let limit = libc::timeval {
        tv_sec: BOOTSTRAP_TIMEOUT.as_secs() as libc::time_t,
        tv_usec: 0,
    };
    set(&socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &limit)?;
    let (address, len) = raw.as_raw();
    // SAFETY: the address is valid for its length.
    let connected = unsafe { libc::connect(socket.number(), address, len) };
    match check(connected as isize, DOING) {
        Ok(_) => Ok(socket),
        Err(JobError::System { errno, .. }) => Err(JobError::Unreachable {
            rank: peer.index(),
            address: listener,
            errno,
        }),
        Err(error) => Err(error),
    }
}

/// Makes the system probe the other side: the first keep-alive probe after two fifths of the time, then two more.
fn set_keepalive(socket: &Descriptor, seconds: u32) -> Result<(), JobError> {
    let (first, next) = ((seconds * 2 / 5).max(1), (seconds / 5).max(1));
    set(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1_i32)?;
    set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_KEEPIDLE,
        &(first as c_int),
    )?;
    set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_KEEPINTVL,
        &(next as c_int),
    )?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, &3_i32)?;
    set(
        socket,
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

fn set<T>(socket: &Descriptor, level: c_int, name: c_int, value: &T) -> Result<(), JobError> {
    let size = size_of::<T>() as libc::socklen_t;
    let value = (&raw const *value).cast();
    // SAFETY: the option's value is valid for its size.
    let set = unsafe { libc::setsockopt(socket.number(), level, name, value, size) };
    check(set as isize, "set up a connection").map(drop)
}

#[cfg(test)]
#[path = "failure_detector_tests.rs"]
mod tests;
