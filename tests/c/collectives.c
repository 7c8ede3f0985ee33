/* collectives.c - every collective operation against a result that each rank
 * computes alone, on several communicators: all predefined types and operations,
 * several roots, counts from 0 to 100000, with and without MPI_IN_PLACE. Any
 * number of ranks up to 30 (products must fit). With the argument `few`, the
 * types that differ in the way they travel, on the communicators that differ in
 * the way their ranks lie: what another network or algorithm may break.
 *
 * Element i of rank r is made from value(r, i); so everybody knows everybody's
 * data. All values are small whole numbers: floating point results are exact, in
 * whatever order they are computed. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum op { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, OPS, NONE };
/* Which operations a type takes part in. */
enum { ADD = 1, ORDER = 2, LOGIC = 4, BITS = 8, PLACE = 16 };

static const struct {
    MPI_Op op;
    int kind;
    const char *name;
} ops[OPS] = {{MPI_SUM, ADD, "SUM"},         {MPI_PROD, ADD, "PROD"},
              {MPI_MAX, ORDER, "MAX"},       {MPI_MIN, ORDER, "MIN"},
              {MPI_LAND, LOGIC, "LAND"},     {MPI_LOR, LOGIC, "LOR"},
              {MPI_LXOR, LOGIC, "LXOR"},     {MPI_BAND, BITS, "BAND"},
              {MPI_BOR, BITS, "BOR"},        {MPI_BXOR, BITS, "BXOR"},
              {MPI_MAXLOC, PLACE, "MAXLOC"}, {MPI_MINLOC, PLACE, "MINLOC"}};

/* What element i of rank r holds, so that the operation has something to do, in the
 * high bytes too: negative numbers set them, in unsigned types as well. */
static int value(int r, size_t i, enum op op)
{
    const int v = (int)(((size_t)r * 7 + i * 3 + (i >> 8) + (i >> 13)) % 11);

    switch (op) {
    case SUM: return v - 4;
    case PROD: return v % 2 + 1;
    case MAX:
    case MIN: return (v - 5) * 25;
    case LAND: return v < 8 ? v : v * 256;
    case LOR: return v < 2 ? v * 256 + v : 0;
    case LXOR: return v % 2 * (v + 1);
    case BAND: return -v - 1;
    case BOR: return v == 10 ? -64 : 1 << v % 6;
    case BXOR: return (v - 5) * 9;
    default: return v;
    }
}

/* ---- types: how to set an element, to fold in one more value, to compare ---- */

struct type {
    MPI_Datatype mpi;
    const char *name;
    size_t bytes;
    int kinds;
    void (*set)(void *, size_t, int);
    void (*fold)(void *, size_t, int, enum op);
    int (*same)(const void *, const void *, size_t);
};

#define SET_AND_SAME(name, T)                                                              \
    static void set_##name(void *b, size_t i, int v) { ((T *)b)[i] = (T)v; }               \
    static int same_##name(const void *a, const void *b, size_t i)                         \
    {                                                                                      \
        return ((const T *)a)[i] == ((const T *)b)[i];                                     \
    }

#define INTEGER(name, T)                                                                   \
    SET_AND_SAME(name, T)                                                                  \
    static void fold_##name(void *b, size_t i, int v, enum op op)                          \
    {                                                                                      \
        T *a = (T *)b + i;                                                                 \
        const T x = (T)v;                                                                  \
        switch (op) {                                                                      \
        case SUM: *a = (T)(*a + x); break;                                                 \
        case PROD: *a = (T)(*a * x); break;                                                \
        case MAX: *a = x > *a ? x : *a; break;                                             \
        case MIN: *a = x < *a ? x : *a; break;                                             \
        case LAND: *a = *a && x; break;                                                    \
        case LOR: *a = *a || x; break;                                                     \
        case LXOR: *a = !*a != !x; break;                                                  \
        case BAND: *a = (T)(*a & x); break;                                                \
        case BOR: *a = (T)(*a | x); break;                                                 \
        case BXOR: *a = (T)(*a ^ x); break;                                                \
        default: break;                                                                    \
        }                                                                                  \
    }

