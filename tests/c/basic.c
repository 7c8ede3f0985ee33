/* basic.c - all that the smallest library has: `basic` passes with every library, and with a word it commits an error that
 * ends the job. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

enum { MESSAGES = 500, LONGEST = 8192, NUMBERS = 5000 };

static unsigned char out[LONGEST + 1], in[LONGEST + 1];

/* Messages of all lengths keep their order, whichever way they are received. */
static void ordered(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    for (int i = 0; i < MESSAGES; i++) {
        const int bytes = i * LONGEST / (MESSAGES - 1);
        MPI_Request request;
        MPI_Status status;
        int count, flag = 0;

        fill(out, (size_t)bytes, (unsigned)(rank + i));
        MPI(MPI_Irecv(in, LONGEST, MPI_BYTE, i % 3 ? before : MPI_ANY_SOURCE, i % 5 ? 7 : MPI_ANY_TAG, MPI_COMM_WORLD,
                      &request));
        MPI(MPI_Send(out, bytes, MPI_BYTE, next, 7, MPI_COMM_WORLD));
        if (i % 2)
            MPI(MPI_Wait(&request, &status));
        else
            while (!flag)
                MPI(MPI_Test(&request, &flag, &status));
        MPI(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(request == MPI_REQUEST_NULL && status.MPI_SOURCE == before && status.MPI_TAG == 7 && count == bytes,
              "message %d: source %d, tag %d, %d bytes", i, status.MPI_SOURCE, status.MPI_TAG, count);
        verify(in, (size_t)bytes, (unsigned)(before + i), "message of the ring");
    }
    /* Messages to come would match the wildcards of a slower rank. */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Everybody sends to everybody, itself too, and waits for all at once. */
static void all_to_all(void)
{
    enum { MOST = 64 };
    static int from[MOST], to[MOST];
    static MPI_Request requests[2 * MOST];
    static MPI_Status statuses[2 * MOST];

    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < size; i++)
            MPI(MPI_Irecv(&from[i], 1, MPI_INT, i, turn, MPI_COMM_WORLD, &requests[i]));
        for (int i = 0; i < size; i++) {
            to[i] = rank * 1000 + i + turn;
            MPI(MPI_Isend(&to[i], 1, MPI_INT, i, turn, MPI_COMM_WORLD, &requests[size + i]));
        }
        MPI(MPI_Waitall(2 * size, requests, turn % 2 ? statuses : MPI_STATUSES_IGNORE));
        for (int i = 0; i < size; i++) {
            CHECK(from[i] == i * 1000 + rank + turn, "from rank %d came %d", i, from[i]);
            CHECK(turn % 2 == 0 || statuses[i].MPI_SOURCE == i, "status %d has source %d", i, statuses[i].MPI_SOURCE);
        }
    }
}

