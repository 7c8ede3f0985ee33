/* truncated.c - messages longer than the room for them, in every call that receives:
 * the error, nothing behind the room, and the next message whole. */
#include "trial.h"

static unsigned char out[1 << 20], in[1 << 20], next[1 << 20];
static MPI_Request r, sent[2];
static MPI_Status s;
static int other;

enum { TAG = 3 };

/* Two messages of so many bytes to the other rank, and what must hold when the first of
 * theirs has met a room of half the bytes. */
static void send_two(int bytes)
{
    other = size - 1 - rank;
    fill(out, (size_t)bytes, 7);
    memset(in, 0x5A, sizeof in);
    must(MPI_Isend(out, bytes, MPI_BYTE, other, TAG, W, &sent[0]));
    must(MPI_Isend(out, bytes, MPI_BYTE, other, TAG, W, &sent[1]));
}

static void after(int bytes)
{
    check(is_all(in + bytes / 2, sizeof in - (size_t)bytes / 2, 0x5A), "written-behind");
    must(MPI_Recv(next, bytes, MPI_BYTE, other, TAG, W, &s));
    check(is_filled(next, (size_t)bytes, 7), "next");
    must(MPI_Waitall(2, sent, MPI_STATUSES_IGNORE));
    works();
}

static const int lengths[] = {1, 8, 1000, 8192, 8194, 20000, 1000000};

/* Runs it with every length; says once what is the same for all of them. */
static void for_all_lengths(void (*form)(int bytes))
{
    char first[sizeof line] = "";

    for (int i = 0; i < LENGTH(lengths); i++) {
        line[0] = '\0';
        repeated = 0;
        form(lengths[i]);
        if (i == 0)
            strcpy(first, line);
        if (strcmp(first, line) != 0) {
            say("with-%d-bytes", lengths[i]);
            return;
        }
    }
}

#define FORM(name)                  \
    static void name##_call(void)   \
    {                               \
        for_all_lengths(name);      \
    }
#define POSTED must(MPI_Irecv(in, bytes / 2, MPI_BYTE, other, TAG, W, &r))

static void with_recv(int bytes)
{
    send_two(bytes);
    saw(MPI_Recv(in, bytes / 2, MPI_BYTE, other, TAG, W, &s));
    after(bytes);
}

FORM(with_recv)

static void with_any_source(int bytes)
{
    send_two(bytes);
    saw(MPI_Recv(in, bytes / 2, MPI_BYTE, MPI_ANY_SOURCE, TAG, W, &s));
    after(bytes);
    must(MPI_Barrier(W));
}

FORM(with_any_source)

/* The receive is there before the message. */
static void with_posted_first(int bytes)
{
    other = size - 1 - rank;
    memset(in, 0x5A, sizeof in);
    POSTED;
    must(MPI_Barrier(W));
    send_two(bytes);
    saw(MPI_Wait(&r, &s));
    after(bytes);
}

FORM(with_posted_first)

static void with_wait(int bytes)
{
    send_two(bytes);
    POSTED;
    saw(MPI_Wait(&r, &s));
    check(r == MPI_REQUEST_NULL, "handle");
    after(bytes);
}

FORM(with_wait)

static void with_test(int bytes)
{
    int flag = 0, code = MPI_SUCCESS;

    send_two(bytes);
    POSTED;
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Test(&r, &flag, &s);
    saw(code);
    check(r == MPI_REQUEST_NULL, "handle");
    after(bytes);
}

FORM(with_test)

static void with_waitany(int bytes)
{
    int index = -1;

    send_two(bytes);
    POSTED;
    saw(MPI_Waitany(1, &r, &index, &s));
    check(r == MPI_REQUEST_NULL && index == 0, "handle");
    after(bytes);
}

FORM(with_waitany)

static void with_testany(int bytes)
{
    int index = -1, flag = 0, code = MPI_SUCCESS;

    send_two(bytes);
    POSTED;
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Testany(1, &r, &index, &flag, &s);
    saw(code);
    after(bytes);
}

FORM(with_testany)

static void with_waitall(int bytes)
{
    send_two(bytes);
    POSTED;
    saw(MPI_Waitall(1, &r, &s));
    saw(s.MPI_ERROR);
    after(bytes);
}

FORM(with_waitall)

static void with_testall(int bytes)
{
    int flag = 0, code = MPI_SUCCESS;

    send_two(bytes);
    POSTED;
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Testall(1, &r, &flag, &s);
    saw(code);
    saw(s.MPI_ERROR);
    after(bytes);
}

FORM(with_testall)

static void with_waitsome(int bytes)
{
    int done = 0, index = -1;

    send_two(bytes);
    POSTED;
    saw(MPI_Waitsome(1, &r, &done, &index, &s));
    saw(s.MPI_ERROR);
    check(done == 1 && index == 0 && r == MPI_REQUEST_NULL, "handle");
    after(bytes);
}

FORM(with_waitsome)

/* The statuses are ignored; the error is not. */
static void with_statuses_ignored(int bytes)
{
    send_two(bytes);
    POSTED;
    refused(MPI_Waitall(1, &r, MPI_STATUSES_IGNORE));
    check(r == MPI_REQUEST_NULL, "handle");
    after(bytes);
}

