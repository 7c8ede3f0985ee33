/* source: none rendezvous collectives; object: none rendezvous collectives */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &half);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
