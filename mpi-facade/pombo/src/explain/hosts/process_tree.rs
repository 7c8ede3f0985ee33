//! The memory that the ranks of this host share, found through their processes. Only `reporter` uses it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use pombo_netdrivers::shm::Segment;

use crate::explain::job_memory;
use crate::procfs::stat_field;

/// The subcommand of a rank that keeps a place for a process that joins.
pub(crate) const KEEPER: &str = "__place";

/// The memory of some ranks of this host.
pub(super) struct HostMemory {
    inode: u64,
    pub(super) segment: Segment,
}

/// Adds the memory of every process below `root` that is not known yet. Only that of a job over hosts has the numbers
/// that its ranks have in the job.
pub(super) fn find(root: u32, known: &mut Vec<HostMemory>) {
    for process in below(root) {
        for path in job_memory::files(process).into_iter().flatten() {
            let Some(inode) = inode(&path) else { continue };
            if known.iter().any(|memory| memory.inode == inode) {
                continue;
            }
            if let Some(segment) = job_memory::open(&path)
                && segment.job_rank(0).is_some()
            {
                known.push(HostMemory { inode, segment });
            }
        }
    }
}

/// Returns whether that process of Hydra has a rank that keeps no place.
pub(super) fn has_program(proxy: u32) -> bool {
    processes().any(|(process, parent)| parent == proxy && !keeps_place(process))
}

/// Returns whether that process keeps a place, or is the shell that becomes it.
fn keeps_place(process: u32) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    match words.next() {
        Some(b"-c") => words
            .next()
            .is_some_and(|script| script.ends_with(KEEPER.as_bytes())),
        word => word == Some(KEEPER.as_bytes()),
    }
}

fn inode(path: &PathBuf) -> Option<u64> {
    Some(std::fs::metadata(path).ok()?.ino())
}

/// Returns the processes that this one started, and those that they did.
fn below(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (process, parent) in processes() {
        children.entry(parent).or_default().push(process);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(process).unwrap_or_default());
        next += 1;
    }
    found
}

/// Returns all processes, each with its parent.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        Some((process, stat_field(process, 4)?))
    })
}
