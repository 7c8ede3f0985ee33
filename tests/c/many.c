/* many.c - the collective operations that collectives.c leaves out, and all of them
 * in their non-blocking form: blocks of uneven size and in any place, a type for
 * each block, reduce-scatter, scans; first one by one, then many at a time on
 * several communicators, which every rank begins in another order. Any number of
 * ranks up to 30.
 *
 * Element i of rank r is value(r, i); so everybody knows everybody's data. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

enum kind {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, KINDS
};

static const char *const names[KINDS] = {
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv",
    "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter",
    "Reduce_scatter_block", "Scan", "Exscan"};

static int value(int r, int i)
{
    return (r * 31 + i * 7 + (i >> 9)) % 1009;
}

/* Items of a block of rank r: some are empty. */
static int share(int r, int count)
{
    return r % 3 == 1 ? 0 : count + r % 4;
}

/* Items from rank a to rank b. */
static int pair(int a, int b, int count)
{
    return share((a + 2 * b) % 5, count);
}

enum { GAP = 2, UNTOUCHED = -12345 };

/* One operation: its buffers, and what the result must be. */
struct job {
    enum kind kind;
    MPI_Comm comm;
    int me, n, count, root, in_place;
    int *out, *in, *wanted;
    int items; /* of `in` and `wanted` */
    int *counts[2], *places[2];
    MPI_Datatype *types;
    MPI_Request request;
};

static int *numbers(int count)
{
    int *b = allocate(sizeof *b * (size_t)(count + 1));

    for (int i = 0; i <= count; i++)
        b[i] = UNTOUCHED;
    return b;
}

/* Element i of the first ranks together. */
static int sum(int ranks, int i)
{
    int s = 0;

    for (int r = 0; r < ranks; r++)
        s += value(r, i);
    return s;
}

/* Lays out a block for every rank, with gaps, in descending order. */
static int lay_out(struct job *j, int which, int (*items)(const struct job *, int))
{
    int at = 0;

    j->counts[which] = numbers(j->n);
    j->places[which] = numbers(j->n);
    for (int r = j->n - 1; r >= 0; r--) {
        j->counts[which][r] = items(j, r);
        j->places[which][r] = at;
        at += j->counts[which][r] + GAP;
    }
    return at;
}

static int even(const struct job *j, int r)
{
    (void)r;
    return j->count;
}

static int uneven(const struct job *j, int r)
{
    return share(r, j->count);
}

static int to(const struct job *j, int r)
{
    return pair(j->me, r, j->count);
}

static int from(const struct job *j, int r)
{
    return pair(r, j->me, j->count);
}

/* Puts `items` elements of rank r, from element `first` on. */
static void put(int *at, int items, int r, int first)
{
    for (int i = 0; i < items; i++)
        at[i] = value(r, first + i);
}

