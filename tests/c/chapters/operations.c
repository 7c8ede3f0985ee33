/* operations.c - section 6.9.5 of the standard: reduction operations that a
 * program makes, in every reduction.
 *
 * Runs on any number of ranks. */
#include "../check.h"

/* A 2 x 2 matrix modulo a prime: products do not commute. */
struct matrix {
    int a, b, c, d;
};

enum { PRIME = 9973, ITEMS = 3, MANY = 5000 };

static int calls, largest;

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct matrix *x = in, *y = inout;
    int bytes = 0;

    /* Local functions work here. */
    MPI(MPI_Type_size(*type, &bytes));
    CHECK(bytes == (int)sizeof(struct matrix), "the operation gets a datatype of %d bytes", bytes);
    for (int i = 0; i < *count; i++) {
        const struct matrix p = x[i], q = y[i];

        y[i] = (struct matrix){(p.a * q.a + p.b * q.c) % PRIME, (p.a * q.b + p.b * q.d) % PRIME,
                               (p.c * q.a + p.d * q.c) % PRIME, (p.c * q.b + p.d * q.d) % PRIME};
    }
    calls++;
    largest = *count > largest ? *count : largest;
}

static struct matrix factor(int of, int item)
{
    return (struct matrix){of + 2, item + 1, 2 * of + 1, of + item + 3};
}

/* The product of the factors of ranks first to last. */
static struct matrix product(int first, int last, int item)
{
    struct matrix result = factor(first, item);

    for (int r = first + 1; r <= last; r++) {
        const struct matrix p = result, q = factor(r, item);

        result = (struct matrix){(p.a * q.a + p.b * q.c) % PRIME, (p.a * q.b + p.b * q.d) % PRIME,
                                 (p.c * q.a + p.d * q.c) % PRIME, (p.c * q.b + p.d * q.d) % PRIME};
    }
    return result;
}

static int same(struct matrix p, struct matrix q)
{
    return p.a == q.a && p.b == q.b && p.c == q.c && p.d == q.d;
}

