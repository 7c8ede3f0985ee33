/* source: basic rendezvous buffering; object: basic rendezvous buffering any-source any-tag */
#include <mpi.h>

int main(void)
{
    MPI_Init(NULL, NULL);
    static char space[4096];
    int size, value = 1;
    void *gone;
    MPI_Buffer_attach(space, sizeof space);
    MPI_Bsend(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&gone, &size);
    MPI_Finalize();
    return 0;
}
