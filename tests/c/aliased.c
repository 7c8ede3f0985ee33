/* aliased.c - buffers of collective calls that are the same where they must not be, MPI_IN_PLACE where it has no
 * meaning, and no buffer: MPI_ERR_BUFFER on all ranks alike, and nobody faults. Any number of ranks. */
#include "check.h"

static int x[64], y[64], counts[64], places[64];

static void works(void)
{
    int one = 1, sum = 0;

    MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size, "the sum is %d", sum);
}

static void wrong_buffer(int code, const char *call)
{
    int class = MPI_SUCCESS;

    CHECK(code != MPI_SUCCESS, "%s succeeded", call);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_BUFFER || class == MPI_ERR_ARG, "%s: error class %d", call, class);
    works();
}

#define WRONG(call) wrong_buffer(call, #call)

static void aliased(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r;

    WRONG(MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Iallreduce(x, x, 1, MPI_INT, MPI_SUM, w, &r));
    WRONG(MPI_Scan(x, x, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Reduce_scatter_block(x, x, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Allgather(x + rank, 1, MPI_INT, x, 1, MPI_INT, w));
    WRONG(MPI_Iallgather(x + rank, 1, MPI_INT, x, 1, MPI_INT, w, &r));
    WRONG(MPI_Alltoall(x, 1, MPI_INT, x, 1, MPI_INT, w));
    WRONG(MPI_Alltoallv(x, counts, places, MPI_INT, x, counts, places, MPI_INT, w));
    WRONG(MPI_Reduce_local(x, x, 1, MPI_INT, MPI_SUM));
    /* Nothing lies nowhere. */
    MPI(MPI_Allreduce(x, x, 0, MPI_INT, MPI_SUM, w));
    MPI(MPI_Allgather(x, 0, MPI_INT, x, 0, MPI_INT, w));
    /* What a rank does not use is not looked at. */
    MPI(MPI_Reduce(x, rank == 0 ? y : x, 1, MPI_INT, MPI_SUM, 0, w));
    MPI(MPI_Gather(x, 1, MPI_INT, rank == 0 ? y : x, 1, MPI_INT, 0, w));
}

static void in_place(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;

    WRONG(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, w));
    WRONG(MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Allgather(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w));
    WRONG(MPI_Alltoall(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w));
    WRONG(MPI_Scan(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Reduce_local(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_Reduce_local(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
}

static void missing(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;

    WRONG(MPI_Bcast(NULL, 1, MPI_INT, 0, w));
    WRONG(MPI_Allreduce(x, NULL, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Allreduce(NULL, x, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Allgather(x, 1, MPI_INT, NULL, 1, MPI_INT, w));
    WRONG(MPI_Alltoall(NULL, 1, MPI_INT, x, 1, MPI_INT, w));
    WRONG(MPI_Scan(x, NULL, 1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_Reduce_local(NULL, x, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_Reduce_local(x, NULL, 1, MPI_INT, MPI_SUM));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (size > 64)
        return usage("aliased, on up to 64 ranks");
    for (int i = 0; i < 64; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    aliased();
    in_place();
    missing();
    return end("aliased");
}
