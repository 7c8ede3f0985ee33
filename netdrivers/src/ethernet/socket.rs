//! The system calls of the devices. Only `ethernet` uses them.

use alloc::boxed::Box;
use core::cell::Cell;
use core::mem::{size_of, size_of_val, zeroed};

use super::error::EthernetError;
use super::filter;
use super::interface::Interface;
use crate::Errno;
use crate::ethernet_frame::{ETHER_TYPE, FrameAddress};
use crate::udp::iovec::IoVecs;
use pombo_kernel::channel::ChannelError;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_send_buffer_size, socket_recv_buffer_size,
    socket_send_buffer_size,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, sendto, socket_with};

/// Requested receive buffer, in bytes as the system counts them.
pub const RECEIVE_BYTES: usize = 8 << 20;
/// Requested send buffer, in bytes as the system counts them. It is short, because repairs wait in this queue too, and
/// long enough for a fast link while the sender does something else.
pub const SEND_BYTES: usize = 512 << 10;

/// Constants that the bindings lack on some systems.
const PACKET_ADD_MEMBERSHIP: i32 = 1;
const PACKET_STATISTICS: i32 = 6;
const PACKET_MR_MULTICAST: u16 = 0;
const SO_LOCK_FILTER: i32 = 44;

/// A non-blocking socket, which is closed when dropped.
pub(super) struct Socket {
    fd: OwnedFd,
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
    ) -> Result<Self, Box<EthernetError>> {
        let socket = Self::unbound(interface)?;
        set_socket_send_buffer_size(&socket, SEND_BYTES)
            .map_err(EthernetError::failed("setsockopt"))?;
        socket.filter(frame_address, [interface.index, loopback])?;
        socket.add_membership(interface.index, PACKET_MR_MULTICAST, frame_address.group())?;
        socket.bind(ETHER_TYPE, 0)?;
        Ok(socket)
    }

    /// Opens a socket that receives nothing before it is bound, for the interface that an error names.
    pub(super) fn unbound(interface: &Interface) -> Result<Self, Box<EthernetError>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None) {
            Ok(fd) => {
                set_socket_recv_buffer_size(&fd, RECEIVE_BYTES)
                    .map_err(EthernetError::failed("setsockopt"))?;
                Ok(Self::from_fd(fd))
            }
            Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => {
                let interface = interface.name.clone();
                Err(Box::new(EthernetError::NotPermitted { interface }))
            }
            Err(error) => Err(EthernetError::failed("socket")(error)),
        }
    }

    /// Takes ownership of a socket that was opened elsewhere.
    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        let dropped = Cell::new(0);
        Socket { fd, dropped }
    }

    pub(super) fn fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Duplicates the descriptor.
    #[cfg(feature = "pnet")]
    pub(super) fn try_clone(&self) -> Result<Self, Box<EthernetError>> {
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.fd, 0);
        fd.map(Self::from_fd)
            .map_err(EthernetError::failed("fcntl"))
    }

    /// Returns the descriptor, which the caller closes.
    #[cfg(feature = "pnet")]
    pub(super) fn into_fd(self) -> i32 {
        rustix::fd::IntoRawFd::into_raw_fd(self.fd)
    }

    /// Returns and clears the pending error of the socket.
    #[cfg(feature = "pnet")]
    pub(super) fn error(&self) -> Option<i32> {
        let error = rustix::net::sockopt::socket_error(&self.fd).ok()?.err();
        error.map(|error| error.raw_os_error())
    }

    /// Sets the filter and locks it: whoever gets this socket receives no more than it passes.
    fn filter(
        &self,
        frame_address: FrameAddress,
        interfaces: [i32; 2],
    ) -> Result<(), Box<EthernetError>> {
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
    ) -> Result<(), Box<EthernetError>> {
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
    pub(super) fn bind(&self, protocol: u16, index: i32) -> Result<(), Box<EthernetError>> {
        let mut from = LinkAddress::of(index);
        from.0.sll_protocol = protocol.to_be();
        bind(&self.fd, &from).map_err(EthernetError::failed("bind"))
    }

    /// Returns the granted bytes of the receive buffer and of the send buffer.
    pub(super) fn buffer_sizes(&self) -> Result<(usize, usize), Box<EthernetError>> {
        let sizes = socket_recv_buffer_size(&self.fd)
            .and_then(|receive| Ok((receive, socket_send_buffer_size(&self.fd)?)));
        sizes.map_err(EthernetError::failed("getsockopt"))
    }

    /// Sets how many bytes may wait to leave, as the system counts; the system may grant less.
    pub(super) fn set_queue(&self, bytes: usize) {
        // The system doubles the number. The call cannot fail, and nothing depends on it.
        let _ = set_socket_send_buffer_size(&self.fd, bytes / 2);
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
    pub(super) fn set<T>(
        &self,
        level: i32,
        name: i32,
        value: &T,
    ) -> Result<(), Box<EthernetError>> {
        let size = size_of_val(value) as libc::socklen_t;
        let value: *const T = value;
        // SAFETY: the option's value is valid for its size, and only read.
        let set = unsafe { libc::setsockopt(self.fd(), level, name, value.cast(), size) };
        EthernetError::check(set, "setsockopt").map(drop)
    }

    /// Reads an option of one or more words.
    fn get<const N: usize>(&self, level: i32, name: i32) -> Result<[u32; N], EthernetError> {
        let mut value = [0; N];
        let mut size = size_of_val(&value) as libc::socklen_t;
        let into = value.as_mut_ptr().cast();
        // SAFETY: the pointer is valid for the size given, which the call does not exceed.
        let got = unsafe { libc::getsockopt(self.fd(), level, name, into, &mut size) };
        EthernetError::check(got, "getsockopt")?;
        Ok(value)
    }

    /// Sends a frame over that interface. Returns false if it was lost for a transient reason.
    #[inline]
    pub(super) fn send(&self, index: i32, frame: &IoVecs<'_>) -> Result<bool, ChannelError> {
        let LinkAddress(mut to) = LinkAddress::of(index);
        // SAFETY: zeros are a valid, empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_name = (&raw mut to).cast();
        message.msg_namelen = size_of_val(&to) as libc::socklen_t;
        message.msg_iov = frame.list().as_ptr().cast_mut();
        message.msg_iovlen = frame.list().len() as _;
        // SAFETY: the message points to an address and to borrowed bytes, all valid and only read.
        sent(|| match unsafe { libc::sendmsg(self.fd(), &message, 0) } {
            0.. => Ok(()),
            _ => Err(Errno::last()),
        })
    }

    /// Sends a contiguous frame, which costs the system less.
    #[inline]
    pub(super) fn send_contiguous(&self, index: i32, frame: &[u8]) -> Result<bool, ChannelError> {
        let to = LinkAddress::of(index);
        sent(|| match sendto(&self.fd, frame, SendFlags::empty(), &to) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }
}

/// Returns the outcome of sending a frame.
#[inline]
fn sent(mut call: impl FnMut() -> Result<(), Errno>) -> Result<bool, ChannelError> {
    loop {
        match call() {
            Ok(()) => return Ok(true),
            Err(Errno(libc::EINTR)) => {}
            // The system reports a full queue of the interface by ENOBUFS.
            Err(Errno(libc::EAGAIN | libc::ENOBUFS)) => return Err(ChannelError::Full),
            Err(Errno(libc::ENETDOWN | libc::ENOMEM)) => return Ok(false),
            Err(Errno(number)) => return Err(ChannelError::Device(number)),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

struct LinkAddress(libc::sockaddr_ll);

impl LinkAddress {
    /// Returns the link-layer address of that interface, for our EtherType.
    #[inline]
    fn of(index: i32) -> Self {
        LinkAddress(libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ETHER_TYPE.to_be(),
            sll_ifindex: index,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 6,
            sll_addr: [0; 8],
        })
    }
}

// SAFETY: the closure is called with the address and the size of a whole address of the system.
unsafe impl SocketAddrArg for LinkAddress {
    #[inline]
    unsafe fn with_sockaddr<R>(
        &self,
        f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R,
    ) -> R {
        let size = size_of::<libc::sockaddr_ll>() as SocketAddrLen;
        f((&raw const self.0).cast(), size)
    }
}
