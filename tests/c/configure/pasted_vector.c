/* source: full; object: full */
#include <mpi.h>

#define MAKE(first, second) MPI_Type_##first##second

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Datatype column;
    MAKE(vec, tor)(2, 1, 2, MPI_INT, &column);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
