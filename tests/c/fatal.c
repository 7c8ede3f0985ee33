/* fatal.c CALL - one wrong call under the default error handler: the program must
 * die with a message and an exit code that is not 0. Any number of ranks.
 *
 * CALL: wrong-rank negative-count negative-tag truncation truncation-large
 * truncation-of-another truncation-in-a-gather unknown-datatype unknown-operation wrong-root null-communicator (the last rank
 * is the one that errs, all others wait for it), after-finalize, before-init.
 * Exit code 0 and "survived" mean that the error went unnoticed. */
#include "check.h"

#define LARGE 500000

static char buffer[LARGE];

static int err(const char *call)
{
    const int me = rank;
    MPI_Request r;

    if (strcmp(call, "wrong-rank") == 0)
        return MPI_Send(buffer, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD);
    if (strcmp(call, "negative-count") == 0)
        return MPI_Send(buffer, -1, MPI_CHAR, me, 0, MPI_COMM_WORLD);
    if (strcmp(call, "negative-tag") == 0)
        return MPI_Send(buffer, 1, MPI_CHAR, me, -1000, MPI_COMM_WORLD);
    if (strcmp(call, "truncation") == 0) {
        MPI_Isend(buffer, 8, MPI_CHAR, me, 0, MPI_COMM_WORLD, &r);
        return MPI_Recv(buffer + 8, 4, MPI_CHAR, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(call, "truncation-large") == 0) {
        MPI_Isend(buffer + 8, LARGE - 8, MPI_CHAR, me, 0, MPI_COMM_WORLD, &r);
        return MPI_Recv(buffer, 4, MPI_CHAR, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(call, "truncation-of-another") == 0)
        return MPI_Recv(buffer, 100, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(call, "truncation-in-a-gather") == 0)
        return MPI_Gather(buffer, 1, MPI_INT, buffer + 8, 1, MPI_INT, me, MPI_COMM_WORLD);
    if (strcmp(call, "unknown-datatype") == 0)
        return MPI_Send(buffer, 1, MPI_DATATYPE_NULL, me, 0, MPI_COMM_WORLD);
    if (strcmp(call, "unknown-operation") == 0)
        return MPI_Allreduce(buffer, buffer + 8, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD);
    if (strcmp(call, "wrong-root") == 0)
        return MPI_Bcast(buffer, 1, MPI_CHAR, size, MPI_COMM_WORLD);
    if (strcmp(call, "null-communicator") == 0)
        return MPI_Send(buffer, 1, MPI_CHAR, 0, 0, MPI_COMM_NULL);
    fprintf(stderr, "fatal: no such call: %s\n", call);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "";

    if (strcmp(call, "before-init") == 0) {
        MPI_Send(buffer, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        printf("survived %s\n", call);
        return 0;
    }
    begin(&argc, &argv);
    if (strcmp(call, "after-finalize") == 0) {
        MPI(MPI_Finalize());
        MPI_Send(buffer, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        printf("survived %s\n", call);
        return 0;
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0 && strcmp(call, "truncation-of-another") == 0)
        MPI(MPI_Send(buffer, 200, MPI_INT, size - 1, 5, MPI_COMM_WORLD));
    if (rank < size - 1 && strcmp(call, "truncation-in-a-gather") == 0)
        MPI(MPI_Gather(buffer, 2, MPI_INT, NULL, 0, MPI_INT, size - 1, MPI_COMM_WORLD));
    if (rank == size - 1) {
        err(call);
        printf("survived %s\n", call);
        fflush(stdout);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Finalize();
    return 0;
}
