/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: none */
#include <mpi.h>

/* Only the object shows that these are not MPI's functions. */
struct api {
    int MPI_Bcast, MPI_Allreduce;
};

int main(void)
{
    MPI_Init(NULL, NULL);
    struct api api = {0}, *more = &api;
    if (api.MPI_Bcast || more->MPI_Allreduce)
        return 1;
    MPI_Finalize();
    return 0;
}
