/* outstanding.c - thousands of non-blocking collective calls under way at once, completed in the order of the calls and
 * in the opposite one. Any number of ranks. */
#include "check.h"

enum { MANY = 12000 };

static MPI_Request requests[MANY];
static int given[MANY], got[MANY];

static void start(void)
{
    for (int i = 0; i < MANY; i++) {
        given[i] = i % 3 == 2 && rank != i % size ? -1 : i;
        got[i] = -1;
        if (i % 3 == 0)
            MPI(MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]));
        else if (i % 3 == 1)
            MPI(MPI_Iallreduce(&given[i], &got[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                               &requests[i]));
        else
            MPI(MPI_Ibcast(&given[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[i]));
    }
}

static void check(void)
{
    for (int i = 0; i < MANY; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is not null", i);
        CHECK(i % 3 != 1 || got[i] == i * size, "sum %d is %d", i, got[i]);
        CHECK(given[i] == i, "broadcast %d brings %d", i, given[i]);
    }
}

/* Each rank calls on the communicators in another order, and completes the last one first. */
static void crossed(void)
{
    enum { COMMS = 40 };
    MPI_Comm comms[COMMS];

    for (int i = 0; i < COMMS; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < COMMS; i++) {
        const int comm = (i + rank * 7) % COMMS;

        given[comm] = comm;
        MPI(MPI_Iallreduce(&given[comm], &got[comm], 1, MPI_INT, MPI_SUM, comms[comm],
                           &requests[comm]));
    }
    for (int i = COMMS - 1; i >= 0; i--) {
        const int comm = (i + rank * 7) % COMMS;

        MPI(MPI_Wait(&requests[comm], MPI_STATUS_IGNORE));
        CHECK(got[comm] == comm * size, "sum %d is %d", comm, got[comm]);
    }
    for (int i = 0; i < COMMS; i++)
        MPI(MPI_Comm_free(&comms[i]));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    start();
    MPI(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    check();
    start();
    for (int i = MANY; i-- > 0;)
        MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    check();
    crossed();
    return end("outstanding");
}
