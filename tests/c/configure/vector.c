/* source: full rendezvous; object: full rendezvous */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Datatype column;
    MPI_Type_contiguous(2, MPI_INT, &column);
    MPI_Type_vector(2, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Send(buffer, 1, column, MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
