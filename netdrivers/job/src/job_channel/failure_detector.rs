//! Detects dead ranks of other hosts. Each pair of ranks on different hosts has a connection that carries no data: the
//! systems keep it up while both processes live, whatever they compute, close it when one ends, and give it up when a
//! host is lost. A rank that ends in good order sends one byte before; one that ends because another has ended sends
//! that one's number; one that kept a place for a process sends a byte when that has come.
//!
//! A process that connects to a rank's listener first proves that it knows the job's key. A child that a rank forks
//! closes the connections; one that is created without the C library's fork keeps them, and the others detect the end
//! of such a rank only when the child has ended too.

use super::local_address::of_socket;
use super::pending_handshakes::PendingConnections;
use crate::bootstrap::file_descriptor::{Descriptor, poll_readable};
use crate::bootstrap::{JobError, JobKeys, KeyUse};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use pombo_kernel::Peer;
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::tuning::{
    BOOTSTRAP_TIMEOUT, CONNECT_RETRY, CONNECTION_CHECK_INTERVAL, CONNECTION_MAX_SLEEP,
};
use pombo_netdrivers::wait::{now, sleep};
use rustix::io;
use rustix::net::addr::SocketAddrArg;
use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_keepcnt, set_tcp_keepidle,
    set_tcp_keepintvl, set_tcp_user_timeout,
};
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, bind, listen, recv, send, shutdown,
    socket_with,
};

/// Largest number of ranks of a job over several hosts: each keeps a connection to each.
const MOST_RANKS: usize = 256;

/// The connections of a rank, and the ends that it has detected.
pub(super) struct FailureDetector {
    connections: Vec<Connection>,
    /// The ranks that ended because of another, and that other rank.
    root_causes: Vec<(Peer, Peer)>,
    /// The ranks that ended in good order.
    finished: Vec<Peer>,
    /// The ranks whose connections failed, which may be alive.
    unreachable: Vec<Peer>,
    /// The ranks from this one on are places for processes that join later.
    first_place: Peer,
    /// The places to which a process has come.
    taken: Vec<Peer>,
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
/// The message of a place to which a process has come.
const TAKEN: &[u8] = b"+";

impl FailureDetector {
    fn new(connections: Vec<Connection>) -> Self {
        FailureDetector {
            connections,
            first_place: Peer(u16::MAX),
            taken: Vec::new(),
            root_causes: Vec::new(),
            finished: Vec::new(),
            unreachable: Vec::new(),
            due: 0,
        }
    }

    /// Sets which ranks are places that others keep for processes that join later: those from this one on.
    pub(super) fn set_first_place(&mut self, first: Peer) {
        self.first_place = first;
    }

    /// Returns whether that rank of another host has ended.
    pub(super) fn has_ended(&self, peer: Peer) -> bool {
        !self
            .connections
            .iter()
            .any(|connection| connection.peer == peer)
    }

    /// Tells all ranks that a process has come to the place that this rank has kept.
    pub(super) fn report_taken(&self) {
        for connection in &self.connections {
            send_bytes(&connection.socket, TAKEN);
        }
    }

