/* source: basic rendezvous adaptive; object: basic rendezvous any-source any-tag adaptive */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Request request;
    MPI_Irecv(buffer, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Rsend(buffer + 8, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
