/* neighbours.c - neighbourhood collectives, blocking and non-blocking (MPI 5.0,
 * sections 8.6 and 8.7), over grids, graphs and distributed graphs. Any number of
 * ranks. */
#include "../check.h"

#ifdef MPICH_NAME
/* MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array that is too short. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { MOST = 16, ITEMS = 5, BLOCK = 40 };

/* The neighbours of this rank, and the place that each source has for it. */
struct neighbours {
    MPI_Comm comm;
    int in, out;
    int sources[MOST], destinations[MOST];
    int places[MOST]; /* the number of the block that the source sends here */
    const char *what;
};

static int own;

/* Item `i` of block `block` that rank `r` sends. */
static int item(int r, int block, int i)
{
    return r * 10000 + block * 100 + i;
}

static void verify_block(const struct neighbours *n, int source, const int *got, int items, int block,
                         const char *call)
{
    for (int i = 0; i < items; i++) {
        const int wanted =
            n->sources[source] == MPI_PROC_NULL ? -1 : item(n->sources[source], block, i);

        CHECK(got[i] == wanted, "%s, %s: item %d from neighbour %d (rank %d) is %d instead of %d",
              n->what, call, i, source, n->sources[source], got[i], wanted);
    }
    CHECK(got[items] == -1, "%s, %s: written behind the block of neighbour %d", n->what, call, source);
}

