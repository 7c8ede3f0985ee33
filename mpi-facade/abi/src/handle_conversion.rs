//! Conversion of handles to and from integers, for other languages. It cannot fail.
//!
//! Predefined handles are small, and Pombo's own are indices in tables: all fit an `int`.

use core::ffi::c_int;
use pombo_mpi::constants::*;

macro_rules! conversions {
    ($($handle:ident: $toint:ident $fromint:ident;)*) => {
        mpi! {$(
            fn $toint(handle: $handle) -> c_int {
                handle.0 as c_int
            }

            fn $fromint(handle: c_int) -> $handle {
                $handle(handle as u32 as usize)
            }
        )*}
    };
}

conversions! {
    Comm: MPI_Comm_toint MPI_Comm_fromint;
    Datatype: MPI_Type_toint MPI_Type_fromint;
    Errhandler: MPI_Errhandler_toint MPI_Errhandler_fromint;
    File: MPI_File_toint MPI_File_fromint;
    Group: MPI_Group_toint MPI_Group_fromint;
    Info: MPI_Info_toint MPI_Info_fromint;
    Message: MPI_Message_toint MPI_Message_fromint;
    Op: MPI_Op_toint MPI_Op_fromint;
    Request: MPI_Request_toint MPI_Request_fromint;
    Session: MPI_Session_toint MPI_Session_fromint;
    Win: MPI_Win_toint MPI_Win_fromint;
}
