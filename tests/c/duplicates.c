/* duplicates.c - as many duplicates of a communicator at a time as the first argument says: each carries messages of
 * its own, and what was freed makes room for others. Any number of ranks. */
#include "check.h"

static MPI_Comm *comms;

static void exchange(int i)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int out = rank * 1000003 + i, in = -1;
    MPI_Status status;

    MPI(MPI_Sendrecv(&out, 1, MPI_INT, to, 3, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i],
                     &status));
    CHECK(in == from * 1000003 + i, "communicator %d carries %d", i, in);
    CHECK(status.MPI_SOURCE == from, "communicator %d: from %d", i, status.MPI_SOURCE);
}

int main(int argc, char **argv)
{
    int count, sum, one = 1;

    begin(&argc, &argv);
    count = argc == 2 ? atoi(argv[1]) : 0;
    if (count < 4)
        return usage("duplicates COUNT, at least 4");
    comms = allocate((size_t)count * sizeof *comms);
    for (int i = 0; i < count; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    /* Those that take the places of others have a context that says nothing of the place. */
    for (int i = 0; i < count; i += 2)
        MPI(MPI_Comm_free(&comms[i]));
    for (int i = 0; i < count; i += 2)
        MPI(MPI_Comm_dup(comms[i + 1 < count ? i + 1 : 1], &comms[i]));
    for (int i = 0; i < count; i += 1 + count / 500)
        exchange(i);
    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[count - 2]));
    CHECK(sum == size, "the sum is %d", sum);
    for (int i = 0; i < count; i++)
        MPI(MPI_Comm_free(&comms[i]));
    free(comms);
    return end("duplicates");
}
