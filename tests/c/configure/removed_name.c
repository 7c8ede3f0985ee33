/* source: full; object: full */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Datatype made;
    MPI_Type_hvector(1, 1, 8, MPI_INT, &made);
    MPI_Type_free(&made);
    MPI_Finalize();
    return 0;
}
