/* Broadcasts of every size from every root, on the world, on parts of it and on copies of it; many under way at once;
 * datatypes with gaps. Arguments: the largest size in bytes, and how many rounds. */
#include "check.h"

static unsigned message(int root, int round)
{
    return (unsigned)(root * 31 + round);
}

static void every_root(MPI_Comm comm, size_t len, int round)
{
    int members, me;
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &me);
    unsigned char *bytes = allocate(len + 1);
    for (int root = 0; root < members; root++) {
        bytes[len] = 42;
        if (me == root)
            fill(bytes, len, message(root, round));
        else
            memset(bytes, 0, len);
        MPI(MPI_Bcast(bytes, (int)len, MPI_BYTE, root, comm));
        verify(bytes, len, message(root, round), "broadcast");
        CHECK(bytes[len] == 42, "byte behind %zu", len);
    }
    free(bytes);
}

/* Started in the same order everywhere, waited for in another one at every rank. */
static void many(MPI_Comm comm, int round)
{
    enum { MANY = 60 };
    static const size_t sizes[] = {0, 1, 16, 700, 1024, 1025, 9000, 60000};
    unsigned char *bytes[MANY];
    MPI_Request requests[MANY];
    size_t lens[MANY];
    int members, me;
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < MANY; i++) {
        int root = (i * 5 + i / 7 + round) % members;
        lens[i] = sizes[(i * 3 + round) % 8];
        bytes[i] = allocate(lens[i]);
        if (me == root)
            fill(bytes[i], lens[i], message(root, i));
        MPI(MPI_Ibcast(bytes[i], (int)lens[i], MPI_BYTE, root, comm, &requests[i]));
    }
    for (int i = 0; i < MANY; i++) {
        int at = (i * 7 + me * 11) % MANY;
        MPI(MPI_Wait(&requests[at], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < MANY; i++) {
        int root = (i * 5 + i / 7 + round) % members;
        verify(bytes[i], lens[i], message(root, i), "one of many");
        free(bytes[i]);
    }
}

/* A double and an int with a gap behind them: only the data travels. */
static void gaps(MPI_Comm comm)
{
    struct pair {
        double a;
        int b;
    } pairs[500];
    int me;
    MPI_Comm_rank(comm, &me);
    memset(pairs, 0x55, sizeof pairs);
    for (int i = 0; i < 500 && me == 0; i++) {
        pairs[i].a = i * 1.5;
        pairs[i].b = -i;
    }
    MPI(MPI_Bcast(pairs, 500, MPI_DOUBLE_INT, 0, comm));
    for (int i = 0; i < 500; i++) {
        unsigned char gap;
        memcpy(&gap, (char *)&pairs[i] + 12, 1);
        CHECK(pairs[i].a == i * 1.5 && pairs[i].b == -i && gap == 0x55, "pair %d", i);
    }
}

int main(int argc, char **argv)
{
    size_t largest = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 20;
    int rounds = argc > 2 ? atoi(argv[2]) : 2;
    begin(&argc, &argv);
    static const size_t sizes[] = {0, 1, 16, 1000, 1024, 1025, 1436, 5000, 70000};
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            every_root(MPI_COMM_WORLD, sizes[i], round);
        many(MPI_COMM_WORLD, round);
        gaps(MPI_COMM_WORLD);
        MPI_Comm part, copy;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            every_root(part, sizes[i], round);
            every_root(copy, sizes[i], round);
        }
        many(part, round);
        many(copy, round);
        MPI_Comm_free(&part);
        MPI_Comm_free(&copy);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    every_root(MPI_COMM_WORLD, largest, 9);
    /* More communicators than groups. */
    enum { COMMS = 40 };
    MPI_Comm comms[COMMS];
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < COMMS; i++)
        every_root(comms[i], 100 + 1500 * (size_t)(i % 2), i);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    return end("bcast");
}
