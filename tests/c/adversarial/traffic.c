/* traffic.c - more messages under way than anybody should rely on, and that every
 * library lets through: ranks that all send before they receive, floods received in
 * another order, thousands of requests at once. */
#include "trial.h"

static MPI_Status s;
static MPI_Request r;

/* Two ranks (or pairs of them) send so many messages to each other, then receive. */
static void cross(int messages, int bytes)
{
    char *out = (char *)malloc((size_t)bytes), *in = (char *)malloc((size_t)bytes);
    const int other = rank ^ 1;
    int wrong = 0;

    for (int i = 0; i < messages; i++) {
        memset(out, i, (size_t)bytes);
        must(MPI_Send(out, bytes, MPI_BYTE, other, 1, W));
    }
    for (int i = 0; i < messages; i++) {
        must(MPI_Recv(in, bytes, MPI_BYTE, other, 1, W, &s));
        wrong += !is_all(in, (size_t)bytes, (unsigned char)i);
    }
    check(wrong == 0, "messages");
    works();
}

static void crossing_129_of_512(void)
{
    cross(129, 512);
}
static void crossing_1000_of_4(void)
{
    cross(1000, 4);
}
static void crossing_10000_of_4(void)
{
    cross(10000, 4);
}
static void crossing_10000_of_0(void)
{
    cross(10000, 0);
}
static void crossing_1000_of_4096(void)
{
    cross(1000, 4096);
}
static void crossing_200_of_8192(void)
{
    cross(200, 8192);
}

/* Each rank fills its neighbour before it receives. */
static void ring_of_sends(void)
{
    char out[1024], in[1024];
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;

    for (int i = 0; i < 1000; i++) {
        memset(out, i, sizeof out);
        must(MPI_Send(out, 1 + i, MPI_BYTE, to, 1, W));
    }
    for (int i = 0; i < 1000; i++) {
        must(MPI_Recv(in, sizeof in, MPI_BYTE, from, 1, W, &s));
        check(is_all(in, 1 + (size_t)i, (unsigned char)i), "message");
    }
    works();
}

/* All send to all, then all receive from all, the last rank first. */
static void all_to_all_by_sends(void)
{
    int x, n = 400;

    for (int i = 0; i < n; i++)
        for (int to = 0; to < size; to++)
            if (to != rank)
                must(MPI_Send(&i, 1, MPI_INT, to, 1, W));
    for (int from = size - 1; from >= 0; from--)
        for (int i = 0; i < n && from != rank; i++) {
            must(MPI_Recv(&x, 1, MPI_INT, from, 1, W, &s));
            check(x == i, "order");
        }
    works();
}

/* Everybody floods rank 0, which wants the last tag first. */
static void all_to_one_reversed(void)
{
    int x;
    const int n = 2000;

    for (int i = 0; i < n && rank; i++)
        must(MPI_Send(&i, 1, MPI_INT, 0, i, W));
    for (int i = n - 1; i >= 0 && !rank; i--)
        for (int from = 1; from < size; from++) {
            must(MPI_Recv(&x, 1, MPI_INT, from, i, W, &s));
            check(x == i, "tag");
        }
    works();
}

static void all_to_one_from_anybody(void)
{
    int x, next[8] = {0};
    const int n = 3000;

    for (int i = 0; i < n && rank; i++)
        must(MPI_Send(&i, 1, MPI_INT, 0, i % 7, W));
    for (int i = 0; i < n * (size - 1) && !rank; i++) {
        must(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &s));
        check(x == next[s.MPI_SOURCE]++ && s.MPI_TAG == x % 7, "order");
    }
    must(MPI_Barrier(W));
    works();
}

static void sends_before_a_barrier(void)
{
    int x;

    for (int i = 0; i < 1000; i++)
        must(MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 1, W));
    must(MPI_Barrier(W));
    for (int i = 0; i < 1000; i++) {
        must(MPI_Recv(&x, 1, MPI_INT, (rank + size - 1) % size, 1, W, &s));
        check(x == i, "order");
    }
    works();
}

static void sends_before_collectives(void)
{
    int x, sum;
    static char big[100000];

    for (int i = 0; i < 500; i++) {
        must(MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 1, W));
        if (i % 50 == 0) {
            must(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, W));
            check(sum == i * size, "sum");
            must(MPI_Bcast(big, sizeof big, MPI_BYTE, i / 50 % size, W));
        }
    }
    for (int i = 0; i < 500; i++) {
        must(MPI_Recv(&x, 1, MPI_INT, (rank + size - 1) % size, 1, W, &s));
        check(x == i, "order");
    }
    works();
}

static void sends_before_new_communicators(void)
{
    MPI_Comm c[50];
    int x;

    for (int i = 0; i < 50; i++) {
        must(MPI_Comm_dup(W, &c[i]));
        for (int k = 0; k < 20; k++)
            must(MPI_Send(&k, 1, MPI_INT, (rank + 1) % size, i, c[i]));
    }
    for (int i = 49; i >= 0; i--) {
        for (int k = 0; k < 20; k++) {
            must(MPI_Recv(&x, 1, MPI_INT, (rank + size - 1) % size, i, c[i], &s));
            check(x == k, "order");
        }
        must(MPI_Comm_free(&c[i]));
    }
    works();
}

