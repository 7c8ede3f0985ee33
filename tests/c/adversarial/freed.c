/* freed.c - communicators, requests and messages that are given back too early, twice,
 * or never. */
#include "trial.h"

static int x[8], y[8], flag;
static MPI_Request r, q[300];
static MPI_Status s;

/* What is under way goes on when its communicator is freed. */
static void communicator_in_use(void)
{
    static char out[200000], in[200000];
    const int other = size - 1 - rank;
    MPI_Comm c;
    int sum = 0;

    must(MPI_Comm_dup(W, &c));
    fill(out, sizeof out, rank);
    must(MPI_Irecv(in, sizeof in, MPI_BYTE, other, 1, c, &q[0]));
    must(MPI_Isend(out, sizeof out, MPI_BYTE, other, 1, c, &q[1]));
    must(MPI_Issend(&rank, 1, MPI_INT, other, 2, c, &q[2]));
    must(MPI_Irecv(x, 1, MPI_INT, other, 2, c, &q[3]));
    must(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c, &q[4]));
    must(MPI_Comm_free(&c));
    works();
    must(MPI_Waitall(5, q, MPI_STATUSES_IGNORE));
    check(is_filled(in, sizeof in, other) && x[0] == other && sum == 1, "contents");
    works();
}

static void communicator_after_the_end(void)
{
    MPI_Comm c, old, d;

    must(MPI_Comm_dup(W, &c));
    old = c;
    must(MPI_Comm_free(&c));
    check(c == MPI_COMM_NULL, "handle");
    saw(MPI_Send(x, 1, MPI_INT, rank, 0, old));
    saw(MPI_Irecv(x, 1, MPI_INT, rank, 0, old, &r));
    saw(MPI_Iprobe(rank, 0, old, &flag, &s));
    saw(MPI_Barrier(old));
    saw(MPI_Comm_size(old, x));
    saw(MPI_Comm_dup(old, &d));
    saw(MPI_Comm_free(&old));
    saw(MPI_Comm_free(&c));
    works();
}

/* Copies of copies, given back in another order than made. */
static void many_communicators(void)
{
    static MPI_Comm c[500];

    for (int round = 0; round < 4; round++) {
        must(MPI_Comm_dup(W, &c[0]));
        for (int i = 1; i < LENGTH(c); i++)
            must(MPI_Comm_dup(c[i / 2], &c[i]));
        for (int i = 0; i < LENGTH(c); i++)
            must(MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, 0, x, 1, MPI_INT,
                              (rank + size - 1) % size, 0, c[i * 7 % 500], &s));
        for (int i = 0; i < LENGTH(c); i++)
            must(MPI_Comm_free(&c[i * 7 % 500]));
    }
    works();
}

/* Far more of them than anybody needs, at once. */
static void very_many_communicators(void)
{
    MPI_Comm *c = (MPI_Comm *)malloc(20000 * sizeof *c);
    int n = 0;

    while (n < 20000 && MPI_Comm_dup(MPI_COMM_SELF, &c[n]) == MPI_SUCCESS)
        n++;
    say(n == 20000 ? "all" : "some");
    while (n > 0)
        must(MPI_Comm_free(&c[--n]));
    works();
}

/* Not every program gives back what it has. */
static void communicators_left(void)
{
    MPI_Comm c;

    for (int i = 0; i < 100; i++)
        must(MPI_Comm_dup(W, &c));
    works();
}

/* ---- Requests ---------------------------------------------------------------------------- */

/* An operation is over, and somebody has kept its handle. */
static void request_after_the_end(void)
{
    MPI_Request old;

    must(MPI_Irecv(x, 1, MPI_INT, rank, 0, W, &r));
    old = r;
    must(MPI_Send(y, 1, MPI_INT, rank, 0, W));
    saw(MPI_Wait(&r, &s));
    refused(MPI_Wait(&old, &s));
    works();
}

static void request_of_a_freed_one(void)
{
    MPI_Request old;

    must(MPI_Irecv(x, 1, MPI_INT, rank, 0, W, &r));
    old = r;
    must(MPI_Send(y, 1, MPI_INT, rank, 0, W));
    must(MPI_Request_free(&r));
    works();
    MPI_Test(&old, &flag, &s); /* may end what nobody has swept up yet */
    refused(MPI_Request_free(&old));
    works();
}

