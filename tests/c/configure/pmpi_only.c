/* source: basic rendezvous; object: basic rendezvous any-source any-tag */
#include <mpi.h>

int main(void)
{
    double value = 1;
    PMPI_Init(NULL, NULL);
    PMPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
    PMPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return PMPI_Finalize();
}