#define LOGICAL(name, T)                                                                   \
    SET_AND_SAME(name, T)                                                                  \
    static void fold_##name(void *b, size_t i, int v, enum op op)                          \
    {                                                                                      \
        T *a = (T *)b + i;                                                                 \
        const T x = (T)v;                                                                  \
        *a = op == LAND ? *a && x : op == LOR ? *a || x : *a != x;                         \
    }

#define FLOATING(name, T)                                                                  \
    SET_AND_SAME(name, T)                                                                  \
    static void fold_##name(void *b, size_t i, int v, enum op op)                          \
    {                                                                                      \
        T *a = (T *)b + i;                                                                 \
        const T x = (T)v;                                                                  \
        *a = op == SUM ? *a + x : op == PROD ? *a * x : op == MAX ? (x > *a ? x : *a)      \
                                                      : (x < *a ? x : *a);                 \
    }

#define COMPLEX(name, T)                                                                   \
    static T make_##name(int v) { return (T)(v + (v - 1) * I); }                           \
    static void set_##name(void *b, size_t i, int v) { ((T *)b)[i] = make_##name(v); }     \
    static int same_##name(const void *a, const void *b, size_t i)                         \
    {                                                                                      \
        return ((const T *)a)[i] == ((const T *)b)[i];                                     \
    }                                                                                      \
    static void fold_##name(void *b, size_t i, int v, enum op op)                          \
    {                                                                                      \
        T *a = (T *)b + i;                                                                 \
        *a = op == SUM ? *a + make_##name(v) : *a * make_##name(v);                        \
    }

/* Few different values, so that there are ties; the smaller place wins those. */
#define PAIR(name, T)                                                                      \
    struct name {                                                                          \
        T value;                                                                           \
        int place;                                                                         \
    };                                                                                     \
    static void set_##name(void *b, size_t i, int v)                                       \
    {                                                                                      \
        ((struct name *)b)[i].value = (T)(v / 4);                                          \
        ((struct name *)b)[i].place = 10 - v;                                              \
    }                                                                                      \
    static int same_##name(const void *a, const void *b, size_t i)                         \
    {                                                                                      \
        const struct name *p = (const struct name *)a + i;                                 \
        const struct name *q = (const struct name *)b + i;                                 \
        return p->value == q->value && p->place == q->place;                               \
    }                                                                                      \
    static void fold_##name(void *b, size_t i, int v, enum op op)                          \
    {                                                                                      \
        struct name *a = (struct name *)b + i, x = {(T)(v / 4), 10 - v};                   \
        if (op == MAXLOC ? x.value > a->value : x.value < a->value)                        \
            *a = x;                                                                        \
        else if (x.value == a->value && x.place < a->place)                                \
            *a = x;                                                                        \
    }

INTEGER(schar, signed char) INTEGER(uchar, unsigned char) INTEGER(plain_char, char)
INTEGER(wide_char, wchar_t) LOGICAL(boolean, _Bool)
INTEGER(short_, short) INTEGER(ushort_, unsigned short) INTEGER(int_, int)
INTEGER(uint_, unsigned) INTEGER(long_, long) INTEGER(ulong_, unsigned long)
INTEGER(llong, long long) INTEGER(ullong, unsigned long long)
INTEGER(i8, int8_t) INTEGER(i16, int16_t) INTEGER(i32, int32_t) INTEGER(i64, int64_t)
INTEGER(u8, uint8_t) INTEGER(u16, uint16_t) INTEGER(u32, uint32_t) INTEGER(u64, uint64_t)
INTEGER(aint, MPI_Aint) INTEGER(offset, MPI_Offset) INTEGER(count_, MPI_Count)
FLOATING(float_, float) FLOATING(double_, double) FLOATING(ldouble, long double)
COMPLEX(cfloat, float complex) COMPLEX(cdouble, double complex)
COMPLEX(cldouble, long double complex)
PAIR(float_int, float) PAIR(double_int, double) PAIR(long_int, long) PAIR(two_int, int)
PAIR(short_int, short) PAIR(ldouble_int, long double)

#define TYPE(mpi, T, kinds, name)                                                          \
    {                                                                                      \
        mpi, #mpi, sizeof(T), kinds, set_##name, fold_##name, same_##name                  \
    }
