/* topologies.c - grids, graphs and distributed graphs (MPI 5.0, chapter 8): how
 * they are made, asked for, divided and copied, and wrong arguments. Any number
 * of ranks. */
#include "../check.h"

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void dims_are(int ranks, int ndims, int a, int b, int c, int wa, int wb, int wc)
{
    int dims[3] = {a, b, c};
    const int wanted[3] = {wa, wb, wc};

    MPI(MPI_Dims_create(ranks, ndims, dims));
    for (int i = 0; i < ndims; i++)
        CHECK(dims[i] == wanted[i], "MPI_Dims_create(%d, %d): dimension %d is %d instead of %d", ranks,
              ndims, i, dims[i], wanted[i]);
}

static void dimensions(void)
{
    dims_are(6, 2, 0, 0, 0, 3, 2, 0);
    dims_are(7, 2, 0, 0, 0, 7, 1, 0);
    dims_are(6, 3, 0, 3, 0, 2, 3, 1);
    dims_are(1, 3, 0, 0, 0, 1, 1, 1);
    dims_are(8, 3, 0, 0, 0, 2, 2, 2);
    dims_are(12, 2, 0, 0, 0, 4, 3, 0);
    dims_are(16, 2, 0, 0, 0, 4, 4, 0);
    dims_are(24, 3, 0, 0, 0, 4, 3, 2);
    dims_are(64, 3, 0, 0, 0, 4, 4, 4);
    dims_are(60, 3, 0, 0, 0, 5, 4, 3);
    dims_are(100, 2, 0, 0, 0, 10, 10, 0);
    dims_are(12, 3, 0, 2, 0, 3, 2, 2);
    dims_are(5, 1, 0, 0, 0, 5, 0, 0);
    dims_are(6, 2, 2, 3, 0, 2, 3, 0);
    for (int n = 1; n <= 200; n++) {
        int d[3] = {0, 0, 0};

        MPI(MPI_Dims_create(n, 3, d));
        CHECK(d[0] * d[1] * d[2] == n && d[0] >= d[1] && d[1] >= d[2] && d[2] > 0,
              "MPI_Dims_create(%d, 3): %d %d %d", n, d[0], d[1], d[2]);
    }
}

