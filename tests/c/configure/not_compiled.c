/* source: none rendezvous; object: basic rendezvous */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
#if 0
    MPI_Bsend(buffer, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
#endif
#ifdef NO_SUCH_MACRO
    MPI_Type_vector(2, 1, 2, MPI_INT, NULL);
#elif MPI_VERSION >= 3 && defined(MPI_INT) && defined MPI_ANY_TAG
    MPI_Send(buffer, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_SELF);
#else
    MPI_Bcast(buffer, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
#endif
    MPI_Finalize();
    return 0;
}
