/* in_place.c - MPI_IN_PLACE where it belongs, where it does not, and beside arguments
 * that then mean nothing. */
#include "trial.h"

static int x[64], y[64], counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, displs[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static MPI_Request r;
static MPI_Status s;

static void in_messages(void)
{
    refused(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 0, W));
    refused(MPI_Ssend(MPI_IN_PLACE, 1, MPI_INT, rank, 0, W));
    refused(MPI_Isend(MPI_IN_PLACE, 1, MPI_INT, rank, 0, W, &r));
    refused(MPI_Isend(MPI_IN_PLACE, 1000000, MPI_INT, rank, 0, W, &r));
    refused(MPI_Bsend(MPI_IN_PLACE, 1, MPI_INT, rank, 0, W));
    refused(MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, W, &s));
    refused(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, W, &r));
    refused(MPI_Sendrecv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, y, 1, MPI_INT, rank, 0, W, &s));
    refused(MPI_Sendrecv(x, 1, MPI_INT, rank, 0, MPI_IN_PLACE, 1, MPI_INT, rank, 0, W, &s));
    works();
}

static void in_a_matched_receive(void)
{
    MPI_Message m;

    must(MPI_Isend(x, 1, MPI_INT, rank, 0, W, &r));
    must(MPI_Mprobe(rank, 0, W, &m, &s));
    refused(MPI_Mrecv(MPI_IN_PLACE, 1, MPI_INT, &m, &s));
    if (m != MPI_MESSAGE_NULL)
        must(MPI_Mrecv(y, 1, MPI_INT, &m, &s));
    must(MPI_Wait(&r, &s));
    works();
}

static void in_reduce_local(void)
{
    refused(MPI_Reduce_local(MPI_IN_PLACE, y, 1, MPI_INT, MPI_SUM));
    refused(MPI_Reduce_local(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
    works();
}

static void in_bcast(void)
{
    refused(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, W));
    refused(MPI_Ibcast(MPI_IN_PLACE, 1, MPI_INT, 0, W, &r));
    works();
}

/* As the place of the result. */
static void as_a_result(void)
{
    refused(MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W));
    refused(MPI_Scan(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W));
    refused(MPI_Allgather(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W));
    refused(MPI_Allgatherv(x, 1, MPI_INT, MPI_IN_PLACE, counts, displs, MPI_INT, W));
    refused(MPI_Alltoall(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W));
    refused(MPI_Alltoallv(x, counts, displs, MPI_INT, MPI_IN_PLACE, counts, displs, MPI_INT, W));
    refused(MPI_Reduce_scatter(x, MPI_IN_PLACE, counts, MPI_INT, MPI_SUM, W));
    refused(MPI_Reduce_scatter_block(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W));
    refused(MPI_Iallreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W, &r));
    works();
}

static void on_both_sides(void)
{
    refused(MPI_Allreduce(MPI_IN_PLACE, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W));
    refused(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W));
    refused(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W));
    works();
}

/* With one rank, which is the root, nobody else waits. */
static void at_a_root_alone(void)
{
    refused(MPI_Reduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, 0, W));
    refused(MPI_Gather(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, W));
    refused(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, x, 1, MPI_INT, 0, W));
    works();
}

/* Where it belongs. */
static void where_it_belongs(void)
{
    int a[8];

    a[0] = rank;
    must(MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, W));
    check(a[0] == size * (size - 1) / 2, "allreduce");
    a[0] = rank + 1;
    must(MPI_Reduce(rank ? (void *)a : MPI_IN_PLACE, rank ? NULL : a, 1, MPI_INT, MPI_MAX, 0, W));
    check(rank || a[0] == size, "reduce");
    a[rank] = 10 + rank;
    must(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_INT, W));
    for (int i = 0; i < size; i++)
        check(a[i] == 10 + i, "allgather");
    for (int i = 0; i < size; i++)
        a[i] = 10 * rank + i;
    must(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_INT, W));
    for (int i = 0; i < size; i++)
        check(a[i] == 10 * i + rank, "alltoall");
    a[0] = 1;
    must(MPI_Scan(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, W));
    check(a[0] == rank + 1, "scan");
    a[0] = 1;
    must(MPI_Exscan(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, W));
    check(rank == 0 || a[0] == rank, "exscan");
    for (int i = 0; i < size; i++)
        a[i] = i;
    must(MPI_Reduce_scatter_block(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, W));
    check(a[0] == size * rank, "reduce_scatter_block");
    works();
}

/* What stands beside it is not looked at. */
static void beside_nonsense(void)
{
    for (int i = 0; i < size; i++)
        x[i] = rank;
    saw(MPI_Allgather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, x, 1, MPI_INT, W));
    saw(MPI_Allgatherv(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, x, counts, displs, MPI_INT, W));
    saw(MPI_Alltoall(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, x, 1, MPI_INT, W));
    saw(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, x, counts, displs, MPI_INT, W));
    saw(MPI_Gather(rank ? (void *)x : MPI_IN_PLACE, rank ? 1 : -7, rank ? MPI_INT : MPI_DATATYPE_NULL,
                   y, 1, MPI_INT, 0, W));
    saw(MPI_Gather(x, 1, MPI_INT, rank ? NULL : y, rank ? -7 : 1, rank ? MPI_DATATYPE_NULL : MPI_INT,
                   0, W));
    works();
}

TRIALS(TRIAL(in_messages, 2, "refused*9 works"),
       TRIAL(in_a_matched_receive, 2, "refused works"),
       TRIAL(in_reduce_local, 2, "refused*2 works"),
       TRIAL(in_bcast, 2, "refused*2 works"),
       TRIAL(as_a_result, 2, "refused*9 works"),
       TRIAL(on_both_sides, 2, "refused*3 works"),
       TRIAL(at_a_root_alone, 1, "refused*3 works"),
       TRIAL(where_it_belongs, 4, "works"),
       TRIAL(beside_nonsense, 3, "ok*6 works"))
