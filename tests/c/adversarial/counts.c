/* counts.c - counts, ranks, tags and sizes that are negative, nothing, or more than
 * any memory holds. */
#include "trial.h"

static double x[16], y[16];
static int n[4], flag;
static MPI_Request r, q[4];
static MPI_Status s;

static void negative_in_messages(void)
{
    saw(MPI_Send(x, -1, MPI_INT, rank, 0, W));
    saw(MPI_Ssend(x, -1, MPI_INT, rank, 0, W));
    saw(MPI_Rsend(x, INT_MIN, MPI_INT, rank, 0, W));
    saw(MPI_Bsend(x, -1, MPI_INT, rank, 0, W));
    saw(MPI_Isend(x, -1, MPI_INT, rank, 0, W, &r));
    saw(MPI_Recv(x, -1, MPI_INT, rank, 0, W, &s));
    saw(MPI_Irecv(x, INT_MIN, MPI_INT, rank, 0, W, &r));
    saw(MPI_Sendrecv(x, -1, MPI_INT, rank, 0, y, 1, MPI_INT, rank, 0, W, &s));
    saw(MPI_Sendrecv(x, 1, MPI_INT, rank, 0, y, -1, MPI_INT, rank, 0, W, &s));
    works();
}

static void negative_in_collectives(void)
{
    int counts[8] = {1, -1, 1, 1, 1, 1, 1, 1}, displs[8] = {0};

    saw(MPI_Bcast(x, -1, MPI_INT, 0, W));
    saw(MPI_Reduce(x, y, -1, MPI_INT, MPI_SUM, 0, W));
    saw(MPI_Allreduce(x, y, INT_MIN, MPI_INT, MPI_SUM, W));
    saw(MPI_Scan(x, y, -1, MPI_INT, MPI_SUM, W));
    saw(MPI_Allgather(x, -1, MPI_INT, y, 1, MPI_INT, W));
    saw(MPI_Allgather(x, 1, MPI_INT, y, -1, MPI_INT, W));
    saw(MPI_Alltoall(x, -1, MPI_INT, y, -1, MPI_INT, W));
    saw(MPI_Allgatherv(x, 1, MPI_INT, y, counts, displs, MPI_INT, W));
    saw(MPI_Alltoallv(x, counts, displs, MPI_INT, y, counts, displs, MPI_INT, W));
    saw(MPI_Reduce_scatter(x, y, counts, MPI_INT, MPI_SUM, W));
    saw(MPI_Iallreduce(x, y, -1, MPI_INT, MPI_SUM, W, &r));
    saw(MPI_Reduce_local(x, y, -1, MPI_INT, MPI_SUM));
    works();
}

static void negative_in_lists(void)
{
    refused(MPI_Waitall(-1, q, MPI_STATUSES_IGNORE));
    refused(MPI_Waitany(-1, q, n, &s));
    refused(MPI_Waitsome(-1, q, n, n + 1, &s));
    refused(MPI_Testall(-1, q, &flag, MPI_STATUSES_IGNORE));
    refused(MPI_Testany(-1, q, n, &flag, &s));
    refused(MPI_Testsome(INT_MIN, q, n, n + 1, &s));
    saw(MPI_Waitall(0, NULL, NULL));
    saw(MPI_Testall(0, NULL, &flag, NULL));
    saw(MPI_Waitany(0, NULL, n, &s));
    check(flag && n[0] == MPI_UNDEFINED, "nothing");
    works();
}

/* Bytes that do not fit 64 bits: 2^61 doubles are none, if one multiplies so. */
static void overflow_in_messages(void)
{
    const MPI_Count much = (MPI_Count)1 << 61, most = INT64_MAX;

    refused(MPI_Send_c(x, much, MPI_DOUBLE, rank, 0, W));
    refused(MPI_Isend_c(x, much + 1, MPI_DOUBLE, rank, 0, W, &r));
    refused(MPI_Ssend_c(x, most, MPI_DOUBLE, rank, 0, W));
    refused(MPI_Irecv_c(x, much, MPI_DOUBLE, rank, 0, W, &r));
    refused(MPI_Sendrecv_c(x, much, MPI_DOUBLE, rank, 0, y, 1, MPI_DOUBLE, rank, 0, W, &s));
    refused(MPI_Sendrecv_c(x, 1, MPI_DOUBLE, rank, 0, y, much, MPI_DOUBLE, rank, 0, W, &s));
    works();
}

