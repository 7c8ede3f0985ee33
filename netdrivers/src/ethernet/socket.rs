//! The system calls of the devices. Only `ethernet` uses them.

use core::cell::Cell;
use core::mem::{size_of_val, zeroed};

use super::error::EthernetError;
use super::filter;
use super::frame::{ETHER_TYPE, FrameAddress};
use super::interface::Interface;
use crate::Errno;
use crate::udp::iovec::IoVecs;
use pombo_kernel::channel::ChannelError;

/// Requested receive buffer, in bytes as the system counts them.
pub const RECEIVE_BYTES: i32 = 8 << 20;
/// Requested send buffer, in bytes as the system counts them. It is short, because repairs wait in this queue too, and
/// long enough for a fast link while the sender does something else.
pub const SEND_BYTES: i32 = 512 << 10;

/// Constants that the bindings lack on some systems.
const PACKET_ADD_MEMBERSHIP: i32 = 1;
const PACKET_STATISTICS: i32 = 6;
const PACKET_MR_MULTICAST: u16 = 0;
const SO_LOCK_FILTER: i32 = 44;

/// A non-blocking socket, which is closed when dropped.
pub(super) struct Socket {
    fd: i32,
    /// Number of frames that found no room; the system resets its count when it is read.
    dropped: Cell<u64>,
}

#[repr(C)]
struct Membership {
    index: i32,
    kind: u16,
    len: u16,
    address: [u8; 8],
}

