/* halo.c - a mini-application: heat on a plane, cut into a grid of processes.
 *
 * Neighbours exchange rows and columns of their borders, which are derived
 * datatypes, by persistent or plain requests; corners by MPI_PROC_NULL do
 * nothing. Prints the sum, which does not depend on the number of ranks. */
#include "../check.h"

enum { N = 96, STEPS = 60 };

static int first(int part, int parts)
{
    return part * N / parts;
}

int main(int argc, char **argv)
{
    int dims[2] = {0, 0}, periods[2] = {0, 1}, at[2], up, down, left, right;
    MPI_Comm grid;
    MPI_Datatype row, column, inner;

    begin(&argc, &argv);
    MPI(MPI_Dims_create(size, 2, dims));
    MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    MPI(MPI_Cart_coords(grid, rank, 2, at));
    MPI(MPI_Cart_shift(grid, 0, 1, &up, &down));
    MPI(MPI_Cart_shift(grid, 1, 1, &left, &right));

    const int rows = first(at[0] + 1, dims[0]) - first(at[0], dims[0]);
    const int columns = first(at[1] + 1, dims[1]) - first(at[1], dims[1]), width = columns + 2;
    double *old = allocate(sizeof(double) * (size_t)((rows + 2) * width));
    double *new = allocate(sizeof(double) * (size_t)((rows + 2) * width));

    memset(old, 0, sizeof(double) * (size_t)((rows + 2) * width));
    memset(new, 0, sizeof(double) * (size_t)((rows + 2) * width));
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j <= columns; j++) {
            const int x = first(at[0], dims[0]) + i - 1, y = first(at[1], dims[1]) + j - 1;

            old[i * width + j] = (x * 7 + y * 13) % 101;
        }
    MPI(MPI_Type_contiguous(columns, MPI_DOUBLE, &row));
    MPI(MPI_Type_vector(rows, 1, width, MPI_DOUBLE, &column));
    MPI(MPI_Type_commit(&row));
    MPI(MPI_Type_commit(&column));
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[8];
        MPI_Status statuses[8];

        MPI(MPI_Irecv(&old[1], 1, row, up, 1, grid, &requests[0]));
        MPI(MPI_Irecv(&old[(rows + 1) * width + 1], 1, row, down, 2, grid, &requests[1]));
        MPI(MPI_Irecv(&old[width], 1, column, left, 3, grid, &requests[2]));
        MPI(MPI_Irecv(&old[width + columns + 1], 1, column, right, 4, grid, &requests[3]));
        MPI(MPI_Isend(&old[rows * width + 1], 1, row, down, 1, grid, &requests[4]));
        MPI(MPI_Isend(&old[width + 1], 1, row, up, 2, grid, &requests[5]));
        MPI(MPI_Isend(&old[width + columns], 1, column, right, 3, grid, &requests[6]));
        MPI(MPI_Isend(&old[width + 1], 1, column, left, 4, grid, &requests[7]));
        MPI(MPI_Waitall(8, requests, statuses));
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= columns; j++) {
                const int k = i * width + j;

                new[k] = 0.5 * old[k] + 0.125 * (old[k - width] + old[k + width] + old[k - 1] + old[k + 1]);
            }
        double *const swap = old;

        old = new;
        new = swap;
    }
    /* The whole plane at rank 0: every rank's inner part, as a subarray. */
    const int sizes[2] = {rows + 2, width}, parts[2] = {rows, columns}, starts[2] = {1, 1};
    double *const plane = allocate(sizeof(double) * N * N);
    MPI_Request sent;

    MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &inner));
    MPI(MPI_Type_commit(&inner));
    MPI(MPI_Isend(old, 1, inner, 0, 5, grid, &sent));
    for (int r = 0; rank == 0 && r < size; r++) {
        int there[2];
        MPI_Datatype place;

        MPI(MPI_Cart_coords(grid, r, 2, there));
        const int whole[2] = {N, N};
        const int begin_at[2] = {first(there[0], dims[0]), first(there[1], dims[1])};
        const int part[2] = {first(there[0] + 1, dims[0]) - begin_at[0], first(there[1] + 1, dims[1]) - begin_at[1]};

        MPI(MPI_Type_create_subarray(2, whole, part, begin_at, MPI_ORDER_C, MPI_DOUBLE, &place));
        MPI(MPI_Type_commit(&place));
        MPI(MPI_Recv(plane, 1, place, r, 5, grid, MPI_STATUS_IGNORE));
        MPI(MPI_Type_free(&place));
    }
    MPI(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    if (rank == 0) {
        unsigned long long hash = 0;

        for (int i = 0; i < N * N; i++) {
            unsigned long long bits;

            memcpy(&bits, &plane[i], sizeof bits);
            hash = hash * 1099511628211ull + bits;
        }
        printf("halo: %016llx\n", hash);
    }
    MPI(MPI_Type_free(&inner));
    MPI(MPI_Type_free(&row));
    MPI(MPI_Type_free(&column));
    MPI(MPI_Comm_free(&grid));
    free(plane);
    free(old);
    free(new);
    return end("halo");
}
