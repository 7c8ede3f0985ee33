/* source: full; object: full */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    int length = 1;
    MPI_Aint at = 0;
    MPI_Datatype type = MPI_INT, made;
    MPI_Type_struct(1, &length, &at, &type, &made);
    MPI_Type_free(&made);
    MPI_Finalize();
    return 0;
}