/* Coordinates and ranks of a grid whose first dimension is not periodic. */
static void grid(int first, int second)
{
    const int dims[2] = {first, second}, periods[2] = {0, 1};
    int got[2] = {-1, -1}, are[2] = {-1, -1}, at[2] = {-1, -1}, kind = -1, n = -1, own = -1, place = -1;
    int low = -9, high = -9;
    MPI_Comm comm, copy;

    MPI(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &place));
    CHECK(place == (rank < first * second ? rank : MPI_UNDEFINED), "MPI_Cart_map: %d", place);
    /* A grid without ranks, as few ranks divided by many make it. */
    const int none[2] = {size, 0};

    MPI(MPI_Cart_map(MPI_COMM_WORLD, 2, none, periods, &place));
    CHECK(place == MPI_UNDEFINED, "MPI_Cart_map of a grid without ranks: %d", place);
    MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    if (rank >= first * second) {
        CHECK(comm == MPI_COMM_NULL, "a rank beyond the grid has a communicator");
        return;
    }
    CHECK(comm != MPI_COMM_NULL, "a rank of the grid has no communicator");
    MPI(MPI_Comm_size(comm, &n));
    CHECK(n == first * second, "a grid of %d ranks", n);
    MPI(MPI_Comm_rank(comm, &own));
    MPI(MPI_Topo_test(comm, &kind));
    CHECK(kind == MPI_CART, "MPI_Topo_test: %d", kind);
    MPI(MPI_Cartdim_get(comm, &n));
    CHECK(n == 2, "MPI_Cartdim_get: %d", n);
    /* The copy has the same topology. */
    MPI(MPI_Comm_dup(comm, &copy));
    MPI(MPI_Topo_test(copy, &kind));
    CHECK(kind == MPI_CART, "MPI_Topo_test of a copy: %d", kind);
    MPI(MPI_Comm_free(&comm));
    comm = copy;

    MPI(MPI_Cart_get(comm, 2, got, are, at));
    CHECK(got[0] == first && got[1] == second, "MPI_Cart_get: %d x %d", got[0], got[1]);
    CHECK(!are[0] && are[1], "MPI_Cart_get: periods %d %d", are[0], are[1]);
    CHECK(at[0] == own / second && at[1] == own % second, "MPI_Cart_get: at %d %d", at[0], at[1]);
    for (int r = 0; r < first * second; r++) {
        int c[2] = {-1, -1}, back = -1;

        MPI(MPI_Cart_coords(comm, r, 2, c));
        CHECK(c[0] == r / second && c[1] == r % second, "MPI_Cart_coords of %d: %d %d", r, c[0], c[1]);
        MPI(MPI_Cart_rank(comm, c, &back));
        CHECK(back == r, "MPI_Cart_rank of %d %d: %d", c[0], c[1], back);
        /* Coordinates of a periodic dimension may be outside. */
        c[1] -= 3 * second;
        MPI(MPI_Cart_rank(comm, c, &back));
        CHECK(back == r, "MPI_Cart_rank of %d %d: %d", c[0], c[1], back);
    }
    for (int steps = -2; steps <= 2; steps++) {
        const int up = at[0] + steps, down = at[0] - steps;

        MPI(MPI_Cart_shift(comm, 0, steps, &low, &high));
        CHECK(high == (up < 0 || up >= first ? MPI_PROC_NULL : up * second + at[1]),
              "MPI_Cart_shift by %d: to %d", steps, high);
        CHECK(low == (down < 0 || down >= first ? MPI_PROC_NULL : down * second + at[1]),
              "MPI_Cart_shift by %d: from %d", steps, low);
        MPI(MPI_Cart_shift(comm, 1, steps, &low, &high));
        CHECK(high == at[0] * second + (at[1] + steps + 2 * second) % second,
              "MPI_Cart_shift by %d: to %d", steps, high);
        CHECK(low == at[0] * second + (at[1] - steps + 2 * second) % second,
              "MPI_Cart_shift by %d: from %d", steps, low);
    }

    /* Rows, columns and single ranks. */
    for (int keep = 0; keep < 4; keep++) {
        int remain[2] = {keep & 1, keep >> 1}, size_wanted, rank_wanted, sum = -1, all = 0;
        MPI_Comm part;

#ifdef MPICH_NAME
        /* MPICH 4.0 makes no communicators without dimensions, except at rank 0. */
        if (keep == 0)
            continue;
#endif
        MPI(MPI_Cart_sub(comm, remain, &part));
        size_wanted = (remain[0] ? first : 1) * (remain[1] ? second : 1);
        rank_wanted = remain[0] && remain[1] ? own : remain[0] ? at[0] : remain[1] ? at[1] : 0;
        MPI(MPI_Comm_size(part, &n));
        CHECK(n == size_wanted, "MPI_Cart_sub %d: %d ranks", keep, n);
        MPI(MPI_Comm_rank(part, &n));
        CHECK(n == rank_wanted, "MPI_Cart_sub %d: rank %d", keep, n);
        MPI(MPI_Cartdim_get(part, &n));
        CHECK(n == remain[0] + remain[1], "MPI_Cart_sub %d: %d dimensions", keep, n);
        MPI(MPI_Topo_test(part, &kind));
        CHECK(kind == MPI_CART, "MPI_Cart_sub %d: %d", keep, kind);
        if (n == 1) {
            MPI(MPI_Cart_get(part, 1, got, are, &all));
            CHECK(got[0] == size_wanted && are[0] == remain[1] && all == rank_wanted,
                  "MPI_Cart_sub %d: %d ranks, periodic %d, at %d", keep, got[0], are[0], all);
        }
        MPI(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, part));
        all = 0;
        for (int r = 0; r < first * second; r++)
            if ((remain[0] || r / second == at[0]) && (remain[1] || r % second == at[1]))
                all += r;
        CHECK(sum == all, "MPI_Cart_sub %d: the ranks add up to %d instead of %d", keep, sum, all);
        MPI(MPI_Comm_free(&part));
    }
    MPI(MPI_Comm_free(&comm));
}

static void grid_without_dimensions(void)
{
    const int nothing[1] = {0};
    int n = -1, kind = -1;
    MPI_Comm comm;

    MPI(MPI_Cart_create(MPI_COMM_WORLD, 0, nothing, nothing, 0, &comm));
    CHECK((comm != MPI_COMM_NULL) == (rank == 0), "a grid without dimensions at rank %d", rank);
    if (rank == 0) {
        MPI(MPI_Comm_size(comm, &n));
        CHECK(n == 1, "a grid without dimensions: %d ranks", n);
        MPI(MPI_Cartdim_get(comm, &n));
        CHECK(n == 0, "a grid without dimensions: %d", n);
        MPI(MPI_Topo_test(comm, &kind));
        CHECK(kind == MPI_CART, "a grid without dimensions: %d", kind);
        MPI(MPI_Comm_free(&comm));
    }
}

