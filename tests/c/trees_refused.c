/* The last rank refuses its first broadcast and reduction, with a wrong count; the others, which wait for the tree in
   them, go on once it is in its next call. Two ranks: there is nobody behind the one that refuses. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int value = rank == 0 ? 7 : 0, sum = 0;
    if (rank == 1) {
        int class;
        MPI_Error_class(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD), &class);
        CHECK(class == MPI_ERR_COUNT, "the class is %d", class);
    } else {
        CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "the root failed");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    value = 5;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
    CHECK(rank == 0 || sum == 10, "the sum is %d", sum);
    return end("trees_refused");
}
