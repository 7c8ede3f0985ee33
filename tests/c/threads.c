/* threads.c [single|funneled|serialized|multiple] - asks for that thread level
 * (multiple if not said) and uses what it gets: no threads, a second thread that
 * does not call MPI, one that takes turns, or two at once. Any number of ranks.
 * Link with -lpthread where libc does not contain the threads. */
#include "check.h"

#include <pthread.h>

#define TURNS 200

struct task {
    MPI_Comm comm;
    int turns;
    long long sum; /* in: to compute without MPI */
};

/* Messages around the ring of a communicator of its own. */
static void *communicate(void *argument)
{
    struct task *task = argument;
    const int to = (rank + 1) % size, from = (rank - 1 + size) % size;

    for (int i = 0; i < task->turns; i++) {
        int out = 1000 * rank + i, in = -1;
        MPI(MPI_Sendrecv(&out, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, task->comm,
                         MPI_STATUS_IGNORE));
        CHECK(in == 1000 * from + i, "turn %d: %d instead of %d", i, in, 1000 * from + i);
    }
    return NULL;
}

static void *compute(void *argument)
{
    struct task *task = argument;

    for (int i = 0; i < 1000000; i++)
        task->sum += i;
    return NULL;
}

static void beside(void *(*work)(void *), struct task *task, int at_once)
{
    struct task mine = {MPI_COMM_WORLD, TURNS, 0};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, work, task) == 0, "no thread");
    if (at_once)
        communicate(&mine);
    CHECK(pthread_join(thread, NULL) == 0, "no end of the thread");
    if (!at_once)
        communicate(&mine);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                          MPI_THREAD_MULTIPLE};
    const char *wish = argc > 1 ? argv[1] : "multiple";
    int level = 0, provided = -1;

    while (level < 4 && strcmp(wish, names[level]) != 0)
        level++;
    if (level == 4) {
        fprintf(stderr, "usage: threads [single|funneled|serialized|multiple]\n");
        return 1;
    }
    MPI(MPI_Init_thread(&argc, &argv, levels[level], &provided));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
              MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE,
          "the levels are not in order");
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE, "provided %d",
          provided);

    struct task task = {MPI_COMM_NULL, TURNS, 0};
    int least = provided;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &task.comm));
    MPI(MPI_Allreduce(&provided, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    communicate(&task);
    if (least >= MPI_THREAD_FUNNELED)
        beside(compute, &task, 1);
    if (least >= MPI_THREAD_SERIALIZED)
        beside(communicate, &task, 0);
    if (least >= MPI_THREAD_MULTIPLE)
        beside(communicate, &task, 1);
    MPI(MPI_Comm_free(&task.comm));
    return end("threads");
}
