//! Collective communication, blocking and non-blocking. The `int` and the `MPI_Count` form of a function share one
//! body.

use crate::arguments::Out;
use core::ffi::{c_int, c_void};
use pombo_mpi::collective::{self, Buffer, Buffers, Collective, Numbers, Reduced, Types};
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

fn inputs(
    address: *const c_void,
    counts: impl Into<Numbers>,
    displacements: impl Into<Numbers>,
    datatypes: Types,
) -> Buffers {
    outputs(address.cast_mut(), counts, displacements, datatypes)
}

fn outputs(
    address: *mut c_void,
    counts: impl Into<Numbers>,
    displacements: impl Into<Numbers>,
    datatypes: Types,
) -> Buffers {
    Buffers {
        address,
        counts: counts.into(),
        displacements: displacements.into(),
        datatypes,
    }
}

fn reduced(
    input: *const c_void,
    output: *mut c_void,
    count: impl Into<Count>,
    datatype: Datatype,
    op: Op,
) -> Reduced {
    Reduced {
        input,
        output,
        count: count.into(),
        datatype,
        op,
    }
}

/// A call in its blocking and its non-blocking form. The body prepares the operation; it may appeal to the caller's
/// promise about its buffers.
macro_rules! both {
    ($($blocking:ident $immediate:ident ($($arg:ident: $type:ty),* $(,)?) $body:expr;)*) => {mpi! {$(
        fn $blocking($($arg: $type),*) {
            // SAFETY: the caller's buffers.
            unsafe { $body }.run()
        }

        fn $immediate($($arg: $type,)* request: Out<Request>) {
            // SAFETY: the caller's buffers, which stay until the request is over.
            out!(request = unsafe { $body }.start()?);
            Ok(())
        }
    )*}};
}

mpi! {
    fn MPI_Barrier(comm: Comm) {
        collective::barrier(comm).run()
    }

    fn MPI_Ibarrier(comm: Comm, request: Out<Request>) {
        out!(request = collective::barrier(comm).start()?);
        Ok(())
    }
}

