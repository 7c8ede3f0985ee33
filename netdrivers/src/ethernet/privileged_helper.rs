//! Raw sockets for programs without the right to open them: a privileged helper opens one and passes it.
//!
//! The helper is `pombo-ethernet`; an administrator gives it the capability and decides who may run it, as `pombo
//! setup` explains. A socket that it passes receives the frames of one address only, because its filter cannot be
//! changed; the caller chooses the address and the job. The socket can send anything over any interface: the system has
//! no filter for outgoing frames.

use alloc::vec::Vec;
use core::ffi::{CStr, c_char};
use core::mem::{size_of, size_of_val, zeroed};
use core::ptr::{null, null_mut};

use super::error::EthernetError;
use super::frame::{FrameAddress, Traffic};
use super::interface::{self, Interface};
use super::socket::Socket;
use crate::Errno;
use pombo_kernel::header::Peer;

/// The name of the helper, which is searched on the path.
const HELPER: &CStr = c"pombo-ethernet";
/// The variable that names its path instead.
const HELPER_VARIABLE: &CStr = c"POMBO_ETHERNET_HELPER";
/// Its exit code if its administrator has not listed the interface.
pub const EXIT_FORBIDDEN: u8 = 3;
/// Seconds to wait for it: far more than it needs.
const TIMEOUT: libc::time_t = 10;

/// Opens the socket of that address, here or, without the right, by the helper.
pub(super) fn open_socket(
    frame_address: FrameAddress,
    interface: &Interface,
    loopback: i32,
) -> Result<Socket, EthernetError> {
    match Socket::open(frame_address, interface, loopback) {
        Err(EthernetError::NotPermitted { interface }) => {
            match request_socket(frame_address, &interface) {
                Ok(socket) => Ok(socket),
                Err(true) => Err(EthernetError::Forbidden { interface }),
                Err(false) => Err(EthernetError::NotPermitted { interface }),
            }
        }
        opened => opened,
    }
}

/// Requests a socket from the helper. The error tells whether the helper is forbidden to open the interface.
fn request_socket(frame_address: FrameAddress, interface: &str) -> Result<Socket, bool> {
    let mut pair = [-1; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: the pointer is valid for two descriptors.
    let made = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) };
    if made < 0 {
        return Err(false);
    }
    let [ours, theirs] = pair.map(Socket::from_fd);
    let helper = start(frame_address, interface, theirs.fd());
    drop(theirs);
    let helper = helper.ok_or(false)?;
    let (got, mut status) = (receive(&ours), 0);
    drop(ours);
    // SAFETY: the pointer is valid. The helper ends on its own, because its peer is closed.
    while unsafe { libc::waitpid(helper, &mut status, 0) } < 0 && Errno::last().0 == libc::EINTR {}
    let code = libc::WEXITSTATUS(status);
    got.ok_or(libc::WIFEXITED(status) && code == EXIT_FORBIDDEN.into())
}

/// Starts the helper with that end of a pair as its standard input.
fn start(frame_address: FrameAddress, interface: &str, end: i32) -> Option<libc::pid_t> {
    let traffic = match frame_address.traffic {
        Traffic::Unicast => "single",
        Traffic::Multicast => "group",
    };
    // SAFETY: the name is a C string; the result is one too, and is not changed meanwhile.
    let named = unsafe { libc::getenv(HELPER_VARIABLE.as_ptr()) };
    let helper = match named.is_null() {
        true => HELPER.as_ptr(),
        false => named.cast_const(),
    };
    let mut words: Vec<Vec<u8>> = Vec::new();
    for word in [interface.as_bytes(), traffic.as_bytes()] {
        words.push([word, b"\0"].concat());
    }
    words.push(decimal(frame_address.job));
    words.push(decimal(frame_address.peer.0));
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

/// Formats a number as a C string.
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

/// Space for the control message that carries one descriptor.
#[repr(C, align(8))]
struct ControlBuffer([u8; CONTROL_LEN]);

// SAFETY: the call only computes a number.
const CONTROL_LEN: usize = unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) } as usize;

