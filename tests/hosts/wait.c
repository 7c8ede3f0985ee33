/* wait.c WHO [talk] - all ranks wait for a word of rank WHO, which never comes. Each says
 * that it waits, and the number of its process. With talk WHO and the rank after it
 * exchange long messages without end. Any number of ranks from 2 on. */
#define _POSIX_C_SOURCE 200112L
#include "../c/check.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    static int said[1000], heard[1000];
    int word;

    begin(&argc, &argv);
    const int who = argc > 1 ? atoi(argv[1]) : -1;

    if (who < 0 || who >= size || size < 2)
        return usage("wait WHO, on 2 ranks or more");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    printf("waits %ld\n", (long)getpid());
    fflush(stdout);
    if (argc > 2 && (rank == who || rank == (who + 1) % size)) {
        const int other = rank == who ? (who + 1) % size : who;

        for (;;)
            MPI_Sendrecv(said, 1000, MPI_INT, other, 1, heard, 1000, MPI_INT, other, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&word, 1, MPI_INT, rank == who ? (who + 1) % size : who, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    printf("rank %d survived\n", rank);
    return 0;
}
