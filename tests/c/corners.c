/* corners.c - what is allowed at the edges of the standard, and what is refused
 * there: messages to nobody, empty statuses, cancels of messages to oneself,
 * reductions that the standard's table leaves out, counts beyond all memory,
 * MPI_IN_PLACE where it has no meaning. Any number of ranks. */
#include "check.h"

static void expect(int code, int wanted, const char *call)
{
    int class = -1;

    CHECK(code != MPI_SUCCESS, "%s succeeded", call);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == wanted, "%s: error class %d in place of %d", call, class, wanted);
}

#define WRONG(class, call) expect(call, class, #call)

/* Nobody looks at the type of what goes nowhere. */
static void nobody(void)
{
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r;
    MPI_Status s;

    MPI(MPI_Send(NULL, 0, none, MPI_PROC_NULL, 1, w));
    MPI(MPI_Ssend(NULL, 0, none, MPI_PROC_NULL, 1, w));
    MPI(MPI_Isend(NULL, 0, none, MPI_PROC_NULL, 1, w, &r));
    MPI(MPI_Wait(&r, &s));
    MPI(MPI_Irecv(NULL, 0, none, MPI_PROC_NULL, 1, w, &r));
    MPI(MPI_Wait(&r, &s));
    MPI(MPI_Recv(NULL, 0, none, MPI_PROC_NULL, 1, w, &s));
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG, "%d, %d", s.MPI_SOURCE,
          s.MPI_TAG);
    MPI(MPI_Sendrecv(NULL, 0, none, MPI_PROC_NULL, 1, NULL, 0, none, MPI_PROC_NULL, 1, w, &s));
#ifdef MPI_ABI_VERSION /* MPICH 4.0 looks at it where there are items */
    MPI(MPI_Send(NULL, 1, none, MPI_PROC_NULL, 1, w));
    MPI(MPI_Recv(NULL, 1, none, MPI_PROC_NULL, 1, w, &s));
#endif
    WRONG(MPI_ERR_COUNT, MPI_Send(NULL, -1, MPI_INT, MPI_PROC_NULL, 1, w));
    WRONG(MPI_ERR_TAG, MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, -5, w));
}

static void empty(const MPI_Status *s, const char *call)
{
    int cancelled = 1, count = -1;

    MPI(MPI_Test_cancelled(s, &cancelled));
    MPI(MPI_Get_count(s, MPI_INT, &count));
    CHECK(s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled,
          "%s: %d, %d, %d, %d", call, s->MPI_SOURCE, s->MPI_TAG, count, cancelled);
#ifdef MPI_ABI_VERSION /* MPICH 4.0 leaves it as it is */
    CHECK(s->MPI_ERROR == MPI_SUCCESS, "%s: error %d", call, s->MPI_ERROR);
#endif
}

#define EMPTY(call)                     \
    do {                                \
        memset(&s, 0x55, sizeof s);     \
        MPI(call);                      \
        empty(&s, #call);               \
    } while (0)

static void statuses(void)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status s;
    int flag, index;

    EMPTY(MPI_Wait(&r[0], &s));
    EMPTY(MPI_Test(&r[0], &flag, &s));
    EMPTY(MPI_Waitany(2, r, &index, &s));
    EMPTY(MPI_Waitany(0, r, &index, &s));
    EMPTY(MPI_Testany(2, r, &index, &flag, &s));
    EMPTY(MPI_Request_get_status(r[0], &flag, &s));
    /* Calls that end one operation leave the error alone. */
    s.MPI_ERROR = 77;
    MPI(MPI_Isend(&index, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[0]));
    MPI(MPI_Recv(&flag, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &s));
    CHECK(s.MPI_ERROR == 77, "MPI_Recv writes error %d", s.MPI_ERROR);
    MPI(MPI_Wait(&r[0], &s));
    CHECK(s.MPI_ERROR == 77, "MPI_Wait writes error %d", s.MPI_ERROR);
}

