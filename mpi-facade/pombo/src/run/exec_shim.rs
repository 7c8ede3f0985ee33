//! `pombo __child`: the last step between the launcher and a rank's program. `spawn` starts it, `main` dispatches to
//! it.
//!
//! The launcher may not run code between fork and exec, so this small process makes the settings of a rank and then
//! executes the program.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use super::signals;
use crate::console::warn;
use crate::error::Error;

/// The subcommand's name.
pub(crate) const NAME: &str = "__child";

/// Number of words in front of the program's own arguments.
const WORDS: usize = 4;

/// Returns the command line that `main` reads: launcher, core for pinning, file to execute, its argv.
pub(crate) fn command_line<'a>(
    launcher: Pid,
    core: Option<usize>,
    file: &'a OsStr,
    name: &'a OsStr,
) -> [std::borrow::Cow<'a, OsStr>; WORDS + 1] {
    let core = core.map_or("-".into(), |core| core.to_string());
    [
        OsStr::new(NAME).into(),
        OsString::from(launcher.to_string()).into(),
        OsString::from(core).into(),
        file.into(),
        name.into(),
    ]
}

/// Executes the program, or returns why it cannot.
pub(crate) fn main(words: &[OsString]) -> Result<u8, Error> {
    let Some((head, arguments)) = words.split_first_chunk::<WORDS>() else {
        return Err(Error::Value {
            what: NAME,
            given: String::new(),
            want: "nothing by hand: it is for the launcher alone",
        });
    };
    let [launcher, core, file, name] = head;
    stay_with(launcher)?;
    pin_to(core)?;
    signals::unblock()?;
    let error = Command::new(file).arg0(name).args(arguments).exec();
    warn(&format!("cannot start '{}': {error}", file.display()));
    Ok(if error.kind() == ErrorKind::NotFound {
        127
    } else {
        126
    })
}

/// Sets the parent-death signal, and fails if the launcher has died already.
fn stay_with(launcher: &OsStr) -> Result<(), Error> {
    set_pdeathsig(Signal::SIGKILL).map_err(Error::errno("tie the rank to the launcher"))?;
    if launcher.to_str() == Some(&getppid().to_string()) {
        return Ok(());
    }
    Err(Error::System {
        doing: "start the rank",
        source: std::io::Error::other("the launcher has gone"),
    })
}

fn pin_to(core: &OsStr) -> Result<(), Error> {
    let Some(core) = core.to_str().and_then(|core| core.parse().ok()) else {
        return Ok(());
    };
    let mut set = CpuSet::new();
    set.set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(Error::errno("pin the rank to its core"))
}
