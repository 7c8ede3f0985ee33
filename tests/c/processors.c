/* processors.c - ranks begin on processors of their own, and may run where they could before from then on: MPI_Init
 * moves each once. The program stands between the library and the system, and notes what is asked of it. Any number of
 * ranks. */
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static cpu_set_t asked[2];
static int calls;

int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set)
{
    if (calls < 2)
        memcpy(&asked[calls], set, bytes < sizeof *set ? bytes : sizeof *set);
    calls++;
    return (int)syscall(SYS_sched_setaffinity, process, bytes, set);
}

static int first(const cpu_set_t *set)
{
    int processor = 0;

    while (processor < CPU_SETSIZE && !CPU_ISSET(processor, set))
        processor++;
    return processor;
}

static void distinct(int own, int count)
{
    int *all = malloc((size_t)size * sizeof *all);

    CHECK(all != NULL, "no memory");
    MPI(MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    /* As far as there are enough. */
    for (int other = 0; other < size; other++)
        CHECK((other - rank) % count == 0 || all[other] != own,
              "ranks %d and %d began on processor %d", rank, other, own);
    free(all);
}

int main(int argc, char **argv)
{
    cpu_set_t before, after;

    CPU_ZERO(&before);
    CPU_ZERO(&after);
    sched_getaffinity(0, sizeof before, &before);
    begin(&argc, &argv);
    sched_getaffinity(0, sizeof after, &after);
    CHECK(CPU_EQUAL(&before, &after), "the set of processors has changed");
    if (size == 1 || CPU_COUNT(&before) == 1) {
        CHECK(calls == 0, "moved where nothing is to be gained");
    } else {
        CHECK(calls == 2, "%d calls of sched_setaffinity", calls);
        CHECK(CPU_COUNT(&asked[0]) == 1, "no single processor");
        CHECK(CPU_ISSET(first(&asked[0]), &before), "a processor that was not allowed");
        CHECK(CPU_EQUAL(&asked[1], &before), "not all processors again");
        distinct(first(&asked[0]), CPU_COUNT(&before));
    }
    return end("processors");
}
