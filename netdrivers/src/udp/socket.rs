//! The system calls of the devices. Only `udp` uses them.

use alloc::boxed::Box;
use core::mem::{size_of, size_of_val, zeroed};
use core::net::{Ipv4Addr, SocketAddr};

use super::address::{SockAddr, in_addr};
use super::error::UdpError;
use super::iovec::IoVecs;
use crate::Errno;
use pombo_kernel::channel::ChannelError;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::addr::SocketAddrArg;
use rustix::net::{SocketFlags, SocketType, bind, getsockname, socket_with};

/// Requested receive buffer, in bytes as the system counts them.
pub const RECEIVE_BYTES: i32 = 8 << 20;
/// Requested send buffer, in bytes as the system counts them: more than a window has under way.
pub const SEND_BYTES: i32 = 2 << 20;

/// A non-blocking socket, which is closed when dropped.
pub(super) struct Socket(OwnedFd);

/// The outcome of sending a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SendOutcome {
    Sent,
    /// Not sent, for a transient reason.
    Lost,
    /// Not sent, because this host does not permit it now; with the error number.
    Refused(i32),
}

/// Largest number of errors of earlier frames that one call skips: the system reports each of them once.
const MAX_STALE_ERRORS: usize = 8;

impl Socket {
    /// Binds a socket to an address, with large buffers.
    pub(super) fn bind(address: SocketAddr, shared: bool) -> Result<Self, Box<UdpError>> {
        let family = address.as_any().address_family();
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::DGRAM, flags, None);
        let socket = Socket(socket.map_err(UdpError::failed("socket"))?);
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BYTES)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BYTES)?;
        socket.enable_gro();
        if shared {
            socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, &1)?;
        }
        bind(&socket.0, &address).map_err(UdpError::failed("bind"))?;
        Ok(socket)
    }

    pub(super) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Returns the bound address, with the port that the system chose.
    pub(super) fn address(&self) -> Result<SocketAddr, Box<UdpError>> {
        let address = getsockname(&self.0).map_err(UdpError::failed("getsockname"))?;
        SocketAddr::try_from(address).map_err(|_| Box::new(UdpError::UnspecifiedAddress))
    }

    /// Returns the granted bytes of the receive buffer and of the send buffer.
    pub(super) fn buffer_sizes(&self) -> Result<(usize, usize), Box<UdpError>> {
        let get = |name| self.get(libc::SOL_SOCKET, name);
        Ok((get(libc::SO_RCVBUF)?, get(libc::SO_SNDBUF)?))
    }

    /// Makes multicast leave by the interface of that address, stay within its network, and reach the other ranks of
    /// this host as well.
    pub(super) fn send_multicast_from(&self, interface: Ipv4Addr) -> Result<(), Box<UdpError>> {
        let interface = in_addr(interface);
        self.set(libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &interface)?;
        self.set(libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, &1)?;
        self.set(libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, &1)?;
        self.set(libc::SOL_SOCKET, libc::SO_BROADCAST, &1)
    }

    /// Receives only what is sent to the group on the interface of that address.
    pub(super) fn join_group(
        &self,
        group: Ipv4Addr,
        interface: Ipv4Addr,
    ) -> Result<(), Box<UdpError>> {
        let request = libc::ip_mreq {
            imr_multiaddr: in_addr(group),
            imr_interface: in_addr(interface),
        };
        self.set(libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, &request)?;
        self.set(libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, &0)
    }

    /// Returns whether the system segments what leaves in one call.
    pub(super) fn supports_gso(&self) -> bool {
        PASSES_LENGTHS && self.get(libc::SOL_UDP, libc::UDP_SEGMENT).is_ok()
    }

    /// Lets the system coalesce frames of one sender. A system without support never does.
    pub(super) fn enable_gro(&self) {
        if PASSES_LENGTHS {
            let _ = self.set(libc::SOL_UDP, libc::UDP_GRO, &1);
        }
    }

    fn set<T: Copy>(&self, level: i32, name: i32, value: &T) -> Result<(), Box<UdpError>> {
        let size = size_of_val(value) as libc::socklen_t;
        // SAFETY: the option's value is valid for its size, and only read.
        let set = unsafe {
            let value: *const T = value;
            libc::setsockopt(self.number(), level, name, value.cast(), size)
        };
        UdpError::check(set, "setsockopt").map(drop)
    }

    fn get(&self, level: i32, name: i32) -> Result<usize, Box<UdpError>> {
        let mut value = 0_i32;
        let mut size = size_of_val(&value) as libc::socklen_t;
        // SAFETY: the pointer is valid for the size given, which the call does not exceed.
        let got = unsafe {
            let into = (&raw mut value).cast();
            libc::getsockopt(self.number(), level, name, into, &mut size)
        };
        UdpError::check(got, "getsockopt")?;
        Ok(usize::try_from(value).unwrap_or(0))
    }

    /// Sends a frame.
    #[inline]
    pub(super) fn send(
        &self,
        to: &SockAddr,
        frame: &IoVecs<'_>,
    ) -> Result<SendOutcome, ChannelError> {
        // SAFETY: the message points to an address and to borrowed bytes, all valid.
        unsafe { self.send_message(&message(to, frame)) }
    }

    /// Sends several frames of that many bytes, of which the last one may be shorter.
    pub(super) fn send_segmented(
        &self,
        to: &SockAddr,
        frames: &IoVecs<'_>,
        bytes: u16,
    ) -> Result<SendOutcome, ChannelError> {
        let (mut control, mut message) = (ControlBuffer::default(), message(to, frames));
        message.msg_control = (&raw mut control).cast();
        // SAFETY: the call only computes a number.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as u32) } as _;
        // SAFETY: `control` has space for one header and two bytes, and outlives the message.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_UDP;
            (*header).cmsg_type = libc::UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
            core::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), bytes);
            self.send_message(&message)
        }
    }

    /// # Safety
    /// All that the message points to must be valid for reading.
    #[inline]
    unsafe fn send_message(&self, message: &libc::msghdr) -> Result<SendOutcome, ChannelError> {
        for _ in 0..MAX_STALE_ERRORS {
            // SAFETY: the caller promises a valid message, which is only read.
            let sent = unsafe { libc::sendmsg(self.number(), message, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return Ok(SendOutcome::Sent);
            }
            match Errno::last().0 {
                libc::EINTR | libc::ECONNREFUSED => {}
                libc::EAGAIN => return Err(ChannelError::Full),
                number if is_refused(number) => return Ok(SendOutcome::Refused(number)),
                number if may_pass(number) => return Ok(SendOutcome::Lost),
                number => return Err(ChannelError::Device(number)),
            }
        }
        Ok(SendOutcome::Lost)
    }

    /// Receives a datagram into the buffer of this entry; returns whether one arrived.
    ///
    /// # Safety
    /// As for [`Socket::recv_batch`].
    #[inline]
    pub(super) unsafe fn recv_one(&self, into: &mut libc::mmsghdr) -> Result<bool, ChannelError> {
        let got = received(|| {
            // SAFETY: the caller promises that the entry points to valid memory; the call does not exceed the sizes.
            unsafe { libc::recvmsg(self.number(), &mut into.msg_hdr, libc::MSG_DONTWAIT) }
        })?;
        into.msg_len = got.unwrap_or(0) as libc::c_uint;
        Ok(got.is_some())
    }

    /// Receives datagrams into the buffers of the list; returns the number that arrived.
    ///
    /// # Safety
    /// All that the list points to must be valid for reading and writing, and not used by others.
    #[inline]
    pub(super) unsafe fn recv_batch(
        &self,
        list: &mut [libc::mmsghdr],
    ) -> Result<usize, ChannelError> {
        let (start, most) = (list.as_mut_ptr(), list.len() as libc::c_uint);
        let got = received(|| {
            let (flags, none) = (libc::MSG_DONTWAIT, core::ptr::null_mut());
            // SAFETY: the caller promises a valid list.
            let got = unsafe { libc::recvmmsg(self.number(), start, most, flags as _, none) };
            got as isize
        })?;
        Ok(got.unwrap_or(0))
    }
}

