//! Opens a raw Ethernet socket for a program that may not, and hands it through its standard input. The library starts
//! it; an administrator gives it the capability CAP_NET_RAW, and a group whose members alone may run it (`pombo setup`).
//!
//! `pombo-ethernet INTERFACE single|group JOB PEER`, or `pombo-ethernet check [INTERFACE]`. If `/etc/pombo/interfaces`
//! exists, only the interfaces whose names stand there are opened. Lending it says nothing: the library that asked has
//! the words. It ends with 2 where it lacks the right, and with 3 where the interface does not stand there.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use pombo_kernel::Peer;
use pombo_netdrivers::ethernet::{
    EXIT_FORBIDDEN, Ethernet, EthernetError, FrameAddress, Traffic, parse_arguments, pass_socket,
};

const ALLOWED: &str = "/etc/pombo/interfaces";
/// How it ends without the right.
const NO_RIGHT: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let code = match &words[..] {
        ["check", rest @ ..] => check(rest.first().copied().unwrap_or_default()),
        words => match parse_arguments(words) {
            Some((interface, frame_address)) => serve(interface, frame_address),
            None => {
                eprintln!(
                    "pombo-ethernet: programs start it, not people: `pombo setup` tells more"
                );
                1
            }
        },
    };
    ExitCode::from(code)
}

/// Could it open that interface?
fn check(name: &str) -> u8 {
    let frame_address = FrameAddress {
        job: 0,
        peer: Peer(0),
        traffic: Traffic::Unicast,
    };
    let opened = Ethernet::open(name, frame_address);
    let checked = opened.and_then(|opened| allowed(&opened.interface().name));
    checked.map_or_else(
        |why| {
            eprintln!("pombo-ethernet: {why}");
            code(&why)
        },
        |()| 0,
    )
}

fn serve(interface: &str, frame_address: FrameAddress) -> u8 {
    let lent = allowed(interface).and_then(|()| pass_socket(interface, frame_address));
    lent.map_or_else(|why| code(&why), |()| 0)
}

fn code(why: &EthernetError) -> u8 {
    match why {
        EthernetError::NotPermitted { .. } => NO_RIGHT,
        EthernetError::Forbidden { .. } => EXIT_FORBIDDEN,
        _ => 1,
    }
}

/// A list that cannot be read allows nothing.
fn allowed(interface: &str) -> Result<(), EthernetError> {
    let allowed = match std::fs::read_to_string(ALLOWED) {
        Ok(names) => names.split_whitespace().any(|name| name == interface),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let interface = interface.to_owned();
    allowed
        .then_some(())
        .ok_or(EthernetError::Forbidden { interface })
}
