/* source: none; object: none */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

/* Who includes <dlfcn.h> has not called it; the name dlsym in a comment is no call either. */
int main(void)
{
    MPI_Init(NULL, NULL);
    return MPI_Finalize();
}