/* Probes, and ranks that do not exist. */
static void probes(void)
{
    const int next = (rank + 1) % size;
    MPI_Request request;
    MPI_Status status;
    int count, flag = 0;

    MPI(MPI_Send(out, 5, MPI_CHAR, next, 3, MPI_COMM_WORLD));
    MPI(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    MPI(MPI_Get_count(&status, MPI_CHAR, &count));
    CHECK(status.MPI_TAG == 3 && count == 5, "a probe found tag %d, %d bytes", status.MPI_TAG, count);
    while (!flag)
        MPI(MPI_Iprobe(status.MPI_SOURCE, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    MPI(MPI_Recv(in, 5, MPI_CHAR, status.MPI_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a message was there twice");
    MPI(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    MPI(MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
    MPI(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "source %d of nobody", status.MPI_SOURCE);
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, next, 4, &count, 1, MPI_INT, (rank + size - 1) % size, 4, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    CHECK(count == (rank + size - 1) % size, "the rank before is %d", count);
}

/* Data of many messages, from and to every root. */
static void collectives(void)
{
    static double values[NUMBERS], sums[NUMBERS];
    static int most[NUMBERS];

    for (int root = 0; root < size; root++) {
        for (int i = 0; i < NUMBERS; i++)
            values[i] = rank == root ? i + root : -1;
        MPI(MPI_Bcast(values, NUMBERS, MPI_DOUBLE, root, MPI_COMM_WORLD));
        for (int i = 0; i < NUMBERS; i++)
            CHECK(values[i] == i + root, "value %d of root %d is %g", i, root, values[i]);
        for (int i = 0; i < NUMBERS; i++)
            values[i] = rank + i;
        MPI(MPI_Reduce(values, rank == root ? sums : NULL, NUMBERS, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
        for (int i = 0; rank == root && i < NUMBERS; i++)
            CHECK(sums[i] == size * i + size * (size - 1) / 2, "sum %d at root %d is %g", i, root, sums[i]);
    }
    for (int i = 0; i < NUMBERS; i++)
        most[i] = rank * i;
    MPI(MPI_Allreduce(MPI_IN_PLACE, most, NUMBERS, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < NUMBERS; i++)
        CHECK(most[i] == (size - 1) * i, "maximum %d is %d", i, most[i]);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Errors: none of these calls returns. */
static void fatal(const char *call)
{
    if (strcmp(call, "alone") == 0) {
        if (rank != 0)
            _exit(0);
        MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(call, "dies") == 0 && rank == 1)
        raise(SIGKILL);
    if (rank != 0) {
        fill(out, 8, 1);
        MPI_Send(out, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(call, "truncation") == 0)
        MPI_Recv(in, 4, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(call, "dies") == 0)
        for (;;)
            MPI_Recv(in, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(call, "too-long") == 0)
        MPI_Send(out, LONGEST + 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (strcmp(call, "rank") == 0)
        MPI_Send(out, 1, MPI_BYTE, size, 1, MPI_COMM_WORLD);
    if (strcmp(call, "tag") == 0)
        MPI_Send(out, 1, MPI_BYTE, 1, -7, MPI_COMM_WORLD);
    if (strcmp(call, "count") == 0)
        MPI_Send(out, -1, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (strcmp(call, "datatype") == 0)
        MPI_Send(out, 1, MPI_DATATYPE_NULL, 1, 1, MPI_COMM_WORLD);
    if (strcmp(call, "gaps") == 0)
        MPI_Send(out, 1, MPI_SHORT_INT, 1, 1, MPI_COMM_WORLD);
    if (strcmp(call, "communicator") == 0)
        MPI_Send(out, 1, MPI_BYTE, 1, 1, MPI_COMM_NULL);
    if (strcmp(call, "buffer") == 0)
        MPI_Send(NULL, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (strcmp(call, "null") == 0)
        MPI_Comm_rank(MPI_COMM_WORLD, NULL);
    if (strcmp(call, "root") == 0)
        MPI_Bcast(out, 1, MPI_BYTE, -1, MPI_COMM_WORLD);
    if (strcmp(call, "operation") == 0)
        MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
    if (strcmp(call, "request") == 0) {
        MPI_Request request = (MPI_Request)(intptr_t)0x123400000000;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(call, "requests") == 0)
        for (;;) {
            MPI_Request request;
            MPI_Irecv(in, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
        }
    if (strcmp(call, "twice") == 0)
        MPI_Init(NULL, NULL);
    if (strcmp(call, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    printf("survived %s\n", call);
}

int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length, flag;

    MPI_Initialized(&flag);
    CHECK(!flag, "it has begun");
    begin(&argc, &argv);
    MPI_Initialized(&flag);
    MPI_Get_processor_name(name, &length);
    CHECK(flag && length > 0 && name[length] == 0 && MPI_Wtime() > 0, "names and clocks");
    if (argc > 1) {
        fatal(argv[1]);
        MPI_Finalize();
        return 0;
    }
    ordered();
    all_to_all();
    probes();
    collectives();
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag, "it has not ended");
    if (rank == 0)
        printf("ok basic\n");
    return 0;
}
