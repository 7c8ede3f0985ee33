/* source: contiguous rendezvous; object: contiguous rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Datatype four;
    MPI_Type_contiguous(4, MPI_BYTE, &four);
    MPI_Type_commit(&four);
    MPI_Send(buffer, 1, four, 0, 1, MPI_COMM_SELF);
    MPI_Recv(buffer, 1, four, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Type_free(&four);
    MPI_Finalize();
    return 0;
}