static void one_request_twice(void)
{
    must(MPI_Irecv(x, 1, MPI_INT, rank, 0, W, &q[0]));
    q[1] = q[0];
    must(MPI_Send(y, 1, MPI_INT, rank, 0, W));
    refused(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
    works();
}

/* Handles given up while the operations go on. */
static void requests_given_up(void)
{
    static char out[1 << 20], in[1 << 20];
    const int other = size - 1 - rank;

    fill(out, sizeof out, rank);
    must(MPI_Isend(out, sizeof out, MPI_BYTE, other, 1, W, &r));
    must(MPI_Request_free(&r));
    must(MPI_Irecv(x, 1, MPI_INT, other, 2, W, &r));
    must(MPI_Request_free(&r));
    must(MPI_Issend(&rank, 1, MPI_INT, other, 2, W, &r));
    must(MPI_Request_free(&r));
    must(MPI_Recv(in, sizeof in, MPI_BYTE, other, 1, W, &s));
    check(is_filled(in, sizeof in, other), "message");
    must(MPI_Barrier(W));
    works();
    check(x[0] == other, "receive");
}

/* The standard keeps those of collective operations from that. */
static void collective_request(void)
{
    MPI_Request copy;

    must(MPI_Ibarrier(W, &r));
    copy = r;
    refused(MPI_Request_free(&r));
    r = copy;
    refused(MPI_Cancel(&r));
    must(MPI_Wait(&r, &s));
    works();
}

/* ---- Cancel --------------------------------------------------------------------------------- */

static void cancelled_receives(void)
{
    int cancelled = 0;

    for (int i = 0; i < 300; i++)
        must(MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, 77, W, &q[i]));
    for (int i = 299; i >= 0; i--)
        must(MPI_Cancel(&q[i]));
    for (int i = 0; i < 300; i++) {
        must(MPI_Wait(&q[i], &s));
        must(MPI_Test_cancelled(&s, &flag));
        cancelled += flag;
    }
    say("%d", cancelled);
    works();
}

static void cancelled_twice(void)
{
    must(MPI_Irecv(x, 1, MPI_INT, rank, 0, W, &r));
    saw(MPI_Cancel(&r));
    saw(MPI_Cancel(&r));
    saw(MPI_Wait(&r, &s));
    saw(MPI_Cancel(&r));
    works();
}

/* Over already: a cancel changes nothing. */
static void cancelled_too_late(void)
{
    must(MPI_Irecv(x, 1, MPI_INT, rank, 0, W, &r));
    must(MPI_Send(y, 1, MPI_INT, rank, 0, W));
    works();
    saw(MPI_Cancel(&r));
    saw(MPI_Wait(&r, &s));
    must(MPI_Test_cancelled(&s, &flag));
    say(flag ? "cancelled" : "received");
    works();
}

static void cancelled_issend_to_oneself(void)
{
    must(MPI_Issend(x, 1, MPI_INT, rank, 0, W, &r));
    saw(MPI_Cancel(&r));
    saw(MPI_Wait(&r, &s));
    must(MPI_Test_cancelled(&s, &flag));
    say(flag ? "cancelled" : "sent");
    works();
}

/* The send is taken back or arrives, and both ranks agree on it. */
static void cancelled_issends(void)
{
    int sent = 0, received = 0;

    for (int i = 0; i < 100; i++) {
        if (rank == 0) {
            must(MPI_Issend(&i, 1, MPI_INT, 1, 5, W, &r));
            must(MPI_Cancel(&r));
            must(MPI_Wait(&r, &s));
            must(MPI_Test_cancelled(&s, &flag));
            sent += !flag;
        } else {
            must(MPI_Iprobe(0, 5, W, &flag, &s));
            if (flag) {
                MPI_Message m;

                must(MPI_Improbe(0, 5, W, &flag, &m, &s));
                if (flag) {
                    must(MPI_Mrecv(x, 1, MPI_INT, &m, &s));
                    received++;
                }
            }
        }
    }
    if (rank == 0) {
        must(MPI_Ssend(&sent, 1, MPI_INT, 1, 6, W));
    } else {
        must(MPI_Recv(&sent, 1, MPI_INT, 0, 6, W, &s));
        for (flag = 1; flag;) {
            must(MPI_Iprobe(0, 5, W, &flag, &s));
            if (flag) {
                must(MPI_Recv(x, 1, MPI_INT, 0, 5, W, &s));
                received++;
            }
        }
        check(sent == received, "numbers");
    }
    works();
}

