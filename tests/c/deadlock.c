/* deadlock.c - programs that do not go on, for the launcher's reports.
 *
 * usage: deadlock recv|names|collective|finalize|slow|alive, or deadlock late FILE */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <time.h>
#include <unistd.h>

static void pause_ms(long milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    int number = 0;

    begin(&argc, &argv);
    const char *const how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "recv") == 0) {
        /* A message with another tag stays unexpected. */
        const int other = (rank + 1) % size;

        MPI(MPI_Send(&number, 1, MPI_INT, other, 6, MPI_COMM_WORLD));
        MPI(MPI_Recv(&number, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(how, "names") == 0) {
        /* Many messages of each kind, on communicators whose names are long in JSON. */
        enum { MANY = 20 };
        const int other = (rank + 1) % size;
        char name[MPI_MAX_OBJECT_NAME];
        MPI_Request receives[MANY];
        int numbers[MANY];
        MPI_Comm twin;

        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
        memset(name, '"', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        MPI(MPI_Comm_set_name(twin, name));
        for (int i = 0; i < MANY; i++) {
            MPI(MPI_Irecv(numbers + i, 1, MPI_INT, other, i, twin, receives + i));
            MPI(MPI_Send(&number, 1, MPI_INT, other, MANY + i, twin));
        }
        MPI(MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE));
    } else if (strcmp(how, "collective") == 0) {
        MPI_Comm twin;

        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
        if (rank == 2)
            MPI(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, twin));
        else
            MPI(MPI_Barrier(MPI_COMM_WORLD));
    } else if (strcmp(how, "finalize") == 0) {
        if (rank == 0)
            MPI(MPI_Recv(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Finalize());
        return 0;
    } else if (strcmp(how, "slow") == 0) {
        /* Rank 0 computes for as long as two looks of the launcher, so nobody is deadlocked. */
        if (rank == 0)
            sleep(9);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    } else if (strcmp(how, "alive") == 0) {
        /* In turns half of the ranks compute, and the others wait for them, each for a moment. */
        for (int turn = 0; turn < 300; turn++) {
            const int left = (rank + size - 1) % size, right = (rank + 1) % size;

            if ((turn + rank) % 2 == 0)
                pause_ms(30);
            MPI(MPI_Sendrecv(&turn, 1, MPI_INT, right, 7, &number, 1, MPI_INT, left, 7, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
            CHECK(number == turn, "turn %d brought %d", turn, number);
        }
    } else if (strcmp(how, "late") == 0 && argc > 2) {
        /* Rank 0 asks the last rank when the file is there. */
        if (rank == 0) {
            puts("ready");
            fflush(stdout);
            while (access(argv[2], F_OK) != 0)
                pause_ms(10);
            MPI(MPI_Send(&number, 1, MPI_INT, size - 1, 8, MPI_COMM_WORLD));
            MPI(MPI_Recv(&number, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else if (rank == size - 1) {
            MPI(MPI_Recv(&number, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            MPI(MPI_Send(&number, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
        }
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        return usage("deadlock recv|names|collective|finalize|slow|alive, or deadlock late FILE");
    }
    return end("deadlock");
}
