//! Buffered sends and their buffer.

use crate::arguments::{Out, UserBuffer};
use core::ffi::{c_int, c_void};
use pombo_mpi::buffered::{self, Attached, BufferOf};
use pombo_mpi::constants::*;
use pombo_mpi::error::Error;
use pombo_mpi::{CommError, request, user_buffer};

fn attached(address: *mut c_void, size: i64) -> Result<Attached, Error> {
    let size = usize::try_from(size).map_err(|_| Error::Count { got: size })?;
    user_buffer::present(address, size)?;
    Ok(Attached { address, size })
}

macro_rules! buffered {
    ($($send:ident $isend:ident $attach:ident $detach:ident $comm_attach:ident $comm_detach:ident $count:ident;)*) => {mpi! {$(
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
            buffered::attach(BufferOf::Process, attached(buffer, size.into())?)
        }

        fn $detach(buffer_addr: Out<*mut c_void>, size: Out<$count>) {
            let attached = buffered::detach(BufferOf::Process)?;
            out!(buffer_addr = attached.address, size = attached.size as $count);
            Ok(())
        }

        fn $comm_attach(comm: Comm, buffer: *mut c_void, size: $count) {
            let buffer = attached(buffer, size.into()).map_err(CommError::on(comm))?;
            buffered::attach(BufferOf::Communicator(comm), buffer)
        }

        fn $comm_detach(comm: Comm, buffer_addr: Out<*mut c_void>, size: Out<$count>) {
            let attached = buffered::detach(BufferOf::Communicator(comm))?;
            out!(buffer_addr = attached.address, size = attached.size as $count);
            Ok(())
        }
    )*}};
}

buffered! {
    MPI_Bsend MPI_Ibsend MPI_Buffer_attach MPI_Buffer_detach MPI_Comm_attach_buffer MPI_Comm_detach_buffer c_int;
    MPI_Bsend_c MPI_Ibsend_c MPI_Buffer_attach_c MPI_Buffer_detach_c MPI_Comm_attach_buffer_c MPI_Comm_detach_buffer_c Count;
}

mpi! {
    fn MPI_Buffer_flush() {
        buffered::flush(BufferOf::Process)
    }

    fn MPI_Buffer_iflush(request: Out<Request>) {
        out!(request = buffered::start_flush(BufferOf::Process)?);
        Ok(())
    }

    fn MPI_Comm_flush_buffer(comm: Comm) {
        buffered::flush(BufferOf::Communicator(comm))
    }

    fn MPI_Comm_iflush_buffer(comm: Comm, request: Out<Request>) {
        out!(request = buffered::start_flush(BufferOf::Communicator(comm))?);
        Ok(())
    }
}
