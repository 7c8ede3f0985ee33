/* source: basic rendezvous collectives; object: basic rendezvous collectives in-place */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Request request;
    MPI_Ibcast(buffer, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
