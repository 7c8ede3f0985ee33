/* die.c [RANK] [HOW] [stubborn] - rank RANK (0 if not said) kills
 * itself with SIGKILL while all others wait for it: in a collective (the default),
 * in a receive, in a send of 1 MiB, in a receive from anybody, in a probe of anybody,
 * in MPI_Waitall with a receive that is never over behind it, for the partitions of a
 * sender that never comes, or, as programs do, in a loop of MPI_Test (anyspin: for anybody). The job must end, and its exit code must not be 0. Stubborn ranks do not listen to
 * SIGTERM, so each of them hears of the death by itself. Any number of ranks. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <signal.h>
#include <time.h>

static char buffer[1 << 20];

static void wait_for(int who, const char *how)
{
    MPI_Request r, both[2];
    int flag = 0;

    if (strcmp(how, "collective") == 0) {
        MPI_Allreduce(&rank, &flag, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(how, "bcast") == 0) {
        MPI_Bcast(buffer, 1, MPI_CHAR, who, MPI_COMM_WORLD);
    } else if (strcmp(how, "receive") == 0) {
        MPI_Recv(buffer, 1, MPI_CHAR, who, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "send") == 0) {
        MPI_Send(buffer, sizeof buffer, MPI_CHAR, who, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "any") == 0) {
        MPI_Recv(buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "probe") == 0) {
        MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "waitall") == 0) {
        MPI_Irecv(buffer, 1, MPI_CHAR, who, 0, MPI_COMM_WORLD, &both[0]);
        MPI_Irecv(buffer + 1, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
#ifdef MPI_ABI_VERSION /* newer than the libraries around */
    } else if (strcmp(how, "partitions") == 0) {
        MPI_Precv_init(buffer, 2, 1, MPI_CHAR, who, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
#endif
    } else {
        const int from = strcmp(how, "anyspin") == 0 ? MPI_ANY_SOURCE : who;

        MPI_Irecv(buffer, 1, MPI_CHAR, from, 0, MPI_COMM_WORLD, &r);
        while (!flag)
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int who = argc > 1 ? atoi(argv[1]) : 0;
    const char *how = argc > 2 ? argv[2] : "collective";
    const struct timespec nap = {0, 100000000};

    static const char *const ways[] = {"collective", "bcast", "receive", "send",   "any",
                                       "probe",      "waitall", "spin",  "anyspin", "partitions"};
    int known = 0;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        known |= strcmp(how, ways[i]) == 0;
    if (who < 0 || who >= size || !known)
        return usage("die [RANK] [collective|bcast|receive|send|any|probe|waitall|spin|anyspin|"
                     "partitions] [stubborn]");
    if (argc > 3)
        signal(SIGTERM, SIG_IGN);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == who) {
        nanosleep(&nap, NULL); /* until the others wait */
        raise(SIGKILL);
    }
    wait_for(who, how);
    printf("rank %d survived\n", rank);
    return 0;
}