/* A ring as a graph; messages go along its edges. */
static void graph(int ranks)
{
    int *index = allocate(sizeof(int) * (size_t)ranks), *edges = allocate(sizeof(int) * 2 * (size_t)ranks);
    int *got = allocate(sizeof(int) * 2 * (size_t)ranks), *got_edges = allocate(sizeof(int) * 2 * (size_t)ranks);
    int kind = -1, n = -1, m = -1, own = -1, place = -1;
    MPI_Comm comm, copy;

    for (int i = 0; i < ranks; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + ranks - 1) % ranks;
        edges[2 * i + 1] = (i + 1) % ranks;
    }
    MPI(MPI_Graph_map(MPI_COMM_WORLD, ranks, index, edges, &place));
    CHECK(place == (rank < ranks ? rank : MPI_UNDEFINED), "MPI_Graph_map: %d", place);
    MPI(MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &comm));
    CHECK((comm == MPI_COMM_NULL) == (rank >= ranks), "MPI_Graph_create at rank %d of %d", rank, ranks);
    if (comm != MPI_COMM_NULL) {
        MPI(MPI_Comm_dup(comm, &copy));
        MPI(MPI_Comm_free(&comm));
        comm = copy;
        MPI(MPI_Comm_rank(comm, &own));
        MPI(MPI_Topo_test(comm, &kind));
        CHECK(kind == MPI_GRAPH, "MPI_Topo_test: %d", kind);
        MPI(MPI_Graphdims_get(comm, &n, &m));
        CHECK(n == ranks && m == 2 * ranks, "MPI_Graphdims_get: %d %d", n, m);
        MPI(MPI_Graph_get(comm, n, m, got, got_edges));
        CHECK(memcmp(got, index, sizeof(int) * (size_t)n) == 0, "MPI_Graph_get: index");
        CHECK(memcmp(got_edges, edges, sizeof(int) * (size_t)m) == 0, "MPI_Graph_get: edges");
        for (int r = 0; r < ranks; r++) {
            int two[2] = {-1, -1};

            MPI(MPI_Graph_neighbors_count(comm, r, &n));
            CHECK(n == 2, "MPI_Graph_neighbors_count of %d: %d", r, n);
            MPI(MPI_Graph_neighbors(comm, r, 2, two));
            CHECK(two[0] == edges[2 * r] && two[1] == edges[2 * r + 1],
                  "MPI_Graph_neighbors of %d: %d %d", r, two[0], two[1]);
        }
        MPI(MPI_Sendrecv(&own, 1, MPI_INT, edges[2 * own + 1], 1, &n, 1, MPI_INT, edges[2 * own], 1, comm,
                         MPI_STATUS_IGNORE));
        CHECK(n == edges[2 * own], "along the edges: %d", n);
        MPI(MPI_Comm_free(&comm));
    }
    free(index);
    free(edges);
    free(got);
    free(got_edges);
}

/* Graphs with ranks that have different numbers of neighbours, and none. */
static void uneven_graph(void)
{
    int *index = allocate(sizeof(int) * (size_t)size), *edges = allocate(sizeof(int) * (size_t)size), n = -1;
    MPI_Comm comm;

    /* A star whose centre has all edges, also one to itself. */
    for (int i = 0; i < size; i++) {
        index[i] = size;
        edges[i] = i;
    }
    MPI(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &comm));
    for (int r = 0; r < size; r++) {
        MPI(MPI_Graph_neighbors_count(comm, r, &n));
        CHECK(n == (r == 0 ? size : 0), "a star: rank %d has %d neighbours", r, n);
    }
    MPI(MPI_Comm_free(&comm));
    free(index);
    free(edges);
}