/// Builds a message of one byte and one descriptor, whose parts outlive it.
fn message(byte: &mut u8, vector: &mut libc::iovec, control: &mut ControlBuffer) -> libc::msghdr {
    *vector = libc::iovec {
        iov_base: (&raw mut *byte).cast(),
        iov_len: 1,
    };
    // SAFETY: zeros are a valid, empty message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut *control).cast();
    message.msg_controllen = size_of_val(control) as _;
    message
}

fn empty_message() -> (u8, libc::iovec, ControlBuffer) {
    let vector = libc::iovec {
        iov_base: null_mut(),
        iov_len: 0,
    };
    (0, vector, ControlBuffer([0; CONTROL_LEN]))
}

/// Receives the socket through that end.
fn receive(end: &Socket) -> Option<Socket> {
    let limit = libc::timeval {
        tv_sec: TIMEOUT,
        tv_usec: 0,
    };
    end.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit).ok()?;
    let (mut byte, mut vector, mut control) = empty_message();
    let mut message = message(&mut byte, &mut vector, &mut control);
    // SAFETY: the message points to memory that is valid for the sizes given. The result is read only where the message
    // says that something arrived, and by an unaligned read.
    unsafe {
        let flags = libc::MSG_CMSG_CLOEXEC;
        while libc::recvmsg(end.fd(), &mut message, flags) != 1 {
            if Errno::last().0 != libc::EINTR {
                return None;
            }
        }
        let first = libc::CMSG_FIRSTHDR(&message).as_ref()?;
        let rights = first.cmsg_level == libc::SOL_SOCKET && first.cmsg_type == libc::SCM_RIGHTS;
        let one = first.cmsg_len as usize == libc::CMSG_LEN(size_of::<i32>() as u32) as usize;
        let fd = libc::CMSG_DATA(first).cast::<i32>();
        (rights && one).then(|| Socket::from_fd(fd.read_unaligned()))
    }
}

/// Performs the helper's task: opens the socket of an address and passes it over standard input. The caller has the
/// right to open sockets, and decides who may have which.
///
/// # Errors
/// As for [`Ethernet::open`](super::Ethernet::open); also if standard input is no socket that accepts the descriptor.
pub fn pass_socket(name: &str, frame_address: FrameAddress) -> Result<(), EthernetError> {
    let at = interface::find(name)?;
    let (own, _) = interface::loopback()?;
    let socket = Socket::open(frame_address, &at, own)?;
    let (mut byte, mut vector, mut control) = empty_message();
    let message = message(&mut byte, &mut vector, &mut control);
    // SAFETY: there is space for one header and one descriptor behind it; the rest of the message is valid and only
    // read.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&message);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        let place = libc::CMSG_DATA(first).cast::<i32>();
        place.write_unaligned(socket.fd());
        libc::sendmsg(0, &message, libc::MSG_NOSIGNAL)
    };
    EthernetError::check(sent as i32, "sendmsg").map(drop)
}

/// Parses the helper's arguments: interface, traffic, job and peer. Returns `None` if they are invalid.
pub fn parse_arguments<'a>(words: &[&'a str]) -> Option<(&'a str, FrameAddress)> {
    let [interface, traffic, job, peer] = words else {
        return None;
    };
    let traffic = match *traffic {
        "single" => Traffic::Unicast,
        "group" => Traffic::Multicast,
        _ => return None,
    };
    let frame_address = FrameAddress {
        job: job.parse().ok()?,
        peer: Peer(peer.parse().ok()?),
        traffic,
    };
    Some((interface, frame_address))
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
        let (interface, frame_address) =
            parse_arguments(&["eth0", "group", "7", "3"]).expect("it makes sense");
        let expected = FrameAddress {
            job: 7,
            peer: Peer(3),
            traffic: Traffic::Multicast,
        };
        assert_eq!((interface, frame_address), ("eth0", expected));
        for wrong in [
            &["eth0", "group", "7"][..],
            &["eth0", "all", "7", "3"],
            &["eth0", "group", "-7", "3"],
            &["eth0", "group", "7", "65536"],
            &["eth0", "group", "7", "3", "4"],
        ] {
            assert!(parse_arguments(wrong).is_none());
        }
    }
}