macro_rules! vectors {
    ($($count:ident: $bcast:ident $ibcast:ident $reduce:ident $ireduce:ident;)*) => {both! {$(
        $bcast $ibcast (
            buffer: *mut c_void,
            count: $count,
            datatype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::broadcast(output(buffer, count, datatype), root, comm);

        $reduce $ireduce (
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: $count,
            datatype: Datatype,
            op: Op,
            root: c_int,
            comm: Comm,
        ) collective::reduce(reduced(sendbuf, recvbuf, count, datatype, op), root, comm);
    )*}};
}

vectors! {
    c_int: MPI_Bcast MPI_Ibcast MPI_Reduce MPI_Ireduce;
    Count: MPI_Bcast_c MPI_Ibcast_c MPI_Reduce_c MPI_Ireduce_c;
}

macro_rules! reductions {
    ($($blocking:ident $immediate:ident $prepare:ident $count:ident;)*) => {both! {$(
        $blocking $immediate (
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: $count,
            datatype: Datatype,
            op: Op,
            comm: Comm,
        ) collective::$prepare(reduced(sendbuf, recvbuf, count, datatype, op), comm);
    )*}};
}

reductions! {
    MPI_Allreduce MPI_Iallreduce allreduce c_int;
    MPI_Allreduce_c MPI_Iallreduce_c allreduce Count;
    MPI_Scan MPI_Iscan scan c_int;
    MPI_Scan_c MPI_Iscan_c scan Count;
    MPI_Exscan MPI_Iexscan exscan c_int;
    MPI_Exscan_c MPI_Iexscan_c exscan Count;
    MPI_Reduce_scatter_block MPI_Ireduce_scatter_block reduce_scatter_block c_int;
    MPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block_c reduce_scatter_block Count;
}

macro_rules! shares {
    ($($blocking:ident $immediate:ident $count:ident;)*) => {both! {$(
        $blocking $immediate (
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            recvcounts: *const $count,
            datatype: Datatype,
            op: Op,
            comm: Comm,
        ) collective::reduce_scatter(reduced(sendbuf, recvbuf, 0, datatype, op), recvcounts.into(), comm);
    )*}};
}

shares! {
    MPI_Reduce_scatter MPI_Ireduce_scatter c_int;
    MPI_Reduce_scatter_c MPI_Ireduce_scatter_c Count;
}

macro_rules! rooted {
    ($($blocking:ident $immediate:ident $prepare:ident $count:ident;)*) => {both! {$(
        $blocking $immediate (
            sendbuf: *const c_void,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcount: $count,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::$prepare(
            input(sendbuf, sendcount, sendtype),
            output(recvbuf, recvcount, recvtype),
            root,
            comm,
        );
    )*}};
}

rooted! {
    MPI_Gather MPI_Igather gather c_int;
    MPI_Gather_c MPI_Igather_c gather Count;
    MPI_Scatter MPI_Iscatter scatter c_int;
    MPI_Scatter_c MPI_Iscatter_c scatter Count;
}

macro_rules! rootless {
    ($($blocking:ident $immediate:ident $prepare:ident $count:ident;)*) => {both! {$(
        $blocking $immediate (
            sendbuf: *const c_void,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcount: $count,
            recvtype: Datatype,
            comm: Comm,
        ) collective::$prepare(
            input(sendbuf, sendcount, sendtype),
            output(recvbuf, recvcount, recvtype),
            comm,
        );
    )*}};
}

rootless! {
    MPI_Allgather MPI_Iallgather allgather c_int;
    MPI_Allgather_c MPI_Iallgather_c allgather Count;
    MPI_Alltoall MPI_Ialltoall alltoall c_int;
    MPI_Alltoall_c MPI_Ialltoall_c alltoall Count;
}

macro_rules! uneven {
    ($($count:ident $displacement:ident:
        $gatherv:ident $igatherv:ident $scatterv:ident $iscatterv:ident $allgatherv:ident $iallgatherv:ident
        $alltoallv:ident $ialltoallv:ident;)*
    ) => {both! {$(
        $gatherv $igatherv (
            sendbuf: *const c_void,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcounts: *const $count,
            displs: *const $displacement,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::gatherv(
            input(sendbuf, sendcount, sendtype),
            outputs(recvbuf, recvcounts, displs, Types::One(recvtype)),
            root,
            comm,
        );

        $scatterv $iscatterv (
            sendbuf: *const c_void,
            sendcounts: *const $count,
            displs: *const $displacement,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcount: $count,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::scatterv(
            inputs(sendbuf, sendcounts, displs, Types::One(sendtype)),
            output(recvbuf, recvcount, recvtype),
            root,
            comm,
        );

        $allgatherv $iallgatherv (
            sendbuf: *const c_void,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcounts: *const $count,
            displs: *const $displacement,
            recvtype: Datatype,
            comm: Comm,
        ) collective::allgatherv(
            input(sendbuf, sendcount, sendtype),
            outputs(recvbuf, recvcounts, displs, Types::One(recvtype)),
            comm,
        );

        $alltoallv $ialltoallv (
            sendbuf: *const c_void,
            sendcounts: *const $count,
            sdispls: *const $displacement,
            sendtype: Datatype,
            recvbuf: *mut c_void,
            recvcounts: *const $count,
            rdispls: *const $displacement,
            recvtype: Datatype,
            comm: Comm,
        ) collective::alltoallv(
            inputs(sendbuf, sendcounts, sdispls, Types::One(sendtype)),
            outputs(recvbuf, recvcounts, rdispls, Types::One(recvtype)),
            comm,
        );
    )*}};
}

uneven! {
    c_int c_int: MPI_Gatherv MPI_Igatherv MPI_Scatterv MPI_Iscatterv MPI_Allgatherv MPI_Iallgatherv
        MPI_Alltoallv MPI_Ialltoallv;
    Count Displacement: MPI_Gatherv_c MPI_Igatherv_c MPI_Scatterv_c MPI_Iscatterv_c MPI_Allgatherv_c
        MPI_Iallgatherv_c MPI_Alltoallv_c MPI_Ialltoallv_c;
}

/// `MPI_Aint` where it is a displacement: as wide as `MPI_Count` on the targets served.
type Displacement = Count;

macro_rules! each_its_own {
    ($($blocking:ident $immediate:ident $count:ident $displacement:ident;)*) => {both! {$(
        $blocking $immediate (
            sendbuf: *const c_void,
            sendcounts: *const $count,
            sdispls: *const $displacement,
            sendtypes: *const Datatype,
            recvbuf: *mut c_void,
            recvcounts: *const $count,
            rdispls: *const $displacement,
            recvtypes: *const Datatype,
            comm: Comm,
        ) collective::alltoallv(
            inputs(sendbuf, sendcounts, sdispls, Types::Each(sendtypes)),
            outputs(recvbuf, recvcounts, rdispls, Types::Each(recvtypes)),
            comm,
        );
    )*}};
}

each_its_own! {
    MPI_Alltoallw MPI_Ialltoallw c_int c_int;
    MPI_Alltoallw_c MPI_Ialltoallw_c Count Displacement;
}