static void verify_edges(MPI_Comm comm, int indegree, const int *sources, const int *in_weights,
                         int outdegree, const int *destinations, const int *out_weights, int weighted)
{
    int kind = -1, in = -1, out = -1, has = -1, s[16], sw[16], d[16], dw[16];

    MPI(MPI_Topo_test(comm, &kind));
    CHECK(kind == MPI_DIST_GRAPH, "MPI_Topo_test: %d", kind);
    MPI(MPI_Dist_graph_neighbors_count(comm, &in, &out, &has));
    CHECK(in == indegree && out == outdegree, "degrees %d and %d instead of %d and %d", in, out, indegree,
          outdegree);
    CHECK(!has == !weighted, "weighted: %d", has);
    for (int i = 0; i < 16; i++)
        s[i] = sw[i] = d[i] = dw[i] = -5;
    MPI(MPI_Dist_graph_neighbors(comm, in, s, weighted ? sw : MPI_UNWEIGHTED, out, d,
                                 weighted ? dw : MPI_UNWEIGHTED));
    /* The order of the edges is the library's, so each is looked for. */
    for (int i = 0; i < indegree; i++) {
        int found = 0;

        for (int j = 0; j < in && !found; j++)
            if (s[j] == sources[i] && (!weighted || sw[j] == in_weights[i])) {
                s[j] = -7;
                found = 1;
            }
        CHECK(found, "no edge from %d", sources[i]);
    }
    for (int i = 0; i < outdegree; i++) {
        int found = 0;

        for (int j = 0; j < out && !found; j++)
            if (d[j] == destinations[i] && (!weighted || dw[j] == out_weights[i])) {
                d[j] = -7;
                found = 1;
            }
        CHECK(found, "no edge to %d", destinations[i]);
    }
    CHECK(s[in] == -5 && d[out] == -5, "written behind the edges");
}

static void adjacent(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const int sources[2] = {left, rank}, destinations[2] = {right, rank};
    /* An edge has the same weight at both ends. */
    const int in[2] = {100 + left, 7}, out[2] = {100 + rank, 7};
    int *nothing = NULL, s[2] = {-1, -1}, d[2] = {-1, -1};
    MPI_Comm comm, copy;

    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, in, 2, destinations, out, MPI_INFO_NULL,
                                       0, &comm));
    verify_edges(comm, 2, sources, in, 2, destinations, out, 1);
    MPI(MPI_Dist_graph_neighbors(comm, 2, s, MPI_UNWEIGHTED, 2, d, MPI_UNWEIGHTED));
    CHECK(s[0] == left && s[1] == rank && d[0] == right && d[1] == rank, "the order of the edges");
    MPI(MPI_Comm_dup(comm, &copy));
    MPI(MPI_Comm_free(&comm));
    verify_edges(copy, 2, sources, in, 2, destinations, out, 1);
    MPI(MPI_Comm_free(&copy));
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    verify_edges(comm, 1, sources, in, 1, destinations, out, 0);
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nothing, MPI_WEIGHTS_EMPTY, 0, nothing,
                                       MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
    verify_edges(comm, 0, sources, in, 0, destinations, out, 1);
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nothing, MPI_UNWEIGHTED, 0, nothing,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    verify_edges(comm, 0, sources, in, 0, destinations, out, 0);
    MPI(MPI_Comm_free(&comm));
}

static void distributed(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int sources[8], degrees[8], destinations[8], weights[8], wanted[8], in[8];
    MPI_Comm comm;

    /* Every rank names its own edges to both sides. */
    sources[0] = rank;
    degrees[0] = 2;
    destinations[0] = right, destinations[1] = left;
    weights[0] = 10 + rank, weights[1] = 20 + rank;
    MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, destinations, weights, MPI_INFO_NULL, 0,
                              &comm));
    wanted[0] = left, wanted[1] = right;
    in[0] = 10 + left, in[1] = 20 + right;
    verify_edges(comm, 2, wanted, in, 2, destinations, weights, 1);
    MPI(MPI_Comm_free(&comm));

    /* Every rank names the edges of its neighbour. */
    sources[0] = right, sources[1] = right;
    degrees[0] = 1, degrees[1] = 1;
    destinations[0] = rank, destinations[1] = right;
    MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, destinations, MPI_UNWEIGHTED,
                              MPI_INFO_NULL, 0, &comm));
    wanted[0] = right, wanted[1] = rank;
    destinations[0] = left, destinations[1] = rank;
    verify_edges(comm, 2, wanted, in, 2, destinations, weights, 0);
    MPI(MPI_Comm_free(&comm));

    /* Rank 0 names all edges: a ring. */
    if (rank == 0) {
        for (int i = 0; i < size && i < 8; i++) {
            sources[i] = i;
            degrees[i] = 1;
            destinations[i] = (i + 1) % size;
            weights[i] = i * i;
        }
        MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, size, sources, degrees, destinations, weights,
                                  MPI_INFO_NULL, 0, &comm));
    } else {
        MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, sources, degrees, destinations, weights,
                                  MPI_INFO_NULL, 0, &comm));
    }
    wanted[0] = left;
    in[0] = left * left;
    destinations[0] = right;
    weights[0] = rank * rank;
    verify_edges(comm, 1, wanted, in, 1, destinations, weights, 1);
    MPI(MPI_Comm_free(&comm));

    /* Nobody names any. */
    MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, sources, degrees, destinations, MPI_UNWEIGHTED,
                              MPI_INFO_NULL, 0, &comm));
    verify_edges(comm, 0, wanted, in, 0, destinations, weights, 0);
    MPI(MPI_Comm_free(&comm));
}

