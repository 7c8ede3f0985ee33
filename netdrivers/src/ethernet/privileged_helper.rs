//! Raw sockets for programs without the right to open them: a privileged helper opens one and passes it.
//!
//! The helper is `pombo-ethernet`; an administrator gives it the capability and decides who may run it, as `pombo
//! setup` explains. A socket that it passes receives the frames of one address only, because its filter cannot be
//! changed; the caller chooses the address and the job. The socket can send anything over any interface: the system has
//! no filter for outgoing frames.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char};
use core::mem::{MaybeUninit, zeroed};
use core::ptr::{null, null_mut};
use core::time::Duration;

use super::error::EthernetError;
use super::interface::{self, Interface};
use super::socket::Socket;
use crate::ethernet_frame::{FrameAddress, Traffic};
use pombo_kernel::header::Peer;
use rustix::cmsg_space;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::{IoSlice, IoSliceMut, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, WaitOptions, waitpid};

/// The name of the helper, which is searched on the path.
const HELPER: &CStr = c"pombo-ethernet";
/// The variable that names its path instead.
const HELPER_VARIABLE: &CStr = c"POMBO_ETHERNET_HELPER";
/// Its exit code if its administrator has not listed the interface.
pub const EXIT_FORBIDDEN: u8 = 3;
/// How long to wait for it: far longer than it needs.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the socket of that address, here or, without the right, by the helper.
pub(super) fn open_socket(
    frame_address: FrameAddress,
    interface: &Interface,
    loopback: i32,
) -> Result<Socket, Box<EthernetError>> {
    match Socket::open(frame_address, interface, loopback) {
        Err(error) if matches!(*error, EthernetError::NotPermitted { .. }) => {
            let interface = &interface.name;
            match request_socket(frame_address, interface) {
                Ok(socket) => Ok(socket),
                Err(true) => Err(Box::new(EthernetError::Forbidden {
                    interface: interface.clone(),
                })),
                Err(false) => Err(error),
            }
        }
        opened => opened,
    }
}

/// Requests a socket from the helper. The error tells whether the helper is forbidden to open the interface.
fn request_socket(frame_address: FrameAddress, interface: &str) -> Result<Socket, bool> {
    let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None).map_err(|_| false)?;
    let helper = start(frame_address, interface, theirs).ok_or(false)?;
    let got = receive(&ours);
    drop(ours);
    // The helper ends on its own, because its peer is closed.
    let ended = retry_on_intr(|| waitpid(Some(helper), WaitOptions::empty()));
    let code = ended
        .ok()
        .flatten()
        .and_then(|(_, status)| status.exit_status());
    got.ok_or(code == Some(EXIT_FORBIDDEN.into()))
}

/// Starts the helper with that end of a pair as its standard input.
fn start(frame_address: FrameAddress, interface: &str, end: OwnedFd) -> Option<Pid> {
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
        libc::posix_spawn_file_actions_adddup2(&mut actions, end.as_raw_fd(), 0);
        let arguments = list.as_ptr();
        let started = libc::posix_spawnp(&mut child, helper, &actions, null(), arguments, environ);
        libc::posix_spawn_file_actions_destroy(&mut actions);
        started
    };
    Pid::from_raw(child).filter(|_| started == 0)
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

/// Receives the socket through that end.
fn receive(end: &OwnedFd) -> Option<Socket> {
    set_socket_timeout(end, Timeout::Recv, Some(TIMEOUT)).ok()?;
    let (mut byte, mut space) = ([0], [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))]);
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let (mut into, flags) = ([IoSliceMut::new(&mut byte)], RecvFlags::CMSG_CLOEXEC);
    let got = retry_on_intr(|| recvmsg(end, &mut into, &mut control, flags)).ok()?;
    let passed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    passed.filter(|_| got.bytes == 1).map(Socket::from_fd)
}

/// Performs the helper's task: opens the socket of an address and passes it over standard input. The caller has the
/// right to open sockets, and decides who may have which.
///
/// # Errors
/// As for [`Ethernet::open`](super::Ethernet::open); also if standard input is no socket that accepts the descriptor.
pub fn pass_socket(name: &str, frame_address: FrameAddress) -> Result<(), Box<EthernetError>> {
    let at = interface::find(name)?;
    let (own, _) = interface::loopback()?;
    let socket = Socket::open(frame_address, &at, own)?;
    // SAFETY: nobody in this process closes its standard input; the call fails if it was never open.
    let end = unsafe { BorrowedFd::borrow_raw(0) };
    let (descriptors, mut space) = (
        [socket.as_fd()],
        [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))],
    );
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(
        end,
        &[IoSlice::new(&[0])],
        &mut control,
        SendFlags::NOSIGNAL,
    )
    .map(drop)
    .map_err(EthernetError::failed("sendmsg"))
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
