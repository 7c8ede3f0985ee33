//! Whoever started the ranks and carries words between them before they have channels. `place` asks, `init` leaves.

use super::PlaceError;
use super::assembly::Assembly;
use super::pmi::Pmi;
use super::word::Word;
use alloc::vec::Vec;
use core::ffi::c_int;

/// A launcher that serves the ranks.
pub(crate) enum Launcher {
    /// Over a protocol of its own.
    Pmi(Pmi),
    /// By the memory file that `pombo run` made.
    Memory(Assembly),
}

impl Launcher {
    /// This process's rank.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Launcher::Pmi(pmi) => pmi.rank(),
            Launcher::Memory(assembly) => assembly.rank(),
        }
    }

    /// Tells the others a word and hears theirs, in the order of ranks. All ranks do so with the same names in the same
    /// order.
    #[cold]
    #[inline(never)]
    pub(crate) fn exchange(&mut self, name: &str, own: &Word) -> Result<Vec<Word>, PlaceError> {
        match self {
            Launcher::Pmi(pmi) => pmi.exchange(name, own),
            Launcher::Memory(assembly) => assembly.exchange(own),
        }
    }

    /// Says that this rank goes in good order.
    pub(crate) fn finish(&mut self) {
        match self {
            // It may have gone first: that is nobody's loss any more.
            Launcher::Pmi(pmi) => drop(pmi.finish()),
            Launcher::Memory(assembly) => assembly.finish(),
        }
    }

    /// Says that the whole job has to end.
    pub(crate) fn abort(&mut self, code: c_int) {
        match self {
            Launcher::Pmi(pmi) => pmi.abort(code),
            // It sees how this process ends.
            Launcher::Memory(_) => {}
        }
    }
}
