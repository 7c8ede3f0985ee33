//! System calls below `bootstrap`: local sockets that pass words and a descriptor, and deadlines. Only `bootstrap` uses
//! it.

use core::mem::{offset_of, size_of, size_of_val, zeroed};
use core::ptr::{null_mut, read_unaligned, write_unaligned};
use core::time::Duration;

use crate::wait;

use super::error::ShmError;
use super::file::{OwnedFd, check};

/// The address at which the ranks of a job meet: an abstract name made of the user ID and the job.
pub(super) struct JobAddress {
    address: libc::sockaddr_un,
    len: libc::socklen_t,
}

impl JobAddress {
    pub(super) fn of(job: &str) -> Result<Self, ShmError> {
        // SAFETY: zeros are a valid address.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        let mut prefix = *b"\0pombo-00000000-";
        for (place, digit) in prefix[7..15].iter_mut().enumerate() {
            let nibble = user() >> (28 - 4 * place) & 15;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        let limit = address.sun_path.len() - prefix.len();
        if job.is_empty() || job.len() > limit {
            return Err(ShmError::JobName { limit });
        }
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let name = prefix.iter().chain(job.as_bytes());
        for (to, from) in address.sun_path.iter_mut().zip(name) {
            *to = *from as libc::c_char;
        }
        let path = offset_of!(libc::sockaddr_un, sun_path);
        let len = (path + prefix.len() + job.len()) as libc::socklen_t;
        Ok(Self { address, len })
    }

    fn raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.address).cast(), self.len)
    }
}

/// A socket for whole messages of a few words.
pub(super) struct Socket(OwnedFd);

impl Socket {
    fn new() -> Result<Self, ShmError> {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
        OwnedFd::returned(fd, "socket").map(Self)
    }

    pub(super) fn listen(address: &JobAddress, backlog: usize) -> Result<Self, ShmError> {
        let socket = Self::new()?;
        let (raw, len) = address.raw();
        // SAFETY: the address is valid for its length.
        let bound = unsafe { libc::bind(socket.fd(), raw, len) };
        check(bound, "bind")?;
        // SAFETY: no memory is passed.
        let listening = unsafe { libc::listen(socket.fd(), backlog as i32) };
        check(listening, "listen")?;
        Ok(socket)
    }

    /// Accepts the next connection; returns `None` if none comes before the deadline.
    pub(super) fn accept(&self, deadline: Deadline) -> Result<Option<Self>, ShmError> {
        while self.is_readable(deadline)? {
            let none = null_mut();
            // SAFETY: null pointers are allowed if the address is not requested.
            let fd = unsafe { libc::accept4(self.fd(), none, none.cast(), libc::SOCK_CLOEXEC) };
            match OwnedFd::returned(fd, "accept4") {
                Ok(client) => return Ok(Some(Self(client))),
                // The connecting rank has gone already.
                Err(error) if error.is(libc::ECONNABORTED) || error.is(libc::EINTR) => {}
                Err(error) => return Err(error),
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
        let wait = libc::timeval {
            tv_sec: 0,
            tv_usec: deadline.millis().clamp(1, 500) as libc::suseconds_t * 1000,
        };
        // SAFETY: the option's value is valid for its size.
        let limited = unsafe {
            let size = size_of_val(&wait) as libc::socklen_t;
            let (level, name) = (libc::SOL_SOCKET, libc::SO_SNDTIMEO);
            libc::setsockopt(socket.fd(), level, name, (&raw const wait).cast(), size)
        };
        check(limited, "setsockopt")?;
        let (raw, len) = address.raw();
        // SAFETY: the address is valid for its length.
        let connected = unsafe { libc::connect(socket.fd(), raw, len) };
        let later = [libc::ECONNREFUSED, libc::EAGAIN, libc::EINTR];
        match check(connected, "connect") {
            Ok(_) => Ok(Some(socket)),
            Err(error) if later.iter().any(|number| error.is(*number)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the PID of the other side, 0 if it has none here. Fails with the other side's user if it is not this
    /// process' own.
    pub(super) fn pid_of_this_user(&self) -> Result<i32, ShmError> {
        // SAFETY: zeros are valid credentials.
        let mut peer: libc::ucred = unsafe { zeroed() };
        let mut size = size_of_val(&peer) as libc::socklen_t;
        // SAFETY: the buffer is valid for the size given, which the call does not exceed.
        let got = unsafe {
            let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            let into = (&raw mut peer).cast();
            libc::getsockopt(self.fd(), level, name, into, &mut size)
        };
        check(got, "getsockopt")?;
        if peer.uid == user() {
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
        let sent = unsafe { libc::sendmsg(self.fd(), &message, libc::MSG_NOSIGNAL) };
        check(sent as i32, "sendmsg").map(drop)
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
        let got = unsafe { libc::recvmsg(self.fd(), &mut message, flags) };
        check(got as i32, "recvmsg")?;
        let descriptor = received_fd(&message);
        if got as usize == size_of_val(words) {
            Ok(descriptor)
        } else {
            Err(ShmError::NoAnswer)
        }
    }

    fn is_readable(&self, deadline: Deadline) -> Result<bool, ShmError> {
        let mut poll = libc::pollfd {
            fd: self.fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        loop {
            // SAFETY: one entry, valid for the call.
            let ready = unsafe { libc::poll(&mut poll, 1, deadline.millis()) };
            match check(ready, "poll") {
                Ok(ready) => return Ok(ready > 0),
                Err(error) if error.is(libc::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fd(&self) -> i32 {
        self.0.fd()
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
        OwnedFd::returned(fd, "recvmsg").ok()
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
        let millis = self.within(time).millis();
        // SAFETY: no entries are passed.
        unsafe { libc::poll(null_mut(), 0, millis) };
    }

    /// Returns the remaining milliseconds, rounded up.
    fn millis(self) -> i32 {
        let left = self.0.saturating_sub(now());
        let millis = left.as_micros().div_ceil(1000);
        i32::try_from(millis).unwrap_or(i32::MAX)
    }
}

/// Returns the time of a monotonic clock.
fn now() -> Duration {
    Duration::from_nanos(wait::now())
}

fn user() -> u32 {
    // SAFETY: takes nothing and touches no memory.
    unsafe { libc::geteuid() }
}
