//! Versions, clocks, memory and the machine: what needs no world.

use crate::arguments::Out;
use crate::export::out_text;
use core::ffi::{CStr, c_char, c_double, c_int, c_void};
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};

const LIBRARY_VERSION: &str = concat!(
    "Pombo ",
    env!("CARGO_PKG_VERSION"),
    ", MPI 5.0, standard ABI 1.0"
);

mpi! {
    fn MPI_Get_version(version: Out<c_int>, subversion: Out<c_int>) {
        out!(version = MPI_VERSION, subversion = MPI_SUBVERSION);
        Ok(())
    }

    fn MPI_Abi_get_version(abi_major: Out<c_int>, abi_minor: Out<c_int>) {
        out!(abi_major = MPI_ABI_VERSION, abi_minor = MPI_ABI_SUBVERSION);
        Ok(())
    }

    fn MPI_Get_library_version(version: Out<c_char>, resultlen: Out<c_int>) {
        // SAFETY: the caller's string has MPI_MAX_LIBRARY_VERSION_STRING bytes, more than this text.
        out!(resultlen = unsafe { out_text(LIBRARY_VERSION, version) });
        Ok(())
    }

    fn MPI_Get_processor_name(name: Out<c_char>, resultlen: Out<c_int>) {
        const ROOM: usize = MPI_MAX_PROCESSOR_NAME as usize;
        let text = name.pointer();
        // SAFETY: the caller's string has MPI_MAX_PROCESSOR_NAME bytes. Longer names are cut, maybe without
        // a zero, so one is written behind the last place.
        unsafe {
            if libc::gethostname(text, ROOM) != 0 {
                out_text("localhost", name);
            }
            text.add(ROOM - 1).write(0);
        }
        // SAFETY: it ends in a zero now.
        out!(resultlen = unsafe { CStr::from_ptr(text) }.count_bytes() as c_int);
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
        // SAFETY: no demands. A byte at least, as null would mean that memory is out.
        let memory = unsafe { libc::malloc(bytes.max(1)) };
        if memory.is_null() {
            return Err(Error::NoMemory { bytes: bytes as u64 }.into());
        }
        out!(baseptr = memory);
        Ok(())
    }

    fn MPI_Free_mem(base: *mut c_void) {
        // SAFETY: the caller's `base` comes from MPI_Alloc_mem, or is null.
        unsafe { libc::free(base) };
        Ok(())
    }

    /// For profiling layers, which look at the level and at arguments behind it.
    fn MPI_Pcontrol(_level: c_int) {
        Ok(())
    }
}

/// Reads the monotonic clock, or its resolution, which all processes of a machine share.
fn seconds(read: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int) -> c_double {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable. This clock exists on every Linux, so reading it does not fail.
    unsafe { read(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}
