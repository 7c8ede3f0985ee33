/* source: none rendezvous any-source any-tag; object: basic rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    int flag;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &status);
    if (flag)
        MPI_Recv(buffer, 64, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_SELF, &status);
    MPI_Ssend(buffer, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
