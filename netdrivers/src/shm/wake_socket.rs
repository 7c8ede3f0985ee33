//! The socket at which a rank sleeps that also waits for a network: it sleeps on descriptors, one of which its peers
//! can make readable. Only `Shm` and the wakers of event counts use it.
//!
//! It is a datagram socket with an autobound abstract name of five digits; the sleeper's event count holds the number.
//! A datagram from any other sender causes a spurious wake-up.

use core::mem::offset_of;
use core::time::Duration;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, recv,
    sendto, socket_with,
};

use super::event_count::Park;
use super::futex::Futex;
use super::sync::AtomicU32;
use crate::tuning::SHORT_SLEEP;
use crate::wait::{sleep, wait_fds};
use pombo_kernel::channel::WaitSet;

/// The socket of one rank.
pub(super) struct WakeSocket {
    socket: OwnedFd,
    /// One more than the number in the name.
    number: u32,
}

/// Number of datagrams read after a sleep; any others end the next sleep early.
const MAX_DRAINED: usize = 64;
/// Number of digits of an autobound name.
const DIGITS: usize = 5;

/// A name, which follows the zero byte that distinguishes it from a path.
type SocketName = [u8; DIGITS];

impl WakeSocket {
    /// Opens a socket; returns `None` if the system has no descriptor or name left.
    pub(super) fn open() -> Option<Self> {
        let socket = socket().ok()?;
        // The family alone asks for a name.
        bind(&socket, &SocketAddrUnix::new_unnamed()).ok()?;
        let mut address = libc::sockaddr_un {
            sun_family: 0,
            sun_path: [0; _],
        };
        let mut size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the place is valid for the size given, which the call does not exceed.
        unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &mut size) };
        let length = offset_of!(libc::sockaddr_un, sun_path) + 1 + DIGITS;
        let name: [u8; 1 + DIGITS] = core::array::from_fn(|i| address.sun_path[i] as u8);
        let number = match name {
            [0, digits @ ..] if size as usize == length => parse_name(digits)? + 1,
            _ => return None,
        };
        Some(Self { socket, number })
    }

    /// Reads the datagrams.
    fn drain(&self) {
        for _ in 0..MAX_DRAINED {
            if recv(&self.socket, &mut [0; 1], RecvFlags::DONTWAIT).is_err() {
                break;
            }
        }
    }
}

/// Wakes the rank that sleeps at that socket. If this fails, the sleeper wakes by its time-out.
#[cold]
pub(super) fn notify(number: u32) {
    let (Ok(socket), Some(number)) = (socket(), number.checked_sub(1)) else {
        return;
    };
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if let Ok(address) = SocketAddrUnix::new_abstract_name(&format_name(number)) {
        // A socket whose queue is full takes no more datagrams and is readable.
        let _ = sendto(&socket, &[0], flags, &address);
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)
}

fn parse_name(name: SocketName) -> Option<u32> {
    let digit = |number: u32, digit: &u8| Some(number * 16 + char::from(*digit).to_digit(16)?);
    name.iter().try_fold(0, digit)
}

fn format_name(number: u32) -> SocketName {
    core::array::from_fn(|i| b"0123456789abcdef"[(number >> (4 * (DIGITS - 1 - i)) & 15) as usize])
}

/// Parks a rank at a socket, which other descriptors also wake.
pub(super) struct PollPark<'a> {
    pub(super) futex: Futex,
    pub(super) wake_socket: &'a WakeSocket,
    pub(super) sources: WaitSet,
    /// [`MAX_SOCKET_SLEEP`](crate::tuning::MAX_SOCKET_SLEEP).
    pub(super) max_sleep: Duration,
}

impl Park for PollPark<'_> {
    fn light_fence(&self) {
        self.futex.light_fence();
    }

    fn heavy_fence(&self) -> bool {
        self.futex.heavy_fence()
    }

    fn wake_socket(&self) -> u32 {
        self.wake_socket.number
    }

    fn sleep(&self, _word: &AtomicU32, _value: u32, limit: Option<Duration>) {
        let limit = limit.map_or(self.max_sleep, |limit| limit.min(self.max_sleep));
        let own = WaitSet::readable([self.wake_socket.socket.as_raw_fd()])
            .at_most(limit.as_nanos() as u64);
        // Whatever the result, the rank polls again.
        match own.or(self.sources) {
            Some(wake) => drop(wait_fds(wake)),
            None => sleep(SHORT_SLEEP),
        }
        self.wake_socket.drain();
    }

    fn wake(&self, word: &AtomicU32, wake_socket: u32) {
        self.futex.wake(word, wake_socket);
    }
}
