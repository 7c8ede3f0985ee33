/* workers.c - a mini-application: a master gives tasks to whoever is free, by
 * MPI_ANY_SOURCE and MPI_ANY_TAG; results have lengths that only their status
 * tells. Alone, the master works itself. Prints a hash of all results. */
#include "../check.h"

enum { TASKS = 400, WORK = 1, STOP = 2, MOST = 64 };

static int work(int task, int *result)
{
    const int len = 1 + task % MOST;

    for (int i = 0; i < len; i++)
        result[i] = (task * 31 + i * i * 7) % 1009;
    return len;
}

static unsigned long hashed(int task, const int *result, int len)
{
    unsigned long hash = (unsigned long)task + 1;

    for (int i = 0; i < len; i++)
        hash = hash * 31 + (unsigned long)result[i];
    return hash;
}

int main(int argc, char **argv)
{
    int result[MOST + 1];
    unsigned long sum = 0;

    begin(&argc, &argv);
    if (size == 1) {
        for (int task = 0; task < TASKS; task++)
            sum += hashed(task, result, work(task, result));
    } else if (rank == 0) {
        int next = 0, working = 0;

        for (int to = 1; to < size; to++) {
            MPI(MPI_Send(&next, 1, MPI_INT, to, next < TASKS ? WORK : STOP, MPI_COMM_WORLD));
            working += next < TASKS;
            next++;
        }
        while (working > 0) {
            MPI_Status status;
            int len;

            MPI(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            MPI(MPI_Get_count(&status, MPI_INT, &len));
            MPI(MPI_Recv(result, len, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
            /* The tag is the task. */
            sum += hashed(status.MPI_TAG, result, len);
            MPI(MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, next < TASKS ? WORK : STOP, MPI_COMM_WORLD));
            working -= next >= TASKS;
            next++;
        }
    } else {
        for (;;) {
            MPI_Status status;
            int task;

            MPI(MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            if (status.MPI_TAG == STOP)
                break;
            const int len = work(task, result);

            MPI(MPI_Send(result, len, MPI_INT, 0, task, MPI_COMM_WORLD));
        }
    }
    if (rank == 0)
        printf("workers: %016lx\n", sum);
    return end("workers");
}
