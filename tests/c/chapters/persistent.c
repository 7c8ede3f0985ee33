/* persistent.c - persistent point-to-point requests (MPI 5.0, section 3.9): all
 * modes, the whole family of MPI_Wait and MPI_Test over inactive and active
 * ones, freed requests, cancellation, and wrong arguments. Any number of ranks. */
#include "../check.h"

#ifdef MPICH_NAME
/* MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array that is too short. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { ITEMS = 300, TURNS = 20, LONG = 200000 };

static int to, from;

static int is_empty(const MPI_Status *s)
{
    int count = -1, cancelled = -1;

    MPI(MPI_Get_count(s, MPI_INT, &count));
    MPI(MPI_Test_cancelled(s, &cancelled));
    return s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled;
}

static void soil(MPI_Status *s, int n)
{
    for (int i = 0; i < n; i++) {
        s[i].MPI_SOURCE = 77;
        s[i].MPI_TAG = 78;
        s[i].MPI_ERROR = 79;
    }
}

/* Both requests are started again and again; their handles stay. */
static void ring(MPI_Request send, MPI_Request receive, int *out, int *in, int items, const char *what)
{
    MPI_Request r[2] = {send, receive};
    MPI_Status s[2];

    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < items; i++) {
            out[i] = rank * 1000 + turn + i;
            in[i] = -1;
        }
        if (turn % 2) {
            MPI(MPI_Startall(2, r));
        } else {
            MPI(MPI_Start(&r[1]));
            MPI(MPI_Start(&r[0]));
        }
        CHECK(r[0] == send && r[1] == receive, "%s: MPI_Start changed a handle", what);
        if (turn % 3 == 0) {
            MPI(MPI_Waitall(2, r, s));
            verify_status(&s[1], from, 3, items * (int)sizeof(int), what);
        } else if (turn % 3 == 1) {
            MPI(MPI_Wait(&r[0], &s[0]));
            MPI(MPI_Wait(&r[1], &s[1]));
            verify_status(&s[1], from, 3, items * (int)sizeof(int), what);
        } else {
            MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        }
        CHECK(r[0] == send && r[1] == receive, "%s: waiting changed a handle", what);
        for (int i = 0; i < items; i++)
            CHECK(in[i] == from * 1000 + turn + i, "%s, turn %d: item %d is %d", what, turn, i, in[i]);
    }
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL, "%s: freed handles stay", what);
}

