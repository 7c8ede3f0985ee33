//! From `MPI_Init` to `MPI_Finalize`, and the other way out.

use core::ffi::{c_char, c_int};
use pombo_mpi::constants::*;
use pombo_mpi::{Phase, fault, groups, init, phase};

mpi! {
    fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        init::init(MPI_THREAD_SINGLE)?;
        Ok(())
    }

    fn MPI_Init_thread(
        _argc: *mut c_int,
        _argv: *mut *mut *mut c_char,
        required: c_int,
        provided: *mut c_int,
    ) {
        give!(provided = init::init(required)?);
        Ok(())
    }

    fn MPI_Initialized(flag: *mut c_int) {
        give!(flag = c_int::from(phase() != Phase::Before));
        Ok(())
    }

    fn MPI_Finalize() {
        init::finalize()
    }

    fn MPI_Finalized(flag: *mut c_int) {
        give!(flag = c_int::from(phase() == Phase::After));
        Ok(())
    }

    fn MPI_Query_thread(provided: *mut c_int) {
        give!(provided = init::threads()?);
        Ok(())
    }

    fn MPI_Abort(comm: Comm, errorcode: c_int) {
        init::abort(comm, errorcode)
    }

    fn MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler) {
        fault::set_handler(comm, errhandler)
    }

    fn MPI_Comm_get_errhandler(comm: Comm, errhandler: *mut Errhandler) {
        give!(errhandler = fault::get_handler(comm)?);
        Ok(())
    }

    fn MPI_Comm_rank(comm: Comm, rank: *mut c_int) {
        give!(rank = groups::rank(comm)?);
        Ok(())
    }

    fn MPI_Comm_size(comm: Comm, size: *mut c_int) {
        give!(size = groups::size(comm)?);
        Ok(())
    }

    fn MPI_Comm_dup(comm: Comm, newcomm: *mut Comm) {
        give!(newcomm = groups::duplicate(comm)?);
        Ok(())
    }

    fn MPI_Comm_split(comm: Comm, color: c_int, key: c_int, newcomm: *mut Comm) {
        give!(newcomm = groups::split(comm, color, key)?);
        Ok(())
    }

    fn MPI_Comm_free(comm: *mut Comm) {
        // SAFETY: the caller's handle.
        groups::free(unsafe { comm.read() })?;
        give!(comm = Comm::NULL);
        Ok(())
    }
}
