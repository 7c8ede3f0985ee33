/* beside.c - A message goes round, beside processes that compute all the time: of the ranks that wait for it half ask
 * again and again, by each call that can be asked. Then they all meet. Who waits must not fall behind those that
 * compute. Any number of ranks. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 600
#define LOADS 64 /* at most */

static pid_t loads[LOADS];
static int computing;

/* One for each processor. */
static void compute(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const pid_t parent = getpid();

    while (computing < processors && computing < LOADS) {
        const pid_t child = fork();

        if (child < 0)
            break;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned turns = 0; getppid() == parent;)
                turns++;
            _exit(0);
        }
        loads[computing++] = child;
    }
}

static void rest(void)
{
    while (computing > 0) {
        kill(loads[--computing], SIGKILL);
        waitpid(loads[computing], NULL, 0);
    }
}

/* The message of that round. */
static int waited(int from, int round)
{
    int in = -1;

    MPI(MPI_Recv(&in, 1, MPI_INT, from, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return in;
}

/* The same, asked for. */
static int asked(int from, int round)
{
    int in = -1, flag = 0, index;
    MPI_Request request;

    if (round % 4 == 0) {
        while (!flag)
            MPI(MPI_Iprobe(from, round, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        return waited(from, round);
    }
    MPI(MPI_Irecv(&in, 1, MPI_INT, from, round, MPI_COMM_WORLD, &request));
    while (!flag)
        if (round % 4 == 1)
            MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        else if (round % 4 == 2)
            MPI(MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
        else
            MPI(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
    return in;
}

int main(int argc, char **argv)
{
    int first;

    begin(&argc, &argv);
    first = rank == 0;
    if (first)
        compute();
    for (int round = 0; round < ROUNDS && size > 1; round++) {
        const int to = (rank + 1) % size, from = (rank + size - 1) % size;
        int in, out = 1000 * round;

        if (first)
            MPI(MPI_Send(&out, 1, MPI_INT, to, round, MPI_COMM_WORLD));
        in = rank % 2 ? asked(from, round) : waited(from, round);
        out = in + 1;
        CHECK(in == 1000 * round + (first ? size - 1 : rank - 1), "round %d carries %d", round, in);
        if (!first)
            MPI(MPI_Send(&out, 1, MPI_INT, to, round, MPI_COMM_WORLD));
    }
    for (int round = 0; round < ROUNDS; round++)
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    rest();
    return end("beside");
}