static void modes(void)
{
    int *out = allocate(LONG * sizeof(int)), *in = allocate(LONG * sizeof(int));
    /* Room for all turns, as a neighbour may be that late. */
    int bytes = TURNS * ((int)sizeof(int) * LONG + 2 * MPI_BSEND_OVERHEAD);
    void *room = allocate((size_t)bytes), *back;
    MPI_Request send, receive;

    for (int items = ITEMS; items <= LONG; items += LONG - ITEMS) {
        MPI(MPI_Send_init(out, items, MPI_INT, to, 3, MPI_COMM_WORLD, &send));
        MPI(MPI_Recv_init(in, items, MPI_INT, from, 3, MPI_COMM_WORLD, &receive));
        ring(send, receive, out, in, items, "MPI_Send_init");
        MPI(MPI_Ssend_init(out, items, MPI_INT, to, 3, MPI_COMM_WORLD, &send));
        MPI(MPI_Recv_init(in, items, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive));
        ring(send, receive, out, in, items, "MPI_Ssend_init");
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        MPI(MPI_Buffer_attach(room, bytes));
        MPI(MPI_Bsend_init(out, items, MPI_INT, to, 3, MPI_COMM_WORLD, &send));
        MPI(MPI_Recv_init(in, items, MPI_INT, from, 3, MPI_COMM_WORLD, &receive));
        ring(send, receive, out, in, items, "MPI_Bsend_init");
        MPI(MPI_Buffer_detach(&back, &bytes));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(room);
    free(out);
    free(in);
}

/* A ready send may start only when its receive has. */
static void ready(void)
{
    MPI_Request r[2];
    int out = rank, in = -1;

    MPI(MPI_Rsend_init(&out, 1, MPI_INT, to, 9, MPI_COMM_WORLD, &r[0]));
    MPI(MPI_Recv_init(&in, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &r[1]));
    for (int turn = 0; turn < 5; turn++) {
        MPI(MPI_Start(&r[1]));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        out = rank + turn;
        MPI(MPI_Start(&r[0]));
        MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        CHECK(in == from + turn, "ready: %d", in);
    }
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
}

/* An inactive request is complete with an empty status, and no set has it. */
static void inactive(void)
{
    MPI_Request r[3], all[3];
    MPI_Status s[3];
    int out = 1, in = 2, flag, index, count, indices[3];

    MPI(MPI_Send_init(&out, 1, MPI_INT, to, 4, MPI_COMM_WORLD, &r[0]));
    r[1] = MPI_REQUEST_NULL;
    MPI(MPI_Recv_init(&in, 1, MPI_INT, from, 4, MPI_COMM_WORLD, &r[2]));
    memcpy(all, r, sizeof r);

    soil(s, 3);
    MPI(MPI_Wait(&r[0], &s[0]));
    CHECK(is_empty(&s[0]), "MPI_Wait of an inactive request");
    flag = 0;
    soil(s, 3);
    MPI(MPI_Test(&r[2], &flag, &s[2]));
    CHECK(flag && is_empty(&s[2]), "MPI_Test of an inactive request: %d", flag);
    flag = 0;
    soil(s, 3);
    MPI(MPI_Request_get_status(r[2], &flag, &s[2]));
    CHECK(flag && is_empty(&s[2]), "MPI_Request_get_status of an inactive request: %d", flag);
    index = 5;
    soil(s, 3);
    MPI(MPI_Waitany(3, r, &index, s));
    CHECK(index == MPI_UNDEFINED && is_empty(s), "MPI_Waitany of inactive requests: %d", index);
    index = 5, flag = 0;
    soil(s, 3);
    MPI(MPI_Testany(3, r, &index, &flag, s));
    CHECK(flag && index == MPI_UNDEFINED, "MPI_Testany of inactive requests: %d %d", flag, index);
#ifndef MPICH_NAME
    /* MPICH writes no status here. */
    CHECK(is_empty(s), "the status of MPI_Testany of inactive requests");
#endif
    count = 5;
    MPI(MPI_Waitsome(3, r, &count, indices, s));
    CHECK(count == MPI_UNDEFINED, "MPI_Waitsome of inactive requests: %d", count);
    count = 5;
    MPI(MPI_Testsome(3, r, &count, indices, s));
    CHECK(count == MPI_UNDEFINED, "MPI_Testsome of inactive requests: %d", count);
    soil(s, 3);
    MPI(MPI_Waitall(3, r, s));
    for (int i = 0; i < 3; i++)
        CHECK(is_empty(&s[i]), "MPI_Waitall: status %d", i);
    MPI(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    flag = 0;
    soil(s, 3);
    MPI(MPI_Testall(3, r, &flag, s));
    CHECK(flag, "MPI_Testall of inactive requests");
    for (int i = 0; i < 3; i++)
        CHECK(is_empty(&s[i]), "MPI_Testall: status %d", i);
    CHECK(memcmp(all, r, sizeof r) == 0, "a call changed the handle of an inactive request");
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[2]));
}

