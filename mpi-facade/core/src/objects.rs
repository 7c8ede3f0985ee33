//! The objects of MPI in a process: everything that local functions use, also those that callbacks call.

use crate::comm::Comms;
use crate::constants::Comm;
use crate::datatype::Datatypes;
use crate::extensions::Extensions;
use crate::op::UserOperations;
use crate::runtime::world::CommError;
use pombo_job::environment::EnvironmentCopy;

/// The objects of this process. Calls get them with the world or, inside a callback, from the call around it.
pub(crate) struct Objects {
    /// The communicators, by handle and by context.
    pub(crate) comms: Comms,
    /// The predefined datatypes and those of the program.
    pub(crate) datatypes: Datatypes,
    /// Reduction operations of the program.
    pub(crate) operations: UserOperations,
    /// Deletes the attributes of a communicator, once the program has set one; `MPI_Finalize` calls it.
    pub(crate) delete_attributes: Option<fn(Comm) -> Result<(), CommError>>,
    /// Flushes the buffers of buffered sends, once the program has attached one; `MPI_Finalize` calls it.
    pub(crate) flush_buffers: Option<fn() -> Result<(), CommError>>,
    /// The environment as it was when this process joined the job.
    pub(crate) environment: EnvironmentCopy,
    /// Objects of parts of MPI, by type.
    pub(crate) extensions: Extensions,
}

impl Objects {
    pub(crate) fn new(comms: Comms) -> Self {
        Objects {
            comms,
            datatypes: Datatypes::new(),
            operations: UserOperations::default(),
            delete_attributes: None,
            flush_buffers: None,
            environment: EnvironmentCopy::of_now(),
            extensions: Extensions::default(),
        }
    }
}
