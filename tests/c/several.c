/* several.c - Waitany, Waitsome, Testany, Testsome over requests that end one by
 * one, null requests among them; Testall over those that end together; looks at
 * requests that stay; Cancel: a receive that nothing matches, one that is over, a
 * handle that is none; handles given up while their operations go on. Any number of ranks: every rank sends to
 * the next one (with one rank: to itself). */
#include "check.h"

#define N 7
#define HOLES 2 /* null requests */

static int to, from, in[N];
static MPI_Request requests[N];

static void post(void)
{
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        if (i % 4 == 1)
            requests[i] = MPI_REQUEST_NULL;
        else
            MPI(MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]));
    }
}

static void send(int i)
{
    const int out = 100 * rank + i;

    MPI(MPI_Send(&out, 1, MPI_INT, to, i, MPI_COMM_WORLD));
}

/* The message of that index has come. */
static void arrived(int i, MPI_Status *status)
{
    CHECK(i >= 0 && i < N && i % 4 != 1, "index %d", i);
    CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is over and no handle any more", i);
    verify_status(status, from, i, sizeof(int), "one of several");
    CHECK(in[i] == 100 * from + i, "message %d carries %d", i, in[i]);
}

static void empty(MPI_Status *status)
{
    int count = -1;

    MPI(MPI_Get_count(status, MPI_INT, &count));
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0,
          "without requests the status is empty");
}

