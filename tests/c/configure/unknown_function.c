/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: full rendezvous buffering any-source any-tag adaptive collectives in-place */
#include <mpi.h>

int MPI_Do_what_I_mean(void *buffer);

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Do_what_I_mean(buffer);
    MPI_Finalize();
    return 0;
}
