//! The cost of a job: messages and bytes as its ranks counted them, and the memory that the composition of the MPI
//! library takes for each. Only `demo` uses it.

use std::fs;
use std::path::Path;

use pombo_kernel::aspect::{Eager, Static};
use pombo_kernel::envelope::EnvelopeFormat;
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Composition, Envelope, Selected};
use pombo_mpi::message_header::{self, MpiComposition};

use crate::error::Error;

/// The same header with every aspect off that can be off.
type Bare = Composition<
    <Selected as EnvelopeFormat>::Length,
    Eager,
    Linear,
    Static,
    Capacities<16, 32, 256, 8>,
>;

/// Returns a few lines for the terminal; `traffic` is the file that `POMBO_STATS_FILE` named.
pub(crate) fn report(traffic: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(traffic).map_err(Error::file("read", traffic))?;
    let (messages, bytes) = sum(&text);
    Ok(format!(
        "\
messages  {messages} sent by all ranks, {bytes} bytes
compose   {} bytes of envelope for each message under way (bare: {}),
          {} of them MPI's header
          {} bytes of communicator in each rank, beside tables that grow with use
",
        size_of::<Envelope<message_header::MpiHeader, MpiComposition>>(),
        size_of::<Envelope<message_header::MpiHeader, Bare>>(),
        size_of::<message_header::MpiHeader>(),
        pombo_mpi::KERNEL_BYTES,
    ))
}

/// Sums lines that begin with rank, messages, bytes.
fn sum(text: &str) -> (u64, u64) {
    let mut sums = (0, 0);
    for line in text.lines() {
        let numbers: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
        if let [_rank, messages, bytes, ..] = numbers[..] {
            sums = (sums.0 + messages, sums.1 + bytes);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranks_add_up() {
        let sums = super::sum("0 10 1000 0\n1 20 3000 0\nnonsense\n");
        assert_eq!(sums, (30, 4000));
    }
}
