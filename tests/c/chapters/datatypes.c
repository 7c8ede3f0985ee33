/* datatypes.c - chapter 5 of the standard: derived datatypes.
 *
 * Runs on any number of ranks. */
#include "../check.h"

#include <stddef.h>

static int failures_return(int code)
{
    int class = -1;

    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    MPI(MPI_Error_class(code, &class));
    return class;
}

#define FAILS(call, class_)                                                              \
    do {                                                                                 \
        const int got_ = failures_return(call);                                          \
        CHECK(got_ == (class_), "%s: class %d instead of %s", #call, got_, #class_);     \
    } while (0)

static void bounds(MPI_Datatype type, int size_of, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb,
                   MPI_Aint true_extent, const char *what)
{
    MPI_Aint a, b, c, d;
    MPI_Count e, f, g;
    int bytes;

    MPI(MPI_Type_size(type, &bytes));
    MPI(MPI_Type_get_extent(type, &a, &b));
    MPI(MPI_Type_get_true_extent(type, &c, &d));
    CHECK(bytes == size_of, "%s: size %d instead of %d", what, bytes, size_of);
    CHECK(a == lb && b == extent, "%s: bounds %ld %ld", what, (long)a, (long)b);
    CHECK(c == true_lb && d == true_extent, "%s: true bounds %ld %ld", what, (long)c, (long)d);
    MPI(MPI_Type_size_x(type, &e));
    MPI(MPI_Type_get_extent_x(type, &f, &g));
    CHECK(e == size_of && f == lb && g == extent, "%s: large bounds", what);
    MPI(MPI_Type_get_true_extent_x(type, &f, &g));
    CHECK(f == true_lb && g == true_extent, "%s: large true bounds", what);
}

struct particle {
    double place[3];
    int kind;
    char tag;
};

static MPI_Datatype particles(void)
{
    const int lengths[3] = {3, 1, 1};
    const MPI_Aint places[3] = {offsetof(struct particle, place), offsetof(struct particle, kind),
                                offsetof(struct particle, tag)};
    const MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Datatype type;

    MPI(MPI_Type_create_struct(3, lengths, places, types, &type));
    return type;
}

static void constructors(void)
{
    const int lengths[2] = {2, 1}, items[2] = {0, 4};
    const MPI_Aint bytes[2] = {8, 40};
    MPI_Datatype a, b;

    MPI(MPI_Type_contiguous(5, MPI_INT, &a));
    bounds(a, 20, 0, 20, 0, 20, "contiguous");
    MPI(MPI_Type_free(&a));
    CHECK(a == MPI_DATATYPE_NULL, "MPI_Type_free leaves the handle");

    MPI(MPI_Type_vector(3, 2, 4, MPI_INT, &a));
    bounds(a, 24, 0, 40, 0, 40, "vector");
    MPI(MPI_Type_contiguous(2, a, &b));
    bounds(b, 48, 0, 80, 0, 80, "contiguous vectors");
    MPI(MPI_Type_free(&a));
    bounds(b, 48, 0, 80, 0, 80, "a datatype whose part was freed");
    MPI(MPI_Type_free(&b));

    MPI(MPI_Type_vector(3, 1, -2, MPI_INT, &a));
    bounds(a, 12, -16, 20, -16, 20, "vector with a negative stride");
    MPI(MPI_Type_free(&a));

    MPI(MPI_Type_create_hvector(2, 1, 100, MPI_DOUBLE, &a));
    bounds(a, 16, 0, 108, 0, 108, "hvector");
    MPI(MPI_Type_free(&a));

    MPI(MPI_Type_indexed(2, lengths, items, MPI_DOUBLE, &a));
    bounds(a, 24, 0, 40, 0, 40, "indexed");
    MPI(MPI_Type_free(&a));

    MPI(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &a));
    bounds(a, 12, 8, 36, 8, 36, "hindexed");
    MPI(MPI_Type_free(&a));

    MPI(MPI_Type_create_indexed_block(2, 3, items, MPI_SHORT, &a));
    bounds(a, 12, 0, 14, 0, 14, "indexed block");
    MPI(MPI_Type_free(&a));

    MPI(MPI_Type_create_hindexed_block(2, 1, bytes, MPI_CHAR, &a));
    bounds(a, 2, 8, 33, 8, 33, "hindexed block");
    MPI(MPI_Type_free(&a));

    a = particles();
    bounds(a, 29, 0, (MPI_Aint)sizeof(struct particle), 0, 29, "struct");
    MPI(MPI_Type_create_resized(a, -8, 64, &b));
    bounds(b, 29, -8, 64, 0, 29, "resized");
    MPI(MPI_Type_free(&a));
    MPI(MPI_Type_dup(b, &a));
    bounds(a, 29, -8, 64, 0, 29, "duplicate");
    MPI(MPI_Type_free(&a));
    MPI(MPI_Type_free(&b));

    MPI(MPI_Type_contiguous(0, MPI_INT, &a));
    bounds(a, 0, 0, 0, 0, 0, "nothing");
    MPI(MPI_Type_commit(&a));
    MPI(MPI_Send(NULL, 3, a, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    MPI(MPI_Type_free(&a));
}

static void arrays(void)
{
    const int sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2};
    int matrix[4][6], box[2][3], place = 0;
    MPI_Datatype type;

    for (int i = 0; i < 24; i++)
        matrix[i / 6][i % 6] = i;
    MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    bounds(type, 24, 0, 96, 32, 36, "subarray");
    MPI(MPI_Pack(matrix, 1, type, box, sizeof box, &place, MPI_COMM_WORLD));
    for (int i = 0; i < 6; i++)
        CHECK(box[i / 3][i % 3] == (1 + i / 3) * 6 + 2 + i % 3, "subarray: item %d is %d", i, box[i / 3][i % 3]);
    MPI(MPI_Type_free(&type));

    MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    place = 0;
    MPI(MPI_Pack(matrix, 1, type, box, sizeof box, &place, MPI_COMM_WORLD));
    for (int i = 0; i < 6; i++)
        CHECK((&box[0][0])[i] == (2 + i / 2) * 4 + 1 + i % 2, "subarray, Fortran: item %d is %d", i,
              (&box[0][0])[i]);
    MPI(MPI_Type_free(&type));

    /* All processes' parts of a distributed array together are the array. */
    const int whole[2] = {5, 7}, grid[2] = {2, 3};
    const int ways[4] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};

    for (int order = 0; order < 2; order++)
        for (int way = 0; way < 3; way++) {
            const int distributions[2] = {ways[way], ways[way + 1]};
            const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, ways[way + 1] == MPI_DISTRIBUTE_CYCLIC ? 2 : 3};
            int seen[35] = {0}, total = 0;

            for (int process = 0; process < 6; process++) {
                int numbers[35], part[35], bytes;
                MPI_Aint lb, extent;

                for (int i = 0; i < 35; i++)
                    numbers[i] = i;
                MPI(MPI_Type_create_darray(6, process, 2, whole, distributions, arguments, grid,
                                           order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_INT, &type));
                MPI(MPI_Type_commit(&type));
                MPI(MPI_Type_size(type, &bytes));
                MPI(MPI_Type_get_extent(type, &lb, &extent));
                CHECK(lb == 0 && extent == 35 * 4, "darray: bounds %ld %ld", (long)lb, (long)extent);
                place = 0;
                MPI(MPI_Pack(numbers, 1, type, part, sizeof part, &place, MPI_COMM_WORLD));
                for (int i = 0; i < bytes / 4; i++) {
                    CHECK(i == 0 || part[i] > part[i - 1], "darray: not in the array's order");
                    seen[part[i]]++;
                }
                total += bytes / 4;
                MPI(MPI_Type_free(&type));
            }
            CHECK(total == 35, "darray: %d items", total);
            for (int i = 0; i < 35; i++)
                CHECK(seen[i] == 1, "darray: item %d occurs %d times", i, seen[i]);
        }

    /* A datatype takes no memory for each of its blocks. */
    const int long_array = 1 << 30, cyclic = MPI_DISTRIBUTE_CYCLIC, one = 1, three = 3;
    MPI_Aint lb, extent;
    int bytes;

    MPI(MPI_Type_create_darray(3, 1, 1, &long_array, &cyclic, &one, &three, MPI_ORDER_C, MPI_CHAR, &type));
    MPI(MPI_Type_size(type, &bytes));
    MPI(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(bytes == (1 << 30) / 3 && lb == 0 && extent == 1 << 30, "long darray: %d bytes of %ld", bytes, (long)extent);
    MPI(MPI_Type_free(&type));
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Datatype type;
    int len;

    MPI(MPI_Type_contiguous(2, MPI_INT, &type));
    MPI(MPI_Type_get_name(type, name, &len));
    CHECK(len == 0 && name[0] == 0, "a new datatype has the name %s", name);
    MPI(MPI_Type_free(&type));
    MPI(MPI_Type_get_name(MPI_DOUBLE, name, &len));
    CHECK(strcmp(name, "MPI_DOUBLE") == 0 && len == 10, "MPI_DOUBLE has the name %s", name);
    /* Of two names the standard calls one the synonym. */
    MPI(MPI_Type_get_name(MPI_LONG_LONG, name, &len));
    CHECK(strcmp(name, "MPI_LONG_LONG_INT") == 0, "MPI_LONG_LONG has the name %s", name);
    MPI(MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &len));
    CHECK(strcmp(name, "MPI_C_COMPLEX") == 0, "MPI_C_FLOAT_COMPLEX has the name %s", name);
}

