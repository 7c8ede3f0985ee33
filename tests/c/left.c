/* left.c - rank 1 kills itself while the others, who handle errors, wait for messages
 * from anybody: they go on with those that are left, and are told when nobody is. Any
 * number of ranks from 3; rank 0 says "left" when it is alone. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int x = 0, code;

    begin(&argc, &argv);
    CHECK(size >= 3, "%d ranks are too few", size);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (rank == 1) {
        /* All others are past MPI_Init. */
        for (int i = 1; i < size; i++)
            MPI(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        raise(SIGKILL);
    }
    MPI(MPI_Ssend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    if (rank != 0) {
        /* Rank 0 has heard of the death when this comes. */
        MPI(MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Ssend(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        raise(SIGKILL);
    }
    code = MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code == MPI_ERR_PROC_ABORTED, "a receive from the dead: %d", code);
    for (int to = 2; to < size; to++) {
        MPI(MPI_Send(&x, 1, MPI_INT, to, 2, MPI_COMM_WORLD));
        MPI(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(x == to, "rank %d instead of %d", x, to);
    }
    code = MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code == MPI_ERR_PROC_ABORTED, "a receive from anybody: %d", code);
    code = MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code == MPI_ERR_PROC_ABORTED, "a probe of anybody: %d", code);
    printf("left\n");
    fflush(stdout);
    _exit(0);
}
