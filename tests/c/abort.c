/* abort.c [RANK] - rank RANK (0 if not said) calls MPI_Abort with code 17 while
 * all others wait in a receive that nobody will ever satisfy: the job must end
 * with exit code 17. Any number of ranks. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int who = argc > 1 ? atoi(argv[1]) : 0;
    int x;

    if (who < 0 || who >= size)
        return usage("abort [RANK]");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == who) {
        printf("rank %d aborts\n", rank);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 17);
    } else {
        MPI_Recv(&x, 1, MPI_INT, who, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("rank %d survived\n", rank);
    return 0;
}
