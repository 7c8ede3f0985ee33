/* source: full; object: full */
#include <mpi.h>

int main(void)
{
    char packed[16];
    int value = 7;
    MPI_Aint position = 0;
    MPI_Init(NULL, NULL);
    MPI_Pack_external("external32", &value, 1, MPI_INT, packed, sizeof packed, &position);
    return MPI_Finalize();
}
