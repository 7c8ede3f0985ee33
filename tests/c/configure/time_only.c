/* source: none; object: none */
#include <mpi.h>

int main(void)
{
    return MPI_Wtime() < 0;
}