/* Items without data need no memory. */
static void without_data(void)
{
    const int lengths[3] = {0, 0, 0};
    const MPI_Aint places[3] = {0, 4, 16};
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    int count = -1, parts = -1;

    MPI(MPI_Type_create_hindexed(3, lengths, places, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Irecv(NULL, 2, type, rank, 0, MPI_COMM_WORLD, &request));
    MPI(MPI_Send(NULL, 1, type, rank, 0, MPI_COMM_WORLD));
    MPI(MPI_Wait(&request, &status));
    MPI(MPI_Get_count(&status, type, &count));
    MPI(MPI_Get_elements(&status, type, &parts));
    CHECK(count == 0 && parts == 0, "no data: count %d, elements %d", count, parts);
    MPI(MPI_Bcast(NULL, 2, type, 0, MPI_COMM_WORLD));
    MPI(MPI_Type_free(&type));
}

/* The handles of Fortran, and their names for tools. */
static void fortran(void)
{
    const MPI_Fint handle = MPI_Type_c2f(MPI_INT);

    CHECK(MPI_Type_f2c(handle) == MPI_INT, "MPI_Type_f2c(%d)", (int)handle);
    CHECK(PMPI_Type_c2f(MPI_INT) == handle && PMPI_Type_f2c(handle) == MPI_INT, "PMPI_Type_c2f");
    CHECK(PMPI_Message_f2c(PMPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL, "PMPI_Message_c2f");
}

static int copied, deleted;

static int copy_value(MPI_Datatype type, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)type;
    (void)key;
    CHECK(extra == &copied, "the extra state of a copy");
    *(void **)copy = (char *)value + 1;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete_value(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    CHECK(extra == &copied, "the extra state of a deletion");
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    static char values[4];
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Datatype type, copy;
    int key, plain, flag, len;
    void *value;

    MPI(MPI_Type_create_keyval(copy_value, delete_value, &key, &copied));
    MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL));
    MPI(MPI_Type_contiguous(3, MPI_INT, &type));
    MPI(MPI_Type_get_attr(type, key, &value, &flag));
    CHECK(!flag, "a new datatype has an attribute");
    MPI(MPI_Type_set_attr(type, key, values));
    MPI(MPI_Type_set_attr(type, plain, values + 2));
    MPI(MPI_Type_set_name(type, "three"));
    MPI(MPI_Type_dup(type, &copy));
    MPI(MPI_Type_get_attr(copy, key, &value, &flag));
    CHECK(flag && value == values + 1 && copied == 1, "a duplicate's attribute");
    MPI(MPI_Type_get_attr(copy, plain, &value, &flag));
    CHECK(!flag, "an attribute without a copy function is copied");
    MPI(MPI_Type_get_name(type, name, &len));
    CHECK(strcmp(name, "three") == 0 && len == 5, "the name is %s", name);
    MPI(MPI_Type_get_attr(type, plain, &value, &flag));
    CHECK(flag && value == values + 2, "the original's attribute");
    MPI(MPI_Type_delete_attr(type, key));
    CHECK(deleted == 1, "%d deletions", deleted);
    MPI(MPI_Type_free(&copy));
    CHECK(deleted == 2, "%d deletions after the duplicate was freed", deleted);
    MPI(MPI_Type_set_attr(type, key, values));
    MPI(MPI_Type_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID, "MPI_Type_free_keyval leaves the key");
    MPI(MPI_Type_free(&type));
    CHECK(deleted == 3, "%d deletions after the original was freed", deleted);
    MPI(MPI_Type_free_keyval(&plain));
}

