//! Neighbourhood collective communication, blocking, non-blocking and persistent.

use crate::arguments::{Out, UserBuffer};
use crate::collectives::{Displacement, block, blocks, forms};
use core::ffi::c_int;
use pombo_mpi::c_arguments::InArray;
use pombo_mpi::collective::{self, Collective, Types};
use pombo_mpi::constants::*;

macro_rules! equal {
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

equal! {
    MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init neighbour_allgather c_int;
    MPI_Neighbor_allgather_c MPI_Ineighbor_allgather_c MPI_Neighbor_allgather_init_c neighbour_allgather Count;
    MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init neighbour_alltoall c_int;
    MPI_Neighbor_alltoall_c MPI_Ineighbor_alltoall_c MPI_Neighbor_alltoall_init_c neighbour_alltoall Count;
}

macro_rules! uneven {
    ($($count:ident $displacement:ident:
        $allgatherv:ident $iallgatherv:ident $allgatherv_init:ident $alltoallv:ident $ialltoallv:ident $alltoallv_init:ident $alltoallw:ident $ialltoallw:ident $alltoallw_init:ident;)*
    ) => {forms! {$(
        $allgatherv $iallgatherv $allgatherv_init (
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            displs: InArray<$displacement>,
            recvtype: Datatype,
            comm: Comm,
        ) collective::neighbour_allgatherv(
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
        ) collective::neighbour_alltoallv(
            blocks(sendbuf, sendcounts, sdispls, Types::One(sendtype)),
            blocks(recvbuf, recvcounts, rdispls, Types::One(recvtype)),
            comm,
        );

        // The displacements are bytes, of type `MPI_Aint` in both forms.
        $alltoallw $ialltoallw $alltoallw_init (
            sendbuf: UserBuffer,
            sendcounts: InArray<$count>,
            sdispls: InArray<Displacement>,
            sendtypes: InArray<Datatype>,
            recvbuf: UserBuffer,
            recvcounts: InArray<$count>,
            rdispls: InArray<Displacement>,
            recvtypes: InArray<Datatype>,
            comm: Comm,
        ) collective::neighbour_alltoallv(
            blocks(sendbuf, sendcounts, sdispls, Types::Each(sendtypes)),
            blocks(recvbuf, recvcounts, rdispls, Types::Each(recvtypes)),
            comm,
        );
    )*}};
}

uneven! {
    c_int c_int: MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init;
    Count Displacement: MPI_Neighbor_allgatherv_c MPI_Ineighbor_allgatherv_c MPI_Neighbor_allgatherv_init_c MPI_Neighbor_alltoallv_c MPI_Ineighbor_alltoallv_c MPI_Neighbor_alltoallv_init_c MPI_Neighbor_alltoallw_c MPI_Ineighbor_alltoallw_c MPI_Neighbor_alltoallw_init_c;
}