/* A receive is taken back while its message may be on the way: one of the two gets it. */
static void cancelled_in_a_race(void)
{
    int got = 0;

    for (int i = 0; i < 500; i++) {
        if (rank == 0) {
            must(MPI_Send(&i, 1, MPI_INT, 1, 5, W));
            must(MPI_Recv(x, 1, MPI_INT, 1, 6, W, &s));
            continue;
        }
        x[0] = x[1] = -1;
        must(MPI_Irecv(x, 1, MPI_INT, 0, 5, W, &r));
        must(MPI_Cancel(&r));
        must(MPI_Wait(&r, &s));
        must(MPI_Test_cancelled(&s, &flag));
        if (flag)
            must(MPI_Recv(x + 1, 1, MPI_INT, 0, 5, W, &s));
        check(x[flag ? 1 : 0] == i && x[flag ? 0 : 1] == -1, "message");
        got++;
        must(MPI_Send(&i, 1, MPI_INT, 0, 6, W));
    }
    check(rank == 0 || got == 500, "all");
    works();
}

/* ---- What MPI_Finalize finds ------------------------------------------------------------------ */

static void receives_left(void)
{
    for (int i = 0; i < 100; i++)
        must(MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, 77, W, &q[i]));
    works();
}

static void messages_left(void)
{
    for (int i = 0; i < 50; i++)
        must(MPI_Send(x, 8, MPI_INT, (rank + 1) % size, 77, W));
    works();
}

static void very_many_messages_left(void)
{
    static char out[1024];

    for (int i = 0; i < 2000; i++)
        must(MPI_Send(out, sizeof out, MPI_BYTE, (rank + 1) % size, 77, W));
    works();
}

static void probed_messages_left(void)
{
    MPI_Message m;

    must(MPI_Isend(x, 1, MPI_INT, (rank + 1) % size, 77, W, &r));
    must(MPI_Mprobe(MPI_ANY_SOURCE, 77, W, &m, &s));
    works();
}

static void sends_left(void)
{
    for (int i = 0; i < 100; i++)
        must(MPI_Isend(x, 8, MPI_INT, (rank + 1) % size, 77, W, &q[i]));
    works();
}

TRIALS(TRIAL(communicator_in_use, 2, "works*2"),
       TRIAL(communicator_after_the_end, 2, "ERR_COMM*8 works"),
       TRIAL(many_communicators, 2, "works"),
       TRIAL(very_many_communicators, 1, "all works"),
       TRIAL(communicators_left, 2, "works"),
       TRIAL(request_after_the_end, 2, "ok refused works"),
       TRIAL(request_of_a_freed_one, 2, "works refused works"),
       TRIAL(one_request_twice, 2, "refused works"),
       TRIAL(requests_given_up, 2, "works"),
       TRIAL(collective_request, 2, "refused*2 works"),
       TRIAL(cancelled_receives, 2, "300 works"),
       TRIAL(cancelled_twice, 2, "ok*3 ERR_REQUEST works"),
       TRIAL(cancelled_too_late, 2, "works ok*2 received works"),
       TRIAL(cancelled_issend_to_oneself, 2, "ok*2 cancelled works"),
       TRIAL(cancelled_issends, 2, "works"),
       TRIAL(cancelled_in_a_race, 2, "works"),
       TRIAL(receives_left, 2, "works"),
       TRIAL(messages_left, 2, "works"),
       TRIAL(very_many_messages_left, 2, "works"),
       TRIAL(probed_messages_left, 2, "works"),
       TRIAL(sends_left, 2, "works"))
