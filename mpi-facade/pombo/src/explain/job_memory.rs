//! The shared memory of jobs, found through a process that holds it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use pombo_netdrivers::shm::Segment;

use crate::error::Error;

/// What the system shows of the memory of a job.
const NAME: &str = "/memfd:pombo (deleted)";

/// Returns the paths by which the memory that a process holds can be opened.
pub(super) fn files(process: u32) -> Result<Vec<PathBuf>, Error> {
    named(process, NAME)
}

/// Returns the paths of a process's descriptors of the file that the system calls so.
pub(super) fn named(process: u32, name: &str) -> Result<Vec<PathBuf>, Error> {
    let directory = PathBuf::from(format!("/proc/{process}/fd"));
    let entries = std::fs::read_dir(&directory).map_err(Error::file("read", &directory))?;
    let is_so = |path: &PathBuf| std::fs::read_link(path).is_ok_and(|it| it == Path::new(name));
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(is_so).collect())
}

/// Opens the memory; `None` if it is that of another version of Pombo.
pub(super) fn open(path: &Path) -> Option<Segment> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    Segment::open(file.as_raw_fd()).ok()
}
