//! The launcher, which started the ranks and exchanges texts between them before they have channels. `bootstrap` uses
//! it, and a joined rank leaves through it.

use super::JobError;
use super::launcher_text::ExchangedText;
use super::pmi::Pmi;
use super::shm_exchange::ShmExchange;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_netdrivers::shm::Shm;

/// A launcher that serves the ranks.
pub struct Launcher(Protocol);

/// In boxes, as a start passes the launcher on.
enum Protocol {
    /// A launcher with a protocol of its own.
    Pmi(Box<Pmi>),
    /// `pombo run`, through its memory file.
    Memory(Box<ShmExchange>),
}

impl Launcher {
    /// Creates the client of a launcher that speaks PMI-1.
    pub(super) fn pmi(pmi: Box<Pmi>) -> Self {
        Launcher(Protocol::Pmi(pmi))
    }

    /// Creates the client of `pombo run`, whose memory is no channel of this job.
    pub(super) fn memory(assembly: ShmExchange) -> Self {
        Launcher(Protocol::Memory(Box::new(assembly)))
    }

    /// Returns the rank of this process.
    pub fn rank(&self) -> usize {
        match &self.0 {
            Protocol::Pmi(pmi) => pmi.rank(),
            Protocol::Memory(assembly) => assembly.rank(),
        }
    }

    /// Publishes a text and returns those of all ranks, in rank order. All ranks call it with the same names in the
    /// same order.
    #[cold]
    #[inline(never)]
    pub(crate) fn exchange(
        &mut self,
        name: &str,
        own: &ExchangedText,
    ) -> Result<Vec<ExchangedText>, Box<JobError>> {
        match &mut self.0 {
            Protocol::Pmi(pmi) => pmi.exchange(name, own),
            Protocol::Memory(assembly) => assembly.exchange(own),
        }
    }

    /// Tells the launcher that this rank leaves regularly.
    pub fn finish(&mut self) {
        match &mut self.0 {
            // The launcher may have ended first, which harms nobody any more.
            Protocol::Pmi(pmi) => drop(pmi.finish()),
            Protocol::Memory(assembly) => assembly.finish(),
        }
    }

    /// Returns the memory in which the launcher asks the ranks; see [`pombo_netdrivers::shm::Segment::ask`]. `None` if
    /// it has none.
    pub fn shm(&mut self) -> Option<&mut Shm> {
        match &mut self.0 {
            Protocol::Pmi(_) => None,
            Protocol::Memory(assembly) => Some(assembly.shm_mut()),
        }
    }

    /// Tells the launcher that the whole job has to end, with this exit code.
    pub fn abort(&mut self, code: c_int) {
        match &mut self.0 {
            Protocol::Pmi(pmi) => pmi.abort(code),
            // `pombo run` sees how this process ends.
            Protocol::Memory(_) => {}
        }
    }
}
