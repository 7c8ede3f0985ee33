/* A matrix product beside its sequential run, with MPI: what examples/matrix.rs does on a group. Rank 0 scatters the rows
   of A, broadcasts B, and gathers the rows of the product. Plain MPI.

   matrix N */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds these rows of A times B to the rows of C. */
static void multiply(int rows, int n, const double *a, const double *b, double *restrict c) {
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < n; k++)
            for (int column = 0; column < n; column++)
                c[row * n + column] += a[row * n + k] * b[k * n + column];
}

static double *matrix(int rows, int n, int seed) {
    double *all = calloc((size_t)rows * n + 1, sizeof *all);
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long at = 0; seed && at < (long)rows * n; at++)
        all[at] = (double)((at * seed) % 19) - 9;
    return all;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, n = argc > 1 ? atoi(argv[1]) : 512;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (n < 1 || n > 20000) {
        if (rank == 0)
            fprintf(stderr, "usage: matrix N, with N from 1 to 20000\n");
        MPI_Finalize();
        return 2;
    }
    int *counts = calloc(2 * size, sizeof *counts), *starts = counts + size;
    for (int other = 0, start = 0; other < size; start += counts[other++]) {
        counts[other] = (n / size + (other < n % size)) * n;
        starts[other] = start;
    }
    int mine = counts[rank] / n;
    double *a = matrix(n, n, rank ? 0 : 7), *b = matrix(n, n, rank ? 0 : 11), *c = matrix(n, n, 0);
    double *rows = matrix(mine, n, 0), *product = matrix(mine, n, 0);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    MPI_Scatterv(a, counts, starts, MPI_DOUBLE, rows, mine * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(b, n * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    multiply(mine, n, rows, b, product);
    MPI_Gatherv(product, mine * n, MPI_DOUBLE, c, counts, starts, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double together = MPI_Wtime() - begin;

    int differs = 0;
    if (rank == 0) {
        double *alone = matrix(n, n, 0);
        begin = MPI_Wtime();
        multiply(n, n, a, b, alone);
        double sequential = MPI_Wtime() - begin;
        differs = memcmp(alone, c, sizeof *c * n * n) != 0;
        printf("%d x %d: %d ranks have %s product of one\n", n, n, size, differs ? "not the" : "the");
        fprintf(stderr, "%.1f ms together, %.1f ms alone: speed-up %.2f\n", together * 1e3, sequential * 1e3,
                sequential / together);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return differs;
}
