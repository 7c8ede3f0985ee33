//! Raw sockets for programs that may not open any: a small program that may opens one and hands it over.
//!
//! The program is `pombo-ethernet`; an administrator gives it the capability and says who may run it, `pombo setup` tells
//! how. What it hands over hears one seat's frames and never more, as its filter cannot be changed; of which seat and
//! which job, whoever runs it chooses. It can send anything by any interface: the system has no filter for what leaves.

use alloc::vec::Vec;
use core::ffi::{CStr, c_char};
use core::mem::{size_of, size_of_val, zeroed};
use core::ptr::{null, null_mut};

use super::error::EthernetError;
use super::frame::{Seat, Traffic};
use super::interface::{self, Interface};
use super::socket::Socket;
use crate::Errno;
use pombo_kernel::header::Node;

/// The program's name, looked for on the path.
const HELPER: &CStr = c"pombo-ethernet";
/// Where it is instead.
const VARIABLE: &CStr = c"POMBO_ETHERNET_HELPER";
/// How it ends where its administrator has not named the interface.
pub const FORBIDDEN: u8 = 3;
/// Seconds that it has: far more than it needs.
const PATIENCE: libc::time_t = 10;

/// That seat's socket: opened here, or where that is not allowed by the helper.
pub(super) fn socket(
    seat: Seat,
    interface: &Interface,
    loopback: i32,
) -> Result<Socket, EthernetError> {
    match Socket::open(seat, interface, loopback) {
        Err(EthernetError::NoRight { interface }) => match borrow(seat, &interface) {
            Ok(socket) => Ok(socket),
            Err(true) => Err(EthernetError::Forbidden { interface }),
            Err(false) => Err(EthernetError::NoRight { interface }),
        },
        opened => opened,
    }
}

/// What the helper gives, if it is there and does; else whether it may not.
fn borrow(seat: Seat, interface: &str) -> Result<Socket, bool> {
    let mut pair = [-1; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: the place is valid for two descriptors.
    let made = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) };
    if made < 0 {
        return Err(false);
    }
    let [ours, theirs] = pair.map(Socket::take);
    let helper = start(seat, interface, theirs.number());
    drop(theirs);
    let helper = helper.ok_or(false)?;
    let (got, mut status) = (receive(&ours), 0);
    drop(ours);
    // SAFETY: the place is valid. It ends by itself, as nobody listens any more.
    while unsafe { libc::waitpid(helper, &mut status, 0) } < 0 && Errno::last().0 == libc::EINTR {}
    let code = libc::WEXITSTATUS(status);
    got.ok_or(libc::WIFEXITED(status) && code == FORBIDDEN.into())
}

/// Starts it with that end of a pair as its standard input.
fn start(seat: Seat, interface: &str, end: i32) -> Option<libc::pid_t> {
    let traffic = match seat.traffic {
        Traffic::Single => "single",
        Traffic::Group => "group",
    };
    // SAFETY: the name is a C string; what is found is one, and nobody changes it meanwhile.
    let named = unsafe { libc::getenv(VARIABLE.as_ptr()) };
    let helper = match named.is_null() {
        true => HELPER.as_ptr(),
        false => named.cast_const(),
    };
    let mut words: Vec<Vec<u8>> = Vec::new();
    for word in [interface.as_bytes(), traffic.as_bytes()] {
        words.push([word, b"\0"].concat());
    }
    words.push(decimal(seat.job));
    words.push(decimal(seat.node.0));
    let mut list: Vec<*mut c_char> = Vec::new();
    list.push(helper.cast_mut());
    list.extend(words.iter_mut().map(|word| word.as_mut_ptr().cast()));
    list.push(null_mut());
    unsafe extern "C" {
        static environ: *const *mut c_char;
    }
    let mut child = 0;
    // SAFETY: all strings end with a zero and the list with a null pointer; the actions are made before they are used
    // and destroyed after; the environment is the process's own.
    let started = unsafe {
        let mut actions: libc::posix_spawn_file_actions_t = zeroed();
        libc::posix_spawn_file_actions_init(&mut actions);
        libc::posix_spawn_file_actions_adddup2(&mut actions, end, 0);
        let arguments = list.as_ptr();
        let started = libc::posix_spawnp(&mut child, helper, &actions, null(), arguments, environ);
        libc::posix_spawn_file_actions_destroy(&mut actions);
        started
    };
    (started == 0).then_some(child)
}

