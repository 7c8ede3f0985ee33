//! `pombo __child`: the last step between the launcher and a rank's program. `spawn` starts it, `main` dispatches to
//! it.
//!
//! The launcher may not run code between fork and exec, so this small process makes the settings of a rank and then
//! executes the program.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
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

/// That of the same step below Hydra.
pub(crate) const NAME_BELOW_HYDRA: &str = "__child_of_hydra";

/// That of the step between the launcher and Hydra, which ends with the launcher as ranks on one host do.
pub(crate) const NAME_OF_HYDRA: &str = "__hydra";

/// Number of words in front of the program's own arguments.
const WORDS: usize = 4;

/// Returns the command line that `main` reads: launcher, processors for pinning, file to execute, its argv.
pub(crate) fn command_line<'a>(
    launcher: Pid,
    processors: &[usize],
    file: &'a OsStr,
    name: &'a OsStr,
) -> [std::borrow::Cow<'a, OsStr>; WORDS + 1] {
    [
        OsStr::new(NAME).into(),
        OsString::from(launcher.to_string()).into(),
        OsString::from(list(processors)).into(),
        file.into(),
        name.into(),
    ]
}

/// Returns the beginning of the command line that `main_for_hydra` reads: launcher, file to execute.
pub(crate) fn command_line_of_hydra(engine: &Path) -> [OsString; 3] {
    let launcher = Pid::this().to_string();
    [NAME_OF_HYDRA.into(), launcher.into(), engine.into()]
}

/// Executes Hydra, with the signals that the launcher has blocked.
pub(crate) fn main_for_hydra(words: &[OsString]) -> Result<u8, Error> {
    let Some(([launcher, engine], arguments)) = words.split_first_chunk() else {
        return Err(Error::NoEngine);
    };
    stay_with(launcher)?;
    execute(engine, engine, arguments)
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
    let [launcher, processors, file, name] = head;
    stay_with(launcher)?;
    pin_to(processors)?;
    signals::unblock()?;
    execute(file, name, arguments)
}

/// Executes the program of a rank that Hydra has started, with the signals that Hydra had to leave alone. The words are
/// the program and its arguments.
pub(crate) fn main_of_hydra(words: &[OsString]) -> Result<u8, Error> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::NoProgram { context: 0 });
    };
    signals::unblock()?;
    execute(program, program, arguments)
}

fn execute(file: &OsStr, name: &OsStr, arguments: &[OsString]) -> Result<u8, Error> {
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

/// Returns the numbers with commas between them.
pub(crate) fn list(processors: &[usize]) -> String {
    let numbers = processors.iter().map(usize::to_string);
    numbers.collect::<Vec<_>>().join(",")
}

fn pin_to(processors: &OsStr) -> Result<(), Error> {
    let text = processors.to_str().unwrap_or_default();
    let processors = text.split(',').filter_map(|number| number.parse().ok());
    let mut set = CpuSet::new();
    let mut processors = processors.peekable();
    if processors.peek().is_none() {
        return Ok(());
    }
    processors
        .try_for_each(|processor| set.set(processor))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(Error::errno("pin the rank to its processors"))
}