/* Of active and inactive requests, calls return the active ones. */
static void some_active(void)
{
    MPI_Request r[4];
    MPI_Status s[4];
    int out[2] = {10, 11}, in[2] = {-1, -1}, flag = 0, index = -1, count = -1, indices[4], done = 0;

    MPI(MPI_Recv_init(&in[0], 1, MPI_INT, from, 20, MPI_COMM_WORLD, &r[0]));
    MPI(MPI_Recv_init(&in[1], 1, MPI_INT, from, 21, MPI_COMM_WORLD, &r[1]));
    MPI(MPI_Send_init(&out[0], 1, MPI_INT, to, 20, MPI_COMM_WORLD, &r[2]));
    MPI(MPI_Send_init(&out[1], 1, MPI_INT, to, 21, MPI_COMM_WORLD, &r[3]));

    MPI(MPI_Start(&r[1]));
    MPI(MPI_Start(&r[3]));
    MPI(MPI_Waitany(2, r, &index, s));
    CHECK(index == 1 && in[1] == 11, "MPI_Waitany: %d, %d", index, in[1]);
    verify_status(s, from, 21, (int)sizeof(int), "MPI_Waitany");
    CHECK(r[1] != MPI_REQUEST_NULL, "MPI_Waitany freed a persistent request");
    MPI(MPI_Waitany(2, r, &index, s));
    CHECK(index == MPI_UNDEFINED, "MPI_Waitany returned a request twice: %d", index);
    MPI(MPI_Wait(&r[3], MPI_STATUS_IGNORE));
    MPI(MPI_Barrier(MPI_COMM_WORLD));

    MPI(MPI_Start(&r[0]));
    MPI(MPI_Testany(2, r, &index, &flag, s));
    CHECK(!flag && index == MPI_UNDEFINED, "MPI_Testany of a pending request: %d %d", flag, index);
    MPI(MPI_Testsome(2, r, &count, indices, s));
    CHECK(count == 0, "MPI_Testsome of a pending request: %d", count);
    flag = 1;
    MPI(MPI_Testall(2, r, &flag, s));
    CHECK(!flag, "MPI_Testall of a pending request");
    flag = 1;
    MPI(MPI_Request_get_status(r[0], &flag, s));
    CHECK(!flag, "MPI_Request_get_status of a pending request");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Start(&r[2]));
    do
        MPI(MPI_Testany(2, r, &index, &flag, s));
    while (!flag);
    CHECK(index == 0 && in[0] == 10, "MPI_Testany: %d, %d", index, in[0]);
    verify_status(s, from, 20, (int)sizeof(int), "MPI_Testany");
    MPI(MPI_Wait(&r[2], MPI_STATUS_IGNORE));

    /* MPI_Waitsome until all four are inactive. */
    MPI(MPI_Startall(4, r));
    while (done < 4) {
        MPI(MPI_Waitsome(4, r, &count, indices, s));
        CHECK(count > 0 && count <= 4 - done, "MPI_Waitsome: %d of %d", count, 4 - done);
        for (int i = 0; i < count; i++)
            if (indices[i] < 2)
                verify_status(&s[i], from, 20 + indices[i], (int)sizeof(int), "MPI_Waitsome");
        done += count;
    }
    MPI(MPI_Waitsome(4, r, &count, indices, s));
    CHECK(count == MPI_UNDEFINED, "MPI_Waitsome after all: %d", count);

    /* MPI_Testsome, MPI_Testall and MPI_Request_get_status end the same way. */
    MPI(MPI_Startall(4, r));
    for (done = 0; done < 4; done += count)
        MPI(MPI_Testsome(4, r, &count, indices, s));
    CHECK(done == 4, "MPI_Testsome: %d", done);
    MPI(MPI_Startall(4, r));
    do
        MPI(MPI_Testall(4, r, &flag, s));
    while (!flag);
    verify_status(&s[0], from, 20, (int)sizeof(int), "MPI_Testall");
    verify_status(&s[1], from, 21, (int)sizeof(int), "MPI_Testall");
    MPI(MPI_Startall(4, r));
    do
        MPI(MPI_Request_get_status(r[1], &flag, s));
    while (!flag);
    verify_status(s, from, 21, (int)sizeof(int), "MPI_Request_get_status");
    MPI(MPI_Waitany(2, r + 1, &index, s));
    CHECK(index == 0 || index == 1, "MPI_Request_get_status ended the request: %d", index);
    MPI(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
    do {
        in[1] = -1;
        MPI(MPI_Start(&r[1]));
        MPI(MPI_Start(&r[3]));
        do
            MPI(MPI_Test(&r[1], &flag, s));
        while (!flag);
        CHECK(in[1] == 11, "MPI_Test: %d", in[1]);
        MPI(MPI_Wait(&r[3], MPI_STATUS_IGNORE));
    } while (++done < 20);
    for (int i = 0; i < 4; i++)
        MPI(MPI_Request_free(&r[i]));
}

