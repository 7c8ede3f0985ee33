/* nap.c SECONDS - rank 1 sleeps between two calls while all others send to it
 * and wait for it: it is slow, not dead. Any number of ranks from 2 on. */
#define _POSIX_C_SOURCE 200112L
#include "../c/check.h"

#include <time.h>

enum { SHORT = 100, LONG = 300000, SLEEPER = 1 };

static int numbers[64][SHORT];
static unsigned char bytes[LONG];

static void check_all(int from)
{
    for (int i = 0; i < SHORT; i++)
        CHECK(numbers[from][i] == from * 1000 + i, "number %d of rank %d", i, from);
    for (int i = 0; i < LONG; i++)
        CHECK(bytes[i] == (unsigned char)(i * 3 + from), "byte %d of rank %d", i, from);
}

int main(int argc, char **argv)
{
    MPI_Request requests[SHORT + 1];
    struct timespec nap = {0, 0};
    int word = 0;

    begin(&argc, &argv);
    if (argc != 2 || size < 2 || size > 64)
        return usage("nap SECONDS, on 2 to 64 ranks");
    nap.tv_sec = atoi(argv[1]);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == SLEEPER) {
        nanosleep(&nap, NULL);
        for (int from = 0; from < size; from++) {
            if (from == rank)
                continue;
            MPI(MPI_Recv(bytes, LONG, MPI_BYTE, from, SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int i = 0; i < SHORT; i++)
                MPI(MPI_Recv(&numbers[from][i], 1, MPI_INT, from, i, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
            check_all(from);
        }
        word = 4711;
    } else {
        for (int i = 0; i < LONG; i++)
            bytes[i] = (unsigned char)(i * 3 + rank);
        for (int i = 0; i < SHORT; i++) {
            numbers[rank][i] = rank * 1000 + i;
            MPI(MPI_Isend(&numbers[rank][i], 1, MPI_INT, SLEEPER, i, MPI_COMM_WORLD, &requests[i]));
        }
        MPI(MPI_Isend(bytes, LONG, MPI_BYTE, SLEEPER, SHORT, MPI_COMM_WORLD, &requests[SHORT]));
        MPI(MPI_Waitall(SHORT + 1, requests, MPI_STATUSES_IGNORE));
    }
    MPI(MPI_Bcast(&word, 1, MPI_INT, SLEEPER, MPI_COMM_WORLD));
    CHECK(word == 4711, "the sleeper said %d", word);
    return end("nap");
}
