/* mismatched.c - collective operations whose ranks do not agree: on counts, types,
 * roots, operations, or on which one it is. Nobody can say what comes out; whoever
 * has less room than comes gets an error, and all go on afterwards. */
#include "trial.h"

static int x[300000], y[300000];
static MPI_Request r;
static MPI_Status s;

/* The root sends more items than the others have room for. */
static void bcast_to_ten(int items)
{
    const int code = MPI_Bcast(x, rank ? 10 : items, MPI_INT, 0, W);

    if (rank)
        saw(code);
    check(x[10] == 0, "written-behind");
    works();
    works();
}

static void bcast_of_more(void)
{
    bcast_to_ten(1000);
}

/* Both lengths are those of one message between two ranks. */
static void short_bcast_of_more(void)
{
    bcast_to_ten(100);
}

static void long_bcast_of_more(void)
{
    const int code = MPI_Bcast(x, rank ? 10 : 300000, MPI_INT, 0, W);

    if (rank)
        saw(code);
    works();
    works();
}

static void bcast_of_less(void)
{
    MPI_Bcast(x, rank ? 100 : 10, MPI_INT, 0, W);
    works();
    works();
}

/* Again and again, and right ones in between. */
static void many_bcasts_of_more(void)
{
    for (int i = 0; i < 100; i++) {
        int value = rank ? 0 : i;

        MPI_Bcast(x, rank ? 10 : i % 2 ? 100 : 1000, MPI_INT, 0, W);
        must(MPI_Bcast(&value, 1, MPI_INT, 0, W));
        check(value == i, "the-next");
    }
    works();
}

static void bcast_on_a_copy(void)
{
    MPI_Comm c;

    must(MPI_Comm_dup(W, &c));
    MPI_Bcast(x, rank ? 10 : 100, MPI_INT, 0, c);
    works();
    must(MPI_Barrier(c));
    must(MPI_Comm_free(&c));
    works();
}

static void ibcast_of_more(void)
{
    int code = MPI_Ibcast(x, rank ? 10 : 100, MPI_INT, 0, W, &r);

    if (code == MPI_SUCCESS)
        code = MPI_Wait(&r, &s);
    if (rank)
        saw(code);
    works();
    works();
}

static void two_roots(void)
{
    for (int i = 0; i < 20; i++)
        MPI_Bcast(x, 4, MPI_INT, rank % 2, W);
    say("on");
}

static void allreduce_of_unlike_counts(void)
{
    MPI_Allreduce(x, y, rank ? 10 : 1000, MPI_INT, MPI_SUM, W);
    works();
    works();
}

static void short_allreduce_of_unlike_counts(void)
{
    MPI_Allreduce(x, y, rank ? 10 : 100, MPI_INT, MPI_SUM, W);
    works();
    works();
}

static void allreduce_of_unlike_types(void)
{
    MPI_Allreduce(x, y, 1, rank ? MPI_FLOAT : MPI_INT, MPI_SUM, W);
    MPI_Allreduce(x, y, 1, rank ? MPI_DOUBLE : MPI_INT, MPI_SUM, W);
    works();
    works();
}

static void allreduce_of_unlike_operations(void)
{
    MPI_Allreduce(x, y, 4, MPI_INT, rank ? MPI_MAX : MPI_SUM, W);
    works();
}

static void long_allreduce_of_unlike_counts(void)
{
    MPI_Allreduce(x, y, rank ? 30000 : 30010, MPI_INT, MPI_SUM, W);
    works();
    works();
}

static void gather_of_more(void)
{
    const int code = MPI_Gather(x, rank ? 2 : 1, MPI_INT, y, 1, MPI_INT, 0, W);

    if (rank == 0)
        saw(code);
    works();
    works();
}

static void scatter_of_more(void)
{
    const int code = MPI_Scatter(x, 2, MPI_INT, y, rank ? 1 : 2, MPI_INT, 0, W);

    if (rank)
        saw(code);
    works();
    works();
}

static void gatherv_of_more(void)
{
    const int counts[8] = {1, 1, 1, 1}, displs[8] = {0, 1, 2, 3};
    const int code = MPI_Gatherv(x, 1 + rank, MPI_INT, y, counts, displs, MPI_INT, 0, W);

    if (rank == 0)
        saw(code);
    works();
    works();
}

static void allgather_of_unlike_counts(void)
{
    MPI_Allgather(x, rank ? 2 : 3, MPI_INT, y, rank ? 2 : 3, MPI_INT, W);
    works();
    works();
}

/* Nobody gets zeros for what was sent and says nothing. */
static void alltoall_of_unlike_counts(void)
{
    const int mine = rank == 0 ? 4 : 2;
    int code;

    for (int i = 0; i < 16; i++)
        x[i] = 1 + rank, y[i] = 0;
    code = MPI_Alltoall(x, mine, MPI_INT, y, mine, MPI_INT, W);
    for (int i = 0; i < size && code == MPI_SUCCESS; i++)
        check(y[i * mine] == 1 + i, "zeros");
    if (rank > 0)
        saw(code); /* 4 items came from rank 0 */
    works();
    works();
}

static void alltoallv_of_more(void)
{
    int sends[8], receives[8], places[8], code;

    for (int i = 0; i < size; i++) {
        sends[i] = rank == 0 ? 3 : 1;
        receives[i] = rank == 0 ? (i == 0 ? 3 : 1) : 1;
        places[i] = 4 * i;
    }
    code = MPI_Alltoallv(x, sends, places, MPI_INT, y, receives, places, MPI_INT, W);
    if (rank)
        saw(code);
    works();
    works();
}

