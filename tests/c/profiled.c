/* profiled.c - section 15.2 of the standard: a program replaces functions of MPI
 * and calls those with the prefix PMPI_. */
#include "check.h"

static int sends, barriers;

int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, type, to, tag, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int number = 7;

    begin(&argc, &argv);
    if (rank == 0) {
        for (int to = 1; to < size; to++)
            MPI(MPI_Send(&number, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
    } else {
        MPI(MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(sends == (rank == 0 ? size - 1 : 0), "%d sends were seen", sends);
    CHECK(barriers == 1, "%d barriers were seen", barriers);
    return end("profiled");
}