static void all_calls(const struct neighbours *n, int is_immediate)
{
    static int out[MOST * BLOCK], in[MOST * BLOCK];
    int counts_out[MOST], counts_in[MOST], at_out[MOST], at_in[MOST];
    MPI_Aint bytes_out[MOST], bytes_in[MOST];
    MPI_Datatype types[MOST];
    MPI_Request r = MPI_REQUEST_NULL;

#define BOTH(name, ...)                                                                                \
    do {                                                                                               \
        for (int i_ = 0; i_ < MOST * BLOCK; i_++)                                                      \
            in[i_] = -1;                                                                               \
        if (is_immediate) {                                                                            \
            MPI(MPI_Ineighbor_##name(__VA_ARGS__, n->comm, &r));                                       \
            MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                      \
            CHECK(r == MPI_REQUEST_NULL, "the request of a neighbourhood call stays");                 \
        } else {                                                                                       \
            MPI(MPI_Neighbor_##name(__VA_ARGS__, n->comm));                                            \
        }                                                                                              \
    } while (0)

    for (int i = 0; i < ITEMS; i++)
        out[i] = item(own, 0, i);
    BOTH(allgather, out, ITEMS, MPI_INT, in, ITEMS, MPI_INT);
    for (int s = 0; s < n->in; s++)
        for (int i = 0; i < ITEMS; i++) {
            const int wanted = n->sources[s] == MPI_PROC_NULL ? -1 : item(n->sources[s], 0, i);

            CHECK(in[s * ITEMS + i] == wanted, "%s: MPI_Neighbor_allgather: %d from %d", n->what,
                  in[s * ITEMS + i], n->sources[s]);
        }
    CHECK(in[n->in * ITEMS] == -1, "%s: MPI_Neighbor_allgather wrote too much", n->what);

    for (int s = 0; s < n->in; s++) {
        counts_in[s] = ITEMS;
        at_in[s] = (n->in - 1 - s) * BLOCK;
    }
    BOTH(allgatherv, out, ITEMS, MPI_INT, in, counts_in, at_in, MPI_INT);
    for (int s = 0; s < n->in; s++)
        verify_block(n, s, in + at_in[s], ITEMS, 0, "MPI_Neighbor_allgatherv");

    for (int d = 0; d < n->out; d++)
        for (int i = 0; i < ITEMS; i++)
            out[d * ITEMS + i] = item(own, d, i);
    BOTH(alltoall, out, ITEMS, MPI_INT, in, ITEMS, MPI_INT);
    for (int s = 0; s < n->in; s++)
        for (int i = 0; i < ITEMS; i++) {
            const int wanted = n->sources[s] == MPI_PROC_NULL ? -1 : item(n->sources[s], n->places[s], i);

            CHECK(in[s * ITEMS + i] == wanted, "%s: MPI_Neighbor_alltoall: %d from %d instead of %d",
                  n->what, in[s * ITEMS + i], n->sources[s], wanted);
        }
    CHECK(in[n->in * ITEMS] == -1, "%s: MPI_Neighbor_alltoall wrote too much", n->what);

    /* The length of a block depends on its number. */
    for (int d = 0; d < n->out; d++) {
        counts_out[d] = d + 1;
        at_out[d] = (n->out - 1 - d) * BLOCK;
        bytes_out[d] = (MPI_Aint)sizeof(int) * at_out[d];
        for (int i = 0; i < counts_out[d]; i++)
            out[at_out[d] + i] = item(own, d, i);
    }
    for (int s = 0; s < n->in; s++) {
        counts_in[s] = n->places[s] + 1;
        at_in[s] = s * BLOCK + 1;
        bytes_in[s] = (MPI_Aint)sizeof(int) * at_in[s];
    }
    for (int i = 0; i < MOST; i++)
        types[i] = MPI_INT;
    BOTH(alltoallv, out, counts_out, at_out, MPI_INT, in, counts_in, at_in, MPI_INT);
    for (int s = 0; s < n->in; s++)
        verify_block(n, s, in + at_in[s], counts_in[s], n->places[s], "MPI_Neighbor_alltoallv");
    BOTH(alltoallw, out, counts_out, bytes_out, types, in, counts_in, bytes_in, types);
    for (int s = 0; s < n->in; s++)
        verify_block(n, s, in + at_in[s], counts_in[s], n->places[s], "MPI_Neighbor_alltoallw");
}

static void both_forms(struct neighbours *n)
{
    if (n->comm == MPI_COMM_NULL)
        return;
    MPI(MPI_Comm_rank(n->comm, &own));
    for (int turn = 0; turn < 3; turn++) {
        all_calls(n, 0);
        all_calls(n, 1);
    }
    MPI(MPI_Comm_free(&n->comm));
}

/* A grid: what is sent in a direction arrives from the opposite one. */
static void grid(int ndims, int a, int b, int periodic, const char *what)
{
    const int dims[2] = {a, b}, periods[2] = {periodic, periodic};
    struct neighbours n = {.what = what, .in = 2 * ndims, .out = 2 * ndims};

#ifdef MPICH_NAME
    /* MPICH 4.0 has the directions right only in MPI_Neighbor_alltoall where both lead to one rank. */
    if (periodic && (a < 3 || (ndims > 1 && b < 3)))
        return;
#endif
    MPI(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &n.comm));
    if (n.comm != MPI_COMM_NULL)
        for (int d = 0; d < ndims; d++) {
            MPI(MPI_Cart_shift(n.comm, d, 1, &n.sources[2 * d], &n.sources[2 * d + 1]));
            n.places[2 * d] = 2 * d + 1;
            n.places[2 * d + 1] = 2 * d;
        }
    memcpy(n.destinations, n.sources, sizeof n.sources);
    both_forms(&n);
}

/* A graph: everybody is everybody's neighbour. */
static void graph(void)
{
    int index[MOST], edges[MOST * MOST], k = 0;
    struct neighbours n = {.what = "graph", .in = size - 1, .out = size - 1};

    for (int r = 0; r < size; r++) {
        for (int other = 0; other < size; other++)
            if (other != r)
                edges[k++] = other;
        index[r] = k;
    }
    for (int i = 0; i < size - 1; i++) {
        n.sources[i] = n.destinations[i] = i < rank ? i : i + 1;
        n.places[i] = rank < n.sources[i] ? rank : rank - 1;
    }
    MPI(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &n.comm));
    both_forms(&n);
}

/* Edges in one direction, to oneself, and nowhere. */
static void dist_graphs(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct neighbours ring = {.what = "ring", .in = 1, .out = 1};
    struct neighbours loops = {.what = "loops", .in = 3, .out = 3};
    struct neighbours star = {.what = "star"}, none = {.what = "no edges"};
#ifdef MPICH_NAME
    /* MPICH 4.0 hangs in MPI_Neighbor_alltoallw, one run in three, if rank 0 sends to itself in the star. */
    const int first = 1;
#else
    const int first = 0;
#endif

    ring.sources[0] = left;
    ring.destinations[0] = right;
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, ring.sources, MPI_UNWEIGHTED, 1, ring.destinations,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring.comm));
    both_forms(&ring);

#ifdef MPICH_NAME
    /* MPICH 4.0 exchanges the messages of two edges between the same ranks. */
    loops.in = loops.out = size > 1 ? 2 : 1;