/* Decided at once: nobody else has to do anything for it. */
static void cancels(void)
{
    static char large[1 << 20];
    MPI_Request r;
    MPI_Status s;
    int flag, cancelled;

    for (int turn = 0; turn < 8; turn++) {
        const int bytes = turn % 2 ? (int)sizeof large : 1;

        flag = cancelled = 0;
        MPI(MPI_Issend(large, bytes, MPI_CHAR, rank, 4, MPI_COMM_WORLD, &r));
        MPI(MPI_Cancel(&r));
        if (turn / 2 == 0) {
            MPI(MPI_Wait(&r, &s));
        } else if (turn / 2 == 1) {
            MPI(MPI_Test(&r, &flag, &s));
            CHECK(flag, "a cancel of %d bytes to oneself is not decided", bytes);
        } else if (turn / 2 == 2) {
            MPI(MPI_Request_get_status(r, &flag, &s));
            CHECK(flag, "a cancel of %d bytes to oneself is not decided", bytes);
            MPI(MPI_Wait(&r, &s));
        } else {
            MPI(MPI_Request_free(&r));
            continue;
        }
        MPI(MPI_Test_cancelled(&s, &cancelled));
        CHECK(cancelled && r == MPI_REQUEST_NULL, "turn %d: not cancelled", turn);
    }
    MPI(MPI_Iprobe(rank, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a cancelled message is there");
}

#define REDUCED(type, mpi_type, op, a, b, wanted)                                              \
    do {                                                                                       \
        type in_ = (a), out_ = (b);                                                            \
        MPI(MPI_Reduce_local(&in_, &out_, 1, mpi_type, op));                                   \
        CHECK(out_ == (type)(wanted), "%s of %s: %lld", #op, #mpi_type, (long long)out_);      \
    } while (0)

static void reductions(void)
{
    char mine = (char)(rank + 1), sum = 0;
    MPI_Aint truth = rank == 0, any = 0;

    REDUCED(char, MPI_CHAR, MPI_SUM, 3, 4, 7);
    REDUCED(char, MPI_CHAR, MPI_PROD, 3, 4, 12);
    REDUCED(char, MPI_CHAR, MPI_MAX, -3, 4, 4);
    REDUCED(char, MPI_CHAR, MPI_MIN, -3, 4, -3);
    REDUCED(char, MPI_CHAR, MPI_LAND, 3, 4, 1);
    REDUCED(char, MPI_CHAR, MPI_LOR, 0, 4, 1);
    REDUCED(char, MPI_CHAR, MPI_LXOR, 3, 4, 0);
    REDUCED(char, MPI_CHAR, MPI_BAND, 6, 3, 2);
    REDUCED(char, MPI_CHAR, MPI_BOR, 6, 3, 7);
    REDUCED(char, MPI_CHAR, MPI_BXOR, 6, 3, 5);
    REDUCED(MPI_Aint, MPI_AINT, MPI_LAND, 1L << 40, 2, 1);
    REDUCED(MPI_Aint, MPI_AINT, MPI_LOR, 0, 1L << 40, 1);
    REDUCED(MPI_Aint, MPI_AINT, MPI_LXOR, 5, 1L << 40, 0);
    REDUCED(MPI_Offset, MPI_OFFSET, MPI_LAND, 1, 0, 0);
    REDUCED(MPI_Offset, MPI_OFFSET, MPI_LOR, 7, 0, 1);
    REDUCED(MPI_Offset, MPI_OFFSET, MPI_LXOR, 7, 0, 1);
    REDUCED(MPI_Count, MPI_COUNT, MPI_LAND, 7, 7, 1);
    REDUCED(MPI_Count, MPI_COUNT, MPI_LOR, 0, 0, 0);
    REDUCED(MPI_Count, MPI_COUNT, MPI_LXOR, 7, 7, 0);
    MPI(MPI_Allreduce(&mine, &sum, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == (char)(size * (size + 1) / 2), "the sum is %d", sum);
    MPI(MPI_Allreduce(&truth, &any, 1, MPI_AINT, MPI_LOR, MPI_COMM_WORLD));
    CHECK(any == 1, "the disjunction is %ld", (long)any);
}

static void refused(void)
{
    int x[4] = {1, 2, 3, 4};

    WRONG(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_ERR_BUFFER, MPI_Reduce_local(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_ERR_BUFFER, MPI_Reduce_local(x, x, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_ERR_OP, MPI_Reduce_local(x, x + 2, 1, MPI_INT, MPI_MAXLOC));
    CHECK(x[0] == 1 && x[2] == 3, "a refused reduction has written");
#ifdef MPI_ABI_VERSION /* MPICH 4.0 sends from there, or takes a null pointer for memory */
    const MPI_Count huge = (MPI_Count)1 << 61;
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    int there = -1;

    WRONG(MPI_ERR_BUFFER, MPI_Reduce_local(NULL, x, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_ERR_BUFFER, MPI_Reduce_local(x, NULL, 1, MPI_INT, MPI_SUM));
    WRONG(MPI_ERR_BUFFER, MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 1, w));
    WRONG(MPI_ERR_BUFFER, MPI_Ssend(MPI_IN_PLACE, 1, MPI_INT, rank, 1, w));
    WRONG(MPI_ERR_BUFFER, MPI_Isend(MPI_IN_PLACE, 1, MPI_INT, rank, 1, w, &r));
    WRONG(MPI_ERR_BUFFER, MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, rank, 1, w, &s));
    WRONG(MPI_ERR_BUFFER, MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, rank, 1, w, &r));
    WRONG(MPI_ERR_BUFFER, MPI_Sendrecv(MPI_IN_PLACE, 1, MPI_INT, rank, 1, x, 1, MPI_INT, rank, 1,
                                       w, &s));
    WRONG(MPI_ERR_COUNT, MPI_Send_c(x, huge, MPI_DOUBLE, rank, 1, w));
    WRONG(MPI_ERR_COUNT, MPI_Send_c(x, huge, MPI_CHAR, rank, 1, w));
    WRONG(MPI_ERR_COUNT, MPI_Isend_c(x, huge, MPI_DOUBLE, rank, 1, w, &r));
    WRONG(MPI_ERR_COUNT, MPI_Recv_c(x, huge, MPI_DOUBLE, rank, 1, w, &s));
    WRONG(MPI_ERR_COUNT, MPI_Irecv_c(x, huge, MPI_DOUBLE, rank, 1, w, &r));
    WRONG(MPI_ERR_COUNT, MPI_Sendrecv_c(x, huge, MPI_DOUBLE, rank, 1, x + 2, 1, MPI_INT, rank, 1,
                                        w, &s));
    WRONG(MPI_ERR_COUNT, MPI_Reduce_local_c(x, x + 2, huge, MPI_INT, MPI_SUM));
    WRONG(MPI_ERR_COUNT, MPI_Send_c(x, huge, MPI_DOUBLE, MPI_PROC_NULL, 1, w));
    const MPI_Count shares = ((MPI_Count)1 << 58) / size + 1;
    MPI_Count many[2] = {1, 1};
    MPI_Aint far[2] = {(MPI_Aint)1 << 61, (MPI_Aint)1 << 61};
    WRONG(MPI_ERR_COUNT, MPI_Bcast_c(x, huge, MPI_DOUBLE, 0, w));
    WRONG(MPI_ERR_COUNT, MPI_Reduce_c(x, x + 2, huge, MPI_DOUBLE, MPI_SUM, 0, w));
    WRONG(MPI_ERR_COUNT, MPI_Allreduce_c(x, x + 2, huge, MPI_DOUBLE, MPI_SUM, w));
    WRONG(MPI_ERR_COUNT, MPI_Allgather_c(x, 1, MPI_INT, x, shares, MPI_INT, w));
    WRONG(MPI_ERR_COUNT, MPI_Alltoall_c(x, shares, MPI_INT, x + 2, shares, MPI_INT, w));
    WRONG(MPI_ERR_COUNT,
          MPI_Reduce_scatter_block_c(x, x + 2, shares, MPI_INT, MPI_SUM, w));
    if (size <= 2)
        WRONG(MPI_ERR_ARG, MPI_Alltoallv_c(x, many, far, MPI_INT, x + 2, many, far, MPI_INT, w));
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &there, MPI_STATUS_IGNORE));
    CHECK(!there && r == MPI_REQUEST_NULL, "a refused call has done something");
#endif
}

/* Errors of no object are MPI_COMM_SELF's since MPI 4.0; those of a request are
 * those of its communicator, be it freed. */
static void handlers(void)
{
#ifdef MPI_ABI_VERSION /* MPICH 4.0 asks MPI_COMM_WORLD */
    int x;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    WRONG(MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &x));
    WRONG(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &x));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#endif
#ifdef MPI_ABI_VERSION /* MPICH 4.0 asks another one in MPI_Waitall */
    const int forms = 2;
#else
    const int forms = 1;
#endif
    for (int all = 0; all < forms; all++) {
        int out[2] = {1, 2}, in = 0;
        MPI_Request r;
        MPI_Comm c;

        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
        MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
        MPI(MPI_Irecv(&in, 1, MPI_INT, rank, 5, c, &r));
        MPI(MPI_Send(out, 2, MPI_INT, rank, 5, c));
        MPI(MPI_Comm_free(&c));
        if (all)
            WRONG(MPI_ERR_IN_STATUS, MPI_Waitall(1, &r, MPI_STATUSES_IGNORE));
        else
            WRONG(MPI_ERR_TRUNCATE, MPI_Wait(&r, MPI_STATUS_IGNORE));
        MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    nobody();
    statuses();
    cancels();
    reductions();
    refused();
    handlers();
    return end("corners");
}
