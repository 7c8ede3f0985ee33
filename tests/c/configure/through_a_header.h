/* What a program shares among its files: functions of its own over MPI. */
#include <mpi.h>

#define ITEM MPI_INT64_T

static inline int send_items(const void *items, int count, int to)
{
    return MPI_Send(items, count, ITEM, to, 1, MPI_COMM_SELF);
}

static inline int receive_items(void *items, int count)
{
    return MPI_Recv(items, count, ITEM, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
