/* source: none rendezvous; object: basic rendezvous */
#include <mpi.h>

static int sends;

/* A profiling layer within the program. */
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Send(buffer, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
