/* Broadcasts and reductions from and to all roots, of all lengths, on several communicators, some of which come and go:
   whatever tree they take, which may change between two calls. Ranks are in other calls meanwhile, or late. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <unistd.h>

static unsigned long long state = 88172645463325252ull;

static unsigned below(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 32) % n;
}

static void broadcast(int call, int count, int root, MPI_Comm comm) {
    int own;
    MPI_Comm_rank(comm, &own);
    /* Every second integer; at odd ranks as a datatype with gaps. */
    int *all = malloc((2 * count + 1) * sizeof(int));
    int *dense = malloc(count * sizeof(int));
    for (int at = 0; at < count; at++) {
        dense[at] = own == root ? call * 1000 + at : -1;
        all[2 * at] = dense[at];
        all[2 * at + 1] = -7;
    }
    MPI_Datatype gaps;
    MPI_Type_vector(count, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (own % 2)
        MPI_Bcast(all, 1, gaps, root, comm);
    else
        MPI_Bcast(dense, count, MPI_INT, root, comm);
    for (int at = 0; at < count; at++) {
        CHECK((own % 2 ? all[2 * at] : dense[at]) == call * 1000 + at, "broadcast %d, item %d", call, at);
        CHECK(all[2 * at + 1] == -7, "broadcast %d wrote behind item %d", call, at);
    }
    MPI_Type_free(&gaps);
    free(all);
    free(dense);
}

/* The larger of two numbers, as an operation of the program. */
static void larger(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int at = 0; at < *count; at++)
        if (((long *)in)[at] > ((long *)inout)[at])
            ((long *)inout)[at] = ((long *)in)[at];
}

static void reduce(int call, int count, int root, MPI_Comm comm, MPI_Op most) {
    int own, members;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &members);
    long *mine = malloc(count * sizeof(long)), *result = malloc(count * sizeof(long));
    for (int at = 0; at < count; at++)
        mine[at] = result[at] = (long)(own + 1) * (at + call);
    int in_place = call % 2 && own == root;
    MPI_Reduce(in_place ? MPI_IN_PLACE : mine, result, count, MPI_LONG, call % 3 ? MPI_SUM : most, root, comm);
    long factor = call % 3 ? (long)members * (members + 1) / 2 : members;
    for (int at = 0; at < count && own == root; at++)
        CHECK(result[at] == factor * (at + call), "reduction %d, item %d", call, at);
    free(mine);
    free(result);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int counts[] = {1, 3, 100, 2000, 20000, 60000};
    MPI_Comm comms[3] = {MPI_COMM_WORLD};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    MPI_Op most;
    MPI_Op_create(larger, 1, &most);
    for (int call = 0; call < 50; call++) {
        MPI_Comm comm = comms[below(3)];
        int members, late = below(size);
        MPI_Comm_size(comm, &members);
        /* The two halves of the split may have different sizes, and draw alike. */
        int root = below(1000) % members, count = counts[below(6)];
        if (call % 8 == 0 && rank == late)
            usleep(3000);
        broadcast(call, count, root, comm);
        root = below(1000) % members;
        reduce(call, count, root, comm, most);
        if (call % 10 == 9) {
            /* A rank in another call serves the trees meanwhile. */
            int token = call, next = (rank + 1) % size, last = (rank + size - 1) % size;
            MPI_Request request;
            MPI_Ibcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
            MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 1, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(token == call, "token %d", token);
            MPI_Comm_free(&comms[2]);
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
        }
    }
    MPI_Op_free(&most);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    return end("trees");
}