static void contents(void)
{
    const int lengths[3] = {3, 1, 2};
    const MPI_Aint places[3] = {0, 24, 32};
    MPI_Datatype inner, type, kept[3];
    MPI_Aint addresses[4];
    int numbers, bytes, types, combiner, integers[8];

    MPI(MPI_Type_get_envelope(MPI_INT, &numbers, &bytes, &types, &combiner));
    CHECK(numbers == 0 && bytes == 0 && types == 0 && combiner == MPI_COMBINER_NAMED, "envelope of MPI_INT");
    MPI(MPI_Type_vector(2, 1, 3, MPI_SHORT, &inner));
    MPI(MPI_Type_get_envelope(inner, &numbers, &bytes, &types, &combiner));
    CHECK(numbers == 3 && bytes == 0 && types == 1 && combiner == MPI_COMBINER_VECTOR, "envelope of a vector");
    MPI(MPI_Type_get_contents(inner, 3, 0, 1, integers, NULL, kept));
    CHECK(integers[0] == 2 && integers[1] == 1 && integers[2] == 3 && kept[0] == MPI_SHORT, "contents of a vector");

    const MPI_Datatype olds[3] = {MPI_DOUBLE, inner, MPI_CHAR};

    MPI(MPI_Type_create_struct(3, lengths, places, olds, &type));
    MPI(MPI_Type_free(&inner));
    MPI(MPI_Type_get_envelope(type, &numbers, &bytes, &types, &combiner));
    CHECK(numbers == 4 && bytes == 3 && types == 3 && combiner == MPI_COMBINER_STRUCT, "envelope of a struct");
    MPI(MPI_Type_get_contents(type, 4, 3, 3, integers, addresses, kept));
    CHECK(integers[0] == 3 && integers[1] == 3 && integers[2] == 1 && integers[3] == 2, "lengths of a struct");
    CHECK(addresses[1] == 24 && addresses[2] == 32, "displacements of a struct");
    CHECK(kept[0] == MPI_DOUBLE && kept[2] == MPI_CHAR && kept[1] != MPI_DATATYPE_NULL, "datatypes of a struct");
    MPI(MPI_Type_size(kept[1], &bytes));
    CHECK(bytes == 4, "the inner datatype has %d bytes", bytes);
    MPI(MPI_Type_free(&kept[1]));
    MPI(MPI_Type_free(&type));

    MPI(MPI_Type_create_resized(MPI_INT, 4, 32, &type));
    MPI(MPI_Type_get_envelope(type, &numbers, &bytes, &types, &combiner));
    CHECK(combiner == MPI_COMBINER_RESIZED && bytes == 2, "envelope of a resized datatype");
    MPI(MPI_Type_get_contents(type, 0, 2, 1, NULL, addresses, kept));
    CHECK(addresses[0] == 4 && addresses[1] == 32 && kept[0] == MPI_INT, "contents of a resized datatype");
    MPI(MPI_Type_free(&type));

    MPI(MPI_Type_dup(MPI_INT, &type));
    MPI(MPI_Type_get_envelope(type, &numbers, &bytes, &types, &combiner));
    CHECK(combiner == MPI_COMBINER_DUP && types == 1, "envelope of a duplicate");
    MPI(MPI_Type_free(&type));
}

