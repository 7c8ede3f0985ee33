/* grequests.c - generalized requests (MPI 5.0, section 13.2): when the program's
 * functions are called, what they may call, and how they mix with other
 * requests. Any number of ranks. */
#include "../check.h"

#ifdef MPICH_NAME
/* MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array that is too short. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

/* What MPI_Finalize returned inside a query. */
static int finalized = -1;

struct state {
    int queried, freed, cancelled, complete; /* calls, and what the last one got */
    int items;                               /* what the status says */
    int fails;                               /* the error of the query */
    int communicates;
    int finalizes;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *s = extra;

    s->queried++;
    if (s->communicates) {
        int one = 1, sum = 0, in = -1;
        MPI_Comm comm;

        MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == size, "inside a query: %d", sum);
        MPI(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT,
                         (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in == (rank + size - 1) % size, "inside a query: %d", in);
        MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
        MPI(MPI_Comm_free(&comm));
    }
    if (s->finalizes)
        finalized = MPI_Finalize();
    MPI(MPI_Status_set_elements(status, MPI_INT, s->items));
    MPI(MPI_Status_set_cancelled(status, s->cancelled > 0));
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return s->fails;
}

static int release(void *extra)
{
    struct state *s = extra;

    s->freed++;
    if (s->communicates)
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *s = extra;

    s->cancelled++;
    s->complete = complete;
    return MPI_SUCCESS;
}

static MPI_Request start(struct state *s, int items)
{
    MPI_Request r = MPI_REQUEST_NULL;

    memset(s, 0, sizeof *s);
    s->items = items;
    s->complete = -1;
    MPI(MPI_Grequest_start(query, release, cancel, s, &r));
    CHECK(r != MPI_REQUEST_NULL, "MPI_Grequest_start gave no request");
    return r;
}

static void verify_state(const struct state *s, int queried, int freed, const char *what)
{
#ifdef MPICH_NAME
    /* MPICH 4.0 queries again in MPI_Testall. */
    const int wrong_number = s->queried < queried;
#else
    const int wrong_number = s->queried != queried;
#endif
    CHECK(!wrong_number && s->freed == freed, "%s: queried %d times, freed %d times", what,
          s->queried, s->freed);
}

static void verify_query(MPI_Status *status, int items, const char *what)
{
    int count = -1, cancelled = -1;

    MPI(MPI_Get_count(status, MPI_INT, &count));
    MPI(MPI_Test_cancelled(status, &cancelled));
    CHECK(count == items && !cancelled, "%s: %d items, cancelled %d", what, count, cancelled);
    CHECK(status->MPI_SOURCE == 5 && status->MPI_TAG == 6, "%s: source %d, tag %d", what,
          status->MPI_SOURCE, status->MPI_TAG);
}

static void one(void)
{
    struct state s;
    MPI_Request r = start(&s, 3), before = r;
    MPI_Status status;
    int flag = 1;

    MPI(MPI_Test(&r, &flag, &status));
    CHECK(!flag && r == before, "a request that nobody has completed is complete");
    MPI(MPI_Request_get_status(r, &flag, &status));
    CHECK(!flag, "MPI_Request_get_status of a request that nobody has completed");
    verify_state(&s, 0, 0, "before MPI_Grequest_complete");
    MPI(MPI_Grequest_complete(r));
    verify_state(&s, 0, 0, "MPI_Grequest_complete");
    MPI(MPI_Request_get_status(r, &flag, &status));
    CHECK(flag && r == before, "MPI_Request_get_status: %d", flag);
    verify_query(&status, 3, "MPI_Request_get_status");
    verify_state(&s, 1, 0, "MPI_Request_get_status");
    MPI(MPI_Wait(&r, &status));
    CHECK(r == MPI_REQUEST_NULL, "MPI_Wait leaves the request");
    verify_query(&status, 3, "MPI_Wait");
    verify_state(&s, 2, 1, "MPI_Wait");

    r = start(&s, 4);
    MPI(MPI_Grequest_complete(r));
    flag = 0;
    MPI(MPI_Test(&r, &flag, &status));
    CHECK(flag && r == MPI_REQUEST_NULL, "MPI_Test: %d", flag);
    verify_query(&status, 4, "MPI_Test");
    verify_state(&s, 1, 1, "MPI_Test");

    /* The function gets a status even if nobody wants it. */
    r = start(&s, 4);
    MPI(MPI_Grequest_complete(r));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    verify_state(&s, 1, 1, "MPI_STATUS_IGNORE");
}

