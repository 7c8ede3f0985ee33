//! The socket at which a rank sleeps that also waits for a network: it sleeps on descriptors, one of which its peers
//! can make readable. Only `Shm` and the wakers of event counts use it.
//!
//! It is a datagram socket with an autobound abstract name of five digits; the sleeper's event count holds the number.
//! A datagram from any other sender causes a spurious wake-up.

use core::mem::{offset_of, size_of, zeroed};
use core::time::Duration;

use super::event_count::Park;
use super::file::{OwnedFd, check};
use super::futex::Futex;
use super::sync::AtomicU32;
use crate::wait::constants::SHORT_SLEEP;
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
        // SAFETY: zeros are a valid address.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let family = size_of::<libc::sa_family_t>() as libc::socklen_t;
        // SAFETY: the address is valid for its size. The family alone asks for a name.
        let bound = unsafe { libc::bind(socket.fd(), (&raw const address).cast(), family) };
        check(bound, "bind").ok()?;
        let mut size = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the place is valid for the size given, which the call does not exceed.
        let named = unsafe { libc::getsockname(socket.fd(), (&raw mut address).cast(), &mut size) };
        check(named, "getsockname").ok()?;
        let name: [u8; 1 + DIGITS] = core::array::from_fn(|i| address.sun_path[i] as u8);
        let number = match name {
            [0, digits @ ..] if size == length() => parse_name(digits)? + 1,
            _ => return None,
        };
        Some(Self { socket, number })
    }

    /// Reads the datagrams.
    fn drain(&self) {
        let mut byte = 0_u8;
        for _ in 0..MAX_DRAINED {
            let (fd, into) = (self.socket.fd(), (&raw mut byte).cast());
            // SAFETY: the place is valid for a byte.
            if unsafe { libc::recv(fd, into, 1, libc::MSG_DONTWAIT) } < 0 {
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
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path[1..].iter_mut().zip(format_name(number)) {
        *to = from as libc::c_char;
    }
    let (byte, flags) = (0_u8, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    let (bytes, address) = ((&raw const byte).cast(), (&raw const address).cast());
    // SAFETY: the byte and the address are valid for their sizes, and only read. A socket whose queue is full takes no
    // more datagrams and is readable.
    unsafe { libc::sendto(socket.fd(), bytes, 1, flags, address, length()) };
}

fn socket() -> Result<OwnedFd, super::ShmError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    OwnedFd::returned(fd, "socket")
}

/// Returns the length of an address.
fn length() -> libc::socklen_t {
    (offset_of!(libc::sockaddr_un, sun_path) + 1 + DIGITS) as libc::socklen_t
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
    /// [`MAX_SOCKET_SLEEP`](crate::wait::constants::MAX_SOCKET_SLEEP).
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
        let own =
            WaitSet::readable([self.wake_socket.socket.fd()]).at_most(limit.as_nanos() as u64);
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