FORM(with_statuses_ignored)

static void with_sendrecv(int bytes)
{
    other = size - 1 - rank;
    fill(out, (size_t)bytes, 7);
    memset(in, 0x5A, sizeof in);
    saw(MPI_Sendrecv(out, bytes, MPI_BYTE, other, TAG, in, bytes / 2, MPI_BYTE, other, TAG, W, &s));
    check(is_all(in + bytes / 2, sizeof in - (size_t)bytes / 2, 0x5A), "written-behind");
    works();
}

FORM(with_sendrecv)

static void with_mrecv(int bytes)
{
    MPI_Message m;

    send_two(bytes);
    must(MPI_Mprobe(other, TAG, W, &m, &s));
    saw(MPI_Mrecv(in, bytes / 2, MPI_BYTE, &m, &s));
    check(m == MPI_MESSAGE_NULL, "handle");
    after(bytes);
}

FORM(with_mrecv)

static void with_imrecv(int bytes)
{
    MPI_Message m;

    send_two(bytes);
    must(MPI_Mprobe(other, TAG, W, &m, &s));
    must(MPI_Imrecv(in, bytes / 2, MPI_BYTE, &m, &r));
    saw(MPI_Wait(&r, &s));
    after(bytes);
}

FORM(with_imrecv)

/* The length that a probe tells is right; who does not listen hears of it. */
static void with_after_a_probe(int bytes)
{
    int n = 0;

    send_two(bytes);
    must(MPI_Probe(other, TAG, W, &s));
    must(MPI_Get_count(&s, MPI_BYTE, &n));
    check(n == bytes, "length");
    saw(MPI_Recv(in, bytes / 2, MPI_BYTE, other, TAG, W, &s));
    after(bytes);
}

FORM(with_after_a_probe)

/* No room at all, and not even memory. */
static void with_no_room(int bytes)
{
    send_two(bytes);
    saw(MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, W, &s));
    after(bytes);
}

FORM(with_no_room)

/* A sender waits for its receiver, whose room is too small: both go on. */
static void with_ssend(int bytes)
{
    other = size - 1 - rank;
    if (rank == 0)
        saw(MPI_Ssend(out, bytes, MPI_BYTE, 1, TAG, W));
    else
        saw(MPI_Recv(in, bytes / 2, MPI_BYTE, 0, TAG, W, &s));
    works();
}

FORM(with_ssend)

/* Some of many fail; the others are whole, whatever the order. */
static void some_of_many(void)
{
    static int a[32][8];
    int b[8] = {1, 2, 3, 4, 5, 6, 7, 8}, right = 0, wrong = 0;
    MPI_Request q[32];
    MPI_Status t[32];

    other = size - 1 - rank;
    for (int i = 0; i < 32; i++)
        must(MPI_Irecv(a[i], i % 3 ? 8 : 4, MPI_INT, other, i, W, &q[i]));
    must(MPI_Barrier(W));
    for (int i = 31; i >= 0; i--)
        must(MPI_Send(b, 8, MPI_INT, other, i, W));
    saw(MPI_Waitall(32, q, t));
    for (int i = 0; i < 32; i++) {
        if (t[i].MPI_ERROR == MPI_ERR_PENDING)
            t[i].MPI_ERROR = MPI_Wait(&q[i], &t[i]);
        right += i % 3 && t[i].MPI_ERROR == MPI_SUCCESS && memcmp(a[i], b, sizeof b) == 0;
        wrong += !(i % 3) && strcmp(name_of(t[i].MPI_ERROR), "ERR_TRUNCATE") == 0;
        check(q[i] == MPI_REQUEST_NULL, "handle");
    }
    say("%d+%d", right, wrong);
    works();
}

#define ALL(name, expect) {#name, 2, with_##name##_call, expect, 0, JOINED}

TRIALS(ALL(recv, "ERR_TRUNCATE works"), ALL(any_source, "ERR_TRUNCATE works"),
       ALL(posted_first, "ERR_TRUNCATE works"), ALL(wait, "ERR_TRUNCATE works"),
       ALL(test, "ERR_TRUNCATE works"), ALL(waitany, "ERR_TRUNCATE works"),
       ALL(testany, "ERR_TRUNCATE works"), ALL(waitall, "ERR_IN_STATUS ERR_TRUNCATE works"),
       ALL(testall, "ERR_IN_STATUS ERR_TRUNCATE works"),
       ALL(waitsome, "ERR_IN_STATUS ERR_TRUNCATE works"),
       ALL(statuses_ignored, "refused works"), ALL(sendrecv, "ERR_TRUNCATE works"),
       ALL(mrecv, "ERR_TRUNCATE works"), ALL(imrecv, "ERR_TRUNCATE works"),
       ALL(after_a_probe, "ERR_TRUNCATE works"), ALL(no_room, "ERR_TRUNCATE works"),
       ALL(ssend, "0 ok works; 1 ERR_TRUNCATE works"),
       TRIAL(some_of_many, 2, "ERR_IN_STATUS 21+11 works"))
