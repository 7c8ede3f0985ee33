//! The measuring program of a library, which sleeps between its turns until it is asked to measure. Only `bench` uses
//! it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::limited_command::{End, Job, Jobs};
use super::measured_value::{self, Figure};
use super::plan::Task;

/// A start, a turn or an end that takes longer counts as a hang. With many more ranks than cores some libraries need
/// half a minute.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// A running program.
pub(super) struct Session<'a> {
    job: Job<'a>,
    pipes: CommandPipes,
    ranks: u32,
    /// The name and version that the library reports.
    pub(super) version: String,
}

/// One FIFO for each rank. Their names are removed when the ranks have opened them.
struct CommandPipes {
    files: Vec<File>,
    paths: Vec<PathBuf>,
}

impl<'a> Session<'a> {
    /// Starts the program by a command that lacks only the arguments, and waits until the ranks are ready.
    pub(super) fn start(
        jobs: &'a Jobs,
        program: &Path,
        ranks: u32,
        mut command: Command,
    ) -> Result<Session<'a>, End> {
        let prefix = format!("{}.{}", program.display(), std::process::id());
        let mut pipes = CommandPipes::create(&prefix, ranks).map_err(End::NotStarted)?;
        command.arg("turns").arg(&prefix);
        command.arg(LIMIT.as_secs().to_string());
        let mut job = jobs.start(&mut command).map_err(End::NotStarted)?;
        let deadline = Instant::now() + LIMIT;
        while let Some(line) = job.line(deadline) {
            if let Some(version) = measured_value::library(&line) {
                pipes.forget_names();
                return Ok(Session {
                    job,
                    pipes,
                    ranks,
                    version,
                });
            }
        }
        Err(job.end(deadline))
    }

    /// Lets the program measure. Returns `None` if the program has ended or hangs.
    pub(super) fn measure(&mut self, task: &Task, seconds: f32) -> Option<Figure> {
        let deadline = Instant::now() + LIMIT;
        let words = format!("{seconds} {} {}\n", task.name, task.size);
        for file in &mut self.pipes.files {
            file.write_all(words.as_bytes()).ok()?;
        }
        while let Some(line) = self.job.line(deadline) {
            let figure = Figure::parse(&line, self.ranks);
            let is_it = |f: &Figure| f.key.name == task.name && f.key.size == task.size;
            if figure.as_ref().is_some_and(is_it) {
                return figure;
            }
        }
        None
    }

    /// Lets the program end, kills it after `limit`, and returns how it ended.
    pub(super) fn end(self, limit: Duration) -> End {
        drop(self.pipes);
        self.job.end(Instant::now() + limit)
    }

    /// Kills the program.
    pub(super) fn abandon(self) -> End {
        self.end(Duration::ZERO)
    }
}

impl CommandPipes {
    fn create(prefix: &str, ranks: u32) -> io::Result<CommandPipes> {
        let mut pipes = CommandPipes {
            files: Vec::new(),
            paths: Vec::new(),
        };
        for rank in 0..ranks {
            let path = PathBuf::from(format!("{prefix}.{rank}"));
            mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
            pipes.paths.push(path.clone());
            // The FIFO is opened for reading too, so that opening it does not wait for the reader.
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            pipes.files.push(file);
        }
        Ok(pipes)
    }

    fn forget_names(&mut self) {
        for path in self.paths.drain(..) {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for CommandPipes {
    fn drop(&mut self) {
        self.forget_names();
    }
}