#endif
    /* Two edges to the right: their messages keep their order. */
    loops.sources[0] = left, loops.sources[1] = rank, loops.sources[2] = left;
    loops.destinations[0] = right, loops.destinations[1] = rank, loops.destinations[2] = right;
    loops.places[0] = 0, loops.places[1] = 1, loops.places[2] = 2;
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, loops.in, loops.sources, MPI_UNWEIGHTED, loops.out,
                                       loops.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &loops.comm));
    both_forms(&loops);

    /* Everybody sends to rank 0 only. */
    star.out = rank >= first;
    star.in = rank == 0 ? size - first : 0;
    for (int i = 0; i < star.in; i++)
        star.sources[i] = first + i;
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, star.in, star.sources, MPI_UNWEIGHTED, star.out,
                                       star.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star.comm));
    both_forms(&star);

    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none.sources, MPI_UNWEIGHTED, 0,
                                       none.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none.comm));
    both_forms(&none);
}

/* Several operations at a time, and long messages, on a ring. */
static void several(void)
{
    enum { OPERATIONS = 6, LONG = 60000 };
    const int dims[1] = {size}, periods[1] = {0};
    int *out = allocate(sizeof(int) * 2 * LONG), *in = allocate(sizeof(int) * 2 * LONG * OPERATIONS);
    int low, high, flag = 0, sum = 0;
    MPI_Request r[OPERATIONS];
    MPI_Comm comm;

    MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    MPI(MPI_Cart_shift(comm, 0, 1, &low, &high));
    for (int i = 0; i < 2 * LONG; i++)
        out[i] = rank * 7 + i;
    for (int i = 0; i < 2 * LONG * OPERATIONS; i++)
        in[i] = -1;
    for (int k = 0; k < OPERATIONS; k++)
        MPI(MPI_Ineighbor_alltoall(out, LONG - k, MPI_INT, in + 2 * LONG * k, LONG - k, MPI_INT, comm, &r[k]));
    MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2, "a reduction beside them: %d", sum);
    do
        MPI(MPI_Test(&r[OPERATIONS - 1], &flag, MPI_STATUS_IGNORE));
    while (!flag);
    MPI(MPI_Waitall(OPERATIONS, r, MPI_STATUSES_IGNORE));
    for (int k = 0; k < OPERATIONS; k++) {
        const int *block = in + 2 * LONG * k, n = LONG - k;

        for (int i = 0; i < n; i++) {
            CHECK(block[i] == (low == MPI_PROC_NULL ? -1 : low * 7 + n + i), "operation %d: %d", k, block[i]);
            CHECK(block[n + i] == (high == MPI_PROC_NULL ? -1 : high * 7 + i), "operation %d: %d", k,
                  block[n + i]);
        }
    }
    MPI(MPI_Comm_free(&comm));
    free(out);
    free(in);
}

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void errors(void)
{
    const int dims[1] = {size}, periods[1] = {0};
    int out[2] = {1, 2}, in[2] = {-1, -1}, code;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Comm comm;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(class_of(code) == MPI_ERR_TOPOLOGY, "without a topology: %d", code);
    code = MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &r);
    CHECK(class_of(code) == MPI_ERR_TOPOLOGY, "without a topology: %d", code);
    MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    code = MPI_Neighbor_alltoall(out, -1, MPI_INT, in, 1, MPI_INT, comm);
    CHECK(class_of(code) == MPI_ERR_COUNT, "a negative count: %d", code);
    code = MPI_Neighbor_allgather(out, 1, MPI_INT, in, -1, MPI_INT, comm);
    CHECK(class_of(code) == MPI_ERR_COUNT, "a negative count: %d", code);
    code = MPI_Neighbor_allgather(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm);
    CHECK(class_of(code) == MPI_ERR_TYPE, "no datatype: %d", code);
    code = MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_NULL);
    CHECK(class_of(code) == MPI_ERR_COMM, "no communicator: %d", code);
    /* None of them has sent anything. */
    MPI(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    CHECK(in[0] == (rank == 0 ? -1 : 2) && in[1] == (rank == size - 1 ? -1 : 1), "after errors: %d %d", in[0],
          in[1]);
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    grid(1, size, 0, 0, "line");
    grid(1, size, 0, 1, "circle");
    grid(2, size, 1, 0, "narrow grid");
    grid(2, size, 1, 1, "narrow torus");
    if (size > 3) {
        grid(2, size / 2, 2, 0, "grid");
        grid(2, size / 2, 2, 1, "torus");
    }
    graph();
    dist_graphs();
    several();
    errors();
    return end("neighbours");
}