enum { WHOLE = ADD | ORDER | LOGIC | BITS, ADDRESS = ADD | ORDER | BITS, REAL = ADD | ORDER };

static const struct type types[] = {
    TYPE(MPI_INT, int, WHOLE, int_), /* the first three are the FEW */
    TYPE(MPI_DOUBLE, double, REAL, double_),
    TYPE(MPI_DOUBLE_INT, struct double_int, PLACE, double_int),
    TYPE(MPI_CHAR, char, 0, plain_char),
    TYPE(MPI_WCHAR, wchar_t, 0, wide_char),
    TYPE(MPI_PACKED, char, 0, plain_char),
    TYPE(MPI_BYTE, unsigned char, BITS, uchar),
    TYPE(MPI_C_BOOL, _Bool, LOGIC, boolean),
    TYPE(MPI_SIGNED_CHAR, signed char, WHOLE, schar),
    TYPE(MPI_UNSIGNED_CHAR, unsigned char, WHOLE, uchar),
    TYPE(MPI_SHORT, short, WHOLE, short_),
    TYPE(MPI_UNSIGNED_SHORT, unsigned short, WHOLE, ushort_),
    TYPE(MPI_UNSIGNED, unsigned, WHOLE, uint_),
    TYPE(MPI_LONG, long, WHOLE, long_),
    TYPE(MPI_UNSIGNED_LONG, unsigned long, WHOLE, ulong_),
    TYPE(MPI_LONG_LONG, long long, WHOLE, llong),
    TYPE(MPI_UNSIGNED_LONG_LONG, unsigned long long, WHOLE, ullong),
    TYPE(MPI_INT8_T, int8_t, WHOLE, i8),
    TYPE(MPI_INT16_T, int16_t, WHOLE, i16),
    TYPE(MPI_INT32_T, int32_t, WHOLE, i32),
    TYPE(MPI_INT64_T, int64_t, WHOLE, i64),
    TYPE(MPI_UINT8_T, uint8_t, WHOLE, u8),
    TYPE(MPI_UINT16_T, uint16_t, WHOLE, u16),
    TYPE(MPI_UINT32_T, uint32_t, WHOLE, u32),
    TYPE(MPI_UINT64_T, uint64_t, WHOLE, u64),
    TYPE(MPI_AINT, MPI_Aint, ADDRESS, aint),
    TYPE(MPI_OFFSET, MPI_Offset, ADDRESS, offset),
    TYPE(MPI_COUNT, MPI_Count, ADDRESS, count_),
    TYPE(MPI_FLOAT, float, REAL, float_),
    TYPE(MPI_LONG_DOUBLE, long double, REAL, ldouble),
    TYPE(MPI_C_FLOAT_COMPLEX, float complex, ADD, cfloat),
    TYPE(MPI_C_DOUBLE_COMPLEX, double complex, ADD, cdouble),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, ADD, cldouble),
    TYPE(MPI_FLOAT_INT, struct float_int, PLACE, float_int),
    TYPE(MPI_LONG_INT, struct long_int, PLACE, long_int),
    TYPE(MPI_2INT, struct two_int, PLACE, two_int),
    TYPE(MPI_SHORT_INT, struct short_int, PLACE, short_int),
    TYPE(MPI_LONG_DOUBLE_INT, struct ldouble_int, PLACE, ldouble_int),
};
#define TYPES ((int)(sizeof types / sizeof *types))
#define FEW 3

/* ---- one call of each collective operation ---------------------------------- */

static MPI_Comm comm;
static int me, n;
static const char *where; /* the communicator, for messages */

/* Room for `count` elements and a guard behind them. All bytes are set: a type
 * may have holes. */
static void *room(const struct type *t, size_t count)
{
    unsigned char *b = allocate((count + 1) * t->bytes);

    memset(b, 0x6B, (count + 1) * t->bytes);
    return b;
}

static void put(const struct type *t, void *b, size_t at, size_t count, int r, size_t first,
                enum op op)
{
    for (size_t i = 0; i < count; i++)
        t->set(b, at + i, value(r, first + i, op));
}

