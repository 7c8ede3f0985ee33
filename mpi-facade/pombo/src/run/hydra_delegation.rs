//! Jobs on several hosts: Hydra, the launcher of MPICH, starts them, and the C library speaks its protocol. Only `run`
//! uses it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use pombo_job::settings::SPARE;

use super::arguments::{Hosts, Input, Request, TIMEOUT, timeout};
use super::binding::Binding;
use super::supervise::TIMED_OUT;
use super::{exec_shim, host_list, hydra_job, program};
use crate::console::warn;
use crate::error::Error;
use crate::variables::JOIN_PORTS;

/// Names under which Hydra may be installed.
const NAMES: [&str; 3] = ["mpiexec.hydra", "mpiexec.mpich", "mpiexec"];

/// The script by which every rank starts: its first word is this launcher, the others are the program, which starts in
/// any case. Where the launcher is there it gives the program the signals that Hydra leaves alone, and the first rank of
/// a host starts the reporter of that host, as nobody's child, for programs may wait for their children.
const BY_LAUNCHER: &str = r#"if [ ! -x "$0" ]; then
unset POMBO_LAUNCHER
exec "$@"
fi
if [ "$MPI_LOCALRANKID" = 0 ]; then
("$0" __reporter "$PPID" </dev/null >/dev/null 2>&1 &)
fi
unset POMBO_LAUNCHER
exec "$0" __child_of_hydra "$@""#;

/// The same for the ranks that keep places for processes that join.
const PLACE: &str = r#"if [ ! -x "$0" ]; then
echo "pombo: --spare needs this launcher on every host, at the same path: '$0' is not here" >&2
exit 127
fi
if [ "$MPI_LOCALRANKID" = 0 ]; then
("$0" __reporter "$PPID" </dev/null >/dev/null 2>&1 &)
fi
exec "$0" __place"#;

/// Runs the job by Hydra and returns its exit code.
pub(crate) fn launch(request: &Request, hosts: &Hosts) -> Result<u8, Error> {
    for context in &request.contexts {
        let directory = context.directory.as_deref().unwrap_or(Path::new("."));
        if program::find(&context.program, directory).is_err() {
            let program = context.program.display();
            warn(&format!(
                "'{program}' cannot be run on this host; it must be there on every host of the job"
            ));
        }
    }
    let engine = find()?;
    warn(&format!("handing over to {}", engine.display()));
    let mut command = Command::new("/proc/self/exe");
    command.arg0("pombo");
    command.args(exec_shim::command_line_of_hydra(&engine));
    // Where the system does not tell it no reporter starts, as nothing of that name is there.
    let launcher = std::env::current_exe().unwrap_or_default();
    command.args(arguments(request, hosts, &launcher));
    if let Some(time) = request.timeout {
        // Hydra has no option for it, and counts whole seconds. It ends with 255, for whatever reason.
        command.env(TIMEOUT, time.as_secs_f64().ceil().to_string());
    }
    if let Some(ports) = &request.join_ports {
        command.env(JOIN_PORTS.name(), ports.to_string());
    }
    if request.report_bindings {
        warn(
            "-report-bindings is ignored: Hydra pins the ranks, and HYDRA_TOPO_DEBUG=1 makes it tell how",
        );
    }
    if request.input == Input::None {
        command.stdin(Stdio::null());
    }
    let begin = Instant::now();
    let ended = match hydra_job::run(&mut command, &engine, request, host_list::names(hosts))? {
        hydra_job::End::Ordered(code) => return Ok(code),
        hydra_job::End::Own(status) => status,
    };
    let limit = timeout(request)?;
    if ended.code() == Some(255) && limit.is_some_and(|limit| begin.elapsed() >= limit) {
        return Ok(TIMED_OUT);
    }
    use std::os::unix::process::ExitStatusExt;
    let signal = ended.signal().map(|signal| 128 + signal);
    let code = ended.code().or(signal).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

/// Finds the first program that is Hydra and not this launcher under another name.
fn find() -> Result<PathBuf, Error> {
    let own = std::env::current_exe().and_then(fs::canonicalize).ok();
    let there = |name: &&str| program::find(name.as_ref(), Path::new(".")).ok();
    let found = NAMES.iter().filter_map(there);
    let mut found = found.filter(|file| fs::canonicalize(file).ok() != own);
    found.find(|file| is_hydra(file)).ok_or(Error::NoEngine)
}

fn is_hydra(file: &Path) -> bool {
    let said = Command::new(file)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("HYDRA"))
}

