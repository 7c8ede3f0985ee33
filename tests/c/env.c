/* env.c - what a program may ask about its surroundings, also before MPI_Init and
 * after MPI_Finalize. Any number of ranks. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <time.h>

static void versions(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int version = 0, sub = -1, length = -1;

    MPI(MPI_Get_version(&version, &sub));
    CHECK(version >= 3 && version < 100 && sub >= 0, "version %d.%d", version, sub);
    memset(text, 'x', sizeof text);
    MPI(MPI_Get_library_version(text, &length));
    CHECK(length > 0 && length < (int)sizeof text && strlen(text) == (size_t)length,
          "the library's version has length %d", length);
}

static void before(void)
{
    int flag = -1;

    MPI(MPI_Initialized(&flag));
    CHECK(flag == 0, "initialized before MPI_Init");
    flag = -1;
    MPI(MPI_Finalized(&flag));
    CHECK(flag == 0, "finalized before MPI_Init");
    versions();
}

static void during(void)
{
    const struct timespec nap = {0, 20000000};
    char name[MPI_MAX_PROCESSOR_NAME];
    int flag = 0, length = -1, r = -1, n = -1;

    MPI(MPI_Initialized(&flag));
    CHECK(flag != 0, "not initialized after MPI_Init");
    MPI(MPI_Finalized(&flag));
    CHECK(flag == 0, "finalized before MPI_Finalize");
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &n));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &r));
    CHECK(n >= 1 && r >= 0 && r < n, "rank %d of %d", r, n);
    versions();

    memset(name, 'x', sizeof name);
    MPI(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < (int)sizeof name && strlen(name) == (size_t)length,
          "the processor's name has length %d", length);

    const double tick = MPI_Wtick(), start = MPI_Wtime();
    CHECK(tick > 0 && tick < 1, "a tick takes %g s", tick);
    for (double now, last = start, n = 0; n < 100000; n++, last = now) {
        now = MPI_Wtime();
        CHECK(now >= last, "time runs backwards, from %.9f to %.9f", last, now);
    }
    const double t = MPI_Wtime();
    nanosleep(&nap, NULL);
    CHECK(MPI_Wtime() - t > 0.015, "20 ms took %g s", MPI_Wtime() - t);
}

/* Each rank number is there once. */
static void ranks(void)
{
    int *all = allocate(sizeof *all * (size_t)size);

    MPI(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == i, "rank %d calls itself %d", i, all[i]);
    free(all);
}

int main(void)
{
    int flag = 0;

    before();
    begin(NULL, NULL);
    during();
    ranks();
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Finalize());

    /* From here on an error must not call MPI_Abort. */
    if (MPI_Initialized(&flag) != MPI_SUCCESS || !flag)
        return 3;
    flag = 0;
    if (MPI_Finalized(&flag) != MPI_SUCCESS || !flag)
        return 3;
    versions();
    if (rank == 0)
        printf("ok env\n");
    return 0;
}
