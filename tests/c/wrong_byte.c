/* Linked with bench.c: changes the last byte of what some calls carry, if there are 1000 bytes or more. */
#include <mpi.h>

static void change(const void *buffer, int bytes)
{
    if (bytes >= 1000)
        ((char *)buffer)[bytes - 1] ^= 1;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    change(buffer, count);
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    change(buffer, count);
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const int error = PMPI_Bcast(buffer, count, type, root, comm);

    change(buffer, count);
    return error;
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const int error = PMPI_Allreduce(from, to, count, type, op, comm);

    change(to, count * 8);
    return error;
}

int MPI_Alltoall(const void *from, int count, MPI_Datatype type, void *to, int counts, MPI_Datatype types, MPI_Comm comm)
{
    const int error = PMPI_Alltoall(from, count, type, to, counts, types, comm);

    change(to, counts);
    return error;
}
