//! Opens a raw Ethernet socket for a program without the right to do so, and passes it over this program's standard
//! input. The library starts this helper; an administrator gives it the capability CAP_NET_RAW and restricts it to a
//! group (`pombo setup`).
//!
//! `pombo-ethernet INTERFACE single|group JOB PEER`, or `pombo-ethernet check [INTERFACE]`. If `/etc/pombo/interfaces`
//! exists, the helper opens only the interfaces that it lists. The helper prints nothing when it passes a socket: the
//! library reports errors. It exits with 2 without the capability, and with 3 if the interface is not listed.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use pombo_kernel::Peer;
use pombo_netdrivers::ethernet::{
    EXIT_FORBIDDEN, Ethernet, EthernetError, FrameAddress, Traffic, parse_arguments, pass_socket,
};

const ALLOWED: &str = "/etc/pombo/interfaces";
/// Exit code without the capability.
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

/// Returns the exit code that tells whether the helper could open the interface.
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

/// Checks the list of interfaces. A list that cannot be read allows nothing.
fn allowed(interface: &str) -> Result<(), Box<EthernetError>> {
    let allowed = match std::fs::read_to_string(ALLOWED) {
        Ok(names) => names.split_whitespace().any(|name| name == interface),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let interface = interface.to_owned();
    allowed
        .then_some(())
        .ok_or_else(|| Box::new(EthernetError::Forbidden { interface }))
}
