//! System calls below `bootstrap`: local sockets that pass words and a descriptor, and deadlines. Only `bootstrap` uses
//! it.

use core::mem::{size_of, size_of_val, zeroed};
use core::ptr::{read_unaligned, write_unaligned};
use core::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};
use rustix::process::geteuid;

use crate::wait;

use super::error::ShmError;

/// The address at which the ranks of a job meet: an abstract name made of the user ID and the job.
pub(super) struct JobAddress(SocketAddrUnix);

/// Bytes of the longest name of a job: what the prefix leaves of a socket's name.
const LIMIT: usize = 107 - PREFIX.len();
const PREFIX: &[u8; 15] = b"pombo-00000000-";

impl JobAddress {
    pub(super) fn of(job: &str) -> Result<Self, ShmError> {
        if job.is_empty() || job.len() > LIMIT {
            return Err(ShmError::JobName { limit: LIMIT });
        }
        let mut prefix = *PREFIX;
        for (place, digit) in prefix[6..14].iter_mut().enumerate() {
            let nibble = geteuid().as_raw() >> (28 - 4 * place) & 15;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        let address = SocketAddrUnix::new_abstract_name(&[&prefix, job.as_bytes()].concat());
        address.map(Self).map_err(ShmError::failed("bind"))
    }
}

/// A socket for whole messages of a few words.
pub(super) struct Socket(OwnedFd);

impl Socket {
    fn new() -> Result<Self, ShmError> {
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None);
        socket.map(Self).map_err(ShmError::failed("socket"))
    }

    pub(super) fn listen(address: &JobAddress, backlog: usize) -> Result<Self, ShmError> {
        let socket = Self::new()?;
        bind(&socket.0, &address.0).map_err(ShmError::failed("bind"))?;
        listen(&socket.0, backlog as i32).map_err(ShmError::failed("listen"))?;
        Ok(socket)
    }

    /// Accepts the next connection; returns `None` if none comes before the deadline.
    pub(super) fn accept(&self, deadline: Deadline) -> Result<Option<Self>, ShmError> {
        while self.is_readable(deadline)? {
            match accept_with(&self.0, SocketFlags::CLOEXEC) {
                Ok(client) => return Ok(Some(Self(client))),
                // The connecting rank has gone already.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(error) => return Err(ShmError::failed("accept4")(error)),
            }
        }
        Ok(None)
    }

