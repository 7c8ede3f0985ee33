//! A rank's token, by which others recognise its memory, and the permission to read it. Only `Shm` and `cma` use it.

use alloc::boxed::Box;

use rustix::process::{PTracer, getppid, set_ptracer};
use rustix::rand::{GetRandomFlags, getrandom};

use super::file::ProcFiles;
use crate::wait::cpu_quota::FileReader;

/// A word that no other process has at this address. While it exists, descendants of the rank's parent may read this
/// process, if Yama restricts reading: the parent is the launcher, or whatever started the ranks.
#[derive(Debug)]
pub(super) struct ProcessToken {
    word: Box<u64>,
    ptracer_set: bool,
}

impl ProcessToken {
    /// Creates a token; returns `None` if the system has no random numbers.
    #[cold]
    pub(super) fn new() -> Option<Self> {
        let mut word = [0; size_of::<u64>()];
        getrandom(&mut word, GetRandomFlags::empty()).ok()?;
        Some(Self {
            word: Box::new(u64::from_ne_bytes(word)),
            ptracer_set: yama_restricts() && set_ptracer(parent()).is_ok(),
        })
    }

    /// Returns the address and the value of the token.
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

/// Returns whether Yama restricts reading to processes that the target has named.
fn yama_restricts() -> bool {
    let mut mode = [0; 4];
    let mode = ProcFiles.read(c"/proc/sys/kernel/yama/ptrace_scope", &mut mode);
    mode.is_some_and(|mode| mode.starts_with(b"1"))
}

/// Returns the process that is permitted to read this one, with its descendants.
fn parent() -> PTracer {
    getppid().map_or(PTracer::None, PTracer::ProcessID)
}