/* The standard's names of both forms differ in the case of one letter. */
#define CALL(Name, name, ...) \
    MPI(now ? MPI_##Name(__VA_ARGS__) : MPI_I##name(__VA_ARGS__, &j->request))

static void one_to_all(struct job *j, int now)
{
    const int root = j->root, at_root = j->me == root, c = j->count;

    if (j->kind == BCAST) {
        j->items = c;
        j->in = numbers(c);
        j->wanted = numbers(c);
        put(j->in, at_root ? c : 0, root, 0);
        put(j->wanted, c, root, 0);
        CALL(Bcast, bcast, j->in, c, MPI_INT, root, j->comm);
        return;
    }
    const int v = j->kind == SCATTERV;
    const int all = lay_out(j, 0, v ? uneven : even);
    const int mine = j->counts[0][j->me];
    if (!v)
        for (int r = 0; r < j->n; r++)
            j->places[0][r] = r * c;
    j->out = numbers(all);
    for (int r = 0; r < j->n && at_root; r++)
        put(j->out + j->places[0][r], j->counts[0][r], root, 100 * r);
    j->items = j->in_place && at_root ? 0 : mine;
    j->in = numbers(mine);
    j->wanted = numbers(mine);
    put(j->wanted, mine, root, 100 * j->me);
    void *const into = j->in_place && at_root ? MPI_IN_PLACE : j->in;
    if (v)
        CALL(Scatterv, scatterv, j->out, j->counts[0], j->places[0], MPI_INT, into, mine, MPI_INT,
             root, j->comm);
    else
        CALL(Scatter, scatter, j->out, c, MPI_INT, into, c, MPI_INT, root, j->comm);
}

static void all_to_one(struct job *j, int now)
{
    const int all = j->kind == ALLGATHER || j->kind == ALLGATHERV;
    const int v = j->kind == GATHERV || j->kind == ALLGATHERV;
    const int here = all || j->me == j->root, c = j->count;

    j->items = lay_out(j, 1, v ? uneven : even);
    if (!v)
        for (int r = 0; r < j->n; r++)
            j->places[1][r] = r * c;
    const int mine = j->counts[1][j->me];
    j->in = numbers(j->items);
    j->wanted = numbers(j->items);
    for (int r = 0; r < j->n && here; r++)
        put(j->wanted + j->places[1][r], j->counts[1][r], r, 0);
    j->out = numbers(mine);
    put(j->out, mine, j->me, 0);
    const int in_place = j->in_place && here;
    if (in_place)
        put(j->in + j->places[1][j->me], mine, j->me, 0);
    void *const data = in_place ? MPI_IN_PLACE : j->out;
    switch (j->kind) {
    case GATHER:
        CALL(Gather, gather, data, mine, MPI_INT, j->in, c, MPI_INT, j->root, j->comm);
        break;
    case GATHERV:
        CALL(Gatherv, gatherv, data, mine, MPI_INT, j->in, j->counts[1], j->places[1], MPI_INT,
             j->root, j->comm);
        break;
    case ALLGATHER:
        CALL(Allgather, allgather, data, mine, MPI_INT, j->in, c, MPI_INT, j->comm);
        break;
    default:
        CALL(Allgatherv, allgatherv, data, mine, MPI_INT, j->in, j->counts[1], j->places[1],
             MPI_INT, j->comm);
    }
}

/* In place the sizes of both directions are the same: that is what the standard asks for. */
static int mutual(const struct job *j, int r)
{
    return share((j->me + r) % 5, j->count);
}

static void all_to_all(struct job *j, int now)
{
    const int v = j->kind != ALLTOALL, w = j->kind == ALLTOALLW, c = j->count;
    const int out = lay_out(j, 0, !v ? even : j->in_place ? mutual : to);

    j->items = lay_out(j, 1, !v ? even : j->in_place ? mutual : from);
    for (int r = 0; r < j->n && !v; r++)
        j->places[0][r] = j->places[1][r] = r * c;
    j->in = numbers(j->items);
    j->wanted = numbers(j->items);
    j->out = numbers(out);
    for (int r = 0; r < j->n; r++) {
        put(j->wanted + j->places[1][r], j->counts[1][r], r, 100 * j->me);
        put(j->out + j->places[0][r], j->counts[0][r], j->me, 100 * r);
        if (j->in_place)
            put(j->in + j->places[1][r], j->counts[1][r], j->me, 100 * r);
    }
    void *const data = j->in_place ? MPI_IN_PLACE : j->out;
    if (w) {
        j->types = allocate(sizeof *j->types * (size_t)j->n);
        for (int r = 0; r < j->n; r++) {
            /* Ranks of one parity count bytes, whole integers otherwise. */
            const int as_bytes = (j->me + r) % 2;
            j->types[r] = as_bytes ? MPI_BYTE : MPI_INT;
            for (int k = 0; k < 2; k++) {
                j->places[k][r] *= (int)sizeof(int);
                j->counts[k][r] *= as_bytes ? (int)sizeof(int) : 1;
            }
        }
        CALL(Alltoallw, alltoallw, data, j->counts[0], j->places[0], j->types, j->in, j->counts[1],
             j->places[1], j->types, j->comm);
    } else if (v) {
        CALL(Alltoallv, alltoallv, data, j->counts[0], j->places[0], MPI_INT, j->in, j->counts[1],
             j->places[1], MPI_INT, j->comm);
    } else {
        CALL(Alltoall, alltoall, data, c, MPI_INT, j->in, c, MPI_INT, j->comm);
    }
}

static void reduction(struct job *j, int now)
{
    const int spread = j->kind == REDUCE_SCATTER || j->kind == REDUCE_SCATTER_BLOCK;
    const int here = j->kind != REDUCE || j->me == j->root, c = j->count;
    int ranks = j->n, begin = 0, all = c, mine = c;

    if (j->kind == SCAN)
        ranks = j->me + 1;
    if (j->kind == EXSCAN)
        ranks = j->me;
    if (spread) {
        lay_out(j, 1, j->kind == REDUCE_SCATTER ? uneven : even);
        all = 0;
        for (int r = 0; r < j->n; r++) {
            begin = r == j->me ? all : begin;
            all += j->counts[1][r];
        }
        mine = j->counts[1][j->me];
    }
    j->items = here && ranks > 0 ? mine : 0;
    j->out = numbers(all);
    j->in = numbers(all);
    j->wanted = numbers(all);
    put(j->out, all, j->me, 0);
    for (int i = 0; i < j->items; i++)
        j->wanted[i] = sum(ranks, begin + i);
    const int in_place = j->in_place && here;
    if (in_place)
        put(j->in, all, j->me, 0);
    else
        j->in[j->items] = UNTOUCHED;
    void *const data = in_place ? MPI_IN_PLACE : j->out;
    switch (j->kind) {
    case REDUCE:
        CALL(Reduce, reduce, data, j->in, c, MPI_INT, MPI_SUM, j->root, j->comm);
        break;
    case ALLREDUCE:
        CALL(Allreduce, allreduce, data, j->in, c, MPI_INT, MPI_SUM, j->comm);
        break;
    case SCAN:
        CALL(Scan, scan, data, j->in, c, MPI_INT, MPI_SUM, j->comm);
        break;
    case EXSCAN:
        CALL(Exscan, exscan, data, j->in, c, MPI_INT, MPI_SUM, j->comm);
        break;
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, data, j->in, j->counts[1], MPI_INT, MPI_SUM, j->comm);
        break;
    default:
        CALL(Reduce_scatter_block, reduce_scatter_block, data, j->in, c, MPI_INT, MPI_SUM,
             j->comm);
    }
}

