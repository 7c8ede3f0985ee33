/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: full rendezvous buffering any-source any-tag adaptive collectives in-place */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    int (*volatile barrier)(MPI_Comm) = MPI_Barrier;
    barrier(MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
