//! `pombo setup`: may programs of this user send raw Ethernet frames, and how they come to it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::helper::{self, HELPER};
use crate::terminal::tell;
use crate::variables::ETHERNET_HELPER;

/// What it needs.
const CAPABILITY: &str = "cap_net_raw+ep";

/// How it ends without that.
const NO_RIGHT: i32 = 2;

/// Looks whether raw frames can be sent on that interface, or the only one with a link. With the rights of an
/// administrator it makes it so. What else may be wrong the helper says.
pub(crate) fn main(interface: &str) -> Result<u8, Error> {
    let Some(helper) = helper::find()? else {
        tell(&format!(
            "{HELPER} is not there: `cargo build --release` makes it beside the launcher, and `pombo install`\n\
             takes it along. Without it UDP works."
        ));
        return Ok(1);
    };
    let look = || run(Command::new(&helper).arg("check").arg(interface));
    match look()? {
        0 => return Ok(done(&helper, interface)),
        NO_RIGHT => {}
        _ => return Ok(1),
    }
    // Only an administrator can.
    let given = run(Command::new("setcap")
        .arg(CAPABILITY)
        .arg(&helper)
        .stderr(Stdio::null()));
    if given.is_ok_and(|code| code == 0) && look()? == 0 {
        return Ok(done(&helper, interface));
    }
    tell(&format!(
        "raw Ethernet needs a right that programs of users do not have. An administrator gives it to a small\n\
         program, which opens sockets for others; they hear the frames of one rank and no others, but can send\n\
         any frame, so let only those run it who may:\n  \
         sudo setcap {CAPABILITY} {}\n\
         It must be on the path of the ranks, or {ETHERNET_HELPER} names it. If /etc/pombo/interfaces exists,\n\
         it opens only the interfaces that stand there. Without all this UDP works.",
        helper.display()
    ));
    Ok(1)
}

fn done(helper: &Path, interface: &str) -> u8 {
    let on = if interface.is_empty() { "" } else { " on " };
    tell(&format!("raw Ethernet works{on}{interface}"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|place| place.join(HELPER).is_file());
    if !found && std::env::var_os(ETHERNET_HELPER).is_none() {
        let helper = helper.display();
        tell(&format!(
            "for ranks without the right: {ETHERNET_HELPER}={helper}"
        ));
    }
    0
}

/// How it ended; -1: by a signal.
fn run(command: &mut Command) -> Result<i32, Error> {
    let program = PathBuf::from(command.get_program());
    let ended = command.status().map_err(Error::file("run", program));
    ended.map(|status| status.code().unwrap_or(-1))
}