static void any(int wait)
{
    MPI_Status status;
    int index, flag = 0, seen[N] = {0};

    post();
    if (!wait) {
        MPI(MPI_Testany(N, requests, &index, &flag, &status));
        CHECK(!flag && index == MPI_UNDEFINED, "nothing has been sent: flag %d, index %d", flag, index);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = N - 1; i >= 0; i--) {
        if (i % 4 == 1)
            continue;
        send(i);
        if (wait)
            MPI(MPI_Waitany(N, requests, &index, &status));
        else
            for (flag = 0; !flag;)
                MPI(MPI_Testany(N, requests, &index, &flag, &status));
        arrived(index, &status); /* the one just sent, if the other rank is as far */
        CHECK(!seen[index]++, "index %d for the second time", index);
    }
    flag = 0;
    memset(&status, 0x77, sizeof status);
    if (wait)
        MPI(MPI_Waitany(N, requests, &index, &status));
    else
        MPI(MPI_Testany(N, requests, &index, &flag, &status));
    CHECK(index == MPI_UNDEFINED && flag == !wait, "nothing left: flag %d, index %d", flag, index);
    empty(&status);
    MPI(MPI_Waitany(0, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED, "no requests at all: index %d", index);
}

static void some(int wait)
{
    MPI_Status statuses[N];
    int indices[N], count, left = N - HOLES;

    post();
    if (!wait) {
        MPI(MPI_Testsome(N, requests, &count, indices, statuses));
        CHECK(count == 0, "nothing has been sent: %d", count);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < N; i++)
        if (i % 4 != 1)
            send(i);
    while (left > 0) {
        if (wait)
            MPI(MPI_Waitsome(N, requests, &count, indices, statuses));
        else
            MPI(MPI_Testsome(N, requests, &count, indices, statuses));
        CHECK(count >= wait && count <= left, "%d are over, %d were left", count, left);
        for (int k = 0; k < count; k++)
            arrived(indices[k], &statuses[k]);
        left -= count;
    }
    if (wait)
        MPI(MPI_Waitsome(N, requests, &count, indices, MPI_STATUSES_IGNORE));
    else
        MPI(MPI_Testsome(N, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK(count == MPI_UNDEFINED, "nothing left: %d", count);
}

/* All or nothing: as long as one is open no other one changes. */
static void all(void)
{
    MPI_Status statuses[N];
    int flag = 1;

    post();
    MPI(MPI_Testall(N, requests, &flag, statuses));
    CHECK(!flag, "nothing has been sent");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < N - 1; i++)
        if (i % 4 != 1)
            send(i);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int tries = 0; tries < 100; tries++) {
        MPI(MPI_Testall(N, requests, &flag, statuses));
        CHECK(!flag, "one has not been sent");
    }
    for (int i = 0; i < N; i++)
        CHECK((requests[i] == MPI_REQUEST_NULL) == (i % 4 == 1), "request %d has changed", i);
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* until here nobody has sent the last one */
    send(N - 1);
    for (flag = 0; !flag;)
        MPI(MPI_Testall(N, requests, &flag, statuses));
    for (int i = 0; i < N; i++) {
        if (i % 4 == 1)
            empty(&statuses[i]);
        else
            arrived(i, &statuses[i]);
    }
    flag = 0;
    MPI(MPI_Testall(N, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag, "nothing is left to wait for");
    flag = 0;
    MPI(MPI_Testall(0, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag, "no requests at all");
}

/* Looks as often as one likes, then the request is waited for as if nobody had. */
static void looks(void)
{
    MPI_Status statuses[N], status;
    int indices[N], flag, index, count, seen[N] = {0};

    post();
    MPI(MPI_Request_get_status(requests[0], &flag, &status));
    CHECK(!flag, "nothing has been sent");
    MPI(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
    CHECK(flag, "null is over");
    empty(&status);
    MPI(MPI_Request_get_status_any(N, requests, &index, &flag, &status));
    CHECK(!flag && index == MPI_UNDEFINED, "flag %d, index %d", flag, index);
    MPI(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    CHECK(count == 0, "%d of none are over", count);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    send(2);
    for (flag = 0; !flag;)
        MPI(MPI_Request_get_status_any(N, requests, &index, &flag, &status));
    verify_status(&status, from, 2, sizeof(int), "the first look");
    CHECK(index == 2 && requests[2] != MPI_REQUEST_NULL, "index %d", index);
    MPI(MPI_Request_get_status(requests[2], &flag, &status));
    CHECK(flag, "it is over and stays so");
    verify_status(&status, from, 2, sizeof(int), "the second look");
    MPI(MPI_Request_get_status_all(N, requests, &flag, statuses));
    CHECK(!flag, "all but one are open");
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* until here nobody has sent the others */
    for (int i = 0; i < N; i++)
        if (i % 4 != 1 && i != 2)
            send(i);
    for (flag = 0; !flag;)
        MPI(MPI_Request_get_status_all(N, requests, &flag, statuses));
    for (int i = 0; i < N; i++)
        if (i % 4 != 1)
            verify_status(&statuses[i], from, i, sizeof(int), "all together");
    MPI(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    CHECK(count == N - HOLES, "%d are over", count);
    for (int k = 0; k < count; k++) {
        CHECK(!seen[indices[k]]++, "index %d for the second time", indices[k]);
        verify_status(&statuses[k], from, indices[k], sizeof(int), "some");
    }
    MPI(MPI_Waitall(N, requests, statuses));
    for (int i = 0; i < N; i++)
        if (i % 4 != 1)
            arrived(i, &statuses[i]);
    MPI(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    CHECK(count == MPI_UNDEFINED, "nothing left: %d", count);
    /* A collective's request is one like any other. */
    MPI(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]));
    for (flag = 0; !flag;)
        MPI(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
    MPI(MPI_Testall(1, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag && requests[0] == MPI_REQUEST_NULL, "the barrier is over");
}

/* Nobody waits for them, and they go on all the same. */
static void given_up(void)
{
    static int large[2][1 << 16];
    MPI_Request request, null = MPI_REQUEST_NULL;
    int class, place = -1;

    for (int i = 0; i < 100; i++) {
        large[0][0] = 7;
        MPI(MPI_Irecv(large[1], 1 << 16, MPI_INT, from, i, MPI_COMM_WORLD, &requests[0]));
        MPI(MPI_Isend(large[0], 1 << 16, MPI_INT, to, i, MPI_COMM_WORLD, &request));
        MPI(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL, "the handle is gone");
        MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK(large[1][0] == 7, "it carries %d", large[1][0]);
        MPI(MPI_Barrier(MPI_COMM_WORLD)); /* so its memory may be used again */
    }
    MPI(MPI_Irecv(&place, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request));
    MPI(MPI_Request_free(&request));
    send(1);
    /* What comes after it on the same way comes later. */
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, to, 2, &class, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(place == 100 * from + 1, "it carries %d", place);
    MPI(MPI_Error_class(MPI_Request_free(&null), &class));
    CHECK(class == MPI_ERR_REQUEST, "null cannot be given up: class %d", class);
}

/* One of them fails: it is named, the others are as they should be. */
static void failing(void)
{
    MPI_Status statuses[2];
    MPI_Request both[2];
    int long_one[4] = {1, 2, 3, 4}, indices[2], count, index, class, room = 0, fine = 0;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    /* A null handle is an error of no object. */
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI(MPI_Irecv(&room, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &both[0]));
    MPI(MPI_Irecv(&fine, 1, MPI_INT, from, 2, MPI_COMM_WORLD, &both[1]));
    MPI(MPI_Send(long_one, 4, MPI_INT, to, 1, MPI_COMM_WORLD));
    MPI(MPI_Error_class(MPI_Waitany(2, both, &index, &statuses[0]), &class));
    CHECK(class == MPI_ERR_TRUNCATE && index == 0 && both[0] == MPI_REQUEST_NULL,
          "class %d, index %d", class, index);
    MPI(MPI_Irecv(&room, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &both[0]));
    MPI(MPI_Send(long_one, 4, MPI_INT, to, 1, MPI_COMM_WORLD));
    MPI(MPI_Error_class(MPI_Waitsome(2, both, &count, indices, statuses), &class));
    CHECK(class == MPI_ERR_IN_STATUS && count == 1 && indices[0] == 0, "class %d, %d are over", class, count);
    MPI(MPI_Error_class(statuses[0].MPI_ERROR, &class));
    CHECK(class == MPI_ERR_TRUNCATE, "the status says class %d", class);
    MPI(MPI_Irecv(&room, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &both[0]));
    MPI(MPI_Send(long_one, 4, MPI_INT, to, 1, MPI_COMM_WORLD));
    for (int looks = 0, flag; looks < 2; looks += flag) {
        MPI(MPI_Error_class(MPI_Request_get_status(both[0], &flag, &statuses[0]), &class));
        CHECK(class == (flag ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "class %d, flag %d", class, flag);
    }
    MPI(MPI_Error_class(MPI_Wait(&both[0], MPI_STATUS_IGNORE), &class));
    CHECK(class == MPI_ERR_TRUNCATE, "class %d after a look", class);
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* until here nobody has sent the other message */
    MPI(MPI_Send(long_one + 1, 1, MPI_INT, to, 2, MPI_COMM_WORLD));
    MPI(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    CHECK(fine == 2, "the other one carries %d", fine);
}

static void cancel(void)
{
    MPI_Status status;
    MPI_Request request, null = MPI_REQUEST_NULL;
    int cancelled = 0, value = -1, class;

    MPI(MPI_Irecv(&value, 1, MPI_INT, from, 999, MPI_COMM_WORLD, &request));
    MPI(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL, "a cancelled request must still be waited for");
    MPI(MPI_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled && value == -1, "nothing could match it");
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* until here nobody has sent anything */
    /* The message that it would have taken goes to the next receive. */
    const int out = 5;
    MPI(MPI_Irecv(&value, 1, MPI_INT, from, 999, MPI_COMM_WORLD, &request));
    MPI(MPI_Sendrecv(&out, 1, MPI_INT, to, 999, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Cancel(&request));
    MPI(MPI_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &cancelled));
    if (cancelled) /* the message may have been on its way */
        MPI(MPI_Recv(&value, 1, MPI_INT, from, 999, MPI_COMM_WORLD, &status));
    CHECK(value == 5, "it carries %d", value);
    MPI(MPI_Error_class(MPI_Cancel(&null), &class));
    CHECK(class == MPI_ERR_REQUEST, "null cannot be cancelled: class %d", class);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (int wait = 0; wait < 2; wait++) {
        any(wait);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        some(wait);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    all();
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    looks();
    failing();
    cancel();
    given_up();
    return end("several");
}
