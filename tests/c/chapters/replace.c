/* replace.c - sends together with receives (MPI 5.0, section 3.10): the buffer
 * that is replaced, and the non-blocking forms. Any number of ranks. */
#include "../check.h"

#ifdef MPICH_NAME
/* MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array that is too short. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { LONG = 300000 };

static const int lengths[] = {0, 1, 8, 100, 5000, 70000, LONG};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static int to, from;

/* The status of a non-blocking exchange; MPICH 4.0 writes another one. */
static void verify_exchange(MPI_Status *s, int source, int tag, int bytes, const char *what)
{
#ifdef MPICH_NAME
    (void)s, (void)source, (void)tag, (void)bytes, (void)what;
#else
    verify_status(s, source, tag, bytes, what);
#endif
}

static void replaced(void)
{
    unsigned char *buffer = allocate(LONG);
    MPI_Status s;

    for (int i = 0; i < LENGTHS; i++) {
        const int n = lengths[i];

        fill(buffer, (size_t)n, (unsigned)(rank + i));
        MPI(MPI_Sendrecv_replace(buffer, n, MPI_BYTE, to, i, from, i, MPI_COMM_WORLD, &s));
        verify_status(&s, from, i, n, "MPI_Sendrecv_replace");
        verify(buffer, (size_t)n, (unsigned)(from + i), "MPI_Sendrecv_replace");
        MPI(MPI_Sendrecv_replace(buffer, n, MPI_BYTE, from, 3, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        verify(buffer, (size_t)n, (unsigned)(rank + i), "the way back");
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(buffer);
}

/* Items with gaps between their parts. */
static void pairs(void)
{
    struct pair {
        double value;
        int index;
    } p[3];

    for (int i = 0; i < 3; i++) {
        p[i].value = rank + i * 0.5;
        p[i].index = rank * 10 + i;
    }
    MPI(MPI_Sendrecv_replace(p, 3, MPI_DOUBLE_INT, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++)
        CHECK(p[i].value == from + i * 0.5 && p[i].index == from * 10 + i, "pair %d: %g %d", i,
              p[i].value, p[i].index);
}

static void nobody(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    int n = rank + 1, m = 0, count = -1;

    MPI(MPI_Sendrecv_replace(&n, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &s));
    MPI(MPI_Get_count(&s, MPI_INT, &count));
    CHECK(n == rank + 1 && s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG && count == 0,
          "two times nobody: %d, source %d, tag %d", n, s.MPI_SOURCE, s.MPI_TAG);
    CHECK(m == 0 && r == MPI_REQUEST_NULL, "untouched");
    /* A line: the first rank receives from nobody, the last one sends to nobody. */
    MPI(MPI_Sendrecv_replace(&n, 1, MPI_INT, rank == size - 1 ? MPI_PROC_NULL : to, 2,
                             rank == 0 ? MPI_PROC_NULL : from, 2, MPI_COMM_WORLD, &s));
    CHECK(n == (rank == 0 ? 1 : rank), "along a line: %d", n);
    CHECK(s.MPI_SOURCE == (rank == 0 ? MPI_PROC_NULL : from), "along a line: source %d", s.MPI_SOURCE);
#ifndef MPICH_NAME
    /* MPICH 4.0 crashes. */
    MPI(MPI_Isendrecv(&n, 1, MPI_INT, MPI_PROC_NULL, 3, &m, 1, MPI_INT, MPI_PROC_NULL, 3,
                      MPI_COMM_WORLD, &r));
    MPI(MPI_Wait(&r, &s));
    CHECK(m == 0 && r == MPI_REQUEST_NULL, "MPI_Isendrecv with nobody: %d", m);
    MPI(MPI_Isendrecv_replace(&n, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &r));
    MPI(MPI_Wait(&r, &s));
    CHECK(n == (rank == 0 ? 1 : rank), "MPI_Isendrecv_replace with nobody: %d", n);
#endif
}

static void immediate(void)
{
    unsigned char *out = allocate(LONG), *in = allocate(LONG);
    MPI_Request r, stays;
    MPI_Status s;
    int flag;

    for (int i = 0; i < LENGTHS; i++) {
        const int n = lengths[i];

        fill(out, (size_t)n, (unsigned)(rank + i));
        MPI(MPI_Isendrecv(out, n, MPI_BYTE, to, i, in, n, MPI_BYTE, from, i, MPI_COMM_WORLD, &r));
        MPI(MPI_Wait(&r, &s));
        CHECK(r == MPI_REQUEST_NULL, "MPI_Wait keeps the request of MPI_Isendrecv");
        verify_exchange(&s, from, i, n, "MPI_Isendrecv");
        verify(in, (size_t)n, (unsigned)(from + i), "MPI_Isendrecv");

        MPI(MPI_Isendrecv_replace(out, n, MPI_BYTE, to, i, from, i, MPI_COMM_WORLD, &r));
        do
            MPI(MPI_Test(&r, &flag, &s));
        while (!flag);
        CHECK(r == MPI_REQUEST_NULL, "MPI_Test keeps the request of MPI_Isendrecv_replace");
        verify_exchange(&s, from, i, n, "MPI_Isendrecv_replace");
        verify(out, (size_t)n, (unsigned)(from + i), "MPI_Isendrecv_replace");

        MPI(MPI_Isendrecv_replace(out, n, MPI_BYTE, from, i, to, i, MPI_COMM_WORLD, &r));
        stays = r;
        do
            MPI(MPI_Request_get_status(r, &flag, &s));
        while (!flag);
        CHECK(r == stays, "MPI_Request_get_status changed the request");
        verify_exchange(&s, to, i, n, "MPI_Request_get_status");
        MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
        verify(out, (size_t)n, (unsigned)(rank + i), "the way back");
    }
    free(out);
    free(in);
}

/* Several at a time, with ordinary requests among them. */
static void several(void)
{
    enum { N = 5 };
    MPI_Request r[2 * N];
    MPI_Status s[2 * N];
    int out[N], in[N], both[N], index, done = 0;

    for (int i = 0; i < N; i++) {
        out[i] = rank * 100 + i;
        both[i] = rank * 100 + 50 + i;
        in[i] = -1;
        MPI(MPI_Isendrecv(&out[i], 1, MPI_INT, to, i, &in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]));
        MPI(MPI_Isendrecv_replace(&both[i], 1, MPI_INT, to, N + i, from, N + i, MPI_COMM_WORLD, &r[N + i]));
    }
    for (; done < N; done++) {
        MPI(MPI_Waitany(2 * N, r, &index, s));
        CHECK(index >= 0 && index < 2 * N && r[index] == MPI_REQUEST_NULL, "MPI_Waitany: %d", index);
        verify_exchange(s, from, index, (int)sizeof(int), "MPI_Waitany");
    }
    MPI(MPI_Waitall(2 * N, r, s));
    for (int i = 0; i < N; i++)
        CHECK(in[i] == from * 100 + i && both[i] == from * 100 + 50 + i, "%d: %d %d", i, in[i], both[i]);
}

#ifndef MPICH_NAME
/* A freed request: both of its operations complete. MPICH 4.0 refuses to free it. */
static void freed(void)
{
    MPI_Request r;
    int *out = allocate(LONG * sizeof(int)), *in = allocate(LONG * sizeof(int));

    for (int i = 0; i < LONG; i++)
        out[i] = rank + i, in[i] = -1;
    MPI(MPI_Isendrecv(out, LONG, MPI_INT, to, 5, in, LONG, MPI_INT, from, 5, MPI_COMM_WORLD, &r));
    MPI(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL, "the handle of a freed request stays");
    /* A message behind it arrives only after it. */
    MPI(MPI_Sendrecv_replace(out, 0, MPI_INT, to, 5, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    while (((volatile int *)in)[LONG - 1] == -1) {
        int flag;

        MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(in[0] == from && in[LONG - 1] == from + LONG - 1, "a freed request: %d %d", in[0], in[LONG - 1]);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    free(out);
    free(in);
}
#endif

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void errors(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int n[2] = {0, 0}, m = 0, code;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    code = MPI_Sendrecv_replace(n, 1, MPI_INT, size, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_RANK, "no destination: %d", code);
    code = MPI_Sendrecv_replace(n, 1, MPI_INT, to, 1, size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_RANK, "no source: %d", code);
    code = MPI_Sendrecv_replace(n, -1, MPI_INT, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_COUNT, "a negative count: %d", code);
    code = MPI_Sendrecv_replace(n, 1, MPI_DATATYPE_NULL, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_TYPE, "no datatype: %d", code);
    code = MPI_Sendrecv_replace(n, 1, MPI_INT, to, -7, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_TAG, "no tag: %d", code);
    code = MPI_Isendrecv(n, 1, MPI_INT, to, 1, &m, 1, MPI_INT, size, 1, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_RANK, "MPI_Isendrecv without a source: %d", code);
    code = MPI_Isendrecv_replace(n, 1, MPI_INT, size, 1, from, 1, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_RANK, "MPI_Isendrecv_replace without a destination: %d", code);
    /* None of them has sent anything; now a message that is too long. */
    MPI(MPI_Isendrecv(n, 2, MPI_INT, to, 1, &m, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &r));
    code = MPI_Wait(&r, MPI_STATUS_IGNORE);
#ifndef MPICH_NAME
    /* MPICH 4.0 loses this error. */
    CHECK(class_of(code) == MPI_ERR_TRUNCATE, "a message that is too long: %d", code);
#endif
    CHECK(r == MPI_REQUEST_NULL, "a failed request stays");
    MPI(MPI_Sendrecv_replace(n, 1, MPI_INT, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    replaced();
    pairs();
    nobody();
    immediate();
    several();
#ifndef MPICH_NAME
    freed();
#endif
    errors();
    return end("replace");
}
