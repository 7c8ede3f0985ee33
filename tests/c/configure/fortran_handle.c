/* source: full rendezvous; object: full rendezvous */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Send(buffer, 1, MPI_Type_f2c(0x209), MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