impl Socket {
    /// Opens a socket that receives the frames of that address over these interfaces, including the loopback interface,
    /// and never anything else.
    pub(super) fn open(
        frame_address: FrameAddress,
        interface: &Interface,
        loopback: i32,
    ) -> Result<Self, EthernetError> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is passed. With protocol 0 the socket receives nothing before it is bound.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 && [libc::EPERM, libc::EACCES].contains(&Errno::last().0) {
            let interface = interface.name.clone();
            return Err(EthernetError::NotPermitted { interface });
        }
        let socket = Self::from_fd(EthernetError::check(fd, "socket")?);
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BYTES)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BYTES)?;
        socket.filter(frame_address, [interface.index, loopback])?;
        socket.add_membership(interface.index, PACKET_MR_MULTICAST, frame_address.group())?;
        socket.bind(ETHER_TYPE, 0)?;
        Ok(socket)
    }

    /// Takes ownership of a descriptor that was opened elsewhere.
    pub(super) fn from_fd(fd: i32) -> Self {
        let dropped = Cell::new(0);
        Socket { fd, dropped }
    }

    pub(super) fn fd(&self) -> i32 {
        self.fd
    }

    /// Duplicates the descriptor.
    #[cfg(feature = "pnet")]
    pub(super) fn try_clone(&self) -> Result<Self, EthernetError> {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::fcntl(self.fd, libc::F_DUPFD_CLOEXEC, 0) };
        EthernetError::check(fd, "fcntl").map(Self::from_fd)
    }

    /// Returns the descriptor, which the caller closes.
    #[cfg(feature = "pnet")]
    pub(super) fn into_fd(self) -> i32 {
        core::mem::ManuallyDrop::new(self).fd
    }

    /// Returns and clears the pending error of the socket.
    #[cfg(feature = "pnet")]
    pub(super) fn error(&self) -> Option<i32> {
        let error = self.get(libc::SOL_SOCKET, libc::SO_ERROR);
        error.ok().map(|[number]| number as i32)
    }

    /// Sets the filter and locks it: whoever gets this socket receives no more than it passes.
    fn filter(
        &self,
        frame_address: FrameAddress,
        interfaces: [i32; 2],
    ) -> Result<(), EthernetError> {
        let mut filter = filter::program_for(frame_address, interfaces);
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        self.set(libc::SOL_SOCKET, SO_LOCK_FILTER, &1)
    }

    /// Makes the interface listen also to that address or, as `kind` says, to everything.
    pub(super) fn add_membership(
        &self,
        index: i32,
        kind: u16,
        address: [u8; 6],
    ) -> Result<(), EthernetError> {
        let [a, b, c, d, e, f] = address;
        let membership = Membership {
            index,
            kind,
            len: 6,
            address: [a, b, c, d, e, f, 0, 0],
        };
        self.set(libc::SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership)
    }

    /// Binds the socket to an EtherType and an interface; index 0 means any interface that the filter passes.
    pub(super) fn bind(&self, protocol: u16, index: i32) -> Result<(), EthernetError> {
        let mut from = link_address(index);
        from.sll_protocol = protocol.to_be();
        let size = size_of_val(&from) as libc::socklen_t;
        // SAFETY: the address is valid for its size.
        let bound = unsafe { libc::bind(self.fd, (&raw const from).cast(), size) };
        EthernetError::check(bound, "bind").map(drop)
    }

    /// Returns the granted bytes of the receive buffer and of the send buffer.
    pub(super) fn buffer_sizes(&self) -> Result<(usize, usize), EthernetError> {
        let get = |name| {
            let [bytes] = self.get(libc::SOL_SOCKET, name)?;
            Ok(bytes as usize)
        };
        Ok((get(libc::SO_RCVBUF)?, get(libc::SO_SNDBUF)?))
    }

    /// Sets how many bytes may wait to leave, as the system counts; the system may grant less.
    pub(super) fn set_queue(&self, bytes: usize) {
        // The system doubles the number.
        let half = i32::try_from(bytes / 2).unwrap_or(i32::MAX);
        // The call cannot fail, and nothing depends on it.
        let _ = self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &half);
    }

    /// Returns the number of frames that found no room since the socket was opened.
    pub(super) fn dropped(&self) -> u64 {
        // The numbers of frames that arrived, and of those that were dropped.
        let since = self.get(libc::SOL_PACKET, PACKET_STATISTICS);
        let dropped = since.map_or(0, |[_, dropped]| dropped);
        self.dropped.set(self.dropped.get() + u64::from(dropped));
        self.dropped.get()
    }

    /// Sets an option. `T` is the system's type of that option, without padding.
    pub(super) fn set<T>(&self, level: i32, name: i32, value: &T) -> Result<(), EthernetError> {
        let size = size_of_val(value) as libc::socklen_t;
        let value: *const T = value;
        // SAFETY: the option's value is valid for its size, and only read.
        let set = unsafe { libc::setsockopt(self.fd, level, name, value.cast(), size) };
        EthernetError::check(set, "setsockopt").map(drop)
    }

    /// Reads an option of one or more words.
    fn get<const N: usize>(&self, level: i32, name: i32) -> Result<[u32; N], EthernetError> {
        let mut value = [0; N];
        let mut size = size_of_val(&value) as libc::socklen_t;
        let into = value.as_mut_ptr().cast();
        // SAFETY: the pointer is valid for the size given, which the call does not exceed.
        let got = unsafe { libc::getsockopt(self.fd, level, name, into, &mut size) };
        EthernetError::check(got, "getsockopt")?;
        Ok(value)
    }

    /// Sends a frame over that interface. Returns false if it was lost for a transient reason.
    #[inline]
    pub(super) fn send(&self, index: i32, frame: &IoVecs<'_>) -> Result<bool, ChannelError> {
        let mut to = link_address(index);
        // SAFETY: zeros are a valid, empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_name = (&raw mut to).cast();
        message.msg_namelen = size_of_val(&to) as libc::socklen_t;
        message.msg_iov = frame.list().as_ptr().cast_mut();
        message.msg_iovlen = frame.list().len() as _;
        // SAFETY: the message points to an address and to borrowed bytes, all valid and only read.
        sent(|| unsafe { libc::sendmsg(self.fd, &message, 0) })
    }

    /// Sends a contiguous frame, which costs the system less.
    #[inline]
    pub(super) fn send_contiguous(&self, index: i32, frame: &[u8]) -> Result<bool, ChannelError> {
        let to = link_address(index);
        let (bytes, len) = (frame.as_ptr().cast(), frame.len());
        let size = size_of_val(&to) as libc::socklen_t;
        // SAFETY: the frame and the address are valid for their sizes, and only read.
        sent(|| unsafe { libc::sendto(self.fd, bytes, len, 0, (&raw const to).cast(), size) })
    }
}

/// Returns the outcome of sending a frame.
#[inline]
fn sent(mut call: impl FnMut() -> isize) -> Result<bool, ChannelError> {
    loop {
        match if call() < 0 { Errno::last().0 } else { 0 } {
            0 => return Ok(true),
            libc::EINTR => {}
            // The system reports a full queue of the interface by ENOBUFS.
            libc::EAGAIN | libc::ENOBUFS => return Err(ChannelError::Full),
            libc::ENETDOWN | libc::ENOMEM => return Ok(false),
            number => return Err(ChannelError::Device(number)),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and this is its last use.
        unsafe { libc::close(self.fd) };
    }
}

/// Returns the link-layer address of that interface, for our EtherType.
fn link_address(index: i32) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ETHER_TYPE.to_be(),
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [0; 8],
    }
}
