/* source: basic rendezvous adaptive; object: basic rendezvous any-source any-tag adaptive */
#include <mpi.h>

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    MPI_Request requests[2];
    MPI_Recv_init(buffer, 1, MPI_LONG, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Send_init(buffer + 8, 1, MPI_LONG, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Finalize();
    return 0;
}
