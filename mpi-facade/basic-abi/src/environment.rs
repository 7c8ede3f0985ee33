//! Start and end, ranks, clock and names. Source: MPI 5.0, sections 7.4, 9.1, 9.6 and 11.2.

use crate::arguments::{Out, check, given};
use crate::errors::{exit, line};
use crate::world::{self, Phase, phase, world};
use core::ffi::{c_double, c_int, c_void};
use pombo_job::log;
use pombo_job::process::with_host_name;
use pombo_mpi::c_arguments::TextRoom;
use pombo_mpi::constants::*;
use pombo_mpi::error::Class;

/// What a slot of the kernel's queues takes, for `pombo size`; no program carries it.
#[used]
static SLOT_BYTES: [u64; 2] = [world::SLOT_BYTES[0] as u64, world::SLOT_BYTES[1] as u64];

mpi! {
    fn MPI_Get_version(version: Out<c_int>, subversion: Out<c_int>) {
        given(version)?.set(MPI_VERSION);
        given(subversion)?.set(MPI_SUBVERSION);
        Ok(())
    }

    fn MPI_Get_library_version(
        version: Out<TextRoom<{ MPI_MAX_LIBRARY_VERSION_STRING as usize }>>,
        resultlen: Out<c_int>,
    ) {
        let (version, resultlen) = (given(version)?, given(resultlen)?);
        resultlen.set(version.set_text(LIBRARY_VERSION.as_bytes()));
        Ok(())
    }

    fn MPI_Init(_argc: *mut c_int, _argv: *mut c_void) {
        world::begin()
    }

    fn MPI_Init_thread(_argc: *mut c_int, _argv: *mut c_void, required: c_int, provided: Out<c_int>) {
        given(provided)?.set(required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED));
        world::begin()
    }

    fn MPI_Initialized(flag: Out<c_int>) {
        given(flag)?.set((phase() != Phase::Before).into());
        Ok(())
    }

    fn MPI_Finalized(flag: Out<c_int>) {
        given(flag)?.set((phase() == Phase::After).into());
        Ok(())
    }

    fn MPI_Finalize() {
        world::finalize()
    }

    fn MPI_Abort(_comm: Comm, errorcode: c_int) {
        let mut line = line();
        line.put(" called MPI_Abort with code ").put_number(errorcode);
        log::error(&line);
        exit(errorcode)
    }

    fn MPI_Comm_rank(comm: Comm, rank: Out<c_int>) {
        check(comm)?;
        given(rank)?.set(world()?.rank() as c_int);
        Ok(())
    }

    fn MPI_Comm_size(comm: Comm, size: Out<c_int>) {
        check(comm)?;
        given(size)?.set(world()?.size() as c_int);
        Ok(())
    }

    fn MPI_Get_processor_name(
        name: Out<TextRoom<{ MPI_MAX_PROCESSOR_NAME as usize }>>,
        resultlen: Out<c_int>,
    ) {
        let (name, resultlen) = (given(name)?, given(resultlen)?);
        resultlen.set(with_host_name(|host| name.set_text(host)));
        Ok(())
    }

    fn MPI_Error_string(
        errorcode: c_int,
        string: Out<TextRoom<{ MPI_MAX_ERROR_STRING as usize }>>,
        resultlen: Out<c_int>,
    ) {
        let (string, resultlen) = (given(string)?, given(resultlen)?);
        let class = Class::from_code(errorcode).unwrap_or(Class::Unknown);
        resultlen.set(string.set_text(class.text().as_bytes()));
        Ok(())
    }
}

/// Defines functions that read the monotonic clock of the machine, or its resolution, in seconds.
macro_rules! clocks {
    ($($name:ident $profiled:literal $read:ident;)*) => {$(
        #[unsafe(export_name = $profiled)]
        #[inline(never)]
        #[allow(non_snake_case, reason = "the standard's name")]
        extern "C" fn $name() -> c_double {
            seconds(libc::$read)
        }

        replaceable! { $name $name }
    )*};
}

clocks! {
    MPI_Wtime "PMPI_Wtime" clock_gettime;
    MPI_Wtick "PMPI_Wtick" clock_getres;
}

fn seconds(read: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int) -> c_double {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable. This clock exists on every Linux, so the call does not fail.
    unsafe { read(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}
