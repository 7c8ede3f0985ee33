//! What a rank has for others to know its memory by, and the leave to read it. Used by `Shm` and `remote` only.

use alloc::boxed::Box;

use rustix::process::{PTracer, getppid, set_ptracer};
use rustix::rand::{GetRandomFlags, getrandom};

use super::file::ProcFiles;
use crate::wait::cpu_quota::FileReader;

/// A word that no other process has there. While it is there, the processes of the rank's parent may read this one,
/// where the system asks who may: the parent is the launcher, or whatever started the ranks.
#[derive(Debug)]
pub(super) struct ProcessToken {
    word: Box<u64>,
    ptracer_set: bool,
}

impl ProcessToken {
    /// None where the system has no random numbers.
    #[cold]
    pub(super) fn new() -> Option<Self> {
        let mut word = [0; size_of::<u64>()];
        getrandom(&mut word, GetRandomFlags::empty()).ok()?;
        Some(Self {
            word: Box::new(u64::from_ne_bytes(word)),
            ptracer_set: yama_restricts() && set_ptracer(parent()).is_ok(),
        })
    }

    /// Its address and what it says.
    pub(super) fn address_and_value(&self) -> (usize, u64) {
        ((&raw const *self.word).expose_provenance(), *self.word)
    }
}

impl Drop for ProcessToken {
    fn drop(&mut self) {
        if self.ptracer_set {
            let _ = set_ptracer(PTracer::None);
        }
    }
}

/// Does Yama restrict who may read, to processes that the one to be read has named?
fn yama_restricts() -> bool {
    let mut mode = [0; 4];
    let mode = ProcFiles.read(c"/proc/sys/kernel/yama/ptrace_scope", &mut mode);
    mode.is_some_and(|mode| mode.starts_with(b"1"))
}

/// The process that may read this one, with all that come from it.
fn parent() -> PTracer {
    getppid().map_or(PTracer::None, PTracer::ProcessID)
}