/// A number as a C string.
fn decimal(number: u16) -> Vec<u8> {
    let mut digits = Vec::new();
    let mut rest = number;
    while rest > 0 || digits.is_empty() {
        digits.push(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    digits.reverse();
    digits.push(0);
    digits
}

/// Room for the news that one descriptor comes along.
#[repr(C, align(8))]
struct News([u8; NEWS]);

// SAFETY: computes a number.
const NEWS: usize = unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) } as usize;

/// One byte with one descriptor: a message whose parts outlive it.
fn message(byte: &mut u8, vector: &mut libc::iovec, news: &mut News) -> libc::msghdr {
    *vector = libc::iovec {
        iov_base: (&raw mut *byte).cast(),
        iov_len: 1,
    };
    // SAFETY: zeros are a valid, empty message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut *news).cast();
    message.msg_controllen = size_of_val(news) as _;
    message
}

fn nothing() -> (u8, libc::iovec, News) {
    let vector = libc::iovec {
        iov_base: null_mut(),
        iov_len: 0,
    };
    (0, vector, News([0; NEWS]))
}

/// The socket that comes through that end.
fn receive(end: &Socket) -> Option<Socket> {
    let limit = libc::timeval {
        tv_sec: PATIENCE,
        tv_usec: 0,
    };
    end.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit).ok()?;
    let (mut byte, mut vector, mut news) = nothing();
    let mut message = message(&mut byte, &mut vector, &mut news);
    // SAFETY: the message points to places that are valid for the sizes given. What came is looked at only where the
    // message says that something came, and read as it may lie anywhere.
    unsafe {
        let flags = libc::MSG_CMSG_CLOEXEC;
        while libc::recvmsg(end.number(), &mut message, flags) != 1 {
            if Errno::last().0 != libc::EINTR {
                return None;
            }
        }
        let first = libc::CMSG_FIRSTHDR(&message).as_ref()?;
        let rights = first.cmsg_level == libc::SOL_SOCKET && first.cmsg_type == libc::SCM_RIGHTS;
        let one = first.cmsg_len as usize == libc::CMSG_LEN(size_of::<i32>() as u32) as usize;
        let fd = libc::CMSG_DATA(first).cast::<i32>();
        (rights && one).then(|| Socket::take(fd.read_unaligned()))
    }
}

/// What the helper does: opens a seat's socket and hands it through its standard input. Who calls it has the right to,
/// and decides who may have what.
///
/// # Errors
/// As [`Ethernet::open`](super::Ethernet::open); or nobody takes it there.
pub fn lend(name: &str, seat: Seat) -> Result<(), EthernetError> {
    let at = interface::find(name)?;
    let (own, _) = interface::loopback()?;
    let socket = Socket::open(seat, &at, own)?;
    let (mut byte, mut vector, mut news) = nothing();
    let message = message(&mut byte, &mut vector, &mut news);
    // SAFETY: there is room for one header and one descriptor behind it; the rest of the message is valid and only
    // read.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&message);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        let place = libc::CMSG_DATA(first).cast::<i32>();
        place.write_unaligned(socket.number());
        libc::sendmsg(0, &message, libc::MSG_NOSIGNAL)
    };
    EthernetError::check(sent as i32, "sendmsg").map(drop)
}

/// What the helper was started with: interface, traffic, job and node. `None`: that makes no sense.
pub fn asked<'a>(words: &[&'a str]) -> Option<(&'a str, Seat)> {
    let [interface, traffic, job, node] = words else {
        return None;
    };
    let traffic = match *traffic {
        "single" => Traffic::Single,
        "group" => Traffic::Group,
        _ => return None,
    };
    let seat = Seat {
        job: job.parse().ok()?,
        node: Node(node.parse().ok()?),
        traffic,
    };
    Some((interface, seat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn numbers_are_written_as_elsewhere() {
        for number in [0, 1, 9, 10, 255, 6000, u16::MAX] {
            let expected = [number.to_string().as_bytes(), b"\0"].concat();
            assert_eq!(decimal(number), expected);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let (interface, seat) = asked(&["eth0", "group", "7", "3"]).expect("it makes sense");
        let expected = Seat {
            job: 7,
            node: Node(3),
            traffic: Traffic::Group,
        };
        assert_eq!((interface, seat), ("eth0", expected));
        for wrong in [
            &["eth0", "group", "7"][..],
            &["eth0", "all", "7", "3"],
            &["eth0", "group", "-7", "3"],
            &["eth0", "group", "7", "65536"],
            &["eth0", "group", "7", "3", "4"],
        ] {
            assert!(asked(wrong).is_none());
        }
    }
}