/// Whether the lengths of segments reach the system, and come from it, in this program's byte order. An emulator of
/// another machine (QEMU) passes such control messages on as they are, which a program cannot know; big-endian programs
/// send and receive frame by frame.
const PASSES_LENGTHS: bool = cfg!(target_endian = "little");

/// Buffer of control messages, which say how frames are segmented.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct ControlBuffer([u64; 4]);

#[inline]
fn message(to: &SockAddr, bytes: &IoVecs<'_>) -> libc::msghdr {
    // SAFETY: zeros are a valid, empty message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw const *to).cast_mut().cast();
    message.msg_namelen = to.size();
    message.msg_iov = bytes.list().as_ptr().cast_mut();
    message.msg_iovlen = bytes.list().len() as _;
    message
}

/// Returns the bytes of each frame in a received message, if there are several.
///
/// # Safety
/// Its control bytes must be valid, as many as it says.
#[inline]
pub(super) unsafe fn gro_size(message: &libc::msghdr) -> Option<usize> {
    if message.msg_controllen == 0 {
        return None;
    }
    // SAFETY: the caller promises valid bytes, of which the system says how many it has filled.
    let size = unsafe {
        let header = libc::CMSG_FIRSTHDR(message).as_ref()?;
        let known = header.cmsg_level == libc::SOL_UDP && header.cmsg_type == libc::UDP_GRO;
        if !known || header.cmsg_len as usize != libc::CMSG_LEN(size_of::<i32>() as u32) as usize {
            return None;
        }
        core::ptr::read_unaligned(libc::CMSG_DATA(header).cast::<i32>())
    };
    usize::try_from(size).ok().filter(|size| *size > 0)
}

/// Repeats the call until it returns data or finds none; errors of earlier frames are skipped.
#[inline]
fn received(mut call: impl FnMut() -> isize) -> Result<Option<usize>, ChannelError> {
    for _ in 0..MAX_STALE_ERRORS {
        if let Ok(got) = usize::try_from(call()) {
            return Ok(Some(got));
        }
        match Errno::last().0 {
            libc::EAGAIN => return Ok(None),
            libc::EINTR => {}
            number if may_pass(number) || is_refused(number) => {}
            number => return Err(ChannelError::Device(number)),
        }
    }
    Ok(None)
}

/// Returns whether an error is transient: the system has no memory, the receiver does not exist, or the network is
/// down.
fn may_pass(errno: i32) -> bool {
    use libc::{ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENOBUFS, ENOMEM};
    let passing = [
        ECONNREFUSED,
        EHOSTDOWN,
        EHOSTUNREACH,
        ENETDOWN,
        ENETUNREACH,
        ENOBUFS,
        ENOMEM,
    ];
    passing.contains(&errno)
}

/// Returns whether a rule of the firewall or a route forbids the frame; both may change while a job runs.
fn is_refused(errno: i32) -> bool {
    [libc::EPERM, libc::EACCES].contains(&errno)
}
