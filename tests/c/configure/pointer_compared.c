/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: full rendezvous buffering any-source any-tag adaptive collectives in-place */
#include <mpi.h>

void *volatile known;

int main(int argc, char **argv)
{
    MPI_Init(NULL, NULL);
    known = (void *)&PMPI_Recv;
    if (argc > 1 && known == (void *)argv)
        return 1;
    MPI_Finalize();
    return 0;
}
