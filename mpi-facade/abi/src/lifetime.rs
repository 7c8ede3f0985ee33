//! `MPI_Init`, `MPI_Finalize` and `MPI_Abort`.

use crate::arguments::{InOut, Out};
use core::ffi::{c_char, c_int};
use pombo_mpi::comm::create;
use pombo_mpi::constants::*;
use pombo_mpi::{Phase, errhandler, exit, init, is_main_thread, phase, threads};

mpi! {
    fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        init::init(MPI_THREAD_SINGLE)?;
        Ok(())
    }

    fn MPI_Init_thread(
        _argc: *mut c_int,
        _argv: *mut *mut *mut c_char,
        required: c_int,
        provided: Out<c_int>,
    ) {
        out!(provided = init::init(required)?);
        Ok(())
    }

    fn MPI_Initialized(flag: Out<c_int>) {
        out!(flag = c_int::from(phase() != Phase::Before));
        Ok(())
    }

    fn MPI_Finalize() {
        init::finalize()
    }

    fn MPI_Finalized(flag: Out<c_int>) {
        out!(flag = c_int::from(phase() == Phase::After));
        Ok(())
    }

    fn MPI_Query_thread(provided: Out<c_int>) {
        out!(provided = threads()?);
        Ok(())
    }

    fn MPI_Is_thread_main(flag: Out<c_int>) {
        out!(flag = c_int::from(is_main_thread()?));
        Ok(())
    }

    fn MPI_Abort(comm: Comm, errorcode: c_int) {
        exit::abort(comm, errorcode)
    }

    fn MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler) {
        errhandler::set_handler(comm, errhandler)
    }

    fn MPI_Comm_get_errhandler(comm: Comm, errhandler: Out<Errhandler>) {
        out!(errhandler = errhandler::get_handler(comm)?);
        Ok(())
    }

    fn MPI_Comm_rank(comm: Comm, rank: Out<c_int>) {
        out!(rank = create::rank(comm)?);
        Ok(())
    }

    fn MPI_Comm_size(comm: Comm, size: Out<c_int>) {
        out!(size = create::size(comm)?);
        Ok(())
    }

    fn MPI_Comm_dup(comm: Comm, newcomm: Out<Comm>) {
        out!(newcomm = create::duplicate(comm)?);
        Ok(())
    }

    fn MPI_Comm_split(comm: Comm, color: c_int, key: c_int, newcomm: Out<Comm>) {
        out!(newcomm = create::split(comm, color, key)?);
        Ok(())
    }

    fn MPI_Comm_free(comm: InOut<Comm>) {
        create::free(comm.get())?;
        out!(comm = Comm::NULL);
        Ok(())
    }
}