#define FAILS(call, wanted)                                                                            \
    do {                                                                                               \
        const int code_ = (call);                                                                      \
        CHECK(class_of(code_) == (wanted), "%s returned %d", #call, code_);                            \
    } while (0)

static void errors(void)
{
    const int two[2] = {size, 2}, ones[2] = {1, 1}, zeros[2] = {0, 0};
    int out[2] = {size, 0}, in = -1, n = -1, dims[2];
    MPI_Comm comm = MPI_COMM_NULL, flat;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI(MPI_Topo_test(MPI_COMM_WORLD, &n));
    CHECK(n == MPI_UNDEFINED, "MPI_Topo_test of MPI_COMM_WORLD: %d", n);
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, two, zeros, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(MPI_COMM_NULL, 1, ones, zeros, 0, &comm), MPI_ERR_COMM);
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, -1, ones, zeros, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(MPI_COMM_WORLD, ones, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_sub(MPI_COMM_WORLD, ones, &comm), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &in, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graphdims_get(MPI_COMM_WORLD, &in, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &in, &n, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Topo_test(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, zeros, 0, &flat));
    MPI(MPI_Comm_set_errhandler(flat, MPI_ERRORS_RETURN));
    FAILS(MPI_Cart_rank(flat, out, &n), MPI_ERR_ARG);
    out[0] = -1;
    FAILS(MPI_Cart_rank(flat, out, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(flat, size, 1, out), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(flat, -1, 1, out), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(flat, 0, 0, out), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(flat, 1, 1, &in, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(flat, -1, 1, &in, &n), MPI_ERR_ARG);
    FAILS(MPI_Graphdims_get(flat, &in, &n), MPI_ERR_TOPOLOGY);
    MPI(MPI_Comm_free(&flat));
    dims[0] = size + 1, dims[1] = 0;
    FAILS(MPI_Dims_create(size, 2, dims), MPI_ERR_DIMS);
    dims[0] = -1, dims[1] = 0;
    FAILS(MPI_Dims_create(size, 2, dims), MPI_ERR_DIMS);
    dims[0] = size, dims[1] = 2;
    FAILS(MPI_Dims_create(size, 2, dims), MPI_ERR_DIMS);
    CHECK(dims[0] == size && dims[1] == 2, "MPI_Dims_create changed dimensions with an error");
#ifndef MPICH_NAME
    /* MPICH 4.0 takes these, or does not end. */
    const int far[1] = {size};

    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, far, MPI_UNWEIGHTED, 0, far, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &comm) != MPI_SUCCESS,
          "an edge from no rank");
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, zeros, MPI_UNWEIGHTED, 0, far, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &comm) != MPI_SUCCESS,
          "-1 edges");
    const int less[1] = {-1};

    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, less, zeros, 0, &comm), MPI_ERR_DIMS);
    dims[0] = dims[1] = 0;
    FAILS(MPI_Dims_create(0, 2, dims), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, -1, ones, zeros, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, 1, ones, far, 0, &comm), MPI_ERR_RANK);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, zeros, ones, far, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
          MPI_ERR_RANK);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, zeros, ones, zeros, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                                &comm),
          MPI_ERR_ARG);
#endif
    CHECK(comm == MPI_COMM_NULL, "a failed call made a communicator");
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    dimensions();
    grid(size, 1);
    grid(1, size);
    grid(1, 1);
    if (size % 2 == 0) {
        grid(2, size / 2);
        grid(size / 2, 2);
    }
    if (size >= 3)
        grid(size - 1, 1);
    grid_without_dimensions();
    graph(size);
    graph(1);
    if (size > 2)
        graph(size - 1);
    uneven_graph();
    adjacent();
    distributed();
    errors();
    return end("topologies");
}
