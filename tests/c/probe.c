/* probe.c - Probe and Iprobe, exact and with wildcards, while other messages
 * wait: of small and of large messages, and behind 10,000 others. Any number of
 * ranks: every rank sends to the next one (with one rank: to itself). */
#include "check.h"

#define LARGE 300000
#define CROWD 10000

static int to, from;
static unsigned char *out, *in;

static MPI_Request send(int bytes, int tag)
{
    MPI_Request request;

    MPI(MPI_Isend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
    return request;
}

/* Waits until there is something, with or without blocking. */
static void look(int blocking, int source, int tag, MPI_Status *status)
{
    int flag = 0;

    memset(status, 0x77, sizeof *status);
    if (blocking)
        MPI(MPI_Probe(source, tag, MPI_COMM_WORLD, status));
    else
        while (!flag)
            MPI(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, status));
}

/* Receives just what was probed. */
static void take(MPI_Status *probed, int bytes, int tag, const char *what)
{
    MPI_Status status;
    int count = -1;

    verify_status(probed, from, tag, bytes, what);
    MPI(MPI_Get_count(probed, MPI_BYTE, &count));
    memset(in, 0, (size_t)count);
    MPI(MPI_Recv(in, count, MPI_BYTE, probed->MPI_SOURCE, probed->MPI_TAG, MPI_COMM_WORLD,
                 &status));
    verify_status(&status, from, tag, bytes, what);
    verify(in, (size_t)bytes, (unsigned)from, what);
}

static void nothing_there(void)
{
    int flag = 1;
    MPI_Status status;

    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag, "Iprobe found tag %d from %d, but all is received", status.MPI_TAG,
          status.MPI_SOURCE);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Three messages wait; the middle one is looked at and taken by its tag, then
 * the wildcards must show the other two in order. Looking takes nothing. */
static void among_others(int blocking, int middle)
{
    MPI_Request r[3];
    MPI_Status status;

    r[0] = send(10, 1);
    r[1] = send(middle, 2);
    r[2] = send(30, 3);
    look(blocking, from, 2, &status);
    look(blocking, MPI_ANY_SOURCE, 2, &status);
    take(&status, middle, 2, "the middle one");
    look(blocking, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
    look(blocking, from, MPI_ANY_TAG, &status);
    take(&status, 10, 1, "the first one");
    look(blocking, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
    take(&status, 30, 3, "the last one");
    MPI(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    nothing_there();
}

/* Messages of one tag, small and large in turn: a probe shows the next one, and
 * a wildcard receive takes the probed one. */
static void in_order(int blocking)
{
    static const int sizes[] = {LARGE, 8, 0, 70000, 1, LARGE, 5000};
    MPI_Request r[7];
    MPI_Status status;

    for (int i = 0; i < 7; i++)
        r[i] = send(sizes[i], 4);
    for (int i = 0; i < 7; i++) {
        look(blocking, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 4, &status);
        verify_status(&status, from, 4, sizes[i], "in order");
        MPI(MPI_Recv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        verify_status(&status, from, 4, sizes[i], "in order");
        verify(in, (size_t)sizes[i], (unsigned)from, "in order");
    }
    MPI(MPI_Waitall(7, r, MPI_STATUSES_IGNORE));
    nothing_there();
}

/* A posted receive has taken its message: a probe must not show it. */
static void not_what_is_taken(void)
{
    MPI_Request r[2], receive;
    MPI_Status status;

    MPI(MPI_Irecv(in + LARGE, LARGE, MPI_BYTE, from, 5, MPI_COMM_WORLD, &receive));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    r[0] = send(LARGE, 5);
    r[1] = send(20, 5);
    look(1, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
    take(&status, 20, 5, "the second one");
    MPI(MPI_Wait(&receive, &status));
    verify_status(&status, from, 5, LARGE, "the first one");
    verify(in + LARGE, LARGE, (unsigned)from, "the first one");
    MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    nothing_there();
}

/* The probed message is the last of very many. */
static void behind_a_crowd(int blocking, int bytes)
{
    MPI_Request *r = allocate(sizeof *r * (CROWD + 1));
    MPI_Status status;

    for (int i = 0; i < CROWD; i++)
        r[i] = send(8, 6);
    r[CROWD] = send(bytes, 7);
    look(blocking, MPI_ANY_SOURCE, 7, &status);
    take(&status, bytes, 7, "behind the crowd");
    for (int i = 0; i < CROWD; i++)
        MPI(MPI_Recv(in, 8, MPI_BYTE, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Waitall(CROWD + 1, r, MPI_STATUSES_IGNORE));
    free(r);
    nothing_there();
}

/* Rank 0 asks everybody's message by source, from the last rank downwards. */
static void by_source(void)
{
    MPI_Status status;
    MPI_Request r;

    to = 0;
    r = send(100 + rank, 8);
    if (rank == 0)
        for (from = size - 1; from >= 0; from--) {
            look(from % 2, from, MPI_ANY_TAG, &status);
            take(&status, 100 + from, 8, "by source");
        }
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    nothing_there();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank - 1 + size) % size;
    out = allocate(LARGE);
    in = allocate(2 * LARGE);
    fill(out, LARGE, (unsigned)rank);
    for (int blocking = 0; blocking < 2; blocking++) {
        among_others(blocking, 20);
        among_others(blocking, LARGE);
        in_order(blocking);
        behind_a_crowd(blocking, blocking ? 8 : LARGE);
    }
    not_what_is_taken();
    by_source();
    free(out);
    free(in);
    return end("probe");
}
