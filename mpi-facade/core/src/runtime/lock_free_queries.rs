//! Functions that any thread may call at any time, also while another is in a call: atomics and constants answer them,
//! without the lock of the world. Some are refused before `MPI_Init` and after `MPI_Finalize`.
//!
//! | answered by | functions |
//! | --- | --- |
//! | [`mod@phase`] | `MPI_Initialized`, `MPI_Finalized`, `MPI_Query_thread`, `MPI_Is_thread_main` |
//! | constants | `MPI_Get_version`, `MPI_Get_library_version`, `MPI_Abi_get_version`, `MPI_Pcontrol` |
//! | the system | `MPI_Wtime`, `MPI_Wtick`, `MPI_Get_processor_name`, `MPI_Alloc_mem`, `MPI_Free_mem` |
//! | values with a lock of their own | `MPI_Info_*`, `MPI_Error_class`, `MPI_Error_string`, `MPI_Add_error_*`, `MPI_Remove_error_*` |
//! | tables, for predefined handles | `MPI_Op_commutative`, `MPI_Type_size`, `MPI_Type_get_extent`, `MPI_Type_get_true_extent`, `MPI_Type_get_name`, `MPI_Type_match_size`, with `_c` and `_x` |
//! | their arguments | `MPI_Get_address`, `MPI_Aint_add`, `MPI_Aint_diff`, `MPI_Get_count`, `MPI_Get_elements`, `MPI_Test_cancelled`, `MPI_Status_*`, `MPI_*_toint`, `MPI_*_fromint` |
//!
//! Only their errors take the world, for the handler that receives them.

use super::phase::{self, Phase, phase};
use super::world;
use crate::error::CommError;
use core::ffi::c_int;

/// Returns the granted level of thread support.
pub fn threads() -> Result<c_int, CommError> {
    match phase() {
        Phase::Running => Ok(phase::granted()),
        _ => Err(world::absent()),
    }
}

/// Returns whether this thread has called `MPI_Init`.
pub fn is_main_thread() -> Result<bool, CommError> {
    match phase() {
        Phase::Running => Ok(phase::is_main_thread()),
        _ => Err(world::absent()),
    }
}