    /// Connects to the address; returns `None` if nobody listens there now.
    pub(super) fn connect(
        address: &JobAddress,
        deadline: Deadline,
    ) -> Result<Option<Self>, ShmError> {
        let socket = Self::new()?;
        // A listener with a full backlog makes the next ones wait.
        let wait = deadline.left();
        let wait = wait.clamp(Duration::from_millis(1), Duration::from_millis(500));
        set_socket_timeout(&socket.0, Timeout::Send, Some(wait))
            .map_err(ShmError::failed("setsockopt"))?;
        match connect(&socket.0, &address.0) {
            Ok(()) => Ok(Some(socket)),
            Err(Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(ShmError::failed("connect")(error)),
        }
    }

    /// Returns the PID of the other side, 0 if it has none here. Fails with the other side's user if it is not this
    /// process' own.
    pub(super) fn pid_of_this_user(&self) -> Result<i32, ShmError> {
        // The numbers of processes that rustix reads are never 0.
        let (pid, uid, gid) = (0, 0, 0);
        let mut peer = libc::ucred { pid, uid, gid };
        let mut size = size_of_val(&peer) as libc::socklen_t;
        // SAFETY: the buffer is valid for the size given, which the call does not exceed.
        let got = unsafe {
            let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            let into = (&raw mut peer).cast();
            libc::getsockopt(self.0.as_raw_fd(), level, name, into, &mut size)
        };
        crate::Errno::check(got).map_err(ShmError::failed("getsockopt"))?;
        if peer.uid == geteuid().as_raw() {
            Ok(peer.pid)
        } else {
            Err(ShmError::OtherUser { uid: peer.uid })
        }
    }

    /// Sends a message, and a descriptor with it.
    pub(super) fn send(&self, words: &[u64], descriptor: Option<i32>) -> Result<(), ShmError> {
        let mut control = ControlBuffer::default();
        let mut data = iovec(words.as_ptr().cast_mut(), words.len());
        let mut message = message(&mut data, &mut control);
        match descriptor {
            // SAFETY: `control` has room for one header and one descriptor, and outlives the message.
            Some(fd) => unsafe {
                let header = libc::CMSG_FIRSTHDR(&message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(FD) as _;
                write_unaligned(libc::CMSG_DATA(header).cast(), fd);
            },
            None => message.msg_controllen = 0,
        }
        // SAFETY: the message points to the words, which are only read, and to `control`; both are valid.
        let sent = unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
        let sent = crate::Errno::check(sent as i32);
        sent.map(drop).map_err(ShmError::failed("sendmsg"))
    }

    /// Receives a message of exactly that many words, and the descriptor that may come with it.
    pub(super) fn receive(
        &self,
        words: &mut [u64],
        deadline: Deadline,
    ) -> Result<Option<OwnedFd>, ShmError> {
        if !self.is_readable(deadline)? {
            return Err(ShmError::NoAnswer);
        }
        let mut control = ControlBuffer::default();
        let mut data = iovec(words.as_mut_ptr(), words.len());
        let mut message = message(&mut data, &mut control);
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        // SAFETY: the message points to the words and to `control`; both are valid for their sizes.
        let got = unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, flags) };
        crate::Errno::check(got as i32).map_err(ShmError::failed("recvmsg"))?;
        let descriptor = received_fd(&message);
        if got as usize == size_of_val(words) {
            Ok(descriptor)
        } else {
            Err(ShmError::NoAnswer)
        }
    }

    fn is_readable(&self, deadline: Deadline) -> Result<bool, ShmError> {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        let ready = retry_on_intr(|| {
            let left = deadline.left().try_into().ok();
            poll(&mut polled, left.as_ref())
        });
        ready
            .map(|ready| ready > 0)
            .map_err(ShmError::failed("poll"))
    }
}

/// Room for one descriptor and its header, aligned for it.
#[derive(Default)]
struct ControlBuffer([u64; 8]);

const FD: u32 = size_of::<i32>() as u32;

fn iovec(words: *mut u64, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: words.cast(),
        iov_len: len * size_of::<u64>(),
    }
}

fn message(data: &mut libc::iovec, control: &mut ControlBuffer) -> libc::msghdr {
    // SAFETY: zeros are a valid, empty message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = data;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: computes a number.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(FD) } as _;
    message
}

/// Returns the descriptor that came with a received message and now belongs to this process.
fn received_fd(message: &libc::msghdr) -> Option<OwnedFd> {
    // SAFETY: the system has filled in the message's control part and its length; a header of this type and length is
    // followed by a descriptor.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message).as_ref()?;
        let rights = header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS;
        if !rights || header.cmsg_len as usize != libc::CMSG_LEN(FD) as usize {
            return None;
        }
        let fd = read_unaligned(libc::CMSG_DATA(header).cast());
        Some(OwnedFd::from_raw_fd(fd))
    }
}

/// A point in time.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Duration);

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self(now().saturating_add(limit))
    }

    /// Returns the earlier of this deadline and `limit` from now.
    pub(super) fn within(self, limit: Duration) -> Self {
        Self(self.0.min(Self::after(limit).0))
    }

    pub(super) fn is_over(self) -> bool {
        self.0 <= now()
    }

    /// Sleeps for `time`, but not past the deadline.
    pub(super) fn pause(self, time: Duration) {
        wait::sleep(self.within(time).left().as_nanos() as u64);
    }

    /// Returns the remaining time.
    fn left(self) -> Duration {
        self.0.saturating_sub(now())
    }
}

/// Returns the time of a monotonic clock.
fn now() -> Duration {
    Duration::from_nanos(wait::now())
}
