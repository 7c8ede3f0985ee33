//! Jobs on several hosts: Hydra, the launcher of MPICH, starts them, and the C library speaks its protocol. Only `run`
//! uses it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::arguments::{Hosts, Request};
use super::program;
use crate::console::warn;
use crate::error::Error;

/// Names under which Hydra may be installed.
const NAMES: [&str; 3] = ["mpiexec.hydra", "mpiexec.mpich", "mpiexec"];

/// Runs the job by Hydra and returns its exit code.
pub(crate) fn launch(request: &Request, hosts: &Hosts) -> Result<u8, Error> {
    check(hosts)?;
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
    let mut command = Command::new(&engine);
    command.args(arguments(request, hosts));
    let ended = command.status().map_err(Error::file("start", engine))?;
    use std::os::unix::process::ExitStatusExt;
    let signal = ended.signal().map(|signal| 128 + signal);
    let code = ended.code().or(signal).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

/// Checks the hosts. Hydra prints several lines for a missing file, nothing for one without hosts, and fails at an
/// invalid number of ranks.
fn check(hosts: &Hosts) -> Result<(), Error> {
    match hosts {
        Hosts::List(list) => {
            let list = list.to_string_lossy();
            let right = list.split(',').all(is_host);
            right.then_some(()).ok_or_else(|| Error::Value {
                what: "--host",
                given: list.into_owned(),
                want: "names with commas between them, each with :N behind it for N ranks if need be",
            })
        }
        Hosts::File(path) => {
            let text = fs::read_to_string(path).map_err(Error::file("read hostfile", path))?;
            let lines = text.lines().map(str::trim);
            let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            let wrong = |line: Option<&str>| Error::HostFile {
                path: path.clone(),
                line: line.map(str::to_owned),
            };
            if lines.clone().next().is_none() {
                return Err(wrong(None));
            }
            match lines.find(|line| !is_host_line(line)) {
                Some(line) => Err(wrong(Some(line))),
                None => Ok(()),
            }
        }
    }
}

/// Returns whether a line has a host and fields that Hydra knows; it does not know other launchers' `slots=`.
fn is_host_line(line: &&str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(is_host) && !words.any(|word| word.contains("slots="))
}

/// Returns whether a word is a host name with an optional number of ranks.
fn is_host(word: &str) -> bool {
    let (name, ranks) = word.split_once(':').unwrap_or((word, "1"));
    !name.is_empty() && ranks.parse::<usize>().is_ok_and(|ranks| ranks > 0)
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
fn arguments(request: &Request, hosts: &Hosts) -> Vec<OsString> {
    let mut words: Vec<OsString> = match hosts {
        Hosts::File(file) => vec!["-f".into(), file.into()],
        Hosts::List(list) => vec!["-hosts".into(), list.clone()],
    };
    words.extend(request.hydra.iter().cloned());
    if let Some(time) = request.timeout {
        let seconds = time.as_secs_f64().ceil();
        words.extend(["-timeout".into(), seconds.to_string().into()]);
    }
    if request.recovery {
        words.push("-disable-auto-cleanup".into());
    }
    if request.tag {
        words.push("-prepend-rank".into());
    }
    if request.bind {
        words.extend(["-bind-to".into(), "core".into()]);
    }
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
        words.push(context.program.clone());
        words.extend(context.arguments.iter().cloned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Context;
    use super::*;

    #[test]
    fn lines_of_a_hostfile() {
        assert!(
            ["one", "one:2", "one:2 ifname=eth0"]
                .iter()
                .all(is_host_line)
        );
        let wrong = ["one slots=2", "one:2 max_slots=4", ":2", "one:x", "one:0"];
        assert!(!wrong.iter().any(is_host_line));
    }

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
        let words = arguments(&request, &Hosts::List("x,y".into()));
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(
            words.join(" "),
            "-hosts x,y -disable-auto-cleanup -prepend-rank -n 3 -wdir /d -env POMBO_NET udp a -n \
             : -n 1 -wdir /d -env POMBO_NET udp b -n"
        );
        let words = arguments(&Request::default(), &Hosts::File("list".into()));
        assert_eq!(words, ["-f", "list"]);
    }
}
