/* Rounds of a program whose ranks decide in turn: one rank tells all others what to do (MPI_Bcast), everybody computes
   for a while, and the rank that decides next learns all results (MPI_Reduce). Plain MPI; the order of deciding ranks
   and the times follow from a seed.

   rounds ROUNDS BYTES MOST_MICROSECONDS SEED */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state;

/* A number below n: xorshift. */
static unsigned below(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 32) % n;
}

static void compute(double seconds) {
    double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds) {
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) {
        fprintf(stderr, "rounds ROUNDS BYTES MOST_MICROSECONDS SEED\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int rounds = atoi(argv[1]), bytes = atoi(argv[2]), most = atoi(argv[3]);
    unsigned char *task = malloc(bytes);
    state = 88172645463325252ull + strtoull(argv[4], NULL, 10);
    int decides = below(size);
    double begin = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        if (rank == decides)
            memset(task, round % 251, bytes);
        MPI_Bcast(task, bytes, MPI_BYTE, decides, MPI_COMM_WORLD);
        for (int at = 0; at < bytes; at++)
            if (task[at] != round % 251) {
                fprintf(stderr, "rank %d, round %d: byte %d is %d\n", rank, round, at, task[at]);
                MPI_Abort(MPI_COMM_WORLD, 2);
            }
        for (int other = 0; other < size; other++) {
            unsigned time = below(most + 1);
            if (other == rank)
                compute(time * 1e-6);
        }
        decides = below(size);
        long result = (long)(rank + 1) * (round + 1), sum = 0;
        MPI_Reduce(&result, &sum, 1, MPI_LONG, MPI_SUM, decides, MPI_COMM_WORLD);
        if (rank == decides && sum != (long)size * (size + 1) / 2 * (round + 1)) {
            fprintf(stderr, "rank %d, round %d: the sum is %ld\n", rank, round, sum);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.6f\n", MPI_Wtime() - begin);
    free(task);
    MPI_Finalize();
    return 0;
}
