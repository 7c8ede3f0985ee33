/* source: basic rendezvous collectives; object: full rendezvous collectives in-place */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    signed char in = 1, out;
    MPI_Reduce(&in, &out, 1, MPI_SIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
