//! Collective communication, blocking and non-blocking. The `int` and `MPI_Count` forms of a function share one body.

use crate::arguments::{Out, UserBuffer};
use core::ffi::c_int;
use pombo_mpi::c_arguments::RankArray;
use pombo_mpi::collective::{self, Buffer, Buffers, Collective, Numbers, Reduced, Types};
use pombo_mpi::constants::*;

fn block(address: UserBuffer, count: impl Into<Count>, datatype: Datatype) -> Buffer<'static> {
    Buffer {
        address,
        count: count.into(),
        datatype,
    }
}

fn blocks(
    address: UserBuffer,
    counts: impl Into<Numbers>,
    displacements: impl Into<Numbers>,
    datatypes: Types,
) -> Buffers<'static> {
    Buffers {
        address,
        counts: counts.into(),
        displacements: displacements.into(),
        datatypes,
    }
}

fn reduced(
    input: UserBuffer,
    output: UserBuffer,
    count: impl Into<Count>,
    datatype: Datatype,
    op: Op,
) -> Reduced<'static> {
    Reduced {
        input,
        output,
        count: count.into(),
        datatype,
        op,
    }
}

/// Defines the blocking and the non-blocking form of a call. The body prepares the operation.
macro_rules! both {
    ($($blocking:ident $immediate:ident ($($arg:ident: $type:ty),* $(,)?) $body:expr;)*) => {mpi! {$(
        fn $blocking($($arg: $type),*) {
            $body.run()
        }

        fn $immediate($($arg: $type,)* request: Out<Request>) {
            out!(request = $body.start()?);
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
            buffer: UserBuffer,
            count: $count,
            datatype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::broadcast(block(buffer, count, datatype), root, comm);

        $reduce $ireduce (
            sendbuf: UserBuffer,
            recvbuf: UserBuffer,
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
            sendbuf: UserBuffer,
            recvbuf: UserBuffer,
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
            sendbuf: UserBuffer,
            recvbuf: UserBuffer,
            recvcounts: RankArray<$count>,
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
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcount: $count,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::$prepare(
            block(sendbuf, sendcount, sendtype),
            block(recvbuf, recvcount, recvtype),
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
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcount: $count,
            recvtype: Datatype,
            comm: Comm,
        ) collective::$prepare(
            block(sendbuf, sendcount, sendtype),
            block(recvbuf, recvcount, recvtype),
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
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: RankArray<$count>,
            displs: RankArray<$displacement>,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::gatherv(
            block(sendbuf, sendcount, sendtype),
            blocks(recvbuf, recvcounts, displs, Types::One(recvtype)),
            root,
            comm,
        );

        $scatterv $iscatterv (
            sendbuf: UserBuffer,
            sendcounts: RankArray<$count>,
            displs: RankArray<$displacement>,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcount: $count,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::scatterv(
            blocks(sendbuf, sendcounts, displs, Types::One(sendtype)),
            block(recvbuf, recvcount, recvtype),
            root,
            comm,
        );

        $allgatherv $iallgatherv (
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: RankArray<$count>,
            displs: RankArray<$displacement>,
            recvtype: Datatype,
            comm: Comm,
        ) collective::allgatherv(
            block(sendbuf, sendcount, sendtype),
            blocks(recvbuf, recvcounts, displs, Types::One(recvtype)),
            comm,
        );

        $alltoallv $ialltoallv (
            sendbuf: UserBuffer,
            sendcounts: RankArray<$count>,
            sdispls: RankArray<$displacement>,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: RankArray<$count>,
            rdispls: RankArray<$displacement>,
            recvtype: Datatype,
            comm: Comm,
        ) collective::alltoallv(
            blocks(sendbuf, sendcounts, sdispls, Types::One(sendtype)),
            blocks(recvbuf, recvcounts, rdispls, Types::One(recvtype)),
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

/// `MPI_Aint` as a displacement: it is as wide as `MPI_Count` on all supported targets.
type Displacement = Count;

macro_rules! each_its_own {
    ($($blocking:ident $immediate:ident $count:ident $displacement:ident;)*) => {both! {$(
        $blocking $immediate (
            sendbuf: UserBuffer,
            sendcounts: RankArray<$count>,
            sdispls: RankArray<$displacement>,
            sendtypes: RankArray<Datatype>,
            recvbuf: UserBuffer,
            recvcounts: RankArray<$count>,
            rdispls: RankArray<$displacement>,
            recvtypes: RankArray<Datatype>,
            comm: Comm,
        ) collective::alltoallv(
            blocks(sendbuf, sendcounts, sdispls, Types::Each(sendtypes)),
            blocks(recvbuf, recvcounts, rdispls, Types::Each(recvtypes)),
            comm,
        );
    )*}};
}

each_its_own! {
    MPI_Alltoallw MPI_Ialltoallw c_int c_int;
    MPI_Alltoallw_c MPI_Ialltoallw_c Count Displacement;
}