/* Persistent and ordinary requests in one array. */
static void mixed(void)
{
    MPI_Request r[4];
    int out[2] = {1, 2}, in[2] = {-1, -1};
    MPI_Status s[4];

    MPI(MPI_Send_init(&out[0], 1, MPI_INT, to, 30, MPI_COMM_WORLD, &r[0]));
    MPI(MPI_Recv_init(&in[1], 1, MPI_INT, from, 31, MPI_COMM_WORLD, &r[3]));
    MPI(MPI_Start(&r[0]));
    MPI(MPI_Start(&r[3]));
    MPI(MPI_Irecv(&in[0], 1, MPI_INT, from, 30, MPI_COMM_WORLD, &r[1]));
    MPI(MPI_Isend(&out[1], 1, MPI_INT, to, 31, MPI_COMM_WORLD, &r[2]));
    MPI(MPI_Waitall(4, r, s));
    CHECK(in[0] == 1 && in[1] == 2, "mixed: %d %d", in[0], in[1]);
    verify_status(&s[1], from, 30, (int)sizeof(int), "mixed");
    verify_status(&s[3], from, 31, (int)sizeof(int), "mixed");
    CHECK(r[1] == MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL, "ordinary requests stay");
    CHECK(r[0] != MPI_REQUEST_NULL && r[3] != MPI_REQUEST_NULL, "persistent requests end");
    /* A persistent send fits an ordinary receive, and the other way round. */
    MPI(MPI_Start(&r[0]));
    MPI(MPI_Recv(&in[0], 1, MPI_INT, from, 30, MPI_COMM_WORLD, &s[0]));
    MPI(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    MPI(MPI_Start(&r[3]));
    MPI(MPI_Send(&out[1], 1, MPI_INT, to, 31, MPI_COMM_WORLD));
    MPI(MPI_Wait(&r[3], &s[3]));
    verify_status(&s[3], from, 31, (int)sizeof(int), "ordinary send");
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[3]));
}

/* Freeing an active request: its operation completes. */
static void freed(void)
{
    MPI_Request r;
    int *out = allocate(LONG * sizeof(int)), *in = allocate(LONG * sizeof(int));
    MPI_Status s;

    for (int i = 0; i < LONG; i++)
        out[i] = rank + i, in[i] = -1;
    MPI(MPI_Send_init(out, LONG, MPI_INT, to, 40, MPI_COMM_WORLD, &r));
    MPI(MPI_Start(&r));
    MPI(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL, "the handle of a freed active request stays");
    MPI(MPI_Recv(in, LONG, MPI_INT, from, 40, MPI_COMM_WORLD, &s));
    verify_status(&s, from, 40, LONG * (int)sizeof(int), "of a freed request");
    for (int i = 0; i < LONG; i++)
        CHECK(in[i] == from + i, "of a freed request: item %d is %d", i, in[i]);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    free(out);
    free(in);
}

static void nobody(void)
{
    MPI_Request r[2];
    MPI_Status s[2];
    int n = 5, count = -1;

    MPI(MPI_Send_init(&n, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]));
    MPI(MPI_Recv_init(&n, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]));
    for (int turn = 0; turn < 3; turn++) {
        MPI(MPI_Startall(2, r));
        MPI(MPI_Waitall(2, r, s));
        MPI(MPI_Get_count(&s[1], MPI_INT, &count));
        CHECK(s[1].MPI_TAG == MPI_ANY_TAG && count == 0 && n == 5,
              "MPI_PROC_NULL: tag %d, count %d, %d", s[1].MPI_TAG, count, n);
#ifndef MPICH_NAME
        /* MPICH gives the empty status. */
        CHECK(s[1].MPI_SOURCE == MPI_PROC_NULL, "MPI_PROC_NULL: source %d", s[1].MPI_SOURCE);
#endif
    }
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
}

