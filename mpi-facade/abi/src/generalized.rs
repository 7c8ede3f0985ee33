//! Generalized requests.

use crate::arguments::Out;
use core::ffi::c_void;
use pombo_mpi::constants::*;
use pombo_mpi::generalized::{self, CancelFunction, FreeFunction, Functions, QueryFunction};

mpi! {
    fn MPI_Grequest_start(
        query_fn: Option<QueryFunction>,
        free_fn: Option<FreeFunction>,
        cancel_fn: Option<CancelFunction>,
        extra_state: *mut c_void,
        request: Out<Request>,
    ) {
        let functions = Functions {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            extra_state,
        };
        out!(request = generalized::start(functions)?);
        Ok(())
    }

    fn MPI_Grequest_complete(request: Request) {
        generalized::complete(request)
    }
}
