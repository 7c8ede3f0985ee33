//! How texts of errors name a communicator. `errhandler` and `error_codes` use it.

use crate::constants::*;
use crate::runtime::world;
use alloc::vec::Vec;
use pombo_job::log::LogLine;

/// The communicator of an error, by the name that it has now: texts may be asked for when it is freed.
pub(crate) struct CommunicatorName {
    comm: Comm,
    name: Option<Vec<u8>>,
}

impl CommunicatorName {
    pub(crate) fn of(comm: Comm) -> Self {
        let name = world::local(|objects| {
            let record = objects.comms.get(comm)?;
            // Without diagnostics it is named by its handle, whatever name it has.
            let name = cfg!(feature = "diagnostics").then(|| record.name.clone());
            Ok(name.flatten())
        });
        match name {
            Ok(name) => CommunicatorName { comm, name },
            Err(_) => CommunicatorName {
                comm: MPI_COMM_SELF,
                name: None,
            },
        }
    }

    /// Names the communicator in a line, unless the error concerns none (then it is `MPI_COMM_SELF`).
    pub(crate) fn put(&self, line: &mut LogLine) {
        if self.comm == MPI_COMM_SELF {
            return;
        }
        line.put("; communicator ");
        match &self.name {
            Some(name) => {
                for byte in name.escape_ascii() {
                    line.put(str::from_utf8(&[byte]).unwrap_or_default());
                }
            }
            None if self.comm == MPI_COMM_WORLD => _ = line.put("MPI_COMM_WORLD"),
            None => {
                line.put_hexadecimal(self.comm.0);
                if cfg!(feature = "diagnostics") {
                    line.put(", which has no name");
                }
            }
        }
    }
}
