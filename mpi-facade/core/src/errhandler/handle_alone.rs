//! Without diagnostics texts of errors name a communicator by its handle, whatever name the program has given it.

use crate::comm::inquiry::check;
use crate::constants::*;
use pombo_job::log::LogLine;

/// The communicator of an error.
pub(crate) struct CommunicatorName(Comm);

impl CommunicatorName {
    pub(crate) fn of(comm: Comm) -> Self {
        CommunicatorName(check(comm).map_or(MPI_COMM_SELF, |()| comm))
    }

    /// Names the communicator in a line, unless the error concerns none.
    pub(crate) fn put(&self, line: &mut LogLine) {
        match self.0 {
            MPI_COMM_SELF => {}
            MPI_COMM_WORLD => _ = line.put("; communicator MPI_COMM_WORLD"),
            comm => _ = line.put("; communicator ").put_hexadecimal(comm.0),
        }
    }
}
