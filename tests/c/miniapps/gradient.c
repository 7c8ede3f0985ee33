/* gradient.c - a mini-application: conjugate gradient on a Laplacian of a
 * plane, whose rows are distributed. Halos by MPI_Sendrecv, scalar products by
 * MPI_Allreduce, the solution by MPI_Gatherv. Prints iterations and residual. */
#include "../check.h"

#include <math.h>

enum { N = 64 };

static int from, rows;

static void halo(double *v)
{
    const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

    memset(v, 0, N * sizeof *v);
    memset(v + (rows + 1) * N, 0, N * sizeof *v);
    MPI(MPI_Sendrecv(v + N, N, MPI_DOUBLE, up, 0, v + (rows + 1) * N, N, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    MPI(MPI_Sendrecv(v + rows * N, N, MPI_DOUBLE, down, 1, v, N, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
}

static double product(const double *a, const double *b)
{
    double own = 0, all = 0;

    for (int i = N; i < (rows + 1) * N; i++)
        own += a[i] * b[i];
    MPI(MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    from = rank * N / size;
    rows = (rank + 1) * N / size - from;
    const size_t bytes = sizeof(double) * (size_t)(rows + 2) * N;
    double *const x = allocate(bytes), *const r = allocate(bytes), *const p = allocate(bytes), *const q = allocate(bytes);
    int iterations = 0;

    memset(x, 0, bytes);
    memset(q, 0, bytes);
    memset(r, 0, bytes);
    memset(p, 0, bytes);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < N; j++)
            p[(i + 1) * N + j] = r[(i + 1) * N + j] = (from + i) % 5 - j % 3 + 0.25;
    double rho = product(r, r);
    const double start = rho;

    while (rho > 1e-16 * start && iterations < 1000) {
        halo(p);
        for (int i = 1; i <= rows; i++)
            for (int j = 0; j < N; j++) {
                const int k = i * N + j;

                q[k] = 4.1 * p[k] - p[k - N] - p[k + N] - (j > 0 ? p[k - 1] : 0) - (j + 1 < N ? p[k + 1] : 0);
            }
        const double alpha = rho / product(p, q);

        for (int k = N; k < (rows + 1) * N; k++) {
            x[k] += alpha * p[k];
            r[k] -= alpha * q[k];
        }
        const double next = product(r, r), beta = next / rho;

        rho = next;
        for (int k = N; k < (rows + 1) * N; k++)
            p[k] = r[k] + beta * p[k];
        iterations++;
    }
    int *const counts = allocate(sizeof(int) * (size_t)size), *const places = allocate(sizeof(int) * (size_t)size);
    double *const all = allocate(sizeof(double) * N * N);

    for (int i = 0; i < size; i++) {
        places[i] = i * N / size * N;
        counts[i] = (i + 1) * N / size * N - places[i];
    }
    MPI(MPI_Gatherv(x + N, rows * N, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (rank == 0) {
        double sum = 0;

        for (int i = 0; i < N * N; i++)
            sum += all[i] * (i % 17);
        printf("gradient: %d iterations, %.6e, %.6f\n", iterations, sqrt(rho) < 1e-6 ? 0.0 : sqrt(rho), sum);
    }
    free(counts);
    free(places);
    free(all);
    free(x);
    free(r);
    free(p);
    free(q);
    return end("gradient");
}