/* Frees both. */
static void compare(const struct type *t, void *got, void *wanted, size_t count, const char *what)
{
    const unsigned char *guard = (unsigned char *)got + count * t->bytes;

    for (size_t i = 0; i < count; i++)
        CHECK(t->same(got, wanted, i), "%s of %zu %s on %s: element %zu is wrong", what, count,
              t->name, where, i);
    for (size_t i = 0; i < t->bytes; i++)
        CHECK(guard[i] == 0x6B, "%s of %zu %s on %s wrote behind the buffer", what, count, t->name,
              where);
    free(got);
    free(wanted);
}

static void bcast(const struct type *t, int count, int root)
{
    const size_t c = (size_t)count;
    void *b = room(t, c), *wanted = room(t, c);

    put(t, b, 0, c, me == root ? root : me + 1, 0, NONE);
    put(t, wanted, 0, c, root, 0, NONE);
    MPI(MPI_Bcast(b, count, t->mpi, root, comm));
    compare(t, b, wanted, c, "Bcast");
}

static void gather(const struct type *t, int count, int root, int in_place)
{
    const size_t c = (size_t)count;
    void *out = room(t, c);

    put(t, out, 0, c, me, 0, NONE);
    if (me == root) {
        void *in = room(t, c * (size_t)n), *wanted = room(t, c * (size_t)n);
        for (int r = 0; r < n; r++)
            put(t, wanted, (size_t)r * c, c, r, 0, NONE);
        if (in_place)
            put(t, in, (size_t)me * c, c, me, 0, NONE);
        MPI(MPI_Gather(in_place ? MPI_IN_PLACE : out, count, t->mpi, in, count, t->mpi, root,
                       comm));
        compare(t, in, wanted, c * (size_t)n, in_place ? "Gather in place" : "Gather");
    } else {
        /* What counts only at the root may be nonsense elsewhere. */
        MPI(MPI_Gather(out, count, t->mpi, NULL, -1, MPI_DATATYPE_NULL, root, comm));
    }
    free(out);
}

static void scatter(const struct type *t, int count, int root, int in_place)
{
    const size_t c = (size_t)count;
    void *out = me == root ? room(t, c * (size_t)n) : NULL;

    if (me == root)
        put(t, out, 0, c * (size_t)n, root, 0, NONE);
    if (me == root && in_place) {
        MPI(MPI_Scatter(out, count, t->mpi, MPI_IN_PLACE, count, t->mpi, root, comm));
    } else {
        void *in = room(t, c), *wanted = room(t, c);
        put(t, wanted, 0, c, root, (size_t)me * c, NONE);
        if (me == root)
            MPI(MPI_Scatter(out, count, t->mpi, in, count, t->mpi, root, comm));
        else
            MPI(MPI_Scatter(NULL, -1, MPI_DATATYPE_NULL, in, count, t->mpi, root, comm));
        compare(t, in, wanted, c, "Scatter");
    }
    if (me == root) {
        void *wanted = room(t, c * (size_t)n);
        put(t, wanted, 0, c * (size_t)n, root, 0, NONE);
        compare(t, out, wanted, c * (size_t)n, "Scatter's send buffer");
    }
}

static void allgather(const struct type *t, int count, int in_place)
{
    const size_t c = (size_t)count;
    void *in = room(t, c * (size_t)n), *wanted = room(t, c * (size_t)n), *out = room(t, c);

    for (int r = 0; r < n; r++)
        put(t, wanted, (size_t)r * c, c, r, 0, NONE);
    put(t, out, 0, c, me, 0, NONE);
    if (in_place) {
        put(t, in, (size_t)me * c, c, me, 0, NONE);
        MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, t->mpi, comm));
    } else {
        MPI(MPI_Allgather(out, count, t->mpi, in, count, t->mpi, comm));
    }
    compare(t, in, wanted, c * (size_t)n, in_place ? "Allgather in place" : "Allgather");
    free(out);
}

static void alltoall(const struct type *t, int count, int in_place)
{
    const size_t c = (size_t)count;
    void *in = room(t, c * (size_t)n), *wanted = room(t, c * (size_t)n);
    void *out = room(t, c * (size_t)n);

    /* Rank r has elements 0 to n * count, and part k of it goes to rank k. */
    for (int r = 0; r < n; r++)
        put(t, wanted, (size_t)r * c, c, r, (size_t)me * c, NONE);
    put(t, in_place ? in : out, 0, c * (size_t)n, me, 0, NONE);
    if (in_place)
        MPI(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, t->mpi, comm));
    else
        MPI(MPI_Alltoall(out, count, t->mpi, in, count, t->mpi, comm));
    compare(t, in, wanted, c * (size_t)n, in_place ? "Alltoall in place" : "Alltoall");
    free(out);
}

