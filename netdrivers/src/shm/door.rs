//! Where a rank sleeps that also waits for a network: at descriptors, one of which its peers can make readable. Used by
//! `Shm` and the bells' wakers only.
//!
//! It is a socket for datagrams under a name that the system gives, of five digits; the sleeper's bell tells the number.
//! Whoever else knocks there wakes it for nothing.

use core::mem::{offset_of, size_of, zeroed};
use core::time::Duration;

use super::bell::Park;
use super::file::{Descriptor, check};
use super::futex::Futex;
use super::sync::AtomicU32;
use crate::sleep;
use pombo_kernel::channel::Wake;

/// A rank's own.
pub(super) struct Door {
    socket: Descriptor,
    /// One more than the name says.
    number: u32,
}

/// The longest sleep at a door: a waker may die, or find no descriptor, when the bell tells already that it woke us.
pub(super) const LONGEST: Duration = Duration::from_millis(100);
/// Nanoseconds of a sleep where there is no door, or nobody to hear of the other things.
pub(super) const NAP: u64 = 400_000;
/// Knocks taken after a sleep; the rest end the next one early.
const KNOCKS: usize = 64;
/// Digits of a name that the system gives.
const DIGITS: usize = 5;

/// A name, behind the zero by which the system tells it from a path.
type Name = [u8; DIGITS];

impl Door {
    /// `None` where the system has no descriptor or no name to give.
    pub(super) fn open() -> Option<Self> {
        let socket = socket().ok()?;
        // SAFETY: zeros are a valid address.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let family = size_of::<libc::sa_family_t>() as libc::socklen_t;
        // SAFETY: the address is valid for its size. The family alone asks for a name.
        let bound = unsafe { libc::bind(socket.number(), (&raw const address).cast(), family) };
        check(bound, "bind").ok()?;
        let mut size = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the place is valid for the size given, which the call does not exceed.
        let named =
            unsafe { libc::getsockname(socket.number(), (&raw mut address).cast(), &mut size) };
        check(named, "getsockname").ok()?;
        let name: [u8; 1 + DIGITS] = core::array::from_fn(|i| address.sun_path[i] as u8);
        let number = match name {
            [0, digits @ ..] if size == length() => read(digits)? + 1,
            _ => return None,
        };
        Some(Self { socket, number })
    }

    /// Takes the knocks.
    fn answer(&self) {
        let mut knock = 0_u8;
        for _ in 0..KNOCKS {
            let (fd, into) = (self.socket.number(), (&raw mut knock).cast());
            // SAFETY: the place is valid for a byte.
            if unsafe { libc::recv(fd, into, 1, libc::MSG_DONTWAIT) } < 0 {
                break;
            }
        }
    }
}

/// Wakes whoever sleeps there. If it cannot be done, the sleeper wakes by itself before long.
#[cold]
pub(super) fn knock(number: u32) {
    let (Ok(socket), Some(number)) = (socket(), number.checked_sub(1)) else {
        return;
    };
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path[1..].iter_mut().zip(write(number)) {
        *to = from as libc::c_char;
    }
    let (knock, flags) = (0_u8, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    let (bytes, address) = ((&raw const knock).cast(), (&raw const address).cast());
    // SAFETY: the byte and the address are valid for their sizes, and only read. A door with so many knocks that it
    // takes no more is readable.
    unsafe { libc::sendto(socket.number(), bytes, 1, flags, address, length()) };
}

fn socket() -> Result<Descriptor, super::ShmError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    Descriptor::returned(fd, "socket")
}

/// Of an address.
fn length() -> libc::socklen_t {
    (offset_of!(libc::sockaddr_un, sun_path) + 1 + DIGITS) as libc::socklen_t
}

fn read(name: Name) -> Option<u32> {
    let digit = |number: u32, digit: &u8| Some(number * 16 + char::from(*digit).to_digit(16)?);
    name.iter().try_fold(0, digit)
}

fn write(number: u32) -> Name {
    core::array::from_fn(|i| b"0123456789abcdef"[(number >> (4 * (DIGITS - 1 - i)) & 15) as usize])
}

/// Parks at a door, and wakes for something else as well.
pub(super) struct Beside<'a> {
    pub(super) futex: Futex,
    pub(super) door: &'a Door,
    pub(super) other: Wake,
    /// [`LONGEST`].
    pub(super) longest: Duration,
}

impl Park for Beside<'_> {
    fn light(&self) {
        self.futex.light();
    }

    fn heavy(&self) -> bool {
        self.futex.heavy()
    }

    fn door(&self) -> u32 {
        self.door.number
    }

    fn sleep(&self, _word: &AtomicU32, _value: u32, limit: Option<Duration>) {
        let limit = limit.map_or(self.longest, |limit| limit.min(self.longest));
        let own = Wake::by([self.door.socket.number()]).at_most(limit.as_nanos() as u64);
        // Whatever it says, the rank looks again.
        match own.or(self.other) {
            Some(wake) => drop(sleep(wake)),
            None => drop(sleep(Wake::within(NAP))),
        }
        self.door.answer();
    }

    fn wake(&self, word: &AtomicU32, door: u32) {
        self.futex.wake(word, door);
    }
}
