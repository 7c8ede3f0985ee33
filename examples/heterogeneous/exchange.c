/* Ranks whose machines differ in byte order exchange every basic datatype: messages both ways, padded structures,
 * packed data, broadcasts and reductions. Each checks all that it receives against what it computes itself. */
#include "values.h"

enum { MOST = 3001 };
static const int LENGTHS[] = {1, 7, 513, MOST}; /* the longest is announced before it is sent */

static bool is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* Each rank sends to each other one, all at once, and then broadcasts. */
#define MESSAGES(T, TYPE, VALUE)                                                                                       \
    static T made_##TYPE(int m, int p) { return VALUE; }                                                               \
    static void messages_##TYPE(void) {                                                                                \
        T *out = malloc(MOST * sizeof *out), *in = malloc(MOST * sizeof *in);                                          \
        for (size_t l = 0; l < sizeof LENGTHS / sizeof *LENGTHS; l++) {                                                \
            int count = LENGTHS[l];                                                                                    \
            for (int p = 0; p < count; p++) out[p] = made_##TYPE(me, p);                                               \
            for (int step = 1; step < ranks; step++) {                                                                 \
                int to = (me + step) % ranks, from = (me + ranks - step) % ranks, got;                                 \
                MPI_Status status;                                                                                     \
                memset(in, 0xa5, MOST * sizeof *in);                                                                   \
                MPI_Sendrecv(out, count, TYPE, to, step, in, MOST, TYPE, from, step, MPI_COMM_WORLD, &status);         \
                MPI_Get_count(&status, TYPE, &got);                                                                    \
                CHECK(got == count, #TYPE ": %d items of %d from %d", got, count, from);                               \
                for (int p = 0; p < count; p++)                                                                        \
                    CHECK(in[p] == made_##TYPE(from, p), #TYPE ": item %d of %d from %d differs", p, count, from);     \
            }                                                                                                          \
            for (int root = 0; root < ranks; root++) {                                                                 \
                for (int p = 0; p < count; p++) in[p] = made_##TYPE(me + 100, p);                                      \
                MPI_Bcast(in, count, TYPE, root, MPI_COMM_WORLD);                                                      \
                for (int p = 0; p < count; p++)                                                                        \
                    CHECK(in[p] == made_##TYPE(root + 100, p), #TYPE ": broadcast of %d, item %d", root, p);           \
            }                                                                                                          \
        }                                                                                                              \
        free(out);                                                                                                     \
        free(in);                                                                                                      \
    }
INTEGERS(MESSAGES)
REALS(MESSAGES)
COMPLEX(MESSAGES)
OTHERS(MESSAGES)

/* Sums of all ranks, products of two numbers, and the largest one, at a root and at all ranks. */
#define REDUCTIONS(T, TYPE, VALUE)                                                                                     \
    static void reductions_##TYPE(void) {                                                                              \
        enum { COUNT = 777 };                                                                                          \
        T *own = malloc(COUNT * sizeof *own), *all = malloc(COUNT * sizeof *all);                                      \
        for (int p = 0; p < COUNT; p++) own[p] = made_##TYPE(me, p);                                                   \
        MPI_Allreduce(own, all, COUNT, TYPE, MPI_SUM, MPI_COMM_WORLD);                                                 \
        for (int p = 0; p < COUNT; p++) {                                                                              \
            T sum = made_##TYPE(0, p);                                                                                 \
            for (int r = 1; r < ranks; r++) sum += made_##TYPE(r, p);                                                  \
            CHECK(all[p] == sum, #TYPE ": sum %d", p);                                                                 \
        }                                                                                                              \
        for (int p = 0; p < COUNT; p++) own[p] = (T)(me % 2 ? 3 : p % 5 + 1);                                          \
        for (int root = 0; root < ranks; root++) {                                                                     \
            MPI_Reduce(own, all, COUNT, TYPE, MPI_PROD, root, MPI_COMM_WORLD);                                         \
            for (int p = 0; me == root && p < COUNT; p++) {                                                            \
                T product = 1;                                                                                         \
                for (int r = 0; r < ranks; r++) product *= (T)(r % 2 ? 3 : p % 5 + 1);                                 \
                CHECK(all[p] == product, #TYPE ": product %d", p);                                                     \
            }                                                                                                          \
        }                                                                                                              \
        free(own);                                                                                                     \
        free(all);                                                                                                     \
    }
INTEGERS(REDUCTIONS)
REALS(REDUCTIONS)
COMPLEX(REDUCTIONS)

#define EXTREMES(T, TYPE, VALUE)                                                                                       \
    static void extremes_##TYPE(void) {                                                                                \
        enum { COUNT = 300 };                                                                                          \
        T own[COUNT], most[COUNT], least[COUNT];                                                                       \
        for (int p = 0; p < COUNT; p++) own[p] = made_##TYPE(me, p);                                                   \
        MPI_Allreduce(own, most, COUNT, TYPE, MPI_MAX, MPI_COMM_WORLD);                                                \
        MPI_Scan(own, least, COUNT, TYPE, MPI_MIN, MPI_COMM_WORLD);                                                    \
        for (int p = 0; p < COUNT; p++) {                                                                              \
            T high = made_##TYPE(0, p), low = high;                                                                    \
            for (int r = 1; r < ranks; r++) {                                                                          \
                T value = made_##TYPE(r, p);                                                                           \
                if (value > high) high = value;                                                                        \
                if (r <= me && value < low) low = value;                                                               \
            }                                                                                                          \
            CHECK(most[p] == high, #TYPE ": maximum %d", p);                                                           \
            CHECK(least[p] == low, #TYPE ": minimum of the first, %d", p);                                             \
        }                                                                                                              \
    }
INTEGERS(EXTREMES)
REALS(EXTREMES)

#define PLACES(T, TYPE, VALUE)                                                                                         \
    static void places_##TYPE(void) {                                                                                  \
        enum { COUNT = 400 };                                                                                          \
        T own[COUNT], all[COUNT], other[COUNT];                                                                        \
        for (int p = 0; p < COUNT; p++) {                                                                              \
            int m = me;                                                                                                \
            own[p].value = VALUE;                                                                                      \
            own[p].place = me * 1000 + p;                                                                              \
        }                                                                                                              \
        MPI_Allreduce(own, all, COUNT, TYPE, MPI_MAXLOC, MPI_COMM_WORLD);                                              \
        MPI_Sendrecv(own, COUNT, TYPE, (me + 1) % ranks, 5, other, COUNT, TYPE, (me + ranks - 1) % ranks, 5,           \
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);                                                               \
        for (int p = 0; p < COUNT; p++) {                                                                              \
            T best = own[p];                                                                                           \
            for (int m = 0; m < ranks; m++) {                                                                          \
                T it = {.value = VALUE, .place = m * 1000 + p};                                                        \
                if (m == 0 || it.value > best.value) best = it;                                                        \
                if (m == (me + ranks - 1) % ranks)                                                                     \
                    CHECK(other[p].value == it.value && other[p].place == it.place, #TYPE ": pair %d", p);             \
            }                                                                                                          \
            CHECK(all[p].value == best.value && all[p].place == best.place, #TYPE ": MAXLOC %d", p);                   \
        }                                                                                                              \
    }
PAIRS(PLACES)

/* A structure whose members lie elsewhere on another machine, and that has gaps. */
struct padded {
    char letter;
    long double wide;
    short few[3];
    double real;
    uint8_t bytes[5];
    int last;
};

static struct padded made(int maker, int place) {
    struct padded it;
    memset(&it, maker + 17, sizeof it);
    it.letter = (char)('a' + (maker + place) % 26);
    it.wide = wide(maker, place);
    for (int i = 0; i < 3; i++) it.few[i] = made_MPI_SHORT(maker, place + i);
    it.real = made_MPI_DOUBLE(maker, place);
    for (int i = 0; i < 5; i++) it.bytes[i] = made_MPI_UINT8_T(maker, place + i);
    it.last = made_MPI_INT(maker, place);
    return it;
}

static bool is(const struct padded *it, int maker, int place) {
    struct padded must = made(maker, place);
    return it->letter == must.letter && it->wide == must.wide && !memcmp(it->few, must.few, sizeof must.few)
           && it->real == must.real && !memcmp(it->bytes, must.bytes, 5) && it->last == must.last;
}

static MPI_Datatype padded_type(void) {
    const int lengths[] = {1, 1, 3, 1, 5, 1};
    const MPI_Aint places[] = {offsetof(struct padded, letter), offsetof(struct padded, wide),
                               offsetof(struct padded, few),    offsetof(struct padded, real),
                               offsetof(struct padded, bytes),  offsetof(struct padded, last)};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_LONG_DOUBLE, MPI_SHORT, MPI_DOUBLE, MPI_UINT8_T, MPI_INT};
    MPI_Datatype plain, type;
    MPI_Type_create_struct(6, lengths, places, types, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(struct padded), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&plain);
    return type;
}

/* Structures by messages, copied sends, packed, and by every way of collective data movement. */
static void structures(void) {
    enum { COUNT = 411 };
    MPI_Datatype type = padded_type();
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    struct padded *out = malloc(COUNT * (size_t)ranks * sizeof *out), *in = malloc(COUNT * (size_t)ranks * sizeof *in);
    for (int p = 0; p < COUNT; p++) out[p] = made(me, p);

    MPI_Sendrecv(out, COUNT, type, next, 1, in, COUNT, type, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int p = 0; p < COUNT; p++) CHECK(is(&in[p], before, p), "structure %d", p);
    MPI_Sendrecv_replace(in, COUNT, type, before, 2, next, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int p = 0; p < COUNT; p++) CHECK(is(&in[p], me, p), "structure %d, after it came back", p);

    int bytes, position = 0;
    MPI_Pack_size(COUNT, type, MPI_COMM_WORLD, &bytes);
    char *buffer = malloc((size_t)bytes + MPI_BSEND_OVERHEAD), *packed = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes + MPI_BSEND_OVERHEAD);
    MPI_Bsend(out, COUNT, type, next, 3, MPI_COMM_WORLD);
    MPI_Recv(packed, bytes, MPI_PACKED, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Unpack(packed, bytes, &position, in, COUNT, type, MPI_COMM_WORLD);
    for (int p = 0; p < COUNT; p++) CHECK(is(&in[p], before, p), "structure %d, copied by the send and unpacked", p);
    MPI_Buffer_detach(&buffer, &bytes);
    position = 0;
    MPI_Pack(out, COUNT, type, packed, bytes, &position, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Isend(packed, position, MPI_PACKED, next, 4, MPI_COMM_WORLD, &request);
    memset(in, 0, COUNT * sizeof *in);
    MPI_Recv(in, COUNT, type, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int p = 0; p < COUNT; p++) CHECK(is(&in[p], before, p), "structure %d, sent packed", p);
    free(packed);
    free(buffer);

    for (int root = 0; root < ranks; root++) {
        for (int p = 0; p < COUNT; p++) in[p] = made(me, p);
        MPI_Bcast(in, COUNT, type, root, MPI_COMM_WORLD);
        for (int p = 0; p < COUNT; p++) CHECK(is(&in[p], root, p), "broadcast structure %d of %d", p, root);
        MPI_Gather(out, COUNT, type, in, COUNT, type, root, MPI_COMM_WORLD);
        for (int r = 0; me == root && r < ranks; r++)
            for (int p = 0; p < COUNT; p++) CHECK(is(&in[r * COUNT + p], r, p), "gathered structure %d of %d", p, r);
        for (int r = 0; me == root && r < ranks; r++)
            for (int p = 0; p < COUNT; p++) in[r * COUNT + p] = made(root + r, p);
        struct padded *mine = malloc(COUNT * sizeof *mine);
        MPI_Scatter(in, COUNT, type, mine, COUNT, type, root, MPI_COMM_WORLD);
        for (int p = 0; p < COUNT; p++) CHECK(is(&mine[p], root + me, p), "scattered structure %d of %d", p, root);
        free(mine);
    }
    MPI_Allgather(out, COUNT, type, in, COUNT, type, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        for (int p = 0; p < COUNT; p++) CHECK(is(&in[r * COUNT + p], r, p), "structure %d of %d, gathered at all", p, r);
    for (int r = 0; r < ranks; r++)
        for (int p = 0; p < COUNT; p++) out[r * COUNT + p] = made(me + r, p);
    MPI_Alltoall(out, COUNT, type, in, COUNT, type, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        for (int p = 0; p < COUNT; p++) CHECK(is(&in[r * COUNT + p], r + me, p), "structure %d of %d to each", p, r);
    MPI_Type_free(&type);
    free(out);
    free(in);
}

/* Columns of a matrix become rows, partitions of other sizes come together, and bits are combined. */
static void shapes(void) {
    enum { ROWS = 64, COLUMNS = 48 };
    static int matrix[ROWS][COLUMNS], column[COLUMNS][ROWS];
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) matrix[r][c] = made_MPI_INT(me, r * COLUMNS + c);
    MPI_Datatype one, columns;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, sizeof(int), &columns);
    MPI_Type_commit(&columns);
    MPI_Sendrecv(matrix, COLUMNS, columns, next, 1, column, ROWS * COLUMNS, MPI_INT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            CHECK(column[c][r] == made_MPI_INT(before, r * COLUMNS + c), "row %d, column %d", r, c);
    MPI_Type_free(&one);
    MPI_Type_free(&columns);

    enum { PARTS = 12, EACH = 100 };
    static double given[PARTS * EACH], taken[PARTS * EACH];
    MPI_Request requests[2];
    for (int p = 0; p < PARTS * EACH; p++) given[p] = made_MPI_DOUBLE(me, p);
    MPI_Psend_init(given, PARTS, EACH, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(taken, PARTS / 4, 4 * EACH, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    for (int part = 0; part < PARTS; part++) MPI_Pready(part, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int p = 0; p < PARTS * EACH; p++) CHECK(taken[p] == made_MPI_DOUBLE(before, p), "partitioned value %d", p);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    uint32_t own = 0x00010203u << me, bits;
    MPI_Allreduce(&own, &bits, 1, MPI_UINT32_T, MPI_BXOR, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) bits ^= 0x00010203u << r;
    CHECK(bits == 0, "bits differ: %08x", bits);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned char order = is_big_endian(), *orders = malloc((size_t)ranks);
    MPI_Allgather(&order, 1, MPI_BYTE, orders, 1, MPI_BYTE, MPI_COMM_WORLD);
    int big = 0, types = 0;
    for (int r = 0; r < ranks; r++) big += orders[r];
    CHECK(big > 0 && big < ranks, "the machines have one byte order: this job shows nothing");
#define RUN_MESSAGES(T, TYPE, VALUE) messages_##TYPE(), types++;
    INTEGERS(RUN_MESSAGES)
    REALS(RUN_MESSAGES)
    COMPLEX(RUN_MESSAGES)
    OTHERS(RUN_MESSAGES)
#define RUN_REDUCTIONS(T, TYPE, VALUE) reductions_##TYPE();
    INTEGERS(RUN_REDUCTIONS)
    REALS(RUN_REDUCTIONS)
    COMPLEX(RUN_REDUCTIONS)
#define RUN_EXTREMES(T, TYPE, VALUE) extremes_##TYPE();
    INTEGERS(RUN_EXTREMES)
    REALS(RUN_EXTREMES)
#define RUN_PLACES(T, TYPE, VALUE) places_##TYPE(), types++;
    PAIRS(RUN_PLACES)
    structures();
    shapes();
    int all;
    MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: %s-endian, long double of %zu bytes aligned to %zu, %d datatypes, structures of %zu bytes: %d faults\n",
           me, order ? "big" : "little", sizeof(long double), _Alignof(long double), types, sizeof(struct padded), faults);
    MPI_Finalize();
    free(orders);
    return all != 0;
}
