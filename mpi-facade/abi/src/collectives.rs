//! Collective communication. The `int` and the `MPI_Count` form of a function share one body.

use core::ffi::{c_int, c_void};
use pombo_mpi::collective::{self, Buffer};
use pombo_mpi::constants::*;

fn input(address: *const c_void, count: impl Into<Count>, datatype: Datatype) -> Buffer {
    output(address.cast_mut(), count, datatype)
}

fn output(address: *mut c_void, count: impl Into<Count>, datatype: Datatype) -> Buffer {
    Buffer {
        address,
        count: count.into(),
        datatype,
    }
}

mpi! {
    fn MPI_Barrier(comm: Comm) {
        collective::barrier_on(comm)
    }
}

macro_rules! collectives {
    ($($count:ident: $bcast:ident $reduce:ident $allreduce:ident;)*) => {mpi! {$(
        fn $bcast(buffer: *mut c_void, count: $count, datatype: Datatype, root: c_int, comm: Comm) {
            // SAFETY: the caller's buffer.
            unsafe { collective::broadcast(output(buffer, count, datatype), root, comm) }
        }

        fn $reduce(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: $count,
            datatype: Datatype,
            op: Op,
            root: c_int,
            comm: Comm,
        ) {
            // SAFETY: the caller's buffers.
            unsafe { collective::reduce(sendbuf, recvbuf, count.into(), datatype, op, root, comm) }
        }

        fn $allreduce(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: $count,
            datatype: Datatype,
            op: Op,
            comm: Comm,
        ) {
            // SAFETY: the caller's buffers.
            unsafe { collective::allreduce(sendbuf, recvbuf, count.into(), datatype, op, comm) }
        }
    )*}};
}

collectives! {
    c_int: MPI_Bcast MPI_Reduce MPI_Allreduce;
    Count: MPI_Bcast_c MPI_Reduce_c MPI_Allreduce_c;
}

macro_rules! rooted {
    ($($name:ident $run:ident $count:ident;)*) => {mpi! {$(
        fn $name(
            sendbuf: *const c_void,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcount: $count,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) {
            let (send, receive) = (input(sendbuf, sendcount, sendtype), output(recvbuf, recvcount, recvtype));
            // SAFETY: the caller's buffers.
            unsafe { collective::$run(send, receive, root, comm) }
        }
    )*}};
}

rooted! {
    MPI_Gather gather c_int;
    MPI_Gather_c gather Count;
    MPI_Scatter scatter c_int;
    MPI_Scatter_c scatter Count;
}

macro_rules! rootless {
    ($($name:ident $run:ident $count:ident;)*) => {mpi! {$(
        fn $name(
            sendbuf: *const c_void,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcount: $count,
            recvtype: Datatype,
            comm: Comm,
        ) {
            let (send, receive) = (input(sendbuf, sendcount, sendtype), output(recvbuf, recvcount, recvtype));
            // SAFETY: the caller's buffers.
            unsafe { collective::$run(send, receive, comm) }
        }
    )*}};
}

rootless! {
    MPI_Allgather allgather c_int;
    MPI_Allgather_c allgather Count;
    MPI_Alltoall alltoall c_int;
    MPI_Alltoall_c alltoall Count;
}