static void overflow_in_collectives(void)
{
    const MPI_Count much = (MPI_Count)1 << 61;

    refused(MPI_Bcast_c(x, much, MPI_DOUBLE, 0, W));
    refused(MPI_Allreduce_c(x, y, much, MPI_DOUBLE, MPI_SUM, W));
    refused(MPI_Allgather_c(x, much, MPI_DOUBLE, y, much, MPI_DOUBLE, W));
    refused(MPI_Alltoall_c(x, much / 2, MPI_DOUBLE, y, much / 2, MPI_DOUBLE, W));
    refused(MPI_Scan_c(x, y, much, MPI_DOUBLE, MPI_SUM, W));
    refused(MPI_Iallreduce_c(x, y, much, MPI_DOUBLE, MPI_SUM, W, &r));
    works();
}

static void overflow_in_reduce_local(void)
{
    refused(MPI_Reduce_local_c(x, y, (MPI_Count)1 << 61, MPI_DOUBLE, MPI_SUM));
    works();
}

/* Nothing, from nowhere. */
static void nothing_in_messages(void)
{
    saw(MPI_Isend(NULL, 0, MPI_INT, rank, 0, W, &r));
    saw(MPI_Recv(NULL, 0, MPI_DOUBLE, rank, MPI_ANY_TAG, W, &s));
    saw(MPI_Wait(&r, &s));
    saw(MPI_Irecv(NULL, 0, MPI_INT, rank, 1, W, &r));
    saw(MPI_Ssend(NULL, 0, MPI_INT, rank, 1, W));
    saw(MPI_Wait(&r, &s));
    saw(MPI_Sendrecv(NULL, 0, MPI_INT, rank, 0, NULL, 0, MPI_INT, rank, 0, W, &s));
    works();
}

static void nothing_in_collectives(void)
{
    static int zeros[8];

    saw(MPI_Bcast(NULL, 0, MPI_INT, 0, W));
    saw(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, W));
    saw(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, W));
    saw(MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, W));
    saw(MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, W));
    saw(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, W));
    saw(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, W));
    saw(MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_INT, W));
    saw(MPI_Alltoallv(NULL, zeros, zeros, MPI_INT, NULL, zeros, zeros, MPI_INT, W));
    saw(MPI_Reduce_scatter(NULL, NULL, zeros, MPI_INT, MPI_SUM, W));
    saw(MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, W));
    saw(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, W));
    saw(MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, W));
    saw(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));
    works();
}

static void wrong_ranks(void)
{
    const int wrong[] = {size, size + 1, INT_MAX, -100, INT_MIN};

    for (int i = 0; i < LENGTH(wrong); i++) {
        saw(MPI_Send(x, 1, MPI_INT, wrong[i], 0, W));
        saw(MPI_Isend(x, 1, MPI_INT, wrong[i], 0, W, &r));
        saw(MPI_Recv(x, 1, MPI_INT, wrong[i], 0, W, &s));
        saw(MPI_Iprobe(wrong[i], 0, W, &flag, &s));
    }
    works();
}

static void wrong_tags(void)
{
    const int wrong[] = {-2000, INT_MIN};

    for (int i = 0; i < LENGTH(wrong); i++) {
        saw(MPI_Send(x, 1, MPI_INT, rank, wrong[i], W));
        saw(MPI_Irecv(x, 1, MPI_INT, rank, wrong[i], W, &r));
        saw(MPI_Iprobe(rank, wrong[i], W, &flag, &s));
    }
    saw(MPI_Send(x, 1, MPI_INT, rank, MPI_ANY_TAG, W));
    works();
}

static void wrong_roots(void)
{
    const int wrong[] = {size, INT_MAX, -1, -100, INT_MIN};

    for (int i = 0; i < LENGTH(wrong); i++) {
        saw(MPI_Bcast(x, 1, MPI_INT, wrong[i], W));
        saw(MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, wrong[i], W));
        saw(MPI_Igather(x, 1, MPI_INT, y, 1, MPI_INT, wrong[i], W, &r));
    }
    works();
}

/* Lengths of a received message that are no number of items. */
static void counts_of_a_status(void)
{
    MPI_Count many;
    int got = 0;

    must(MPI_Sendrecv(x, 7, MPI_BYTE, rank, 0, y, 16, MPI_BYTE, rank, 0, W, &s));
    saw(MPI_Get_count(&s, MPI_INT, &got));
    say(got == MPI_UNDEFINED ? "undefined" : "%d", got);
    saw(MPI_Status_set_elements_x(&s, MPI_BYTE, (MPI_Count)1 << 40));
    saw(MPI_Get_count(&s, MPI_BYTE, &got));
    say(got == MPI_UNDEFINED ? "undefined" : "%d", got);
    saw(MPI_Get_elements_x(&s, MPI_BYTE, &many));
    check(many == (MPI_Count)1 << 40, "elements");
    refused(MPI_Status_set_elements(&s, MPI_INT, -1));
    refused(MPI_Get_count(&s, MPI_DATATYPE_NULL, &got));
}

