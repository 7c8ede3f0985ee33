//! `MPI_Init`, `MPI_Finalize` and `MPI_Abort`.

use crate::arguments::{MainPart, Out};
use core::ffi::c_int;
use pombo_mpi::c_arguments::MainArguments;
use pombo_mpi::constants::*;
use pombo_mpi::{Phase, exit, init, is_main_thread, phase, threads};

mpi! {
    fn MPI_Init(argc: MainPart<c_int>, argv: MainPart<MainArguments>) {
        // The system knows the command too.
        let _ = (argc.0, argv.0);
        init::init(MPI_THREAD_SINGLE)?;
        Ok(())
    }

    fn MPI_Init_thread(
        argc: MainPart<c_int>,
        argv: MainPart<MainArguments>,
        required: c_int,
        provided: Out<c_int>,
    ) {
        let _ = (argc.0, argv.0);
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
}
