/* absolute_addresses.c - MPI_BOTTOM in collective calls: in the datatypes of
 * MPI_Alltoallw, in its displacements, and in those of the neighbours' call.
 *
 * Runs on any number of ranks. */
#include "../check.h"

enum { N = 3 };

static int *in, *out;

static void prepare(void)
{
    for (int i = 0; i < N * size; i++) {
        in[i] = rank * 1000 + i;
        out[i] = -1;
    }
}

static void arrived(const char *what)
{
    for (int i = 0; i < N * size; i++)
        CHECK(out[i] == i / N * 1000 + rank * N + i % N, "%s: item %d is %d", what, i, out[i]);
}

/* The blocks are at addresses of their own: both buffers are MPI_BOTTOM and yet different memory. */
static void in_datatypes(void)
{
    MPI_Datatype *const from = allocate(sizeof(MPI_Datatype) * (size_t)size), *const to = allocate(
        sizeof(MPI_Datatype) * (size_t)size);
    int *const ones = allocate(sizeof(int) * (size_t)size), *const zeros = allocate(sizeof(int) * (size_t)size);
    MPI_Request request;

    for (int r = 0; r < size; r++) {
        const int length = N;
        MPI_Aint place;

        MPI(MPI_Get_address(&in[N * r], &place));
        MPI(MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &from[r]));
        MPI(MPI_Type_commit(&from[r]));
        MPI(MPI_Get_address(&out[N * r], &place));
        MPI(MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &to[r]));
        MPI(MPI_Type_commit(&to[r]));
        ones[r] = 1;
        zeros[r] = 0;
    }
    prepare();
    MPI(MPI_Alltoallw(MPI_BOTTOM, ones, zeros, from, MPI_BOTTOM, ones, zeros, to, MPI_COMM_WORLD));
    arrived("MPI_Alltoallw of MPI_BOTTOM");
    prepare();
    MPI(MPI_Ialltoallw(MPI_BOTTOM, ones, zeros, from, MPI_BOTTOM, ones, zeros, to, MPI_COMM_WORLD, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    arrived("MPI_Ialltoallw of MPI_BOTTOM");
    for (int r = 0; r < size; r++) {
        MPI(MPI_Type_free(&from[r]));
        MPI(MPI_Type_free(&to[r]));
    }
    free(from);
    free(to);
    free(ones);
    free(zeros);
}

/* The datatypes are predefined; the displacements are addresses (of one side: MPICH takes two MPI_BOTTOM for one buffer). */
static void in_displacements(void)
{
    MPI_Datatype *const types = allocate(sizeof(MPI_Datatype) * (size_t)size);
    MPI_Count *const counts = allocate(sizeof(MPI_Count) * (size_t)size);
    MPI_Aint *const from = allocate(sizeof(MPI_Aint) * (size_t)size), *const to = allocate(
        sizeof(MPI_Aint) * (size_t)size);

    for (int r = 0; r < size; r++) {
        types[r] = MPI_INT;
        counts[r] = N;
        MPI(MPI_Get_address(&in[N * r], &from[r]));
        to[r] = N * r * (MPI_Aint)sizeof(int);
    }
    prepare();
    MPI(MPI_Alltoallw_c(MPI_BOTTOM, counts, from, types, out, counts, to, types, MPI_COMM_WORLD));
    arrived("MPI_Alltoallw_c of addresses");
    free(types);
    free(counts);
    free(from);
    free(to);
}

/* Every rank has itself and the next ranks as neighbours, all of them as in MPI_Alltoallw. */
static void of_neighbours(void)
{
    MPI_Datatype *const types = allocate(sizeof(MPI_Datatype) * (size_t)size);
    int *const counts = allocate(sizeof(int) * (size_t)size), *const ranks = allocate(sizeof(int) * (size_t)size);
    MPI_Aint *const from = allocate(sizeof(MPI_Aint) * (size_t)size), *const to = allocate(
        sizeof(MPI_Aint) * (size_t)size);
    MPI_Comm graph;
    MPI_Request request;

    for (int r = 0; r < size; r++) {
        types[r] = MPI_INT;
        counts[r] = N;
        ranks[r] = r;
        MPI(MPI_Get_address(&in[N * r], &from[r]));
        MPI(MPI_Get_address(&out[N * r], &to[r]));
    }
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &graph));
    prepare();
    MPI(MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, graph));
    arrived("MPI_Neighbor_alltoallw of addresses");
    prepare();
    MPI(MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, graph, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    arrived("MPI_Ineighbor_alltoallw of addresses");
    MPI(MPI_Comm_free(&graph));
    free(types);
    free(counts);
    free(ranks);
    free(from);
    free(to);
}

/* Two members of one structure begin at the same address only as far as their datatypes say so. */
static void in_one_structure(void)
{
    struct pair {
        int given, got;
    } *const pairs = allocate(sizeof(struct pair) * (size_t)size);
    const int length = 1;
    const MPI_Aint second = (char *)&pairs->got - (char *)pairs;
    MPI_Datatype moved, member;

    MPI(MPI_Type_create_hindexed(1, &length, &second, MPI_INT, &moved));
    MPI(MPI_Type_create_resized(moved, 0, sizeof(struct pair), &member));
    MPI(MPI_Type_commit(&member));
    for (int r = 0; r < size; r++)
        pairs[r] = (struct pair){rank, -1};
    MPI(MPI_Allgather(&pairs->given, 1, MPI_INT, pairs, 1, member, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        CHECK(pairs[r].got == r && pairs[r].given == rank, "MPI_Allgather within a structure: %d of rank %d",
              pairs[r].got, r);
    MPI(MPI_Type_free(&moved));
    MPI(MPI_Type_free(&member));
    free(pairs);
}

/* A null pointer is no MPI_BOTTOM where the displacements are no addresses. */
static void null_pointer(void)
{
    MPI_Datatype *const types = allocate(sizeof(MPI_Datatype) * (size_t)size);
    int *const counts = allocate(sizeof(int) * (size_t)size), *const places = allocate(sizeof(int) * (size_t)size);
    int class;

#ifdef MPICH_NUMVERSION
    /* MPICH does not look. */
    return;
#endif
    for (int r = 0; r < size; r++) {
        types[r] = MPI_INT;
        counts[r] = N;
        places[r] = N * r * (int)sizeof(int);
    }
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Error_class(MPI_Alltoallw(NULL, counts, places, types, out, counts, places, types, MPI_COMM_WORLD),
                        &class));
    CHECK(class == MPI_ERR_BUFFER, "MPI_Alltoallw of a null pointer: class %d", class);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    free(types);
    free(counts);
    free(places);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    in = allocate(sizeof(int) * (size_t)(N * size));
    out = allocate(sizeof(int) * (size_t)(N * size));
    in_datatypes();
    in_displacements();
    of_neighbours();
    in_one_structure();
    null_pointer();
    free(in);
    free(out);
    return end("absolute_addresses");
}
