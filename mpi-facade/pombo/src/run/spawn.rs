//! Turns the request into processes: `plan` finds every error before the first process exists, `start` starts one rank.
//! Only `run` and `supervise` use it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use pombo_job::settings;

use super::arguments::{Context, Request};
use super::job_segment::Job;
use super::{exec_shim, foreign, input, program};
use crate::error::Error;

/// A rank that can be started.
pub(crate) struct Rank<'a> {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) context: &'a Context,
    /// Whether the program is expected to call `MPI_Init`.
    pub(crate) uses_mpi: bool,
    file: PathBuf,
    core: Option<usize>,
}

/// Returns the ranks of a job in order; refuses programs and directories that do not exist.
pub(crate) fn plan(request: &Request) -> Result<Vec<Rank<'_>>, Error> {
    let sizes = request.contexts.iter().map(|context| context.ranks);
    let size = sizes.fold(0, usize::saturating_add);
    super::job_segment::check(size)?;
    let cores = match request.bind {
        true => allowed_cores(),
        false => Vec::new(),
    };
    let mut ranks = Vec::with_capacity(size);
    for context in &request.contexts {
        let file = file_of(context)?;
        // A single rank may use any library.
        let uses_mpi =
            size > 1 && foreign::check(&context.program, &file, library_path(context).as_deref())?;
        for _ in 0..context.ranks {
            let rank = ranks.len();
            ranks.push(Rank {
                rank,
                size,
                context,
                uses_mpi,
                file: file.clone(),
                core: cores.get(rank).copied().filter(|_| size <= cores.len()),
            });
        }
    }
    Ok(ranks)
}

/// Starts one rank with pipes for its output, in a process group of its own.
pub(crate) fn start(rank: &Rank<'_>, job: &Job) -> io::Result<Child> {
    let context = rank.context;
    let head = exec_shim::command_line(
        Pid::this(),
        rank.core,
        rank.file.as_os_str(),
        &context.program,
    );
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("pombo")
        .args(head)
        .args(&context.arguments)
        .envs(
            context
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .envs(variables_of(rank, job))
        .process_group(0)
        .stdin(match rank.rank {
            0 => input::of_rank_0(),
            _ => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = &context.directory {
        command.current_dir(directory);
    }
    command.spawn()
}

fn variables_of(rank: &Rank<'_>, job: &Job) -> [(&'static str, OsString); 6] {
    // At least one: if the system does not tell the number of cores, ranks share them.
    let cores = allowed_cores().len().max(1).to_string();
    let (rank, size) = (rank.rank.to_string(), rank.size.to_string());
    [
        (settings::LOCAL_RANK.name(), rank.clone().into()),
        (settings::LOCAL_SIZE.name(), size.clone().into()),
        (settings::LOCAL_CORES.name(), cores.into()),
        (settings::RANK.name(), rank.into()),
        (settings::SIZE.name(), size.into()),
        (settings::SHM_FD.name(), job.descriptor().to_string().into()),
    ]
}

fn file_of(context: &Context) -> Result<PathBuf, Error> {
    let directory = context.directory.as_deref().unwrap_or(Path::new("."));
    if !directory.is_dir() {
        return Err(Error::NoDirectory {
            path: directory.to_owned(),
        });
    }
    // The path must be absolute, because the rank starts in another directory.
    let file = program::find(&context.program, directory)?;
    std::path::absolute(&file).map_err(Error::file("find the directory of", file))
}

/// Returns the directories in which the ranks of this program search for libraries.
fn library_path(context: &Context) -> Option<OsString> {
    const NAME: &str = "LD_LIBRARY_PATH";
    let mut own = context.environment.iter().rev();
    let own = own
        .find(|(name, _)| name == NAME)
        .map(|(_, value)| value.clone());
    own.or_else(|| std::env::var_os(NAME))
}

/// Returns the cores on which this process may run; none if the system does not tell.
pub(crate) fn allowed_cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
        return Vec::new();
    };
    let cores = 0..CpuSet::count();
    cores.filter(|&core| set.is_set(core) == Ok(true)).collect()
}
