/* source: none; object: none */
#include <mpi.h>
#include <stdio.h>

#define TEXT(words) #words

int main(void)
{
    MPI_Init(NULL, NULL);
    /* MPI_Type_vector(2, 1, 2, MPI_INT, &column); */
    // MPI_Bcast(buffer, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    puts("MPI_Bsend(MPI_INT) \" MPI_ANY_SOURCE");
    puts(TEXT(MPI_Allreduce(MPI_IN_PLACE)));
    MPI_Finalize();
    return 0;
}
