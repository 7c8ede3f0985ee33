/* source: contiguous rendezvous collectives; object: full rendezvous collectives in-place */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    int in[2] = {1, 2}, out[2];
    MPI_Scan(in, out, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
