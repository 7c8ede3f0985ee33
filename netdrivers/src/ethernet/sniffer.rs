//! Captures the frames of an interface, of every job: [`Sniffer`]. It is for displaying frames; ranks never use it.

use alloc::boxed::Box;
use core::mem::{size_of, size_of_val, zeroed};

use super::error::EthernetError;
use super::filter::{jump, load, ret};
use super::interface::{Interface, interfaces};
use super::socket::Socket;
use crate::Errno;
use crate::ethernet_frame::ETHER_TYPE;
use libc::{BPF_B, BPF_H};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A socket that receives raw frames of every job, and all of UDP, in both directions. It sends nothing.
pub struct Sniffer {
    socket: Socket,
    /// Buffer in which the system writes the arrival time; aligned as the system requires.
    control: [u64; 16],
}

/// A frame that a [`Sniffer`] has captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SniffedFrame {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// Bytes on the wire; the buffer may have been shorter.
    pub len: usize,
}

/// Constants that the bindings lack on some systems.
const PACKET_MR_PROMISC: u16 = 1;
const PACKET_IGNORE_OUTGOING: i32 = 23;

impl Sniffer {
    /// Opens the interface of that name, which may be the loopback interface. The process itself must have the right.
    ///
    /// # Errors
    /// [`EthernetError::NoSuchInterface`], [`EthernetError::NotEthernet`], [`EthernetError::NotPermitted`], or
    /// [`EthernetError::System`].
    pub fn open(name: &str) -> Result<Self, EthernetError> {
        let interface = find(name)?;
        let socket = Socket::unbound(&interface)?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        filter(&socket)?;
        if interface.loopback {
            // The loopback interface passes every frame twice: when it leaves and when it arrives.
            socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1)?;
        } else {
            socket.add_membership(interface.index, PACKET_MR_PROMISC, [0; 6])?;
        }
        socket.bind(libc::ETH_P_ALL as u16, interface.index)?;
        let control = [0; 16];
        Ok(Sniffer { socket, control })
    }

    /// Waits up to `wait` milliseconds for the next frame and writes it to the beginning of `room`, truncated to its
    /// length. Returns `None` after that time, and also when a signal arrived.
    ///
    /// # Errors
    /// [`EthernetError::System`], for example if the interface has gone or is down.
    pub fn next(
        &mut self,
        room: &mut [u8],
        wait: i32,
    ) -> Result<Option<SniffedFrame>, EthernetError> {
        let got = self.take(room)?;
        if got.is_some() || wait == 0 {
            return Ok(got);
        }
        let timeout = Timespec {
            tv_sec: i64::from(wait / 1000),
            tv_nsec: i64::from(wait % 1000) * 1_000_000,
        };
        let polled = PollFd::new(&self.socket, PollFlags::IN);
        match poll(&mut [polled], (wait >= 0).then_some(&timeout)) {
            Ok(_) => self.take(room),
            Err(rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(*EthernetError::failed("poll")(error)),
        }
    }

    /// Returns the number of frames so far that found no room in the system.
    pub fn dropped(&self) -> u64 {
        self.socket.dropped()
    }

    fn take(&mut self, room: &mut [u8]) -> Result<Option<SniffedFrame>, EthernetError> {
        let mut into = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // SAFETY: zeros are a valid, empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut into, 1);
        message.msg_control = self.control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&self.control) as _;
        // SAFETY: the message points to the caller's and to our own buffer, both valid for their sizes and not used by
        // others.
        let len = unsafe { libc::recvmsg(self.socket.fd(), &mut message, libc::MSG_TRUNC) };
        let nothing = [libc::EAGAIN, libc::EINTR];
        match usize::try_from(len) {
            Err(_) if nothing.contains(&Errno::last().0) => Ok(None),
            Err(_) => Err(*EthernetError::failed("recvmsg")(Errno::last())),
            Ok(len) => {
                // SAFETY: the system has just written this message.
                let time = unsafe { time(&message) };
                Ok(Some(SniffedFrame { time, len }))
            }
        }
    }
}

/// Returns the arrival time; 0 if the system does not tell.
///
/// # Safety
/// The system has filled in the message, and its control bytes are still valid.
unsafe fn time(message: &libc::msghdr) -> u64 {
    // SAFETY: the caller promises a valid message; the first entry is null or lies in its control bytes.
    let (entry, first) = unsafe {
        let entry = libc::CMSG_FIRSTHDR(message);
        (entry, entry.as_ref())
    };
    let is_time = |entry: &&libc::cmsghdr| {
        entry.cmsg_level == libc::SOL_SOCKET && entry.cmsg_type == libc::SCM_TIMESTAMPNS
    };
    let Some(_) = first.filter(is_time) else {
        return 0;
    };
    // SAFETY: an entry of this type has a time behind its header, possibly unaligned.
    let time: libc::timespec = unsafe {
        libc::CMSG_DATA(entry)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let (seconds, rest) = (time.tv_sec as u64, time.tv_nsec as u64);
    seconds.wrapping_mul(1_000_000_000).wrapping_add(rest)
}

fn find(name: &str) -> Result<Interface, EthernetError> {
    let found = interfaces()?.into_iter().find(|one| one.name == name);
    let found = found.ok_or_else(|| EthernetError::NoSuchInterface { name: name.into() })?;
    match found.mac.is_some() || found.loopback {
        true => Ok(found),
        false => Err(EthernetError::NotEthernet {
            interface: found.name,
        }),
    }
}

/// Sets a filter for our EtherType, and UDP over both versions of IP; other traffic costs nothing.
fn filter(socket: &Socket) -> Result<(), Box<EthernetError>> {
    const UDP: u32 = 17;
    let mut steps = [
        load(BPF_H, 12),
        jump(ETHER_TYPE.into(), 6, 0),
        jump(libc::ETH_P_IP as u32, 0, 2),
        load(BPF_B, 23),
        jump(UDP, 3, 4),
        jump(libc::ETH_P_IPV6 as u32, 0, 3),
        load(BPF_B, 20),
        jump(UDP, 0, 1),
        ret(u32::MAX),
        ret(0),
    ];
    let program = libc::sock_fprog {
        len: (size_of_val(&steps) / size_of::<libc::sock_filter>()) as u16,
        filter: steps.as_mut_ptr(),
    };
    socket.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}
