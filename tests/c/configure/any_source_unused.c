/* source: basic rendezvous; object: basic rendezvous */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    int wildcard = MPI_ANY_SOURCE;
    MPI_Send(&wildcard, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
