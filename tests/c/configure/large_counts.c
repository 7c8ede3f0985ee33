/* source: contiguous rendezvous; object: contiguous rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Datatype pair;
    MPI_Type_contiguous_c(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Send_c(buffer, 1, pair, 0, 1, MPI_COMM_SELF);
    MPI_Recv_c(buffer, 1, pair, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
