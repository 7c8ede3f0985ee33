/* source: basic rendezvous collectives in-place; object: full rendezvous collectives in-place */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
