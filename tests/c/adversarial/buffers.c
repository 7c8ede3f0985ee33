/* buffers.c - memory that is not there, not aligned, not writable, at the end of a
 * page, used twice at once, and the buffer of MPI_Bsend. */
#include "trial.h"

static int x[64], y[64];
static MPI_Request r, q[100];
static MPI_Status s;

static void null_in_messages(void)
{
    saw(MPI_Send(NULL, 1, MPI_INT, rank, 0, W));
    saw(MPI_Ssend(NULL, INT_MAX, MPI_INT, rank, 0, W));
    saw(MPI_Isend(NULL, 1, MPI_INT, rank, 0, W, &r));
    saw(MPI_Recv(NULL, 1, MPI_INT, rank, 0, W, &s));
    saw(MPI_Irecv(NULL, 1, MPI_INT, rank, 0, W, &r));
    saw(MPI_Sendrecv(NULL, 1, MPI_INT, rank, 0, y, 1, MPI_INT, rank, 0, W, &s));
    saw(MPI_Sendrecv(x, 1, MPI_INT, rank, 0, NULL, 1, MPI_INT, rank, 0, W, &s));
    saw(MPI_Send(MPI_BOTTOM, 1, MPI_INT, rank, 0, W));
    works();
}

static void null_in_collectives(void)
{
    saw(MPI_Bcast(NULL, 1, MPI_INT, 0, W));
    saw(MPI_Allreduce(NULL, y, 1, MPI_INT, MPI_SUM, W));
    saw(MPI_Allreduce(x, NULL, 1, MPI_INT, MPI_SUM, W));
    saw(MPI_Allgather(NULL, 1, MPI_INT, y, 1, MPI_INT, W));
    saw(MPI_Allgather(x, 1, MPI_INT, NULL, 1, MPI_INT, W));
    saw(MPI_Alltoall(x, 1, MPI_INT, NULL, 1, MPI_INT, W));
    saw(MPI_Scan(x, NULL, 1, MPI_INT, MPI_SUM, W));
    saw(MPI_Ibcast(NULL, 1, MPI_INT, 0, W, &r));
    works();
}

/* Addresses that no compiler gives to a double. */
static void misaligned(void)
{
    static char raw[8 * 64 + 8], sum[8 * 64 + 8], all[8 * 64 * 4 + 8];
    double d, out[3] = {1.5, 2.5, 3.5};

    for (int at = 1; at < 8; at++) {
        const int to = (rank + 1) % size, from = (rank - 1 + size) % size;

        memcpy(raw + at, out, sizeof out);
        must(MPI_Sendrecv(raw + at, 3, MPI_DOUBLE, to, 0, sum + at, 3, MPI_DOUBLE, from, 0, W, &s));
        check(memcmp(sum + at, out, sizeof out) == 0, "message");
        must(MPI_Allreduce(raw + at, sum + at, 3, MPI_DOUBLE, MPI_SUM, W));
        memcpy(&d, sum + at + 8, 8);
        check(d == 2.5 * size, "allreduce");
        must(MPI_Scan(raw + at, sum + at, 3, MPI_DOUBLE, MPI_MAX, W));
        must(MPI_Reduce_local(raw + at, sum + at, 3, MPI_DOUBLE, MPI_PROD));
        memcpy(&d, sum + at, 8);
        check(d == 2.25, "reduce_local");
        must(MPI_Allgather(raw + at, 3, MPI_DOUBLE, all + at, 3, MPI_DOUBLE, W));
        must(MPI_Alltoall(all + at, 3, MPI_DOUBLE, sum + at, 3, MPI_DOUBLE, W));
        must(MPI_Allreduce(raw + at, sum + at, 1, MPI_DOUBLE_INT, MPI_MAXLOC, W));
        must(MPI_Allreduce(raw + at, sum + at, 1, MPI_LONG_DOUBLE, MPI_MAX, W));
    }
    works();
}

/* Two buffers in one place, in all ranks alike. */
/* The first rank of an exclusive scan gets nothing. */
static void aliased(void)
{
    saw(MPI_Allreduce(x, x, 4, MPI_INT, MPI_SUM, W));
    saw(MPI_Allgather(y + 4 * rank, 4, MPI_INT, y, 4, MPI_INT, W));
    saw(MPI_Alltoall(x, 4, MPI_INT, x, 4, MPI_INT, W));
    saw(MPI_Scan(x, x, 4, MPI_INT, MPI_SUM, W));
    saw(MPI_Exscan(x, x, 4, MPI_INT, MPI_SUM, W));
    saw(MPI_Reduce_scatter_block(x, x, 4, MPI_INT, MPI_SUM, W));
    works();
}

/* Wrong, and so common that it has to go on. */
static void aliased_sendrecv(void)
{
    const int other = size - 1 - rank;

    for (int i = 0; i < 100; i++)
        must(MPI_Sendrecv(x, 64, MPI_INT, other, 0, x, 64, MPI_INT, other, 0, W, &s));
    works();
}

