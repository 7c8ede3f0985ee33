//! A rank's token, by which others recognise its memory, and the permission to read it. Only `Shm` and `cma` use it.

use alloc::boxed::Box;

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
        let mut word = Box::new(0_u64);
        let size = size_of_val(&*word);
        // SAFETY: the word is valid for its size.
        let filled = unsafe { libc::getrandom((&raw mut *word).cast(), size, 0) };
        (filled == size as isize).then(|| Self {
            word,
            ptracer_set: yama_restricts() && allow_ptracer(parent()),
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
            allow_ptracer(0);
        }
    }
}

/// Returns whether Yama restricts reading to processes that the target has named.
fn yama_restricts() -> bool {
    let mut mode = [0; 4];
    let mode = ProcFiles.read(c"/proc/sys/kernel/yama/ptrace_scope", &mut mode);
    mode.is_some_and(|mode| mode.starts_with(b"1"))
}

fn parent() -> i32 {
    // SAFETY: takes nothing and touches no memory.
    unsafe { libc::getppid() }
}

/// Permits that process and its descendants to read this one; 0: none.
fn allow_ptracer(process: i32) -> bool {
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, process as libc::c_ulong, 0, 0, 0) == 0 }
}