/* Calls one operation, blocking or not. */
static void call(struct job *j, enum kind kind, MPI_Comm comm, int count, int root, int in_place,
                 int now)
{
    memset(j, 0, sizeof *j);
    j->kind = kind;
    j->comm = comm;
    j->count = count;
    j->in_place = in_place;
    j->request = MPI_REQUEST_NULL;
    MPI(MPI_Comm_rank(comm, &j->me));
    MPI(MPI_Comm_size(comm, &j->n));
    j->root = root % j->n;
    switch (kind) {
    case BARRIER:
        MPI(now ? MPI_Barrier(comm) : MPI_Ibarrier(comm, &j->request));
        break;
    case BCAST:
    case SCATTER:
    case SCATTERV: one_to_all(j, now); break;
    case GATHER:
    case GATHERV:
    case ALLGATHER:
    case ALLGATHERV: all_to_one(j, now); break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW: all_to_all(j, now); break;
    default: reduction(j, now);
    }
}

/* Compares what a finished operation left behind, and frees its buffers. */
static void look(struct job *j)
{
    const int gathered = j->kind == GATHER || j->kind == GATHERV;

    for (int i = 0; i < j->items && !(gathered && j->me != j->root); i++)
        CHECK(j->in[i] == j->wanted[i], "%s of %d on %d ranks, root %d%s: element %d is %d, not %d",
              names[j->kind], j->count, j->n, j->root, j->in_place ? ", in place" : "", i, j->in[i],
              j->wanted[i]);
    free(j->in);
    free(j->out);
    free(j->wanted);
    free(j->types);
    for (int k = 0; k < 2; k++) {
        free(j->counts[k]);
        free(j->places[k]);
    }
}

