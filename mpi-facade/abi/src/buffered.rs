//! Buffered sends and their buffer.

use crate::arguments::{Out, UserBuffer};
use core::ffi::{c_int, c_void};
use pombo_mpi::buffered::{self, Attached};
use pombo_mpi::constants::*;
use pombo_mpi::error::Error;
use pombo_mpi::{request, user_buffer};

fn attached(address: *mut c_void, size: i64) -> Result<Attached, Error> {
    let size = usize::try_from(size).map_err(|_| Error::Count { got: size })?;
    user_buffer::present(address, size)?;
    Ok(Attached { address, size })
}

macro_rules! buffered {
    ($($send:ident $isend:ident $attach:ident $detach:ident $count:ident;)*) => {mpi! {$(
        fn $send(buf: UserBuffer, count: $count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm) {
            buffered::send(buf, count.into(), datatype, dest, tag, comm)
        }

        fn $isend(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            dest: c_int,
            tag: c_int,
            comm: Comm,
            request: Out<Request>,
        ) {
            buffered::send(buf, count.into(), datatype, dest, tag, comm)?;
            out!(request = request::SENT);
            Ok(())
        }

        fn $attach(buffer: *mut c_void, size: $count) {
            buffered::attach(attached(buffer, size.into())?)
        }

        fn $detach(buffer_addr: Out<*mut c_void>, size: Out<$count>) {
            let attached = buffered::detach()?;
            out!(buffer_addr = attached.address, size = attached.size as $count);
            Ok(())
        }
    )*}};
}

buffered! {
    MPI_Bsend MPI_Ibsend MPI_Buffer_attach MPI_Buffer_detach c_int;
    MPI_Bsend_c MPI_Ibsend_c MPI_Buffer_attach_c MPI_Buffer_detach_c Count;
}

mpi! {
    fn MPI_Buffer_flush() {
        buffered::flush()
    }
}