/* The receives come in the opposite order of the sends. */
static void last_tag_first(void)
{
    int x;
    const int n = 5000;

    for (int i = 0; i < n; i++)
        must(MPI_Send(&i, 1, MPI_INT, rank ^ 1, i, W));
    for (int i = n - 1; i >= 0; i--) {
        must(MPI_Recv(&x, 1, MPI_INT, rank ^ 1, i, W, &s));
        check(x == i, "tag");
    }
    works();
}

static void sends_to_oneself(void)
{
    char out[1000], in[1000];

    for (int i = 0; i < 1000; i++) {
        memset(out, i, sizeof out);
        must(MPI_Send(out, i, MPI_BYTE, rank, 1, W));
    }
    for (int i = 0; i < 1000; i++) {
        must(MPI_Recv(in, sizeof in, MPI_BYTE, rank, 1, W, &s));
        check(is_all(in, (size_t)i, (unsigned char)i), "message");
    }
    works();
}

static void bsend_storm(void)
{
    enum { N = 2000 };
    static char room[N * (MPI_BSEND_OVERHEAD + 64)];
    void *old;
    int n, x[8] = {0};

    must(MPI_Buffer_attach(room, sizeof room));
    for (int i = 0; i < N; i++) {
        x[0] = i;
        must(MPI_Bsend(x, 8, MPI_INT, rank ^ 1, i % 5, W));
    }
    for (int tag = 4; tag >= 0; tag--)
        for (int i = tag; i < N; i += 5) {
            must(MPI_Recv(x, 8, MPI_INT, rank ^ 1, tag, W, &s));
            check(x[0] == i, "order");
        }
    must(MPI_Buffer_detach(&old, &n));
    works();
}

static void issends_reversed(void)
{
    enum { N = 1000 };
    static MPI_Request q[N];
    static int out[N];
    int x;

    for (int i = 0; i < N; i++) {
        out[i] = i;
        must(MPI_Issend(&out[i], 1, MPI_INT, rank ^ 1, i, W, &q[i]));
    }
    for (int i = N - 1; i >= 0; i--) {
        must(MPI_Recv(&x, 1, MPI_INT, rank ^ 1, i, W, &s));
        check(x == i, "tag");
    }
    must(MPI_Waitall(N, q, MPI_STATUSES_IGNORE));
    works();
}

/* Synchronous sends in an order that just so works: odd ranks receive first. */
static void ssends_in_odd_orders(void)
{
    int x, next = (rank + 1) % size, last = (rank + size - 1) % size;

    for (int i = 0; i < 200; i++) {
        if (rank % 2)
            must(MPI_Recv(&x, 1, MPI_INT, last, i, W, &s));
        must(MPI_Ssend(&i, 1, MPI_INT, next, i, W));
        if (rank % 2 == 0)
            must(MPI_Recv(&x, 1, MPI_INT, last, i, W, &s));
        check(x == i, "turn");
    }
    works();
}

static void many_requests(int n, int reversed)
{
    MPI_Request *q = (MPI_Request *)malloc(2 * (size_t)n * sizeof *q);
    int *in = (int *)malloc((size_t)n * sizeof *in), *out = (int *)malloc((size_t)n * sizeof *out);

    for (int i = 0; i < n; i++) {
        const int tag = reversed ? n - 1 - i : i;

        out[i] = i;
        must(MPI_Isend(&out[i], 1, MPI_INT, rank ^ 1, i, W, &q[i]));
        must(MPI_Irecv(&in[tag], 1, MPI_INT, rank ^ 1, tag, W, &q[n + i]));
    }
    must(MPI_Waitall(2 * n, q, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++)
        check(in[i] == i, "message");
    works();
}

static void requests_10000(void)
{
    many_requests(10000, 0);
}
static void requests_10000_reversed(void)
{
    many_requests(10000, 1);
}

static void waitany_over_many(void)
{
    enum { N = 1000 };
    static MPI_Request q[N];
    static int in[N];
    int index;

    for (int i = 0; i < N; i++)
        must(MPI_Irecv(&in[i], 1, MPI_INT, rank ^ 1, i, W, &q[i]));
    for (int i = N - 1; i >= 0; i--)
        must(MPI_Send(&i, 1, MPI_INT, rank ^ 1, i, W));
    for (int i = 0; i < N; i++) {
        must(MPI_Waitany(N, q, &index, &s));
        check(index >= 0 && in[index] == index && s.MPI_TAG == index, "index");
    }
    works();
}

/* Two thousand collective operations at once, waited for from behind. */
static void many_collectives_at_once(void)
{
    enum { N = 2000 };
    static MPI_Request q[N];
    static int out[N], in[N];

    for (int i = 0; i < N; i++) {
        out[i] = i;
        must(MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_SUM, W, &q[i]));
    }
    for (int i = N - 1; i >= 0; i--) {
        must(MPI_Wait(&q[i], &s));
        check(in[i] == size * i, "sum");
    }
    works();
}