/* root < 0 is Allreduce. */
static void reduce(const struct type *t, int count, enum op op, int root, int in_place)
{
    const size_t c = (size_t)count;
    const int gets = root < 0 || me == root; /* the result */
    void *in = room(t, c), *wanted = room(t, c), *out = room(t, c);
    char what[40];

    snprintf(what, sizeof what, "%s with %s%s", root < 0 ? "Allreduce" : "Reduce", ops[op].name,
             in_place ? " in place" : "");
    if (gets)
        put(t, wanted, 0, c, 0, 0, op);
    for (int r = 1; r < n && gets; r++)
        for (size_t i = 0; i < c; i++)
            t->fold(wanted, i, value(r, i, op), op);
    /* For one rank alone the operation is never used: logic values stay as sent. */
    put(t, out, 0, c, me, 0, op);
    put(t, in, 0, in_place ? c : 0, me, 0, op);
    if (root < 0)
        MPI(MPI_Allreduce(in_place ? MPI_IN_PLACE : out, in, count, t->mpi, ops[op].op, comm));
    else if (me != root)
        MPI(MPI_Reduce(out, NULL, count, t->mpi, ops[op].op, root, comm));
    else
        MPI(MPI_Reduce(in_place ? MPI_IN_PLACE : out, in, count, t->mpi, ops[op].op, root, comm));
    if (gets) {
        compare(t, in, wanted, c, what);
    } else {
        free(in);
        free(wanted);
    }
    free(out);
}

/* ---- which calls ------------------------------------------------------------- */

static void everything(const struct type *t, int count, int root)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        gather(t, count, root, in_place);
        scatter(t, count, root, in_place);
        allgather(t, count, in_place);
        alltoall(t, count, in_place);
        for (int op = 0; op < OPS; op++)
            if (t->kinds & ops[op].kind) {
                reduce(t, count, (enum op)op, root, in_place);
                reduce(t, count, (enum op)op, -1, in_place);
            }
    }
    bcast(t, count, root);
}

/* Nobody may leave a barrier before all have come. */
static void barrier(void)
{
    const struct timespec nap = {0, 2000000L * me};
    struct timespec t;
    int64_t mine[2], *all = allocate(sizeof mine * (size_t)n), last = 0;
    char name[MPI_MAX_PROCESSOR_NAME] = "", *names = allocate((size_t)n * sizeof name);
    int length, one_host = 1;

    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &t);
    mine[0] = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    MPI(MPI_Barrier(comm));
    clock_gettime(CLOCK_MONOTONIC, &t);
    mine[1] = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;

    /* Only on one machine the clocks are one. */
    MPI(MPI_Get_processor_name(name, &length));
    MPI(MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, comm));
    MPI(MPI_Allgather(mine, 2, MPI_INT64_T, all, 2, MPI_INT64_T, comm));
    for (int r = 0; r < n; r++) {
        one_host = one_host && strcmp(name, names + (size_t)r * sizeof name) == 0;
        last = all[2 * r] > last ? all[2 * r] : last;
    }
    CHECK(!one_host || mine[1] >= last, "left a barrier on %s before the last rank came", where);
    free(all);
    free(names);
}

/* One after the other without a pause: they must not mix. */
static void in_a_row(void)
{
    for (int i = 0; i < 100; i++) {
        int x = me == i % n ? i : -1, y = 0;
        MPI(MPI_Bcast(&x, 1, MPI_INT, i % n, comm));
        CHECK(x == i, "Bcast %d in a row on %s gave %d", i, where, x);
        x = me + i;
        MPI(MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, (i + 1) % n, comm));
        CHECK(me != (i + 1) % n || y == n * i + n * (n - 1) / 2, "Reduce %d in a row on %s", i,
              where);
    }
}

