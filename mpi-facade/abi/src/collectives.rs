//! Collective communication, blocking, non-blocking and persistent. The `int` and `MPI_Count` forms of a function share one body.

use crate::arguments::{Out, UserBuffer};
use core::ffi::c_int;
use pombo_mpi::CommError;
use pombo_mpi::c_arguments::InArray;
use pombo_mpi::collective::{self, Buffer, Buffers, Collective, Numbers, Reduced, Types};
use pombo_mpi::constants::*;
use pombo_mpi::persistent::Kept;

pub(crate) fn block(
    address: UserBuffer,
    count: impl Into<Count>,
    datatype: Datatype,
) -> Buffer<'static> {
    Buffer {
        address,
        count: count.into(),
        datatype,
    }
}

pub(crate) fn blocks(
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

/// An argument of a persistent call: its request must not depend on handles that the program may free.
pub(crate) trait Lasting: Sized {
    /// Returns the argument with handles that the request keeps.
    fn lasting(self, _: &mut Kept) -> Result<Self, CommError> {
        Ok(self)
    }
}

impl Lasting for UserBuffer {}
impl Lasting for c_int {}
impl Lasting for Count {}
impl Lasting for Comm {}
impl<T> Lasting for InArray<T> {}

impl Lasting for Datatype {
    fn lasting(self, kept: &mut Kept) -> Result<Self, CommError> {
        kept.datatype(self)
    }
}

impl Lasting for Op {
    fn lasting(self, kept: &mut Kept) -> Result<Self, CommError> {
        kept.operation(self)
    }
}

/// Defines the blocking, the non-blocking and the persistent form of a call. The body prepares the operation.
macro_rules! forms {
    ($($blocking:ident $immediate:ident $persistent:ident ($($arg:ident: $type:ty),* $(,)?) $body:expr;)*) => {mpi! {$(
        fn $blocking($($arg: $type),*) {
            $body.run()
        }

        fn $immediate($($arg: $type,)* request: Out<Request>) {
            out!(request = $body.start()?);
            Ok(())
        }

        fn $persistent($($arg: $type,)* info: Info, request: Out<Request>) {
            let _ = info;
            let mut kept = pombo_mpi::persistent::Kept::default();
            $(let $arg = $crate::collectives::Lasting::lasting($arg, &mut kept)?;)*
            out!(request = $body.persist(kept)?);
            Ok(())
        }
    )*}};
}

pub(crate) use forms;

mpi! {
    fn MPI_Barrier(comm: Comm) {
        collective::barrier(comm).run()
    }

    fn MPI_Ibarrier(comm: Comm, request: Out<Request>) {
        out!(request = collective::barrier(comm).start()?);
        Ok(())
    }

    fn MPI_Barrier_init(comm: Comm, info: Info, request: Out<Request>) {
        let _ = info;
        out!(request = collective::barrier(comm).persist(Kept::default())?);
        Ok(())
    }
}

macro_rules! vectors {
    ($($count:ident: $bcast:ident $ibcast:ident $bcast_init:ident $reduce:ident $ireduce:ident $reduce_init:ident;)*) => {forms! {$(
        $bcast $ibcast $bcast_init (
            buffer: UserBuffer,
            count: $count,
            datatype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::broadcast(block(buffer, count, datatype), root, comm);

        $reduce $ireduce $reduce_init (
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
    c_int: MPI_Bcast MPI_Ibcast MPI_Bcast_init MPI_Reduce MPI_Ireduce MPI_Reduce_init;
    Count: MPI_Bcast_c MPI_Ibcast_c MPI_Bcast_init_c MPI_Reduce_c MPI_Ireduce_c MPI_Reduce_init_c;
}

macro_rules! reductions {
    ($($blocking:ident $immediate:ident $persistent:ident $prepare:ident $count:ident;)*) => {forms! {$(
        $blocking $immediate $persistent (
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
    MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init allreduce c_int;
    MPI_Allreduce_c MPI_Iallreduce_c MPI_Allreduce_init_c allreduce Count;
    MPI_Scan MPI_Iscan MPI_Scan_init scan c_int;
    MPI_Scan_c MPI_Iscan_c MPI_Scan_init_c scan Count;
    MPI_Exscan MPI_Iexscan MPI_Exscan_init exscan c_int;
    MPI_Exscan_c MPI_Iexscan_c MPI_Exscan_init_c exscan Count;
    MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init reduce_scatter_block c_int;
    MPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block_c MPI_Reduce_scatter_block_init_c reduce_scatter_block Count;
}

macro_rules! shares {
    ($($blocking:ident $immediate:ident $persistent:ident $count:ident;)*) => {forms! {$(
        $blocking $immediate $persistent (
            sendbuf: UserBuffer,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            datatype: Datatype,
            op: Op,
            comm: Comm,
        ) collective::reduce_scatter(reduced(sendbuf, recvbuf, 0, datatype, op), recvcounts.into(), comm);
    )*}};
}

shares! {
    MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init c_int;
    MPI_Reduce_scatter_c MPI_Ireduce_scatter_c MPI_Reduce_scatter_init_c Count;
}

macro_rules! rooted {
    ($($blocking:ident $immediate:ident $persistent:ident $prepare:ident $count:ident;)*) => {forms! {$(
        $blocking $immediate $persistent (
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
    MPI_Gather MPI_Igather MPI_Gather_init gather c_int;
    MPI_Gather_c MPI_Igather_c MPI_Gather_init_c gather Count;
    MPI_Scatter MPI_Iscatter MPI_Scatter_init scatter c_int;
    MPI_Scatter_c MPI_Iscatter_c MPI_Scatter_init_c scatter Count;
}

macro_rules! rootless {
    ($($blocking:ident $immediate:ident $persistent:ident $prepare:ident $count:ident;)*) => {forms! {$(
        $blocking $immediate $persistent (
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
    MPI_Allgather MPI_Iallgather MPI_Allgather_init allgather c_int;
    MPI_Allgather_c MPI_Iallgather_c MPI_Allgather_init_c allgather Count;
    MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init alltoall c_int;
    MPI_Alltoall_c MPI_Ialltoall_c MPI_Alltoall_init_c alltoall Count;
}

macro_rules! uneven {
    ($($count:ident $displacement:ident:
        $gatherv:ident $igatherv:ident $gatherv_init:ident $scatterv:ident $iscatterv:ident $scatterv_init:ident $allgatherv:ident $iallgatherv:ident $allgatherv_init:ident
        $alltoallv:ident $ialltoallv:ident $alltoallv_init:ident;)*
    ) => {forms! {$(
        $gatherv $igatherv $gatherv_init (
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            displs: InArray<$displacement>,
            recvtype: Datatype,
            root: c_int,
            comm: Comm,
        ) collective::gatherv(
            block(sendbuf, sendcount, sendtype),
            blocks(recvbuf, recvcounts, displs, Types::One(recvtype)),
            root,
            comm,
        );

        $scatterv $iscatterv $scatterv_init (
            sendbuf: UserBuffer,
            sendcounts: InArray<$count>,
            displs: InArray<$displacement>,
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

        $allgatherv $iallgatherv $allgatherv_init (
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            displs: InArray<$displacement>,
            recvtype: Datatype,
            comm: Comm,
        ) collective::allgatherv(
            block(sendbuf, sendcount, sendtype),
            blocks(recvbuf, recvcounts, displs, Types::One(recvtype)),
            comm,
        );

        $alltoallv $ialltoallv $alltoallv_init (
            sendbuf: UserBuffer,
            sendcounts: InArray<$count>,
            sdispls: InArray<$displacement>,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            rdispls: InArray<$displacement>,
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
    c_int c_int: MPI_Gatherv MPI_Igatherv MPI_Gatherv_init MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init
        MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init;
    Count Displacement: MPI_Gatherv_c MPI_Igatherv_c MPI_Gatherv_init_c MPI_Scatterv_c MPI_Iscatterv_c MPI_Scatterv_init_c MPI_Allgatherv_c MPI_Iallgatherv_c MPI_Allgatherv_init_c MPI_Alltoallv_c MPI_Ialltoallv_c MPI_Alltoallv_init_c;
}

/// `MPI_Aint` as a displacement: it is as wide as `MPI_Count` on all supported targets.
pub(crate) type Displacement = Count;

macro_rules! each_its_own {
    ($($blocking:ident $immediate:ident $persistent:ident $count:ident $displacement:ident;)*) => {forms! {$(
        $blocking $immediate $persistent (
            sendbuf: UserBuffer,
            sendcounts: InArray<$count>,
            sdispls: InArray<$displacement>,
            sendtypes: InArray<Datatype>,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            rdispls: InArray<$displacement>,
            recvtypes: InArray<Datatype>,
            comm: Comm,
        ) collective::alltoallv(
            blocks(sendbuf, sendcounts, sdispls, Types::Each(sendtypes)),
            blocks(recvbuf, recvcounts, rdispls, Types::Each(recvtypes)),
            comm,
        );
    )*}};
}

each_its_own! {
    MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init c_int c_int;
    MPI_Alltoallw_c MPI_Ialltoallw_c MPI_Alltoallw_init_c Count Displacement;
}