/* Cancelling ends the operation, not the request. */
static void cancelled(void)
{
    MPI_Request r;
    MPI_Status s;
    int in = -1, out = 6, flag = 0;

    MPI(MPI_Recv_init(&in, 1, MPI_INT, from, 50, MPI_COMM_WORLD, &r));
    MPI(MPI_Start(&r));
    MPI(MPI_Cancel(&r));
    CHECK(r != MPI_REQUEST_NULL, "MPI_Cancel ended a persistent request");
    MPI(MPI_Wait(&r, &s));
    MPI(MPI_Test_cancelled(&s, &flag));
    CHECK(flag && in == -1, "a cancelled receive: %d %d", flag, in);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Start(&r));
    MPI(MPI_Send(&out, 1, MPI_INT, to, 50, MPI_COMM_WORLD));
    MPI(MPI_Wait(&r, &s));
    MPI(MPI_Test_cancelled(&s, &flag));
    CHECK(!flag && in == 6, "started after a cancellation: %d %d", flag, in);
    MPI(MPI_Request_free(&r));
}

/* A request keeps its communicator. */
static void freed_communicator(void)
{
    MPI_Request r[2];
    MPI_Comm comm, other;
    int out = 0, in = -1;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Send_init(&out, 1, MPI_INT, to, 1, comm, &r[0]));
    MPI(MPI_Recv_init(&in, 1, MPI_INT, from, 1, comm, &r[1]));
    MPI(MPI_Startall(2, r));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK(in == 0, "after MPI_Comm_free: %d", in);
    for (int turn = 1; turn < 4; turn++) {
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        out = turn;
        MPI(MPI_Startall(2, r));
        MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        CHECK(in == turn, "started after MPI_Comm_free: %d", in);
        MPI(MPI_Comm_free(&other));
    }
    MPI(MPI_Request_free(&r[0]));
    MPI(MPI_Request_free(&r[1]));
}

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void errors(void)
{
    MPI_Request r, ordinary;
    MPI_Status s;
    int n = 0, in = -1, code;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Send_init(&n, 1, MPI_INT, size, 1, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_RANK, "a rank that is none: %d", code);
    code = MPI_Recv_init(&n, 1, MPI_INT, size, 1, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_RANK, "a source that is none: %d", code);
    code = MPI_Send_init(&n, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_TAG, "a tag that is none: %d", code);
    code = MPI_Ssend_init(&n, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_COUNT, "a negative count: %d", code);
    code = MPI_Bsend_init(&n, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_TYPE, "no datatype: %d", code);
    code = MPI_Recv_init(&n, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &r);
    CHECK(class_of(code) == MPI_ERR_COMM, "no communicator: %d", code);
    r = MPI_REQUEST_NULL;
    code = MPI_Start(&r);
    CHECK(class_of(code) == MPI_ERR_REQUEST, "starting nothing: %d", code);
    code = MPI_Startall(-1, &r);
    CHECK(class_of(code) == MPI_ERR_COUNT, "starting -1 requests: %d", code);
    MPI(MPI_Startall(0, NULL));

    MPI(MPI_Irecv(&in, 1, MPI_INT, from, 60, MPI_COMM_WORLD, &ordinary));
    code = MPI_Start(&ordinary);
    CHECK(class_of(code) == MPI_ERR_REQUEST, "starting an ordinary request: %d", code);
    MPI(MPI_Send(&n, 1, MPI_INT, to, 60, MPI_COMM_WORLD));
    MPI(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));

    /* A message that is too long: the request is inactive afterwards, and can be started. */
    MPI(MPI_Recv_init(&in, 1, MPI_INT, from, 61, MPI_COMM_WORLD, &r));
    MPI(MPI_Start(&r));
    {
        int two[2] = {7, 8};

        MPI(MPI_Send(two, 2, MPI_INT, to, 61, MPI_COMM_WORLD));
        code = MPI_Wait(&r, &s);
        CHECK(class_of(code) == MPI_ERR_TRUNCATE, "a message that is too long: %d", code);
        CHECK(r != MPI_REQUEST_NULL, "a failure freed a persistent request");
        MPI(MPI_Start(&r));
        MPI(MPI_Send(two, 1, MPI_INT, to, 61, MPI_COMM_WORLD));
        MPI(MPI_Wait(&r, &s));
        CHECK(in == 7, "started after a failure: %d", in);
        verify_status(&s, from, 61, (int)sizeof(int), "after a failure");
    }
