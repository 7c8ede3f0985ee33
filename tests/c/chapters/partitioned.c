/* partitioned.c - partitioned point-to-point requests: their partitions become ready in any order, are
 * divided otherwise on the other side, and match nothing else. Any number of ranks. */
#include "../check.h"

static int to, from;

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static int value(int sender, int turn, int i)
{
    return 1000000 * turn + 1000 * sender + i;
}

/* `parts` of the sender and `blocks` of the receiver for `all` ints, for some turns. */
static void exchange(int parts, int blocks, int all, int tag)
{
    int *out = allocate(sizeof(int) * (size_t)all), *in = allocate(sizeof(int) * (size_t)all);
    const int each = parts ? all / parts : 0, block = blocks ? all / blocks : 0;
    MPI_Request r[2];
    MPI_Status s[2];
    int count = -1;

    MPI(MPI_Psend_init(out, parts, each, MPI_INT, to, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    MPI(MPI_Precv_init(in, blocks, block, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
    for (int turn = 1; turn <= 3; turn++) {
        for (int i = 0; i < all; i++) {
            out[i] = value(rank, turn, i);
            in[i] = -1;
        }
        MPI(MPI_Startall(2, r));
        /* Backwards, by all three calls. */
        if (turn == 1)
            for (int part = parts - 1; part >= 0; part--)
                MPI(MPI_Pready(part, r[0]));
        else if (turn == 2 && parts > 0)
            MPI(MPI_Pready_range(0, parts - 1, r[0]));
        else if (parts > 0) {
            int *list = allocate(sizeof(int) * (size_t)parts);

            for (int part = 0; part < parts; part++)
                list[part] = (part + parts / 2) % parts;
            MPI(MPI_Pready_list(parts, list, r[0]));
            free(list);
        }
        for (int b = 0; b < blocks; b++) {
            int flag = 0;

            while (!flag)
                MPI(MPI_Parrived(r[1], b, &flag));
            for (int i = b * block; i < (b + 1) * block; i++)
                CHECK(in[i] == value(from, turn, i), "%d to %d partitions, turn %d: element %d is %d",
                      parts, blocks, turn, i, in[i]);
        }
        MPI(MPI_Waitall(2, r, s));
        CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL, "a request ends with its operation");
        for (int i = 0; i < all; i++)
            CHECK(in[i] == value(from, turn, i), "%d to %d partitions, turn %d: element %d is %d at the end",
                  parts, blocks, turn, i, in[i]);
#ifdef MPI_ABI_VERSION
        CHECK(s[1].MPI_SOURCE == from && s[1].MPI_TAG == tag, "status: source %d, tag %d", s[1].MPI_SOURCE,
              s[1].MPI_TAG);
        MPI(MPI_Get_count(&s[1], MPI_INT, &count));
        CHECK(count == all, "the status counts %d instead of %d", count, all);
#else
        CHECK(count == -1, "unused");
#endif
    }
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL, "freed requests");
    free(out);
    free(in);
}

/* Several requests of one tag meet in the order of their making, whatever the order of their starts. */
static void order(void)
{
    int out[3][4], in[3][4];
    MPI_Request s[3], r[3];
    MPI_Status many[3];

    for (int i = 0; i < 3; i++) {
        MPI(MPI_Psend_init(out[i], 2, 2, MPI_INT, to, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &s[i]));
        MPI(MPI_Precv_init(in[i], 4, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]));
        for (int j = 0; j < 4; j++) {
            out[i][j] = value(rank, i, j);
            in[i][j] = -1;
        }
    }
    for (int i = 2; i >= 0; i--)
        MPI(MPI_Start(&s[i]));
    for (int i = 2; i >= 0; i--) {
        MPI(MPI_Pready(1, s[i]));
        MPI(MPI_Pready(0, s[i]));
    }
    for (int i = 0; i < 3; i++)
        MPI(MPI_Start(&r[i]));
    MPI(MPI_Waitall(3, r, many));
    MPI(MPI_Waitall(3, s, many));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            CHECK(in[i][j] == value(from, i, j), "request %d: element %d is %d", i, j, in[i][j]);
    for (int i = 0; i < 3; i++) {
        MPI(MPI_Request_free(&s[i]));
        MPI(MPI_Request_free(&r[i]));
    }
}

/* Plain messages of the same tag, and receives of any, see nothing of it. */
static void apart_from_others(void)
{
    int out = 10 + rank, in = -1, plain = 20 + rank, got = -1, flag = 0;
    MPI_Request r[2];
    MPI_Status s, many[2];

    MPI(MPI_Precv_init(&in, 1, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
    MPI(MPI_Psend_init(&out, 1, 1, MPI_INT, to, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    MPI(MPI_Startall(2, r));
    MPI(MPI_Pready(0, r[0]));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
#ifdef MPI_ABI_VERSION
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s));
    CHECK(!flag, "a probe finds a partition");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
#else
    CHECK(!flag, "unused");
#endif
    MPI(MPI_Sendrecv(&plain, 1, MPI_INT, to, 6, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     &s));
    CHECK(got == 20 + from && s.MPI_TAG == 6, "the plain message is %d", got);
    MPI(MPI_Waitall(2, r, many));
    CHECK(in == 10 + from, "the partition is %d", in);
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
}

/* A partition has not arrived before it is sent. */
static void one_by_one(void)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, flag = -1;
    MPI_Request s, r;

    MPI(MPI_Psend_init(out, 4, 1, MPI_INT, to, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &s));
    MPI(MPI_Precv_init(in, 2, 2, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MPI(MPI_Start(&s));
    MPI(MPI_Start(&r));
    MPI(MPI_Pready(3, s));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Parrived(r, 0, &flag));
    CHECK(!flag, "the first half has arrived before it is ready");
    MPI(MPI_Parrived(r, 1, &flag));
    CHECK(!flag, "the second half has arrived before all of it is ready");
    MPI(MPI_Test(&s, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "the send is complete with 3 of 4 partitions missing");
    /* The ranks go on when all have looked. */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Pready(2, s));
#ifdef MPI_ABI_VERSION
    do
        MPI(MPI_Parrived(r, 1, &flag));
    while (!flag);
    CHECK(in[2] == 3 && in[3] == 4, "the second half: %d %d", in[2], in[3]);
    MPI(MPI_Parrived(r, 0, &flag));
    CHECK(!flag || rank != from, "the first half has arrived with the second");
#endif
    MPI(MPI_Pready_range(0, 1, s));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MPI(MPI_Wait(&s, MPI_STATUS_IGNORE));
    CHECK(in[0] == 1 && in[1] == 2, "the first half: %d %d", in[0], in[1]);
    MPI(MPI_Request_free(&s));
    MPI(MPI_Request_free(&r));
}

/* Partitions of datatypes with gaps, which end elsewhere on the other side. */
static void gaps(void)
{
    enum { ITEMS = 6 };
    int out[ITEMS * 6], in[ITEMS * 6], seen = 0;
    MPI_Datatype vector, columns;
    MPI_Request r[2];
    MPI_Status many[2];

    MPI(MPI_Type_vector(2, 1, 3, MPI_INT, &vector));
    MPI(MPI_Type_create_resized(vector, 0, 6 * sizeof(int), &columns));
    MPI(MPI_Type_commit(&columns));
    for (int i = 0; i < ITEMS * 6; i++) {
        out[i] = value(rank, 1, i);
        in[i] = -1;
    }
    /* 12 ints in partitions of 4 and of 6. */
    MPI(MPI_Psend_init(out, 3, 2, columns, to, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    MPI(MPI_Precv_init(in, 2, 3, columns, from, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
    MPI(MPI_Type_free(&vector));
    MPI(MPI_Type_free(&columns));
    MPI(MPI_Startall(2, r));
    MPI(MPI_Pready_range(0, 2, r[0]));
    MPI(MPI_Waitall(2, r, many));
    for (int i = 0; i < ITEMS * 6; i++) {
        const int is_data = i % 6 == 0 || i % 6 == 3;

        CHECK(in[i] == (is_data ? value(from, 1, i) : -1), "gaps: element %d is %d", i, in[i]);
        seen += is_data;
    }
    CHECK(seen == 12, "%d elements of data", seen);
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
#ifdef MPI_ABI_VERSION
    {
        int flat[12], i = 0;

        /* 3 ints of a partition end inside an item of the receiver. */
        for (i = 0; i < 12; i++)
            flat[i] = value(rank, 2, i);
        for (i = 0; i < ITEMS * 6; i++)
            in[i] = -1;
        MPI(MPI_Type_vector(2, 1, 3, MPI_INT, &vector));
        MPI(MPI_Type_create_resized(vector, 0, 6 * sizeof(int), &columns));
        MPI(MPI_Type_commit(&columns));
        MPI(MPI_Psend_init_c(flat, 4, 3, MPI_INT, to, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
        MPI(MPI_Precv_init_c(in, 3, 2, columns, from, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
        MPI(MPI_Startall(2, r));
        MPI(MPI_Pready_list(2, (const int[]){2, 0}, r[0]));
        MPI(MPI_Pready_list(2, (const int[]){1, 3}, r[0]));
        MPI(MPI_Waitall(2, r, many));
        for (i = 0; i < 12; i++)
            CHECK(in[i / 2 * 6 + i % 2 * 3] == value(from, 2, i), "inside items: element %d", i);
        MPI(MPI_Request_free(&r[0]));
        MPI(MPI_Request_free(&r[1]));
        MPI(MPI_Type_free(&vector));
        MPI(MPI_Type_free(&columns));
    }
#endif
}

#ifdef MPI_ABI_VERSION
/* The receive of long partitions goes on while the receiver waits for something else. */
static void progress(void)
{
    enum { INTS = 200000 };
    int *out = allocate(2 * INTS * sizeof(int)), *in = allocate(2 * INTS * sizeof(int)), go = 0;
    MPI_Request s, r;

    for (int i = 0; i < 2 * INTS; i++)
        out[i] = value(rank, 1, i);
    /* The receiver starts first, and then waits for what its sender sends afterwards. */
    MPI(MPI_Precv_init(in, 1, 2 * INTS, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MPI(MPI_Start(&r));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Psend_init(out, 2, INTS, MPI_INT, to, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &s));
    MPI(MPI_Start(&s));
    MPI(MPI_Pready_range(0, 1, s));
    MPI(MPI_Wait(&s, MPI_STATUS_IGNORE));
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &go, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * INTS; i++)
        CHECK(in[i] == value(from, 1, i), "progress: element %d is %d", i, in[i]);
    MPI(MPI_Request_free(&s));
    MPI(MPI_Request_free(&r));
    free(out);
    free(in);
}

/* A request that is freed without a start has met its partner all the same; so has one whose communicator is freed. */
static void freed(void)
{
    int out[2] = {1, rank}, in[2] = {-1, -1};
    MPI_Comm own;
    MPI_Request s, r, t;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &own));
    MPI(MPI_Psend_init(out, 1, 1, MPI_INT, to, 3, own, MPI_INFO_NULL, &s));
    MPI(MPI_Precv_init(in, 1, 1, MPI_INT, from, 3, own, MPI_INFO_NULL, &r));
    MPI(MPI_Request_free(&s));
    MPI(MPI_Request_free(&r));
    MPI(MPI_Psend_init(out, 2, 1, MPI_INT, to, 3, own, MPI_INFO_NULL, &s));
    MPI(MPI_Precv_init(in, 2, 1, MPI_INT, from, 3, own, MPI_INFO_NULL, &r));
    MPI(MPI_Comm_free(&own));
    MPI(MPI_Start(&s));
    MPI(MPI_Pready_range(0, 1, s));
    t = s;
    MPI(MPI_Request_free(&t));
    MPI(MPI_Start(&r));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK(in[0] == 1 && in[1] == from, "after freeing: %d %d", in[0], in[1]);
    MPI(MPI_Request_free(&r));
}

/* MPI_PROC_NULL sends and takes everything at once. */
static void nobody(void)
{
    int x = 5, flag = -1;
    MPI_Request r[2];
    MPI_Status s[2];

    MPI(MPI_Psend_init(&x, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    MPI(MPI_Precv_init(&x, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
    for (int turn = 0; turn < 2; turn++) {
        MPI(MPI_Startall(2, r));
        MPI(MPI_Pready(1, r[0]));
        MPI(MPI_Test(&r[0], &flag, &s[0]));
        CHECK(!flag, "it is complete with one of two partitions");
        MPI(MPI_Pready(0, r[0]));
        MPI(MPI_Parrived(r[1], 1, &flag));
        CHECK(flag, "nothing has not arrived from nobody");
        MPI(MPI_Waitall(2, r, s));
        CHECK(s[1].MPI_SOURCE == MPI_PROC_NULL && x == 5, "source %d", s[1].MPI_SOURCE);
    }
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
}

static void refusals(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    int x[4] = {0}, flag;
    MPI_Request s, r, t, plain = MPI_REQUEST_NULL;

#define WRONG(class, call) CHECK(class_of(call) == (class), "%s: another class", #call)
    WRONG(MPI_ERR_ARG, MPI_Psend_init(x, -1, 1, MPI_INT, to, 1, w, MPI_INFO_NULL, &t));
    WRONG(MPI_ERR_COUNT, MPI_Psend_init(x, 1, -1, MPI_INT, to, 1, w, MPI_INFO_NULL, &t));
    WRONG(MPI_ERR_RANK, MPI_Precv_init(x, 1, 1, MPI_INT, MPI_ANY_SOURCE, 1, w, MPI_INFO_NULL, &t));
    WRONG(MPI_ERR_TAG, MPI_Precv_init(x, 1, 1, MPI_INT, from, MPI_ANY_TAG, w, MPI_INFO_NULL, &t));
    WRONG(MPI_ERR_TYPE, MPI_Psend_init(x, 1, 1, MPI_DATATYPE_NULL, to, 1, w, MPI_INFO_NULL, &t));
    WRONG(MPI_ERR_BUFFER, MPI_Psend_init(NULL, 1, 1, MPI_INT, to, 1, w, MPI_INFO_NULL, &t));
    WRONG(MPI_ERR_INFO, MPI_Psend_init(x, 1, 1, MPI_INT, to, 1, w, (MPI_Info)(size_t)12345, &t));
    WRONG(MPI_ERR_REQUEST, MPI_Pready(0, MPI_REQUEST_NULL));
    WRONG(MPI_ERR_REQUEST, MPI_Parrived(MPI_REQUEST_NULL, 0, &flag));
    MPI(MPI_Send_init(x, 1, MPI_INT, to, 1, w, &plain));
    WRONG(MPI_ERR_REQUEST, MPI_Pready(0, plain));
    MPI(MPI_Request_free(&plain));

    MPI(MPI_Psend_init(x, 2, 1, MPI_INT, to, 1, w, MPI_INFO_NULL, &s));
    MPI(MPI_Precv_init(x + 2, 2, 1, MPI_INT, from, 1, w, MPI_INFO_NULL, &r));
    WRONG(MPI_ERR_REQUEST, MPI_Pready(0, s));
    MPI(MPI_Parrived(r, 0, &flag));
    CHECK(flag, "of an inactive request something is missing");
    MPI(MPI_Start(&s));
    MPI(MPI_Start(&r));
    WRONG(MPI_ERR_REQUEST, MPI_Start(&s));
    WRONG(MPI_ERR_REQUEST, MPI_Pready(0, r));
    WRONG(MPI_ERR_REQUEST, MPI_Parrived(s, 0, &flag));
    WRONG(MPI_ERR_ARG, MPI_Pready(2, s));
    WRONG(MPI_ERR_ARG, MPI_Pready(-1, s));
    WRONG(MPI_ERR_ARG, MPI_Pready_range(1, 0, s));
    WRONG(MPI_ERR_ARG, MPI_Pready_range(0, 2, s));
    WRONG(MPI_ERR_ARG, MPI_Pready_list(2, (const int[]){1, 1}, s));
    WRONG(MPI_ERR_ARG, MPI_Pready_list(1, NULL, s));
    WRONG(MPI_ERR_ARG, MPI_Parrived(r, 2, &flag));
    WRONG(MPI_ERR_REQUEST, MPI_Cancel(&s));
    MPI(MPI_Pready_list(0, NULL, s));
    MPI(MPI_Pready(1, s));
    WRONG(MPI_ERR_ARG, MPI_Pready(1, s));
    MPI(MPI_Pready(0, s));
    MPI(MPI_Wait(&s, MPI_STATUS_IGNORE));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MPI(MPI_Request_free(&s));
    MPI(MPI_Request_free(&r));

    /* Sides of different lengths: the receiver is told, at each start. */
    MPI(MPI_Psend_init(x, 2, 1, MPI_INT, to, 2, w, MPI_INFO_NULL, &s));
    MPI(MPI_Precv_init(x + 2, 1, 1, MPI_INT, from, 2, w, MPI_INFO_NULL, &r));
    for (int turn = 0; turn < 2; turn++) {
        MPI(MPI_Start(&r));
        CHECK(class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE, "turn %d", turn);
    }
    MPI(MPI_Request_free(&s));
    MPI(MPI_Request_free(&r));
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(class_of(MPI_SUCCESS) == MPI_SUCCESS, "the class of success");
    exchange(1, 1, 10, 1);
    exchange(4, 4, 64, 2);
    exchange(8, 2, 64, 2);
    exchange(2, 8, 64, 3);
    exchange(6, 4, 24000, 0);
    exchange(3, 3, 150000, 4);
    order();
    apart_from_others();
    one_by_one();
    gaps();
#ifdef MPI_ABI_VERSION
    exchange(5, 0, 0, 1);
    exchange(0, 3, 0, 1);
    exchange(300, 7, 2100, 2147483647);
    progress();
    freed();
    nobody();
    refusals();
#endif
    return end("partitioned");
}