/* Non-blocking ones, begun in the same order and waited for in another one, beside blocking ones. */
static void immediate(void)
{
    enum { MANY = 12 };
    int sent[MANY], got[MANY];
    MPI_Request requests[MANY];

    for (int i = 0; i < MANY; i++) {
        const int root = (i * 3 + 1) % n;
        sent[i] = got[i] = i % 4 == 3 && me == root ? 77 : me + i;
        switch (i % 4) {
        case 0: MPI(MPI_Ibarrier(comm, &requests[i])); break;
        case 1: MPI(MPI_Iallreduce(&sent[i], &got[i], 1, MPI_INT, MPI_SUM, comm, &requests[i])); break;
        case 2: MPI(MPI_Ireduce(&sent[i], &got[i], 1, MPI_INT, MPI_SUM, root, comm, &requests[i])); break;
        default: MPI(MPI_Ibcast(&got[i], 1, MPI_INT, root, comm, &requests[i]));
        }
        if (i == MANY / 2) {
            int x = me == n - 1 ? 5 : 0;
            MPI(MPI_Bcast(&x, 1, MPI_INT, n - 1, comm));
            CHECK(x == 5, "Bcast between others on %s gave %d", where, x);
        }
    }
    for (int i = 0; i < MANY; i++)
        MPI(MPI_Wait(&requests[(i * 5 + me) % MANY], MPI_STATUS_IGNORE));
    for (int i = 0; i < MANY; i++) {
        const int sum = n * i + n * (n - 1) / 2, root = (i * 3 + 1) % n;
        const int wanted = i % 4 == 3 ? 77 : i % 4 == 1 || (i % 4 == 2 && me == root) ? sum : me + i;
        CHECK(got[i] == wanted, "non-blocking %d on %s gave %d, not %d", i, where, got[i], wanted);
    }
}

static void on(MPI_Comm c, const char *name, int kinds_of_types)
{
    static const int counts[] = {0, 1, 3, 100, 1000, 100000};

    if (c == MPI_COMM_NULL)
        return;
    comm = c;
    where = name;
    MPI(MPI_Comm_rank(c, &me));
    MPI(MPI_Comm_size(c, &n));
    barrier();
    in_a_row();
    immediate();
    for (int i = 0; i < kinds_of_types; i++)
        everything(&types[i], 3, i % n);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < FEW; t++) {
            if (counts[i] == 100000 && ((kinds_of_types == FEW && comm != MPI_COMM_WORLD) || t == 2))
                continue; /* enough is enough */
            const int roots[] = {0, n / 2, n - 1};
            for (int r = 0; r < (counts[i] > 1000 ? 1 : 3); r++)
                everything(&types[t], counts[i], roots[(r + (t == 1 ? 2 : 0)) % 3]);
        }
    barrier();
}

int main(int argc, char **argv)
{
    MPI_Comm dup, half, reversed, some, third, shuffled;
    int few;

    begin(&argc, &argv);
    few = argc == 2 && strcmp(argv[1], "few") == 0;
    if (argc > 1 && !few)
        return usage("collectives [few]");
    on(MPI_COMM_WORLD, "MPI_COMM_WORLD", few ? FEW : TYPES);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MPI(MPI_Comm_split(dup, rank < size / 2, 0, &half));
    MPI(MPI_Comm_split(half, 0, -rank, &reversed));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 && size > 1 ? MPI_UNDEFINED : 5, rank, &some));
    /* However ranks lie on hosts, some of these lie there unevenly, and in no order. */
    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 3, rank % 2, &third));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, rank * 5 % 7, &shuffled));
    on(third, "every third", FEW);
    on(shuffled, "all, shuffled", FEW);
    if (!few) {
        on(dup, "a copy", FEW);
        on(half, "a half", FEW);
        on(reversed, "a half backwards", FEW);
        on(some, "all but rank 0", FEW);
        on(MPI_COMM_SELF, "MPI_COMM_SELF", TYPES);
    }
    MPI(MPI_Comm_free(&dup));
    MPI(MPI_Comm_free(&half));
    MPI(MPI_Comm_free(&reversed));
    MPI(MPI_Comm_free(&third));
    MPI(MPI_Comm_free(&shuffled));
    if (some != MPI_COMM_NULL)
        MPI(MPI_Comm_free(&some));
    return end("collectives");
}
