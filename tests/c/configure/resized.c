/* source: full; object: full */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Datatype wide;
    MPI_Type_create_resized(MPI_INT, 0, 8, &wide);
    MPI_Type_free(&wide);
    MPI_Finalize();
    return 0;
}
