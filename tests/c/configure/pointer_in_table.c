/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: full rendezvous buffering any-source any-tag adaptive collectives in-place */
#include <mpi.h>

/* The address lies in data: no code takes it. */
struct entry {
    const char *name;
    int (*call)(MPI_Comm);
} table[] = {{"barrier", MPI_Barrier}};

int main(void)
{
    MPI_Init(NULL, NULL);
    table[0].call(MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