static void barriers_between_sends(void)
{
    enum { N = 300 };
    MPI_Request q[N];
    int x;

    for (int i = 0; i < N; i++) {
        must(MPI_Ibarrier(W, &q[i]));
        must(MPI_Send(&i, 1, MPI_INT, rank ^ 1, i, W));
    }
    for (int i = N - 1; i >= 0; i--) {
        must(MPI_Wait(&q[i], &s));
        must(MPI_Recv(&x, 1, MPI_INT, rank ^ 1, i, W, &s));
        check(x == i, "tag");
    }
    works();
}

/* What a probe has found is there; the message goes to whoever asks first. */
static void probes(void)
{
    int flag, x, n = 2000, got = 0;
    MPI_Message m;

    for (int i = 0; i < n; i++)
        must(MPI_Isend(&n, 1, MPI_INT, (rank + 1) % size, i % 3, W, &r)),
            must(MPI_Request_free(&r));
    while (got < n) {
        must(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, W, &flag, &s));
        if (!flag)
            continue;
        if (got % 2) {
            must(MPI_Recv(&x, 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, W, &s));
        } else {
            must(MPI_Improbe(s.MPI_SOURCE, s.MPI_TAG, W, &flag, &m, &s));
            check(flag, "message");
            if (!flag)
                continue;
            must(MPI_Mrecv(&x, 1, MPI_INT, &m, &s));
        }
        check(x == n, "contents");
        got++;
    }
    must(MPI_Barrier(W));
    works();
}

/* Nobody listens for a while. */
static void to_a_sleeper(void)
{
    int x;

    if (rank == 1)
        nap(300);
    for (int i = 0; i < 3000 && rank == 0; i++)
        must(MPI_Send(&i, 1, MPI_INT, 1, 1, W));
    for (int i = 0; i < 3000 && rank == 1; i++) {
        must(MPI_Recv(&x, 1, MPI_INT, 0, 1, W, &s));
        check(x == i, "order");
    }
    works();
}

/* Short and long ones in turn keep their order. */
static void short_and_long_crossing(void)
{
    static char out[50000], in[50000];
    MPI_Request q[100];

    for (int i = 0; i < 100; i++)
        must(MPI_Isend(out, i % 2 ? 50000 : i, MPI_BYTE, rank ^ 1, 1, W, &q[i]));
    for (int i = 0; i < 100; i++) {
        int n;

        must(MPI_Recv(in, sizeof in, MPI_BYTE, rank ^ 1, 1, W, &s));
        must(MPI_Get_count(&s, MPI_BYTE, &n));
        check(n == (i % 2 ? 50000 : i), "order");
    }
    must(MPI_Waitall(100, q, MPI_STATUSES_IGNORE));
    works();
}

/* A ready send without a receive is wrong; nobody has ever ended because of it. */
static void rsends_too_early(void)
{
    int x;

    for (int i = 0; i < 100; i++)
        must(MPI_Rsend(&i, 1, MPI_INT, rank ^ 1, 1, W));
    for (int i = 0; i < 100; i++) {
        must(MPI_Recv(&x, 1, MPI_INT, rank ^ 1, 1, W, &s));
        check(x == i, "order");
    }
    works();
}

TRIALS(TRIAL(crossing_129_of_512, 2, "works"), TRIAL(crossing_1000_of_4, 2, "works"),
       TRIAL(crossing_10000_of_4, 2, "works"), TRIAL(crossing_10000_of_0, 2, "works"),
       TRIAL(crossing_1000_of_4096, 2, "works"), TRIAL(crossing_200_of_8192, 2, "works"),
       TRIAL(ring_of_sends, 4, "works"), TRIAL(all_to_all_by_sends, 4, "works"),
       TRIAL(all_to_one_reversed, 4, "works"), TRIAL(all_to_one_from_anybody, 4, "works"),
       TRIAL(sends_before_a_barrier, 3, "works"), TRIAL(sends_before_collectives, 3, "works"),
       TRIAL(sends_before_new_communicators, 2, "works"), TRIAL(last_tag_first, 2, "works"),
       TRIAL(sends_to_oneself, 2, "works"), TRIAL(bsend_storm, 2, "works"),
       TRIAL(issends_reversed, 2, "works"), TRIAL(ssends_in_odd_orders, 4, "works"),
       TRIAL(requests_10000, 2, "works"), TRIAL(requests_10000_reversed, 2, "works"),
       TRIAL(waitany_over_many, 2, "works"), TRIAL(many_collectives_at_once, 2, "works"),
       TRIAL(barriers_between_sends, 2, "works"), TRIAL(probes, 3, "works"),
       TRIAL(to_a_sleeper, 2, "works"), TRIAL(short_and_long_crossing, 2, "works"),
       TRIAL(rsends_too_early, 2, "works"))