static void elements(void)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype olds[2] = {MPI_INT, MPI_DOUBLE};
    char bytes[64] = {0};
    MPI_Datatype type;
    MPI_Status status;
    int n;

    MPI(MPI_Type_create_struct(2, lengths, places, olds, &type));
    MPI(MPI_Type_commit(&type));
    /* An int and a double, another int: one item and three elements. */
    const struct {
        int bytes, items, elements;
    } cases[] = {{0, 0, 0}, {4, MPI_UNDEFINED, 1}, {12, 1, 2}, {16, MPI_UNDEFINED, 3}, {24, 2, 4}};

    for (int i = 0; i < 5; i++) {
        char got[64];

        MPI(MPI_Sendrecv(bytes, cases[i].bytes, MPI_BYTE, rank, i, got, 3, type, rank, i, MPI_COMM_WORLD, &status));
        MPI(MPI_Get_count(&status, type, &n));
        CHECK(n == cases[i].items, "%d bytes: count %d", cases[i].bytes, n);
        MPI(MPI_Get_elements(&status, type, &n));
        CHECK(n == cases[i].elements, "%d bytes: %d elements", cases[i].bytes, n);
    }
    MPI(MPI_Status_set_elements(&status, MPI_DOUBLE, 5));
    MPI(MPI_Get_count(&status, MPI_DOUBLE, &n));
    CHECK(n == 5, "5 elements: %d items", n);
    MPI(MPI_Type_free(&type));
}

