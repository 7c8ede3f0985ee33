/* source: basic rendezvous; object: basic rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Send(buffer, 8, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Recv(buffer, 8, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