static void noncommutative(int items)
{
    const size_t bytes = sizeof(struct matrix) * (size_t)items;
    struct matrix *const own = allocate(bytes * (size_t)size), *const got = allocate(bytes * (size_t)size);
    MPI_Datatype type;
    MPI_Request request;
    MPI_Op op;
    int commutes = 1;

    MPI(MPI_Type_contiguous(4, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Op_create(multiply, 0, &op));
    MPI(MPI_Op_commutative(op, &commutes));
    CHECK(commutes == 0, "the operation commutes");
    for (int i = 0; i < items; i++)
        own[i] = factor(rank, i % 100);
    for (int root = 0; root < size; root++) {
        MPI(MPI_Reduce(own, got, items, type, op, root, MPI_COMM_WORLD));
        for (int i = 0; rank == root && i < items; i++)
            CHECK(same(got[i], product(0, size - 1, i % 100)), "MPI_Reduce to %d, item %d", root, i);
        memcpy(got, own, bytes);
        MPI(MPI_Reduce(rank == root ? MPI_IN_PLACE : got, rank == root ? got : NULL, items, type, op, root,
                       MPI_COMM_WORLD));
        for (int i = 0; rank == root && i < items; i++)
            CHECK(same(got[i], product(0, size - 1, i % 100)), "MPI_Reduce in place to %d, item %d", root, i);
    }
    MPI(MPI_Allreduce(own, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(same(got[i], product(0, size - 1, i % 100)), "MPI_Allreduce, item %d", i);
    memcpy(got, own, bytes);
    MPI(MPI_Allreduce(MPI_IN_PLACE, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(same(got[i], product(0, size - 1, i % 100)), "MPI_Allreduce in place, item %d", i);
    MPI(MPI_Scan(own, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(same(got[i], product(0, rank, i % 100)), "MPI_Scan, item %d", i);
    MPI(MPI_Exscan(own, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; rank > 0 && i < items; i++)
        CHECK(same(got[i], product(0, rank - 1, i % 100)), "MPI_Exscan, item %d", i);
    for (int i = 0; i < items * size; i++)
        own[i] = factor(rank, i % 100);
    MPI(MPI_Reduce_scatter_block(own, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(same(got[i], product(0, size - 1, (rank * items + i) % 100)), "MPI_Reduce_scatter_block, item %d", i);
    int *const counts = allocate(sizeof(int) * (size_t)size);

    for (int r = 0; r < size; r++)
        counts[r] = items;
    MPI(MPI_Reduce_scatter(own, got, counts, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(same(got[i], product(0, size - 1, (rank * items + i) % 100)), "MPI_Reduce_scatter, item %d", i);
    free(counts);
    MPI(MPI_Reduce_local(own, got, 0, type, op));
    struct matrix x = factor(1, 1), y = factor(2, 1);

    MPI(MPI_Reduce_local(&x, &y, 1, type, op));
    CHECK(same(y, product(1, 2, 1)), "MPI_Reduce_local");
    for (int i = 0; i < items; i++)
        own[i] = factor(rank, i % 100);
    MPI(MPI_Iallreduce(own, got, items, type, op, MPI_COMM_WORLD, &request));
    MPI(MPI_Op_free(&op));
    MPI(MPI_Type_free(&type));
    CHECK(op == MPI_OP_NULL, "MPI_Op_free leaves the handle");
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < items; i++)
        CHECK(same(got[i], product(0, size - 1, i % 100)), "MPI_Iallreduce, item %d", i);
    free(own);
    free(got);
}

/* A value and its place, as programs did before MPI_MAXLOC suited them. */
struct pair {
    double value;
    int place;
};

static void larger(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct pair *x = in, *y = inout;

    (void)type;
    for (int i = 0; i < *count; i++)
        if (x[i].value > y[i].value || (x[i].value == y[i].value && x[i].place < y[i].place))
            y[i] = x[i];
}

/* Items with gaps: only the data is defined in the operation's memory. */
static void derived(int items)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype olds[2] = {MPI_DOUBLE, MPI_INT};
    struct pair *const own = allocate(sizeof(struct pair) * (size_t)items);
    struct pair *const got = allocate(sizeof(struct pair) * (size_t)items);
    MPI_Datatype type;
    MPI_Op op;

    memset(own, 0, sizeof(struct pair) * (size_t)items);
    MPI(MPI_Type_create_struct(2, lengths, places, olds, &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Op_create(larger, 1, &op));
    for (int i = 0; i < items; i++) {
        own[i].value = (rank + i) % size;
        own[i].place = rank;
    }
    MPI(MPI_Allreduce(own, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(got[i].value == size - 1 && got[i].place == (size * MANY + size - 1 - i) % size,
              "MPI_Allreduce of pairs, item %d: %g of %d", i, got[i].value, got[i].place);
    for (int root = 0; root < size; root++) {
        memset(got, 0, sizeof(struct pair) * (size_t)items);
        MPI(MPI_Reduce(own, got, items, type, op, root, MPI_COMM_WORLD));
        for (int i = 0; rank == root && i < items; i++)
            CHECK(got[i].value == size - 1, "MPI_Reduce of pairs, item %d", i);
    }
    MPI(MPI_Scan(own, got, items, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < items; i++)
        CHECK(got[i].value >= own[i].value, "MPI_Scan of pairs, item %d", i);
    MPI(MPI_Op_free(&op));
    MPI(MPI_Type_free(&type));
    free(own);
    free(got);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    CHECK(*type == MPI_LONG, "a predefined datatype arrives as itself");
    for (int i = 0; i < *count; i++)
        ((long *)inout)[i] += ((long *)in)[i];
}

static void predefined(void)
{
    long *const own = allocate(sizeof(long) * MANY), *const got = allocate(sizeof(long) * MANY);
    MPI_Op op;

    MPI(MPI_Op_create(add, 1, &op));
    for (int items = 1; items <= MANY; items *= 10) {
        for (int i = 0; i < items; i++)
            own[i] = rank + i;
        MPI(MPI_Allreduce(own, got, items, MPI_LONG, op, MPI_COMM_WORLD));
        for (int i = 0; i < items; i++)
            CHECK(got[i] == (long)size * (size - 1) / 2 + (long)size * i, "sum of %d items, item %d", items, i);
    }
    MPI(MPI_Op_free(&op));
    free(own);
    free(got);
}

static void errors(void)
{
    MPI_Op none = MPI_OP_NULL, sum = MPI_SUM;
    int class = -1, x = 0, y = 0;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI(MPI_Error_class(MPI_Op_free(&none), &class));
    CHECK(class == MPI_ERR_OP || class == MPI_ERR_ARG, "MPI_Op_free of null: class %d", class);
    MPI(MPI_Error_class(MPI_Op_free(&sum), &class));
    CHECK(class == MPI_ERR_OP || class == MPI_ERR_ARG, "MPI_Op_free of MPI_SUM: class %d", class);
    MPI(MPI_Error_class(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_SELF), &class));
    CHECK(class == MPI_ERR_OP, "MPI_OP_NULL: class %d", class);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    noncommutative(ITEMS);
    noncommutative(MANY);
    CHECK(calls > 0, "the operation was never called");
    derived(ITEMS);
    derived(MANY);
    predefined();
    errors();
    return end("operations");
}
