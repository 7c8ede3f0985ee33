//! `pombo setup`: may programs of this user send raw Ethernet frames, and how they come to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::library;
use crate::terminal::tell;

/// The program that opens raw sockets for others; it lies beside the launcher.
pub(crate) const HELPER: &str = "pombo-ethernet";
/// What it needs.
const CAPABILITY: &str = "cap_net_raw+ep";

/// Looks whether raw frames can be sent on that interface, or the only one with a link. With the rights of an
/// administrator it makes it so.
pub(crate) fn main(interface: &str) -> Result<u8, Error> {
    let helper = library::executable()?.with_file_name(HELPER);
    if works(&helper, interface)? {
        return Ok(done(interface));
    }
    // Only an administrator can.
    let given = run(Command::new("setcap").arg(CAPABILITY).arg(&helper));
    if matches!(given, Ok(true)) && works(&helper, interface)? {
        return Ok(done(interface));
    }
    tell(&format!(
        "raw Ethernet needs a right that programs of users do not have. An administrator gives it to a small\n\
         program, which opens sockets for others; they hear the frames of one rank and no others, but can send\n\
         any frame, so let only those run it who may:\n  \
         sudo setcap {CAPABILITY} {}\n\
         It must be on the path of the ranks, or POMBO_ETHERNET_HELPER names it. If /etc/pombo/interfaces exists,\n\
         it opens only the interfaces that stand there. Without all this UDP works.",
        helper.display()
    ));
    Ok(1)
}

fn done(interface: &str) -> u8 {
    let on = if interface.is_empty() { "" } else { " on " };
    tell(&format!("raw Ethernet works{on}{interface}"));
    0
}

/// Can the helper open a socket there?
fn works(helper: &Path, interface: &str) -> Result<bool, Error> {
    run(Command::new(helper).arg("check").arg(interface))
}

fn run(command: &mut Command) -> Result<bool, Error> {
    let program = PathBuf::from(command.get_program());
    let ended = command.status().map_err(Error::file("run", program));
    ended.map(|status| status.success())
}