#ifndef MPICH_NAME
    /* Erroneous programs, of which MPICH does not find all. */
    {
        MPI_Request stale = r, twice[2];
        int flag = 0;

        MPI(MPI_Start(&r));
        code = MPI_Start(&r);
        CHECK(class_of(code) == MPI_ERR_REQUEST, "starting an active request: %d", code);
        MPI(MPI_Send(&n, 1, MPI_INT, to, 61, MPI_COMM_WORLD));
        MPI(MPI_Wait(&r, &s));
        verify_status(&s, from, 61, (int)sizeof(int), "started twice");
        code = MPI_Cancel(&r);
        CHECK(class_of(code) == MPI_ERR_REQUEST, "cancelling an inactive request: %d", code);
        MPI(MPI_Send_init(&n, 1, MPI_INT, to, 62, MPI_COMM_WORLD, &twice[0]));
        twice[1] = MPI_REQUEST_NULL;
        code = MPI_Startall(2, twice);
        CHECK(class_of(code) == MPI_ERR_REQUEST, "starting one and nothing: %d", code);
        /* The first one was not started either. */
        MPI(MPI_Test(&twice[0], &flag, &s));
        CHECK(flag && is_empty(&s), "MPI_Startall started a part");
        MPI(MPI_Request_free(&twice[0]));
        MPI(MPI_Request_free(&r));
        code = MPI_Wait(&stale, &s);
        CHECK(class_of(code) == MPI_ERR_REQUEST, "waiting for a freed request: %d", code);
        code = MPI_Start(&stale);
        CHECK(class_of(code) == MPI_ERR_REQUEST, "starting a freed request: %d", code);
        code = MPI_Request_free(&stale);
        CHECK(class_of(code) == MPI_ERR_REQUEST, "freeing a freed request: %d", code);
        MPI(MPI_Recv_init(&in, 1, MPI_INT, from, 61, MPI_COMM_WORLD, &r));
        CHECK(r != stale, "the next request has the handle of a freed one");
    }
#endif
    MPI(MPI_Request_free(&r));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/* Many requests at a time, made and freed in another order. */
static void many(void)
{
    enum { N = 400 };
    MPI_Request *r = allocate(2 * N * sizeof *r);
    int *out = allocate(N * sizeof *out), *in = allocate(N * sizeof *in);

    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < N; i++) {
            MPI(MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]));
            MPI(MPI_Send_init(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &r[N + i]));
            out[i] = turn * N + i;
        }
        MPI(MPI_Startall(2 * N, r));
        MPI(MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE));
        for (int i = 0; i < N; i++)
            CHECK(in[i] == turn * N + i, "many: item %d is %d", i, in[i]);
        for (int i = 0; i < 2 * N; i++)
            MPI(MPI_Request_free(&r[(i * 7) % (2 * N)]));
    }
    free(r);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    modes();
    ready();
    inactive();
    some_active();
    mixed();
    freed();
    nobody();
    cancelled();
    freed_communicator();
    errors();
    many();
    return end("persistent");
}
