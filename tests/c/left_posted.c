/* left_posted.c - an MPI_Sendrecv to a rank that has ended fails, and its receive buffer is
 * the program's again: what comes later is not written there. Three ranks, without a
 * launcher; rank 1 ends before. Source of the rule: MPI 5.0, section 3.7.4: a blocking call
 * that has returned does not use its buffers. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <signal.h>
#include <unistd.h>

enum { INTS = 64, GUARD = 0x5a5a5a5a };

/* A call that fails, into a frame of this function's own. */
static int __attribute__((noinline)) fails(void)
{
    int into[INTS], one = 1;

    return MPI_Sendrecv(&one, 1, MPI_INT, 1, 0, into, INTS, MPI_INT, 2, 5, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
}

/* Another function at the same place of the stack. */
static void __attribute__((noinline)) works(void)
{
    volatile int own[4 * INTS];
    int got[INTS], x = 0;

    for (int i = 0; i < 4 * INTS; i++)
        own[i] = GUARD;
    /* Rank 2 sends when it has heard of this; then a receive that is posted gets it. */
    MPI(MPI_Send(&x, 1, MPI_INT, 2, 6, MPI_COMM_WORLD));
    MPI(MPI_Recv(&x, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4 * INTS; i++)
        CHECK(own[i] == GUARD, "int %d of another function's frame is %#x", i, (unsigned)own[i]);
    MPI(MPI_Recv(got, INTS, MPI_INT, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < INTS; i++)
        CHECK(got[i] == i, "int %d of the message is %d", i, got[i]);
}

int main(int argc, char **argv)
{
    int data[INTS], x = 0, code;

    begin(&argc, &argv);
    CHECK(size == 3, "%d ranks, not 3", size);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (rank == 1) {
        for (int i = 0; i < 2; i++)
            MPI(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        raise(SIGKILL);
    }
    MPI(MPI_Ssend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    code = MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code == MPI_ERR_PROC_ABORTED, "a receive from the dead: %d", code);
    if (rank == 0) {
        code = fails();
        CHECK(code == MPI_ERR_PROC_ABORTED, "an exchange with the dead: %d", code);
        works();
        printf("ok left_posted\n");
    } else {
        MPI(MPI_Recv(&x, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < INTS; i++)
            data[i] = i;
        MPI(MPI_Send(data, INTS, MPI_INT, 0, 5, MPI_COMM_WORLD));
        MPI(MPI_Send(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
    }
    fflush(stdout);
    _exit(0);
}
