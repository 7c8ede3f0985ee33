/* misuse.c ask|overlap|handler|orphan|forked CALL - what a program may not do, and what the
 * library then says. Exits with 0 after "survived" if it says nothing.
 *
 *   ask      a thread asks what it may at any time: this is allowed
 *   overlap  a thread calls MPI while another one waits inside
 *   handler  a handler of signals calls MPI_Abort inside MPI_Recv
 *   forked   a child of rank 0 calls MPI: "finalize", "send", "init", "nothing";
 *            the job goes on without it
 *   orphan   rank 0 forks a child that lives on, says its number, and ends: the
 *            others hear of it
 *
 * Two ranks or more. Link with -lpthread where libc does not contain the threads. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void *call(void *argument)
{
    int x = 0;

    sleep(1); /* until the other thread waits */
    MPI_Send(&x, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    return argument;
}

/* What every thread may ask at any time. */
static void *ask(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        int begun = 0, over = 1, level = -1, is_main = 1, version, subversion;

        MPI(MPI_Initialized(&begun));
        MPI(MPI_Finalized(&over));
        MPI(MPI_Query_thread(&level));
        MPI(MPI_Is_thread_main(&is_main));
        MPI(MPI_Get_version(&version, &subversion));
        CHECK(begun && !over && !is_main && level == MPI_THREAD_SERIALIZED && MPI_Wtime() > 0,
              "%d %d %d %d", begun, over, level, is_main);
    }
    return NULL;
}

static void abort_in_handler(int number)
{
    (void)number;
    MPI_Abort(MPI_COMM_WORLD, 21);
}

static int in_child(const char *what)
{
    int flag = -1, x = 0;

    if (strcmp(what, "nothing") == 0)
        exit(0); /* through the exit handlers */
    MPI(MPI_Initialized(&flag));
    CHECK(flag, "the child does not know that MPI was initialised");
    if (strcmp(what, "finalize") == 0)
        MPI_Finalize();
    else if (strcmp(what, "send") == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Init(NULL, NULL);
    puts("survived");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int provided, x = 0, stop = 0;
    pthread_t thread;

    MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (strcmp(what, "ask") == 0) {
        int is_main = 0;

        CHECK(pthread_create(&thread, NULL, ask, &stop) == 0, "no thread");
        for (int i = 0; i < 20000; i++)
            MPI(MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, 1, &x, 1, MPI_INT,
                             (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        CHECK(pthread_join(thread, NULL) == 0, "no end of the thread");
        MPI(MPI_Is_thread_main(&is_main));
        CHECK(is_main, "this is not the main thread");
        return end("misuse");
    }
    if (strcmp(what, "overlap") == 0) {
        CHECK(pthread_create(&thread, NULL, call, NULL) == 0, "no thread");
        MPI_Recv(&x, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "handler") == 0) {
        signal(SIGALRM, abort_in_handler);
        if (rank == 0)
            alarm(1);
        MPI_Recv(&x, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "forked") == 0 && argc > 2) {
        for (int turn = 0; rank == 0 && turn < 3; turn++) {
            int status = -1;
            pid_t child = fork();

            if (child == 0)
                return in_child(argv[2]);
            CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child");
            CHECK(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
            CHECK((WEXITSTATUS(status) == 0) == (strcmp(argv[2], "nothing") == 0),
                  "the child ended with %d", WEXITSTATUS(status));
        }
        for (int i = 0; i < 100; i++)
            MPI(MPI_Bcast(&x, 1, MPI_INT, i % size, MPI_COMM_WORLD));
        return end("misuse");
    } else if (strcmp(what, "orphan") == 0) {
        if (rank == 0) {
            const pid_t child = fork();

            if (child == 0) {
                /* Without the pipes to whoever waits for the end of the job. */
                for (int fd = 0; fd < 3; fd++)
                    close(fd);
                sleep(1000); /* until somebody kills it */
                _exit(0);
            }
            printf("%d\n", (int)child);
            fflush(stdout);
            _exit(9);
        }
        MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        return usage("misuse ask|overlap|handler|orphan|forked finalize|send|init|nothing");
    }
    puts("survived");
    return 0;
}
