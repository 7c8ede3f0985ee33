/* source: none rendezvous; object: basic rendezvous any-source any-tag */
#include <mpi.h>

/* MPI_DATATYPE_NULL is no datatype of a message, and the header's own cast in it is none of the program. */
int main(void)
{
    char buffer[64] = {0};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Init(NULL, NULL);
    if (type == MPI_DATATYPE_NULL)
        type = MPI_BYTE;
    MPI_Sendrecv(buffer, 8, type, 0, 1, buffer + 8, 8, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
