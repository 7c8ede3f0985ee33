//! Opens a raw Ethernet socket for a program that may not, and hands it through its standard input. The library starts
//! it; an administrator gives it the capability CAP_NET_RAW (`pombo setup`).
//!
//! `pombo-ethernet INTERFACE single|group JOB NODE`, or `pombo-ethernet check [INTERFACE]`. If `/etc/pombo/interfaces`
//! exists, only the interfaces whose names stand there are opened.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use pombo_kernel::Node;
use pombo_netdrivers::ethernet::{Ethernet, Seat, Traffic, asked, lend};

const ALLOWED: &str = "/etc/pombo/interfaces";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match serve(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("pombo-ethernet: {why}");
            ExitCode::FAILURE
        }
    }
}

fn serve(words: &[&str]) -> Result<(), String> {
    if let ["check", rest @ ..] = words {
        let seat = Seat {
            job: 0,
            node: Node(0),
            traffic: Traffic::Single,
        };
        let name = rest.first().copied().unwrap_or("");
        let opened = Ethernet::open(name, seat).map_err(|error| error.to_string())?;
        return allowed(&opened.interface().name);
    }
    let Some((interface, seat)) = asked(words) else {
        return Err("programs start it, not people: `pombo setup` tells more".into());
    };
    allowed(interface)?;
    lend(interface, seat).map_err(|error| error.to_string())
}

fn allowed(interface: &str) -> Result<(), String> {
    match std::fs::read_to_string(ALLOWED) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(names) if names.split_whitespace().any(|name| name == interface) => Ok(()),
        Ok(_) => Err(format!(
            "{interface} does not stand in {ALLOWED}: ask who looks after it"
        )),
        Err(error) => Err(format!("{ALLOWED} cannot be read: {error}")),
    }
}
