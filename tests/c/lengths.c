/* lengths.c - ranks that do not agree on the length of a collective call: who expects another length than it gets hears
 * of it, nobody waits for ever, and the next call finds all ranks together. Up to 8 ranks. By messages some lengths
 * are exchanged in another order than others, so those that differ so much only run where "boards" is passed. With
 * "hosts" a rank may hand on what is as long as the next one expects, so that only some hear of it. */
#include "check.h"

enum { LONGEST = 200000 };

static MPI_Comm comm;
static char *out, *in;

static int class_of(int code)
{
    int class = MPI_SUCCESS;

    if (code != MPI_SUCCESS)
        MPI(MPI_Error_class(code, &class));
    return class;
}

/* All is well still, and nobody got the data of another call. */
static void works(const char *after)
{
    static int turn;
    int one = 1 + turn, sum = 0, told = rank == turn % size ? turn : -1;

    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * one, "after %s the sum is %d instead of %d", after, sum, size * one);
    MPI(MPI_Bcast(&told, 1, MPI_INT, turn % size, comm));
    CHECK(told == turn, "after %s rank %d tells %d instead of %d", after, turn % size, told, turn);
    turn++;
}

static int by_hosts;

static void fails(int code, const char *what)
{
    if (by_hosts && code == MPI_SUCCESS)
        return;
    CHECK(class_of(code) == MPI_ERR_TRUNCATE, "%s: error class %d", what, class_of(code));
}

static void may_fail(int code, const char *what)
{
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_TRUNCATE, "%s: error class %d", what,
          class_of(code));
}

/* The root has other bytes than the others. */
static void broadcast(int root, int bytes, int others)
{
    char what[100];
    int code;

    snprintf(what, sizeof what, "a broadcast of %d bytes by %d for %d", bytes, root, others);
    fill(out, LONGEST, 1);
    code = MPI_Bcast(out, rank == root ? bytes : others, MPI_BYTE, root, comm);
    if (rank == root)
        CHECK(code == MPI_SUCCESS, "the root of %s: error class %d", what, class_of(code));
    else if (others > 0)
        fails(code, what);
    else
        /* Who wants nothing need not wait for it. */
        may_fail(code, what);
    works(what);
}

/* One rank has another length than the others, which must hear of it if they need it. */
static void everybody(int boards, int odd, int bytes, int others)
{
    const int own = rank == odd ? bytes : others;
    const int most = (bytes > others ? bytes : others) * size;
    int code;

    CHECK(most <= LONGEST * 8, "no room for %d bytes", most);
    may_fail(MPI_Gather(out, own, MPI_BYTE, in, own, MPI_BYTE, 0, comm), "a gather");
    works("a gather");
    may_fail(MPI_Scatter(out, own, MPI_BYTE, in, own, MPI_BYTE, 0, comm), "a scatter");
    works("a scatter");
    /* By messages one rank may collect and hand on what is as long as the others expect. */
    code = MPI_Allgather(out, own, MPI_BYTE, in, own, MPI_BYTE, comm);
    if (boards || rank == odd)
        fails(code, "an allgather");
    else
        may_fail(code, "an allgather");
    works("an allgather");
    fails(MPI_Alltoall(out, own, MPI_BYTE, in, own, MPI_BYTE, comm), "an alltoall");
    works("an alltoall");
}

static void reductions(int odd, int bytes, int others)
{
    const int own = rank == odd ? bytes : others;
    int code = MPI_Reduce(out, in, own, MPI_BYTE, MPI_BOR, 0, comm);

    if (rank == 0)
        fails(code, "a reduce");
    else
        may_fail(code, "a reduce");
    works("a reduce");
    may_fail(MPI_Allreduce(out, in, own, MPI_BYTE, MPI_BOR, comm), "an allreduce");
    works("an allreduce");
    may_fail(MPI_Scan(out, in, own, MPI_BYTE, MPI_BOR, comm), "a scan");
    works("a scan");
}

/* Ranks that have a long way before them when another has gone. */
static void ahead(void)
{
    int code = MPI_Bcast(out, rank == 0 ? 64 : 8, MPI_BYTE, 0, comm);

    if (rank != 0)
        fails(code, "a broadcast");
    for (int i = 0; i < 200; i++) {
        int told = rank == 0 ? i : -1;

        MPI(MPI_Bcast(&told, 1, MPI_INT, 0, comm));
        CHECK(told == i, "rank 0 tells %d instead of %d", told, i);
    }
    works("broadcasts ahead");
}

/* A rank that leaves a call with an error of its own has left all of it. */
static void refused(void)
{
    int x = rank, y = -1;
    int code = MPI_Bcast(&x, rank == 1 ? -1 : 1, MPI_INT, 0, comm);

    if (rank == 1)
        CHECK(class_of(code) == MPI_ERR_COUNT, "a count of -1: error class %d", class_of(code));
    works("a refused call");
    code = MPI_Reduce(&x, rank == 0 ? NULL : &y, 1, MPI_INT, MPI_SUM, 0, comm);
    if (rank == 0)
        CHECK(class_of(code) == MPI_ERR_BUFFER, "no buffer: error class %d", class_of(code));
    works("a refused reduce");
}

static void non_blocking(void)
{
    MPI_Request request;
    int code;

    MPI(MPI_Ibcast(out, rank == 0 ? 100 : 10, MPI_BYTE, 0, comm, &request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank != 0)
        fails(code, "a non-blocking broadcast");
    works("a non-blocking broadcast");
}

static void all(int boards)
{
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int root = 0; root < size && root < 3; root++) {
        broadcast(root, 400, 40);
        broadcast(root, 40, 400);
        broadcast(root, LONGEST, 0);
        broadcast(root, 0, LONGEST);
        broadcast(root, LONGEST, LONGEST / 2);
    }
    for (int odd = 0; odd < size && odd < 2; odd++) {
        everybody(boards, odd, 400, 40);
        everybody(boards, odd, 40, 400);
        reductions(odd, 400, 40);
        reductions(odd, 40, 400);
        everybody(boards, odd, 8, 40);
        reductions(odd, 40, 8);
        if (boards) {
            everybody(boards, odd, 40000, 40);
            everybody(boards, odd, 40, 40000);
            reductions(odd, 100000, 8);
            reductions(odd, 8, 100000);
        }
    }
    ahead();
    if (boards)
        refused();
    non_blocking();
}

int main(int argc, char **argv)
{
    int boards;

    begin(&argc, &argv);
    by_hosts = argc == 2 && strcmp(argv[1], "hosts") == 0;
    boards = argc == 2 && strcmp(argv[1], "boards") == 0;
    if (size > 8 || argc > 2 || (argc == 2 && !by_hosts && !boards))
        return usage("lengths [boards|hosts], on up to 8 ranks");
    out = allocate(LONGEST * 8);
    in = allocate(LONGEST * 8);
    memset(out, 0, LONGEST * 8);
    if (size > 1) {
        comm = MPI_COMM_WORLD;
        all(boards);
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        all(boards);
        MPI(MPI_Comm_free(&comm));
    }
    free(out);
    free(in);
    return end("lengths");
}
