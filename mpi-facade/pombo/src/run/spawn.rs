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

use super::arguments::{Context, Input, Request};
use super::binding::Placement;
use super::job_segment::Job;
use super::{exec_shim, foreign, input, library_path, program};
use crate::console::warn;
use crate::error::Error;

/// A rank that can be started.
pub(crate) struct Rank<'a> {
    pub(crate) rank: usize,
    /// Number of ranks, and of places for processes that join later.
    pub(crate) size: usize,
    /// Number of such places.
    spare: usize,
    pub(crate) context: &'a Context,
    /// Whether the program is expected to call `MPI_Init`.
    pub(crate) uses_mpi: bool,
    file: PathBuf,
    /// The processors to which it is pinned; none for all that the launcher may use.
    processors: Vec<usize>,
}

impl Rank<'_> {
    /// Returns what `-report-bindings` says of it.
    pub(crate) fn binding(&self) -> String {
        let (rank, pinned) = (self.rank, !self.processors.is_empty());
        match pinned {
            true => {
                let list = exec_shim::list(&self.processors);
                format!("rank {rank} is pinned to processors {list}")
            }
            false => {
                let list = exec_shim::list(&allowed_cores());
                format!("rank {rank} is not pinned, and may use processors {list}")
            }
        }
    }
}

/// Returns the ranks of a job in order; refuses programs and directories that do not exist.
pub(crate) fn plan(request: &Request) -> Result<Vec<Rank<'_>>, Error> {
    let sizes = request.contexts.iter().map(|context| context.ranks);
    let ranks = sizes.fold(0, usize::saturating_add);
    let size = ranks.saturating_add(request.spare);
    super::job_segment::check(size)?;
    let placement = Placement::new(request.bind, ranks, &allowed_cores());
    if let Some(refusal) = &placement.refusal {
        warn(refusal);
    }
    let mut ranks = Vec::with_capacity(ranks);
    for context in &request.contexts {
        let file = file_of(context)?;
        // A single rank may use any library.
        let uses_mpi = size > 1
            && foreign::check(
                &context.program,
                &file,
                library_path::of(context).as_deref(),
            )?;
        for _ in 0..context.ranks {
            let rank = ranks.len();
            ranks.push(Rank {
                rank,
                size,
                spare: request.spare,
                context,
                uses_mpi,
                file: file.clone(),
                processors: placement.of(rank).to_vec(),
            });
        }
    }
    Ok(ranks)
}

/// Starts one rank with pipes for its output, in a process group of its own.
pub(crate) fn start(rank: &Rank<'_>, job: &Job, reader: Input) -> io::Result<Child> {
    let context = rank.context;
    let head = exec_shim::command_line(
        Pid::this(),
        &rank.processors,
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
        .stdin(match reader == Input::Rank(rank.rank) {
            true => input::of_reader(),
            false => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = &context.directory {
        command.current_dir(directory);
    }
    command.spawn()
}

fn variables_of(rank: &Rank<'_>, job: &Job) -> [(&'static str, OsString); 7] {
    // At least one: if the system does not tell the number of cores, ranks share them.
    let cores = allowed_cores().len().max(1).to_string();
    let spare = rank.spare.to_string();
    let (rank, size) = (rank.rank.to_string(), rank.size.to_string());
    [
        (settings::SPARE.name(), spare.into()),
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

/// Returns the cores on which this process may run; none if the system does not tell.
pub(crate) fn allowed_cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
        return Vec::new();
    };
    let cores = 0..CpuSet::count();
    cores.filter(|&core| set.is_set(core) == Ok(true)).collect()
}