static char *map(size_t bytes)
{
    return (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What is sent may lie in memory that cannot be written. */
static void read_only_source(void)
{
    const size_t bytes = 1 << 20;
    char *from = map(bytes), *to = map(bytes);

    fill(from, bytes, 5);
    mprotect(from, bytes, PROT_READ);
    for (int n = 1; n <= (1 << 20); n *= 32) {
        must(MPI_Sendrecv(from, n, MPI_BYTE, size - 1 - rank, 0, to, n, MPI_BYTE, size - 1 - rank, 0,
                          W, &s));
        check(is_filled(to, (size_t)n, 5), "message");
        must(MPI_Bcast(rank ? to : from, n, MPI_BYTE, 0, W));
    }
    works();
}

/* Nothing beyond the end is touched: there is no memory. */
static void end_of_a_page(void)
{
    static const int sizes[] = {1, 3, 7, 8, 9, 31, 33, 63, 65, 127, 1023, 4095, 8191, 8193, 65537};
    const size_t page = 4096, room = 20 * page;
    char *from = map(room + page) + room, *to = map(room + page) + room;

    mprotect(from, page, PROT_NONE);
    mprotect(to, page, PROT_NONE);
    for (int i = 0; i < LENGTH(sizes); i++) {
        const int n = sizes[i];

        fill(from - n, (size_t)n, i);
        must(MPI_Sendrecv(from - n, n, MPI_BYTE, size - 1 - rank, 0, to - n, n, MPI_BYTE,
                          size - 1 - rank, 0, W, &s));
        check(is_filled(to - n, (size_t)n, i), "message");
        must(MPI_Bcast(from - n, n, MPI_BYTE, 1, W));
        must(MPI_Allreduce(from - n, to - n, n, MPI_SIGNED_CHAR, MPI_MAX, W));
        must(MPI_Reduce_local(from - n, to - n, n, MPI_SIGNED_CHAR, MPI_MIN));
        must(MPI_Alltoall(from - n / 2 * 2, n / 2, MPI_BYTE, to - n / 2 * 2, n / 2, MPI_BYTE, W));
    }
    works();
}

/* A receive leaves alone what its message does not fill. */
static void nothing_behind_the_message(void)
{
    static char room[70000];
    const int other = size - 1 - rank;

    for (int n = 1; n < 60000; n = n * 7 + 1) {
        memset(room, 0x5A, sizeof room);
        must(MPI_Irecv(room, sizeof room, MPI_BYTE, other, 0, W, &r));
        must(MPI_Send(map(70000), n, MPI_BYTE, other, 0, W));
        must(MPI_Wait(&r, &s));
        check(is_all(room, (size_t)n, 0) && is_all(room + n, sizeof room - (size_t)n, 0x5A), "room");
    }
    works();
}

static void one_source_for_many(void)
{
    static char out[20000], in[100][20000];

    fill(out, sizeof out, 3);
    for (int i = 0; i < 50; i++) {
        must(MPI_Irecv(in[i], sizeof out, MPI_BYTE, size - 1 - rank, i, W, &q[i]));
        must(MPI_Isend(out, sizeof out, MPI_BYTE, size - 1 - rank, i, W, &q[50 + i]));
    }
    must(MPI_Waitall(100, q, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 50; i++)
        check(is_filled(in[i], sizeof out, 3), "message");
    works();
}

/* The buffer is the program's again when MPI_Send returns. */
static void changed_after_send(void)
{
    int out[256], in[256];

    for (int i = 0; i < 2000; i++) {
        for (int k = 0; k < 256; k++)
            out[k] = i;
        if (rank == 0) {
            must(MPI_Send(out, 1 + i % 256, MPI_INT, 1, 0, W));
            memset(out, 0xEE, sizeof out);
        } else {
            must(MPI_Recv(in, 256, MPI_INT, 0, 0, W, &s));
            check(in[0] == i && in[i % 256] == i, "message");
        }
    }
    works();
}

/* ---- The buffer of MPI_Bsend ------------------------------------------------------------ */

static void bsend_without_a_buffer(void)
{
    saw(MPI_Bsend(x, 1, MPI_INT, rank, 0, W));
    saw(MPI_Ibsend(x, 1, MPI_INT, rank, 0, W, &r));
    saw(MPI_Bsend(x, 1, MPI_INT, MPI_PROC_NULL, 0, W));
    saw(MPI_Ibsend(x, 1, MPI_INT, MPI_PROC_NULL, 0, W, &r));
    saw(MPI_Wait(&r, &s));
    works();
}

static void bsend_beyond_the_buffer(void)
{
    static char room[MPI_BSEND_OVERHEAD + 100];
    void *old = NULL;
    int n = 0;

    saw(MPI_Buffer_attach(room, sizeof room));
    saw(MPI_Bsend(x, 64, MPI_INT, rank, 0, W));
    saw(MPI_Bsend(x, 1, MPI_INT, rank, 0, W));
    saw(MPI_Recv(y, 1, MPI_INT, rank, 0, W, &s));
    saw(MPI_Buffer_attach(room, sizeof room));
    saw(MPI_Buffer_detach(&old, &n));
    check(old == room && n == (int)sizeof room, "place");
    works();
}

static void attached_wrongly(void)
{
    refused(MPI_Buffer_attach(x, -1));
    refused(MPI_Buffer_attach(NULL, 100));
    refused(MPI_Buffer_attach(MPI_IN_PLACE, 100));
    works();
}

/* A buffer of an odd address, full of messages of odd lengths. */
static void bsend_from_odd_places(void)
{
    static char room[100000], in[3000];
    void *old;
    int n;

    must(MPI_Buffer_attach(room + 1, sizeof room - 3));
    for (int i = 1; i < 60; i++) {
        fill(in, (size_t)i * 11, i);
        must(MPI_Bsend(in, i * 11, MPI_BYTE, size - 1 - rank, i, W));
        memset(in, 0, sizeof in);
    }
    for (int i = 59; i > 0; i--) {
        must(MPI_Recv(in, sizeof in, MPI_BYTE, size - 1 - rank, i, W, &s));
        check(is_filled(in, (size_t)i * 11, i), "message");
    }
    must(MPI_Buffer_detach(&old, &n));
    works();
}

/* Detaching waits for messages that others still have to take. */
static void detached_while_in_use(void)
{
    static char in[100000];
    char *room = map(200000);
    void *old;
    int n;

    fill(in, sizeof in, rank);
    must(MPI_Buffer_attach(room, 200000));
    must(MPI_Irecv(x, 1, MPI_INT, size - 1 - rank, 2, W, &r));
    must(MPI_Bsend(in, sizeof in, MPI_BYTE, size - 1 - rank, 1, W));
    if (rank == 0) {
        must(MPI_Buffer_detach(&old, &n));
        munmap(room, 200000);
        must(MPI_Send(&rank, 1, MPI_INT, 1, 2, W));
        must(MPI_Recv(in, sizeof in, MPI_BYTE, 1, 1, W, &s));
    } else {
        must(MPI_Recv(in, sizeof in, MPI_BYTE, 0, 1, W, &s));
        must(MPI_Send(&rank, 1, MPI_INT, 0, 2, W));
        must(MPI_Buffer_detach(&old, &n));
    }
    check(is_filled(in, sizeof in, size - 1 - rank), "message");
    must(MPI_Wait(&r, &s));
    works();
}

/* MPI_Finalize sends what waits in a buffer that nobody detaches. */
static void left_attached(void)
{
    static char room[50000], in[20000];

    must(MPI_Buffer_attach(room, sizeof room));
    works();
    if (rank == 0) {
        fill(in, sizeof in, 8);
        must(MPI_Bsend(in, sizeof in, MPI_BYTE, 1, 1, W));
    } else {
        nap(100);
        must(MPI_Recv(in, sizeof in, MPI_BYTE, 0, 1, W, &s));
        check(is_filled(in, sizeof in, 8), "message");
    }
}

/* Neither a type nor memory matters to nobody. */
static void anything_to_nobody(void)
{
    saw(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, W));
    saw(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, W, &s));
    saw(MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, W, &r));
    saw(MPI_Wait(&r, &s));
    saw(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, W, &r));
    saw(MPI_Wait(&r, &s));
    saw(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, NULL, 0, MPI_DATATYPE_NULL,
                     MPI_PROC_NULL, 0, W, &s));
    works();
}