static void reduce_scatter_of_unlike_counts(void)
{
    const int a[8] = {1, 2, 3, 4}, b[8] = {4, 3, 2, 1};

    MPI_Reduce_scatter(x, y, rank ? a : b, MPI_INT, MPI_SUM, W);
    works();
    works();
}

static void scan_of_unlike_counts(void)
{
    MPI_Scan(x, y, rank ? 5 : 9, MPI_INT, MPI_SUM, W);
    works();
    works();
}

/* One rank meets a barrier first, the other a broadcast. */
static void another_order(void)
{
    if (rank == 0) {
        MPI_Bcast(x, 1, MPI_INT, 0, W);
        MPI_Barrier(W);
    } else {
        MPI_Barrier(W);
        MPI_Bcast(x, 1, MPI_INT, 0, W);
    }
    works();
}

/* Non-blocking ones are begun in one order and may end in any. */
static void ended_in_another_order(void)
{
    MPI_Request q[4];
    int a = rank == 0 ? 7 : 0, b = 0, all[8];

    for (int i = 0; i < 50; i++) {
        a = rank == 0 ? 7 : 0;
        must(MPI_Ibcast(&a, 1, MPI_INT, 0, W, &q[0]));
        must(MPI_Ibarrier(W, &q[1]));
        must(MPI_Iallreduce(&rank, &b, 1, MPI_INT, MPI_SUM, W, &q[2]));
        must(MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, W, &q[3]));
        for (int k = 0; k < 4; k++)
            must(MPI_Wait(&q[rank % 2 ? k : 3 - k], &s));
        check(a == 7 && b == size * (size - 1) / 2 && all[size - 1] == size - 1, "results");
    }
    works();
}

/* A rank's call is refused. It was its part in the operation: the next one finds all together. */
static void after_a_refusal(void)
{
    for (int i = 0; i < 20; i++) {
        int value = rank ? 0 : i, sum = 0;
        const int code = MPI_Bcast(&value, rank ? -1 : 1, MPI_INT, 0, W);

        if (rank)
            saw(code);
        must(MPI_Bcast(&value, 1, MPI_INT, 0, W));
        check(value == i, "bcast");
        must(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, W));
        check(sum == size * (size - 1) / 2, "allreduce");
    }
    works();
}

/* Messages of one type are read as another: bytes are bytes. */
static void types_of_messages(void)
{
    const int one = 1;
    unsigned char four[4] = {9, 9, 9, 9};
    float f;
    int n;

    must(MPI_Isend(&one, 1, MPI_INT, rank, 0, W, &r));
    must(MPI_Recv(&f, 1, MPI_FLOAT, rank, 0, W, &s));
    must(MPI_Wait(&r, &s));
    must(MPI_Isend(&one, 1, MPI_INT, rank, 0, W, &r));
    must(MPI_Recv(four, 4, MPI_CHAR, rank, 0, W, &s));
    must(MPI_Get_count(&s, MPI_CHAR, &n));
    check(n == 4 && four[0] == 1, "bytes");
    must(MPI_Wait(&r, &s));
    works();
}

TRIALS(TRIAL(bcast_of_more, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       TRIAL(short_bcast_of_more, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       {"bcast_of_more_to_three", 4, bcast_of_more,
        "0 works*2; 1 ERR_TRUNCATE works*2; 2 ERR_TRUNCATE works*2; 3 ERR_TRUNCATE works*2", 0, JOINED},
       TRIAL(long_bcast_of_more, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       TRIAL(bcast_of_less, 3, "works*2"),
       TRIAL(many_bcasts_of_more, 3, "works"),
       TRIAL(bcast_on_a_copy, 2, "works*2"),
       TRIAL(ibcast_of_more, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       TRIAL(two_roots, 2, "on"),
       TRIAL(allreduce_of_unlike_counts, 2, "works*2"),
       TRIAL(short_allreduce_of_unlike_counts, 2, "works*2"),
       {"allreduce_of_unlike_counts_of_four", 4, allreduce_of_unlike_counts, "works*2", 0, JOINED},
       TRIAL(allreduce_of_unlike_types, 2, "works*2"),
       TRIAL(allreduce_of_unlike_operations, 2, "works"),
       TRIAL(long_allreduce_of_unlike_counts, 2, "works*2"),
       TRIAL(gather_of_more, 2, "0 ERR_TRUNCATE works*2; 1 works*2"),
       TRIAL(scatter_of_more, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       TRIAL(gatherv_of_more, 3, "0 ERR_TRUNCATE works*2; 1 works*2; 2 works*2"),
       TRIAL(allgather_of_unlike_counts, 2, "works*2"),
       TRIAL(alltoall_of_unlike_counts, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       {"alltoall_of_unlike_counts_of_three", 3, alltoall_of_unlike_counts,
        "0 works*2; 1 ERR_TRUNCATE works*2; 2 ERR_TRUNCATE works*2", 0, JOINED},
       TRIAL(alltoallv_of_more, 2, "0 works*2; 1 ERR_TRUNCATE works*2"),
       TRIAL(reduce_scatter_of_unlike_counts, 2, "works*2"),
       TRIAL(scan_of_unlike_counts, 2, "works*2"),
       TRIAL(another_order, 2, "works"),
       TRIAL(ended_in_another_order, 4, "works"),
       TRIAL(after_a_refusal, 2, "0 works; 1 ERR_COUNT*20 works"),
       TRIAL(types_of_messages, 2, "works"))