static void messages(void)
{
    enum { N = 50 };
    struct particle sent[N], got[N];
    MPI_Datatype struct_type = particles(), type, column, row;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    MPI(MPI_Type_create_resized(struct_type, 0, sizeof(struct particle), &type));
    MPI(MPI_Type_commit(&type));
    memset(got, 0x77, sizeof got);
    for (int i = 0; i < N; i++)
        sent[i] = (struct particle){{i, i + 0.5, rank}, i * rank, (char)i};
    MPI(MPI_Irecv(got, N, type, before, 3, MPI_COMM_WORLD, &requests[0]));
    MPI(MPI_Isend(sent, N, type, next, 3, MPI_COMM_WORLD, &requests[1]));
    /* A datatype may be freed while messages of it are under way. */
    MPI(MPI_Type_free(&type));
    MPI(MPI_Type_free(&struct_type));
    MPI(MPI_Waitall(2, requests, statuses));
    for (int i = 0; i < N; i++)
        CHECK(got[i].place[1] == i + 0.5 && got[i].place[2] == before && got[i].kind == i * before
                  && got[i].tag == (char)i,
              "particle %d", i);

    /* A matrix is transposed by the datatypes. */
    double matrix[6][5], turned[5][6];

    for (int i = 0; i < 30; i++)
        matrix[i / 5][i % 5] = 100 * rank + i;
    MPI(MPI_Type_vector(6, 1, 5, MPI_DOUBLE, &column));
    MPI(MPI_Type_create_resized(column, 0, sizeof(double), &row));
    MPI(MPI_Type_commit(&row));
    MPI(MPI_Sendrecv(matrix, 5, row, next, 4, turned, 30, MPI_DOUBLE, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 30; i++)
        CHECK(turned[i / 6][i % 6] == 100 * before + i % 6 * 5 + i / 6, "transposed item %d", i);
    MPI(MPI_Type_free(&row));
    MPI(MPI_Type_free(&column));

    /* Addresses relative to MPI_BOTTOM. */
    int here = rank, there = -1;
    MPI_Aint address;
    const int one = 1;

    MPI(MPI_Get_address(&here, &address));
    MPI(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Sendrecv(MPI_BOTTOM, 1, type, next, 5, &there, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(there == before, "MPI_BOTTOM: %d instead of %d", there, before);
    MPI(MPI_Type_free(&type));
}

static void large_messages(void)
{
    enum { ROWS = 300, COLUMNS = 400 };
    double *const matrix = allocate(ROWS * COLUMNS * sizeof(double));
    double *const half = allocate(ROWS * COLUMNS / 2 * sizeof(double));
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Datatype type;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i] = i + rank;
    MPI(MPI_Type_vector(ROWS, COLUMNS / 2, COLUMNS, MPI_DOUBLE, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Sendrecv(matrix, 1, type, next, 6, half, ROWS * COLUMNS / 2, MPI_DOUBLE, before, 6, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS / 2; j++)
            CHECK(half[i * (COLUMNS / 2) + j] == i * COLUMNS + j + before, "row %d, column %d", i, j);
    for (int i = 0; i < ROWS * COLUMNS / 2; i++)
        half[i] = -i;
    MPI(MPI_Bcast(rank == 0 ? (void *)half : (void *)matrix, rank == 0 ? ROWS * COLUMNS / 2 : 1,
                  rank == 0 ? MPI_DOUBLE : type, 0, MPI_COMM_WORLD));
    for (int i = 0; rank != 0 && i < ROWS; i++) {
        CHECK(matrix[i * COLUMNS] == -i * (COLUMNS / 2), "broadcast row %d", i);
        CHECK(matrix[i * COLUMNS + COLUMNS / 2] == i * COLUMNS + COLUMNS / 2 + rank, "beside row %d", i);
    }
    MPI(MPI_Type_free(&type));
    free(matrix);
    free(half);
}

/* Every collective call that moves data, with columns as items. */
static void collectives(void)
{
    enum { N = 4 };
    MPI_Datatype column, type;
    int *const all = allocate(sizeof(int) * (size_t)(N * size) * N), own[N * N], *packed = allocate(
        sizeof(int) * (size_t)(N * N * size));
    const int width = N * size;

    /* Item k of `type` is column k of a matrix with N rows. */
    MPI(MPI_Type_vector(N, 1, width, MPI_INT, &column));
    MPI(MPI_Type_create_resized(column, 0, sizeof(int), &type));
    MPI(MPI_Type_commit(&type));
    for (int i = 0; i < N * N; i++)
        own[i] = 1000 * rank + i;
    memset(all, 0, sizeof(int) * (size_t)width * N);
    MPI(MPI_Allgather(own, N * N, MPI_INT, all, N, type, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N * N; i++)
            CHECK(all[i % N * width + r * N + i / N] == 1000 * r + i, "MPI_Allgather, rank %d, item %d", r, i);
    memset(packed, 0, sizeof(int) * (size_t)(N * N * size));
    MPI(MPI_Alltoall(all, N, type, packed, N * N, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N * N; i++)
            CHECK(packed[r * N * N + i] == 1000 * rank + i, "MPI_Alltoall, rank %d, item %d", r, i);
    memset(all, 0, sizeof(int) * (size_t)width * N);
    MPI(MPI_Gather(own, N * N, MPI_INT, all, N, type, size - 1, MPI_COMM_WORLD));
    for (int r = 0; rank == size - 1 && r < size; r++)
        for (int i = 0; i < N * N; i++)
            CHECK(all[i % N * width + r * N + i / N] == 1000 * r + i, "MPI_Gather, rank %d, item %d", r, i);
    memset(own, 0, sizeof own);
    MPI(MPI_Scatter(all, N, type, own, N * N, MPI_INT, size - 1, MPI_COMM_WORLD));
    for (int i = 0; i < N * N; i++)
        CHECK(own[i] == 1000 * rank + i, "MPI_Scatter, item %d", i);

    int *const counts = allocate(sizeof(int) * (size_t)size), *const places = allocate(sizeof(int) * (size_t)size);

    for (int r = 0; r < size; r++) {
        counts[r] = N;
        places[r] = N * (size - 1 - r);
    }
    memset(all, 0, sizeof(int) * (size_t)width * N);
    MPI(MPI_Allgatherv(own, N * N, MPI_INT, all, counts, places, type, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N * N; i++)
            CHECK(all[i % N * width + places[r] + i / N] == 1000 * r + i, "MPI_Allgatherv, rank %d, item %d", r, i);
    free(counts);
    free(places);
    MPI(MPI_Type_free(&type));
    MPI(MPI_Type_free(&column));
    free(all);
    free(packed);
}

static void packing(void)
{
    char buffer[100];
    int numbers[4] = {1, 2, 3, 4}, got[4] = {0}, place = 0, bytes;
    double real = 2.5, got_real = 0;

    MPI(MPI_Pack(numbers, 4, MPI_INT, buffer, sizeof buffer, &place, MPI_COMM_WORLD));
    MPI(MPI_Pack(&real, 1, MPI_DOUBLE, buffer, sizeof buffer, &place, MPI_COMM_WORLD));
    MPI(MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &bytes));
    CHECK(bytes >= 16 && place <= bytes + 16, "packed into %d bytes", place);
    char there[100];

    MPI(MPI_Sendrecv(buffer, place, MPI_PACKED, rank, 0, there, sizeof there, MPI_PACKED, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    place = 0;
    MPI(MPI_Unpack(there, sizeof there, &place, got, 4, MPI_INT, MPI_COMM_WORLD));
    MPI(MPI_Unpack(there, sizeof there, &place, &got_real, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(memcmp(got, numbers, sizeof got) == 0 && got_real == real, "unpacked values");
    /* Packed data may be received as what it is. */
    MPI(MPI_Sendrecv(there, 16, MPI_PACKED, rank, 0, got, 4, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got[3] == 4, "packed data received as integers");
}

static void errors(void)
{
    MPI_Datatype type, none = MPI_DATATYPE_NULL, predefined = MPI_INT;
    int one[1] = {1};
    const MPI_Aint bytes[1] = {0};
    char buffer[8];

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    FAILS(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_hindexed(-1, one, bytes, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Type_commit(&none), MPI_ERR_TYPE);
    FAILS(MPI_Type_free(&none), MPI_ERR_TYPE);
    FAILS(MPI_Type_free(&predefined), MPI_ERR_TYPE);
    MPI(MPI_Type_contiguous(2, MPI_INT, &type));
    FAILS(MPI_Send(buffer, 1, type, rank, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Type_free(&type));
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, one), MPI_ERR_TYPE);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    constructors();
    arrays();
    names();
    without_data();
    fortran();
    attributes();
    contents();
    elements();
    messages();
    large_messages();
    collectives();
    packing();
    errors();
    return end("datatypes");
}