static void one_by_one(MPI_Comm comm, int count)
{
    struct job j;

    for (int kind = 0; kind < KINDS; kind++)
        for (int in_place = 0; in_place < 2; in_place++)
            for (int now = 0; now < 2; now++) {
                call(&j, (enum kind)kind, comm, count, kind + in_place, in_place, now);
                if (!now)
                    MPI(MPI_Wait(&j.request, MPI_STATUS_IGNORE));
                CHECK(j.request == MPI_REQUEST_NULL, "%s left a request", names[kind]);
                look(&j);
            }
}

enum { COMMS = 6, ROUNDS = 3, JOBS = COMMS * KINDS * ROUNDS };

/* Operations of one communicator are begun in the same order everywhere, those of different ones are not; and each
 * rank waits for them in another order, with messages in between. */
static void many_at_a_time(int count)
{
    static struct job jobs[JOBS];
    MPI_Comm comms[COMMS];
    int next[COMMS] = {0}, left = JOBS, flag, token = rank, got = -1;
    unsigned luck = 1000u + (unsigned)rank;

    for (int c = 0; c < COMMS; c++)
        MPI(c % 2 ? MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[c])
                  : MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]));
    for (int begun = 0; begun < JOBS;) {
        luck = luck * 1103515245u + 12345u;
        const int c = (int)(luck >> 16) % COMMS;
        if (next[c] == KINDS * ROUNDS)
            continue;
        const int turn = next[c]++;
        call(&jobs[c * KINDS * ROUNDS + turn], (enum kind)(turn % KINDS), comms[c], count,
             turn + c, (turn + c) / 2 % 2, 0);
        begun++;
    }
    MPI(MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size, "token of %d", got);
    while (left > 0) {
        luck = luck * 1103515245u + 12345u;
        struct job *const j = &jobs[(luck >> 16) % JOBS];
        if (j->request == MPI_REQUEST_NULL)
            continue;
        flag = 1;
        if (luck >> 30 == 0)
            MPI(MPI_Wait(&j->request, MPI_STATUS_IGNORE));
        else
            MPI(MPI_Test(&j->request, &flag, MPI_STATUS_IGNORE));
        left -= flag;
    }
    for (int i = 0; i < JOBS; i++)
        look(&jobs[i]);
    for (int c = 0; c < COMMS; c++)
        MPI(MPI_Comm_free(&comms[c]));
}

/* A communicator may be freed while an operation on it is under way. */
static void freed_early(void)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    int one = 1, all = -1;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
    MPI(MPI_Ibarrier(comm, &requests[1]));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(all == size, "sum on a freed communicator: %d", all);
}

/* An operation that fails leaves nothing behind that disturbs the next ones. */
static void fails(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int data[4] = {0}, class = MPI_SUCCESS;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int now = 0; now < 2 && size == 2; now++) {
        /* Rank 1 has room for less than rank 0 sends. */
        const int count = rank == 0 ? 4 : 2;
        int code = now ? MPI_Bcast(data, count, MPI_INT, 0, comm)
                       : MPI_Ibcast(data, count, MPI_INT, 0, comm, &request);
        if (!now)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI(MPI_Error_class(code, &class));
        CHECK(class == (rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "class %d", class);
    }
    MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int counts[] = {0, 1, 5, 3000};
    for (int i = 0; i < 4; i++)
        one_by_one(MPI_COMM_WORLD, counts[i]);
    one_by_one(MPI_COMM_SELF, 3);
    many_at_a_time(2);
    many_at_a_time(4000);
    freed_early();
    fails();
    one_by_one(MPI_COMM_WORLD, 7);
    return end("many");
}
