/* source: none rendezvous collectives; object: none rendezvous collectives */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
