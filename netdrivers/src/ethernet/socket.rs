//! System calls below the devices. Used inside `ethernet` only.

use core::cell::Cell;
use core::mem::{size_of_val, zeroed};

use super::error::EthernetError;
use super::filter;
use super::frame::{ETHER_TYPE, FrameAddress};
use super::interface::Interface;
use crate::Errno;
use crate::udp::iovec::IoVecs;
use pombo_kernel::channel::ChannelError;

/// What is asked for frames that wait for a poll, in bytes as the system counts them.
pub const RECEIVE_BYTES: i32 = 8 << 20;
/// The same for frames that wait to leave. Short, as repairs stand in this queue too; long enough for a fast line while
/// the sender looks elsewhere.
pub const SEND_BYTES: i32 = 512 << 10;

/// Numbers that the bindings do not have on every system.
const PACKET_ADD_MEMBERSHIP: i32 = 1;
const PACKET_STATISTICS: i32 = 6;
const PACKET_MR_MULTICAST: u16 = 0;
const SO_LOCK_FILTER: i32 = 44;

/// A socket of our own, which never blocks; closed when dropped.
pub(super) struct Socket {
    fd: i32,
    /// Frames that found no room; the system forgets them when it tells.
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
    /// Receives the frames of that address by these interfaces, this host's own among them, and nothing else ever.
    pub(super) fn open(
        frame_address: FrameAddress,
        interface: &Interface,
        loopback: i32,
    ) -> Result<Self, EthernetError> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is passed. With protocol 0 it hears nothing before it is bound.
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

    /// One that was opened elsewhere, from now on this one's.
    pub(super) fn from_fd(fd: i32) -> Self {
        let dropped = Cell::new(0);
        Socket { fd, dropped }
    }

    pub(super) fn fd(&self) -> i32 {
        self.fd
    }

    /// The same socket under another number.
    #[cfg(feature = "pnet")]
    pub(super) fn try_clone(&self) -> Result<Self, EthernetError> {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::fcntl(self.fd, libc::F_DUPFD_CLOEXEC, 0) };
        EthernetError::check(fd, "fcntl").map(Self::from_fd)
    }

    /// The number, for who closes it.
    #[cfg(feature = "pnet")]
    pub(super) fn into_fd(self) -> i32 {
        core::mem::ManuallyDrop::new(self).fd
    }

    /// An error that it keeps to itself, which it then forgets.
    #[cfg(feature = "pnet")]
    pub(super) fn error(&self) -> Option<i32> {
        let error = self.get(libc::SOL_SOCKET, libc::SO_ERROR);
        error.ok().map(|[number]| number as i32)
    }

    /// The filter stays for good: whoever gets this socket hears no more than this.
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

    /// The interface is to listen also to what is for that address, or, as `kind` says, to everything.
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

    /// From now on it hears frames of that type, by that interface or, with 0, by any that the filter passes.
    pub(super) fn bind(&self, protocol: u16, index: i32) -> Result<(), EthernetError> {
        let mut from = link_address(index);
        from.sll_protocol = protocol.to_be();
        let size = size_of_val(&from) as libc::socklen_t;
        // SAFETY: the address is valid for its size.
        let bound = unsafe { libc::bind(self.fd, (&raw const from).cast(), size) };
        EthernetError::check(bound, "bind").map(drop)
    }

    /// Bytes granted for frames that wait: to be polled, and to leave.
    pub(super) fn buffer_sizes(&self) -> Result<(usize, usize), EthernetError> {
        let get = |name| {
            let [bytes] = self.get(libc::SOL_SOCKET, name)?;
            Ok(bytes as usize)
        };
        Ok((get(libc::SO_RCVBUF)?, get(libc::SO_SNDBUF)?))
    }

    /// How many bytes may wait to leave, as the system counts; it may grant less.
    pub(super) fn set_queue(&self, bytes: usize) {
        // It doubles what it is told.
        let half = i32::try_from(bytes / 2).unwrap_or(i32::MAX);
        // It cannot fail, and nothing depends on it.
        let _ = self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &half);
    }

    /// Frames that found no room, since it was opened.
    pub(super) fn dropped(&self) -> u64 {
        // How many came, and how many of these were dropped.
        let since = self.get(libc::SOL_PACKET, PACKET_STATISTICS);
        let dropped = since.map_or(0, |[_, dropped]| dropped);
        self.dropped.set(self.dropped.get() + u64::from(dropped));
        self.dropped.get()
    }

    /// `T` is what the system expects under that name, without padding.
    pub(super) fn set<T>(&self, level: i32, name: i32, value: &T) -> Result<(), EthernetError> {
        let size = size_of_val(value) as libc::socklen_t;
        let value: *const T = value;
        // SAFETY: the option's value is valid for its size, and only read.
        let set = unsafe { libc::setsockopt(self.fd, level, name, value.cast(), size) };
        EthernetError::check(set, "setsockopt").map(drop)
    }

    /// One or more words.
    fn get<const N: usize>(&self, level: i32, name: i32) -> Result<[u32; N], EthernetError> {
        let mut value = [0; N];
        let mut size = size_of_val(&value) as libc::socklen_t;
        let into = value.as_mut_ptr().cast();
        // SAFETY: the place is valid for the size given, which the call does not exceed.
        let got = unsafe { libc::getsockopt(self.fd, level, name, into, &mut size) };
        EthernetError::check(got, "getsockopt")?;
        Ok(value)
    }

    /// Gives a frame to the system, for that interface. False: not sent, for a reason that may pass.
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

    /// The same, of a frame in one piece: the system has less to look at.
    #[inline]
    pub(super) fn send_contiguous(&self, index: i32, frame: &[u8]) -> Result<bool, ChannelError> {
        let to = link_address(index);
        let (bytes, len) = (frame.as_ptr().cast(), frame.len());
        let size = size_of_val(&to) as libc::socklen_t;
        // SAFETY: the frame and the address are valid for their sizes, and only read.
        sent(|| unsafe { libc::sendto(self.fd, bytes, len, 0, (&raw const to).cast(), size) })
    }
}

/// What became of a frame that was to leave.
#[inline]
fn sent(mut call: impl FnMut() -> isize) -> Result<bool, ChannelError> {
    loop {
        match if call() < 0 { Errno::last().0 } else { 0 } {
            0 => return Ok(true),
            libc::EINTR => {}
            // A full queue of the interface says the latter.
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

/// That interface, for our frames.
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