    /// Sends a good-bye to all ranks.
    pub(super) fn finish(&mut self) {
        for connection in self.connections.drain(..) {
            send_bytes(&connection.socket, GOODBYE);
            // Children may share the connection, so it is shut down, not only closed. It may have failed before.
            let _ = shutdown(&connection.socket, Shutdown::Write);
        }
    }
}

impl DeathSource for FailureDetector {
    fn poll_deaths(&mut self, now: u64, gone: &mut dyn FnMut(Peer)) {
        if now < self.due {
            return;
        }
        self.due = now.saturating_add(CONNECTION_CHECK_INTERVAL);
        let mut sockets = self.connections.iter().map(|connection| &connection.socket);
        // If the process' descriptor limit is too low for `poll`, each connection is read.
        let readable = poll_readable(&mut sockets, Duration::ZERO)
            .unwrap_or_else(|_| alloc::vec![true; self.connections.len()]);
        for (index, readable) in readable.into_iter().enumerate().rev() {
            let Connection { peer, socket } = &self.connections[index];
            let said = |word| match word {
                Word::Goodbye => self.finished.push(*peer),
                Word::RootCause(other) => self.root_causes.push((*peer, other)),
                Word::Taken => self.taken.push(*peer),
            };
            let end = if readable {
                connection_end(socket, said)
            } else {
                None
            };
            if let Some(end) = end {
                let peer = self.connections.swap_remove(index).peer;
                if matches!(end, End::Failed) {
                    self.unreachable.push(peer);
                }
                gone(peer);
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

    fn has_started(&self, peer: Peer) -> bool {
        peer < self.first_place || self.taken.contains(&peer) || self.has_ended(peer)
    }

    fn is_unreachable(&self, peer: Peer) -> bool {
        self.unreachable.contains(&peer)
    }

    fn has_finished(&self, peer: Peer) -> bool {
        self.finished.contains(&peer)
    }
}

/// A message of a rank.
enum Word {
    Goodbye,
    RootCause(Peer),
    Taken,
}

/// Sends bytes without waiting; a rank that has ended gets nothing.
fn send_bytes(socket: &Descriptor, bytes: &[u8]) {
    let _ = send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// How a connection ended.
enum End {
    /// At end of file: the process has ended or finished.
    Closed,
    /// After a time-out the host does not answer. A reset proves no more: the system of a process that lives resets
    /// what its own time-out has ended.
    Failed,
}

/// Reads what has arrived; returns how the connection ended, if it did.
fn connection_end(socket: &Descriptor, mut said: impl FnMut(Word)) -> Option<End> {
    let mut bytes = [0_u8; 16];
    loop {
        let got = recv(socket, &mut bytes, RecvFlags::DONTWAIT);
        match got.map(|(len, _)| len) {
            Ok(0) => return Some(End::Closed),
            Ok(len) => words(&bytes[..len.min(bytes.len())], &mut said),
            Err(io::Errno::INTR) => {}
            Err(io::Errno::AGAIN) => return None,
            Err(_) => return Some(End::Failed),
        }
    }
}

/// Takes messages apart. Those of a few bytes arrive whole, but several may arrive at once.
fn words(mut bytes: &[u8], said: &mut impl FnMut(Word)) {
    loop {
        bytes = match bytes {
            [ROOT_CAUSE, low, high, rest @ ..] => {
                said(Word::RootCause(Peer(u16::from_le_bytes([*low, *high]))));
                rest
            }
            [first, rest @ ..] => {
                match core::slice::from_ref(first) {
                    GOODBYE => said(Word::Goodbye),
                    TAKEN => said(Word::Taken),
                    _ => {}
                }
                rest
            }
            [] => return,
        };
    }
}

/// The socket to which ranks with higher numbers connect.
pub(super) struct Listener {
    socket: Descriptor,
    address: SocketAddr,
}

impl Listener {
    pub(super) fn open(ip: IpAddr) -> Result<Self, Box<JobError>> {
        let address = SocketAddr::new(ip, 0);
        let open = || {
            let socket = stream(address, SocketFlags::NONBLOCK)?;
            bind(&socket, &address)?;
            listen(&socket, MOST_RANKS as c_int)?;
            Ok(socket)
        };
        let failed = JobError::failed::<io::Errno>("open a socket for other hosts");
        let socket = open().map_err(failed)?;
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
    ) -> Result<FailureDetector, Box<JobError>> {
        if listeners.len() > MOST_RANKS {
            return Err(Box::new(JobError::TooManyRanks {
                ranks: listeners.len(),
                most: MOST_RANKS,
            }));
        }
        let (mut connections, mut higher) = (Vec::new(), Vec::new());
        for (rank, listener) in listeners.iter().enumerate() {
            let peer = Peer(rank as u16);
            if peer == me || is_near(peer) {
                continue;
            }
            if peer > me {
                higher.push(peer);
                continue;
            }
            let socket = connect(peer, *listener, timeout)?;
            socket.write_all(&Hello { from: me, to: peer }.bytes(job))?;
            connections.push(Connection { peer, socket });
        }
        self.accept_peers(&mut connections, higher, (me, job))?;
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
    ) -> Result<(), Box<JobError>> {
        let end = now() + BOOTSTRAP_TIMEOUT.as_nanos() as u64;
        let mut pending = PendingConnections::new(&MAGIC, MOST_RANKS);
        while let Some(first) = missing.first() {
            let left = end.saturating_sub(now()) / 1_000_000;
            if left == 0 {
                return Err(Box::new(JobError::Missing {
                    rank: first.index(),
                    seconds: BOOTSTRAP_TIMEOUT.as_secs(),
                }));
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
fn connect(peer: Peer, listener: SocketAddr, timeout: u32) -> Result<Descriptor, Box<JobError>> {
    let end = now() + u64::from(timeout) * 1_000_000_000;
    loop {
        match connect_once(peer, listener) {
            Err(error) if may_return(&error) && now() < end => sleep(CONNECT_RETRY),
            connected => return connected,
        }
    }
}

/// Returns whether there is no route to that host for now.
fn may_return(error: &JobError) -> bool {
    use libc::{EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH};
    let away = [EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH];
    matches!(error, JobError::Unreachable { errno, .. } if away.contains(errno))
}

fn connect_once(peer: Peer, listener: SocketAddr) -> Result<Descriptor, Box<JobError>> {
    let socket = stream(listener, SocketFlags::empty());
    let socket = socket.map_err(JobError::failed("open a connection to another host"))?;
    // The option also limits the time of `connect`.
    set_socket_timeout(&socket, Timeout::Send, Some(BOOTSTRAP_TIMEOUT))
        .map_err(JobError::failed(SET_UP))?;
    let connected = rustix::net::connect(&socket, &listener);
    connected.map_err(|errno| JobError::Unreachable {
        rank: peer.index(),
        address: listener,
        errno: errno.raw_os_error(),
    })?;
    Ok(socket)
}

const SET_UP: &str = "set up a connection";

/// Makes the system probe the other side: the first keep-alive probe after two fifths of the time, then two more.
fn set_keepalive(socket: &Descriptor, seconds: u32) -> Result<(), Box<JobError>> {
    let (first, next) = ((seconds * 2 / 5).max(1), (seconds / 5).max(1));
    let time = |seconds: u32| Duration::from_secs(seconds.into());
    set_socket_keepalive(socket, true)
        .and_then(|()| set_tcp_keepidle(socket, time(first)))
        .and_then(|()| set_tcp_keepintvl(socket, time(next)))
        .and_then(|()| set_tcp_keepcnt(socket, 3))
        .and_then(|()| set_tcp_user_timeout(socket, seconds * 1000))
        .map_err(JobError::failed(SET_UP))
}

/// Makes a socket for connections from or to that address.
fn stream(address: SocketAddr, flags: SocketFlags) -> io::Result<Descriptor> {
    let (family, flags) = (
        address.as_any().address_family(),
        flags | SocketFlags::CLOEXEC,
    );
    socket_with(family, SocketType::STREAM, flags, None).map(Descriptor::from)
}

#[cfg(test)]
#[path = "failure_detector_tests.rs"]
mod tests;
