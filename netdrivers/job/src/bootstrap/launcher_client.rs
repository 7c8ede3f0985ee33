//! Whoever started the ranks and carries words between them before they have channels. `bootstrap` asks; whoever has joined leaves by it.

use super::JobError;
use super::exchanged_text::ExchangedText;
use super::pmi::Pmi;
use super::shm_exchange::ShmExchange;
use alloc::vec::Vec;
use core::ffi::c_int;

/// A launcher that serves the ranks.
pub struct Launcher(Protocol);

enum Protocol {
    /// Over a protocol of its own.
    Pmi(Pmi),
    /// By the memory file that `pombo run` made.
    Memory(ShmExchange),
}

impl Launcher {
    /// One that speaks PMI-1.
    pub(super) fn pmi(pmi: Pmi) -> Self {
        Launcher(Protocol::Pmi(pmi))
    }

    /// `pombo run`, whose memory is no channel of this job.
    pub(super) fn memory(assembly: ShmExchange) -> Self {
        Launcher(Protocol::Memory(assembly))
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        match &self.0 {
            Protocol::Pmi(pmi) => pmi.rank(),
            Protocol::Memory(assembly) => assembly.rank(),
        }
    }

    /// Tells the others a word and hears theirs, in the order of ranks. All ranks do so with the same names in the same
    /// order.
    #[cold]
    #[inline(never)]
    pub(crate) fn exchange(
        &mut self,
        name: &str,
        own: &ExchangedText,
    ) -> Result<Vec<ExchangedText>, JobError> {
        match &mut self.0 {
            Protocol::Pmi(pmi) => pmi.exchange(name, own),
            Protocol::Memory(assembly) => assembly.exchange(own),
        }
    }

    /// Says that this rank goes in good order.
    pub fn finish(&mut self) {
        match &mut self.0 {
            // It may have gone first: that is nobody's loss any more.
            Protocol::Pmi(pmi) => drop(pmi.finish()),
            Protocol::Memory(assembly) => assembly.finish(),
        }
    }

    /// Says that the whole job has to end, with this exit code.
    pub fn abort(&mut self, code: c_int) {
        match &mut self.0 {
            Protocol::Pmi(pmi) => pmi.abort(code),
            // It sees how this process ends.
            Protocol::Memory(_) => {}
        }
    }
}