/* Displacements in front of the buffer are numbers like others. */
static void negative_displacements(void)
{
    int all[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, counts[8], displs[8];

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = -1 - i;
    }
    saw(MPI_Allgatherv(&rank, 1, MPI_INT, all + 8, counts, displs, MPI_INT, W));
    for (int i = 0; i < size; i++)
        check(all[7 - i] == i, "item");
    works();
}

static void no_lists_of_counts(void)
{
    int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    refused(MPI_Allgatherv(x, 1, MPI_INT, y, NULL, counts, MPI_INT, W));
    refused(MPI_Allgatherv(x, 1, MPI_INT, y, counts, NULL, MPI_INT, W));
    refused(MPI_Alltoallv(x, NULL, counts, MPI_INT, y, counts, counts, MPI_INT, W));
    refused(MPI_Alltoallv(x, counts, counts, MPI_INT, y, counts, NULL, MPI_INT, W));
    refused(MPI_Reduce_scatter(x, y, NULL, MPI_INT, MPI_SUM, W));
    refused(MPI_Alltoallw(x, counts, counts, NULL, y, counts, counts, NULL, W));
    works();
}

static void memory_of_any_size(void)
{
    void *p = NULL;

    refused(MPI_Alloc_mem(-1, MPI_INFO_NULL, &p));
    saw(MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &p));
    saw(MPI_Alloc_mem(0, MPI_INFO_NULL, &p));
    saw(MPI_Free_mem(p));
    saw(MPI_Alloc_mem(1000, MPI_INFO_NULL, &p));
    saw(MPI_Free_mem(p));
}

static void colours(void)
{
    MPI_Comm c = W;

    refused(MPI_Comm_split(W, -5, 0, &c));
    saw(MPI_Comm_split(W, MPI_UNDEFINED, 0, &c));
    check(c == MPI_COMM_NULL, "null");
    saw(MPI_Comm_split(W, INT_MAX, rank ? INT_MIN : INT_MAX, &c));
    MPI_Comm_rank(c, n);
    check(n[0] == (rank ? rank - 1 : size - 1), "order");
    saw(MPI_Comm_free(&c));
    works();
}

/* Operations and types that other libraries let meet. */
static void generous_reductions(void)
{
    char c = 1, d = 0;
    MPI_Aint a = 1, b = 0;
    MPI_Count e = 1, f = 0;

    saw(MPI_Allreduce(&c, &d, 1, MPI_CHAR, MPI_SUM, W));
    check(d == size, "sum");
    saw(MPI_Allreduce(&c, &d, 1, MPI_CHAR, MPI_MAX, W));
    saw(MPI_Allreduce(&a, &b, 1, MPI_AINT, MPI_LAND, W));
    saw(MPI_Allreduce(&e, &f, 1, MPI_COUNT, MPI_LOR, W));
    check(d == 1 && b == 1 && f == 1, "truth");
    works();
}

static void mean_reductions(void)
{
    saw(MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, W));
    saw(MPI_Allreduce(x, y, 1, MPI_INT, MPI_MAXLOC, W));
    saw(MPI_Allreduce(x, y, 1, MPI_DOUBLE_INT, MPI_SUM, W));
    saw(MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, W));
    saw(MPI_Allreduce(x, y, 1, MPI_INT, MPI_REPLACE, W));
    saw(MPI_Reduce_local(x, y, 1, MPI_FLOAT, MPI_LXOR));
    works();
}

TRIALS(TRIAL(negative_in_messages, 2, "ERR_COUNT*9 works"),
       TRIAL(negative_in_collectives, 2, "ERR_COUNT*12 works"),
       TRIAL(negative_in_lists, 2, "refused*6 ok*3 works"),
       TRIAL(overflow_in_messages, 2, "refused*6 works"),
       TRIAL(overflow_in_collectives, 2, "refused*6 works"),
       TRIAL(overflow_in_reduce_local, 2, "refused works"),
       TRIAL(nothing_in_messages, 2, "ok*7 works"),
       TRIAL(nothing_in_collectives, 3, "ok*14 works"),
       TRIAL(wrong_ranks, 2, "ERR_RANK*20 works"),
       TRIAL(wrong_tags, 2, "ERR_TAG*7 works"),
       TRIAL(wrong_roots, 2, "ERR_ROOT*15 works"),
       TRIAL(counts_of_a_status, 1, "ok undefined ok*2 undefined ok refused*2"),
       TRIAL(negative_displacements, 4, "ok works"),
       TRIAL(no_lists_of_counts, 2, "refused*6 works"),
       TRIAL(memory_of_any_size, 1, "refused ERR_NO_MEM ok*4"),
       TRIAL(colours, 3, "refused ok*3 works"),
       TRIAL(generous_reductions, 3, "ok*4 works"),
       TRIAL(mean_reductions, 2, "ERR_OP*6 works"))