/// Returns the job as arguments of Hydra, with the whole environment.
fn arguments(request: &Request, hosts: &Hosts, launcher: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = match hosts {
        Hosts::File(file) => vec!["-f".into(), file.into()],
        Hosts::List(list) => vec!["-hosts".into(), list.clone()],
    };
    words.extend(request.hydra.iter().cloned());
    if request.recovery {
        words.push("-disable-auto-cleanup".into());
    }
    if request.tag {
        words.push("-prepend-rank".into());
    }
    if let Binding::To { unit, .. } = request.bind {
        words.extend(["-bind-to".into(), unit.name().into()]);
    }
    let count = OsString::from(request.spare.to_string());
    let spare = match request.spare {
        0 => vec![],
        _ => vec!["-env".into(), SPARE.name().into(), count.clone()],
    };
    for (index, context) in request.contexts.iter().enumerate() {
        if index > 0 {
            words.push(":".into());
        }
        words.extend(["-n".into(), context.ranks.to_string().into()]);
        if let Some(directory) = &context.directory {
            words.extend(["-wdir".into(), directory.into()]);
        }
        for (name, value) in &context.environment {
            words.extend(["-env".into(), name.clone(), value.clone()]);
        }
        words.extend(spare.iter().cloned());
        // The shell runs as the rank and becomes its program.
        words.extend(["/bin/sh", "-c", BY_LAUNCHER].map(Into::into));
        words.push(launcher.into());
        words.push(context.program.clone());
        words.extend(context.arguments.iter().cloned());
    }
    if !spare.is_empty() {
        words.extend([":".into(), "-n".into(), count]);
        words.extend(spare);
        words.extend(["/bin/sh", "-c", PLACE].map(Into::into));
        words.push(launcher.into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Context;
    use super::super::exec_shim::NAME_BELOW_HYDRA;
    use super::*;

    #[test]
    fn the_job_in_other_words() {
        let context = |ranks, program: &str| Context {
            ranks,
            directory: Some("/d".into()),
            environment: vec![("POMBO_NET".into(), "udp".into())],
            program: program.into(),
            arguments: vec!["-n".into()],
        };
        let request = Request {
            contexts: vec![context(3, "a"), context(1, "b")],
            tag: true,
            recovery: true,
            ..Request::default()
        };
        let words = arguments(&request, &Hosts::List("x,y".into()), Path::new("pombo"));
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let start = format!("/bin/sh -c {BY_LAUNCHER} pombo");
        assert_eq!(
            words.join(" "),
            format!(
                "-hosts x,y -disable-auto-cleanup -prepend-rank -n 3 -wdir /d -env POMBO_NET udp {start} a -n : -n 1 \
                 -wdir /d -env POMBO_NET udp {start} b -n"
            )
        );
        for name in [crate::explain::hosts::NAME, NAME_BELOW_HYDRA] {
            assert!(BY_LAUNCHER.contains(name));
        }
        assert!(PLACE.contains(crate::explain::hosts::NAME));
        assert!(PLACE.ends_with(crate::explain::hosts::KEEPER));
        assert!(BY_LAUNCHER.contains(crate::variables::LAUNCHER.name()));
        let words = arguments(
            &Request::default(),
            &Hosts::File("list".into()),
            Path::new("pombo"),
        );
        assert_eq!(words, ["-f", "list"]);
    }
}
