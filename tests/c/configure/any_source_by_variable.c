/* source: basic rendezvous any-source; object: basic rendezvous any-source any-tag */
#include <mpi.h>

int main(int argc, char **argv)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    int from = argc > 1 ? MPI_ANY_SOURCE : 0;
    MPI_Send(buffer, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Recv(buffer, 1, MPI_INT, from, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    (void)argv;
    MPI_Finalize();
    return 0;
}
