//! Versions, clocks, memory and the processor's name: the functions that need no world.

use crate::arguments::{Out, OutText};
use core::ffi::{c_double, c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::info;

/// What a slot of the kernel's queues takes, for `pombo size`; no program carries it.
#[used]
static SLOT_BYTES: [u64; 2] = [
    pombo_mpi::SLOT_BYTES[0] as u64,
    pombo_mpi::SLOT_BYTES[1] as u64,
];

mpi! {
    fn MPI_Get_version(version: Out<c_int>, subversion: Out<c_int>) {
        out!(version = MPI_VERSION, subversion = MPI_SUBVERSION);
        Ok(())
    }

    fn MPI_Abi_get_version(abi_major: Out<c_int>, abi_minor: Out<c_int>) {
        out!(abi_major = MPI_ABI_VERSION, abi_minor = MPI_ABI_SUBVERSION);
        Ok(())
    }

    fn MPI_Get_library_version(
        version: OutText<{ MPI_MAX_LIBRARY_VERSION_STRING as usize }>,
        resultlen: Out<c_int>,
    ) {
        out!(resultlen = version.set_text(LIBRARY_VERSION.as_bytes()));
        Ok(())
    }

    fn MPI_Get_processor_name(name: OutText<{ MPI_MAX_PROCESSOR_NAME as usize }>, resultlen: Out<c_int>) {
        out!(resultlen = info::with_host_name(|host| name.set_text(host)));
        Ok(())
    }

    fn MPI_Wtime() -> c_double {
        seconds(libc::clock_gettime)
    }

    fn MPI_Wtick() -> c_double {
        seconds(libc::clock_getres)
    }

    fn MPI_Alloc_mem(size: Aint, _info: Info, baseptr: Out<*mut c_void>) {
        let wrong = Error::Argument { class: Class::Arg, name: "size", must: "0 or more" };
        let bytes = usize::try_from(size).map_err(|_| wrong)?;
        // SAFETY: malloc has no preconditions. At least one byte is requested, as null would mean that memory is
        // exhausted.
        let memory = unsafe { libc::malloc(bytes.max(1)) };
        if memory.is_null() {
            return Err(Error::NoMemory { bytes: bytes as u64 }.into());
        }
        out!(baseptr = memory);
        Ok(())
    }

    fn MPI_Free_mem(base: *mut c_void) {
        // SAFETY: the C caller has promised that `base` comes from MPI_Alloc_mem (MPI 5.0, section 9.2), and that the
        // memory is no longer used; null is allowed.
        unsafe { libc::free(base) };
        Ok(())
    }

    /// Does nothing: profiling layers define it, and read the level and the arguments behind it.
    fn MPI_Pcontrol(_level: c_int) {
        Ok(())
    }
}

/// Reads the monotonic clock of the machine, or its resolution, in seconds.
fn seconds(read: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int) -> c_double {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable. This clock exists on every Linux, so the call does not fail.
    unsafe { read(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}