TRIALS(TRIAL(null_in_messages, 2, "ERR_BUFFER*8 works"),
       TRIAL(null_in_collectives, 2, "ERR_BUFFER*8 works"),
       TRIAL(misaligned, 4, "works"),
       TRIAL(aliased, 2, "0 ERR_BUFFER*4 ok ERR_BUFFER works; 1 ERR_BUFFER*6 works"),
       TRIAL(aliased_sendrecv, 2, "works"),
       TRIAL(read_only_source, 2, "works"),
       TRIAL(end_of_a_page, 2, "works"),
       TRIAL(nothing_behind_the_message, 2, "works"),
       TRIAL(one_source_for_many, 2, "works"),
       TRIAL(changed_after_send, 2, "works"),
       TRIAL(bsend_without_a_buffer, 2, "ERR_BUFFER*2 ok*3 works"),
       TRIAL(bsend_beyond_the_buffer, 2, "ok ERR_BUFFER ok*2 ERR_BUFFER ok works"),
       TRIAL(attached_wrongly, 2, "refused*3 works"),
       TRIAL(bsend_from_odd_places, 2, "works"),
       TRIAL(detached_while_in_use, 2, "works"),
       TRIAL(left_attached, 2, "works"),
       TRIAL(anything_to_nobody, 2, "ok*7 works"))
