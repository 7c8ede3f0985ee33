/* source: none rendezvous any-tag; object: basic rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Sendrecv_replace(buffer, 8, MPI_BYTE, 0, 1, 0, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
