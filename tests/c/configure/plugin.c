/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: full rendezvous buffering any-source any-tag adaptive collectives in-place */
#include <dlfcn.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return MPI_Finalize();
}
