/* source: full rendezvous collectives; object: full rendezvous collectives in-place */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    struct { double value; int rank; } in = {1, 2}, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
