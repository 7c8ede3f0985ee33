/* source: basic rendezvous any-tag; object: basic rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    static const int tags[] = {1, MPI_ANY_TAG};
    MPI_Send(buffer, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Recv(buffer, 1, MPI_INT, 0, tags[1], MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
