/* source: contiguous; object: contiguous */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Datatype four;
    MPI_Type_contiguous(4, MPI_DOUBLE, &four);
    MPI_Type_free(&four);
    MPI_Finalize();
    return 0;
}