static void sets(void)
{
    struct state s[3];
    MPI_Request r[5];
    MPI_Status status[5];
    int index = -1, flag = 0, count = -1, indices[5], in = -1;

    for (int i = 0; i < 3; i++)
        r[i] = start(&s[i], i + 1);
    MPI(MPI_Testany(3, r, &index, &flag, status));
    CHECK(!flag && index == MPI_UNDEFINED, "MPI_Testany: %d %d", flag, index);
    MPI(MPI_Grequest_complete(r[1]));
    MPI(MPI_Waitany(3, r, &index, status));
    CHECK(index == 1 && r[1] == MPI_REQUEST_NULL, "MPI_Waitany: %d", index);
    verify_query(status, 2, "MPI_Waitany");
    verify_state(&s[1], 1, 1, "MPI_Waitany");
    MPI(MPI_Grequest_complete(r[0]));
    MPI(MPI_Testany(3, r, &index, &flag, status));
    CHECK(flag && index == 0, "MPI_Testany: %d %d", flag, index);
    verify_query(status, 1, "MPI_Testany");
    flag = 1;
    MPI(MPI_Testall(3, r, &flag, status));
    CHECK(!flag, "MPI_Testall with a pending request");
    verify_state(&s[2], 0, 0, "pending in MPI_Testall");
    MPI(MPI_Testsome(3, r, &count, indices, status));
    CHECK(count == 0, "MPI_Testsome with a pending request: %d", count);
    MPI(MPI_Grequest_complete(r[2]));
    MPI(MPI_Waitsome(3, r, &count, indices, status));
    CHECK(count == 1 && indices[0] == 2, "MPI_Waitsome: %d, %d", count, indices[0]);
    verify_query(status, 3, "MPI_Waitsome");
    verify_state(&s[2], 1, 1, "MPI_Waitsome");

    /* Among messages. */
    for (int i = 0; i < 3; i++) {
        r[i] = start(&s[i], 10 + i);
        MPI(MPI_Grequest_complete(r[i]));
    }
    MPI(MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &r[3]));
    MPI(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &r[4]));
    MPI(MPI_Waitall(5, r, status));
    CHECK(in == (rank + size - 1) % size, "among messages: %d", in);
    for (int i = 0; i < 3; i++) {
        CHECK(r[i] == MPI_REQUEST_NULL, "MPI_Waitall leaves request %d", i);
        verify_query(&status[i], 10 + i, "MPI_Waitall");
        verify_state(&s[i], 1, 1, "MPI_Waitall");
    }
    verify_status(&status[3], (rank + size - 1) % size, 2, (int)sizeof(int), "beside");

    for (int i = 0; i < 3; i++) {
        r[i] = start(&s[i], 20 + i);
        MPI(MPI_Grequest_complete(r[i]));
    }
    flag = 0;
    MPI(MPI_Testall(3, r, &flag, status));
    CHECK(flag, "MPI_Testall");
    for (int i = 0; i < 3; i++) {
        verify_query(&status[i], 20 + i, "MPI_Testall");
        verify_state(&s[i], 1, 1, "MPI_Testall");
    }
    for (int i = 0; i < 3; i++) {
        r[i] = start(&s[i], 30);
        MPI(MPI_Grequest_complete(r[i]));
    }
    MPI(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++)
        verify_state(&s[i], 1, 1, "MPI_Waitall without statuses");
}

static void cancelled(void)
{
    struct state s;
    MPI_Request r = start(&s, 0);
    MPI_Status status;
    int flag = 0;

    MPI(MPI_Cancel(&r));
    CHECK(s.cancelled == 1 && s.complete == 0, "MPI_Cancel: %d calls, complete %d", s.cancelled, s.complete);
    MPI(MPI_Grequest_complete(r));
    MPI(MPI_Wait(&r, &status));
    MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag, "the status of a cancelled request");
    verify_state(&s, 1, 1, "cancelled");
    r = start(&s, 0);
    MPI(MPI_Grequest_complete(r));
    MPI(MPI_Cancel(&r));
    CHECK(s.cancelled == 1 && s.complete != 0, "too late: %d calls, complete %d", s.cancelled, s.complete);
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    verify_state(&s, 1, 1, "cancelled too late");
}

static void freed(void)
{
    struct state s;
    MPI_Request r = start(&s, 0), same = r;

    MPI(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL, "the handle of a freed request stays");
#ifndef MPICH_NAME
    /* MPICH 4.0 frees it before it is complete. */
    verify_state(&s, 0, 0, "freed while it is under way");
#endif
    MPI(MPI_Grequest_complete(same));
    verify_state(&s, 0, 1, "completed after it was freed");
    r = start(&s, 0);
    MPI(MPI_Grequest_complete(r));
    MPI(MPI_Request_free(&r));
    verify_state(&s, 0, 1, "freed after it was complete");
}

