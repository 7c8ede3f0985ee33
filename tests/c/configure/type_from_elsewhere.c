/* source: full rendezvous; object: basic rendezvous */
#include <mpi.h>

/* Whatever another file puts there. */
extern MPI_Datatype *types;

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Send(buffer, 1, *types, MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