/* The functions may communicate. */
static void communicating(void)
{
    struct state s[2];
    MPI_Request r[2];
    MPI_Status status[2];
    int flag = 0;

    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 2; i++) {
            r[i] = start(&s[i], i + 7);
            s[i].communicates = 1;
            MPI(MPI_Grequest_complete(r[i]));
        }
        if (turn == 0) {
            MPI(MPI_Waitall(2, r, status));
        } else if (turn == 1) {
            MPI(MPI_Wait(&r[0], &status[0]));
            MPI(MPI_Test(&r[1], &flag, &status[1]));
            CHECK(flag, "MPI_Test with a function that communicates");
        } else {
            MPI(MPI_Testall(2, r, &flag, status));
            CHECK(flag, "MPI_Testall with functions that communicate");
        }
        for (int i = 0; i < 2; i++) {
            verify_query(&status[i], i + 7, "communicating");
            verify_state(&s[i], 1, 1, "communicating");
        }
    }
}

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void errors(void)
{
    struct state s, t;
    MPI_Request r = start(&s, 0), two[2];
    MPI_Status status[2];
    int in = 0, code;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    s.fails = MPI_ERR_NO_SPACE;
    MPI(MPI_Grequest_complete(r));
    code = MPI_Wait(&r, &status[0]);
    CHECK(class_of(code) == MPI_ERR_NO_SPACE, "the error of a query: %d", code);
    CHECK(r == MPI_REQUEST_NULL, "a failed request stays");
    verify_state(&s, 1, 1, "a query that fails");

    two[0] = start(&s, 0);
    two[1] = start(&t, 0);
    t.fails = MPI_ERR_NO_SPACE;
    MPI(MPI_Grequest_complete(two[0]));
    MPI(MPI_Grequest_complete(two[1]));
    code = MPI_Waitall(2, two, status);
    CHECK(class_of(code) == MPI_ERR_IN_STATUS, "one of two queries fails: %d", code);
    CHECK(status[0].MPI_ERROR == MPI_SUCCESS, "the first status: %d", status[0].MPI_ERROR);
    CHECK(status[1].MPI_ERROR != MPI_SUCCESS, "the second status has no error");
#ifndef MPICH_NAME
    /* MPICH 4.0 has another class here. */
    CHECK(class_of(status[1].MPI_ERROR) == MPI_ERR_NO_SPACE, "the second status: %d", status[1].MPI_ERROR);
#endif

    r = MPI_REQUEST_NULL;
    code = MPI_Grequest_complete(r);
    CHECK(class_of(code) == MPI_ERR_REQUEST, "completing nothing: %d", code);
    MPI(MPI_Irecv(&in, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &r));
    code = MPI_Grequest_complete(r);
    CHECK(code != MPI_SUCCESS, "completing a receive");
    MPI(MPI_Send(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
#ifndef MPICH_NAME
    /* Erroneous programs, which MPICH does not find. */
    r = start(&s, 1);
    s.finalizes = 1;
    MPI(MPI_Grequest_complete(r));
    code = MPI_Grequest_complete(r);
    CHECK(class_of(code) == MPI_ERR_REQUEST, "completing twice: %d", code);
    MPI(MPI_Wait(&r, &status[0]));
    verify_query(&status[0], 1, "finalizing");
    CHECK(class_of(finalized) == MPI_ERR_OTHER, "MPI_Finalize inside a query: %d", finalized);
    code = MPI_Grequest_start(NULL, release, cancel, &s, &r);
    CHECK(class_of(code) == MPI_ERR_ARG, "without a query function: %d", code);
#endif
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static void many(void)
{
    enum { N = 300 };
    static struct state s[N];
    static MPI_Request r[N];
    int index, seen = 0;

    for (int i = 0; i < N; i++)
        r[i] = start(&s[i], i);
    for (int i = 0; i < N; i++)
        MPI(MPI_Grequest_complete(r[(i * 7) % N]));
    for (; seen < N; seen++) {
        MPI_Status status;

        MPI(MPI_Waitany(N, r, &index, &status));
        CHECK(index >= 0 && index < N, "MPI_Waitany: %d", index);
        verify_query(&status, index, "of many");
    }
    for (int i = 0; i < N; i++)
        verify_state(&s[i], 1, 1, "of many");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    one();
    sets();
    cancelled();
    freed();
    communicating();
    errors();
    many();
    return end("grequests");
}
