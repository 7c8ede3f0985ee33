/* forks.c - ranks that have children: those that exit, exec, go on for longer, or call
 * MPI themselves. The parent's job does not notice. */
#include "trial.h"

#include <spawn.h>
#include <sys/prctl.h>

extern char **environ;

static char out[1 << 20], in[1 << 20];
static int x, status;
static MPI_Request r;
static MPI_Status s;

/* What a child has done wrong need not be read. */
static void quiet(void)
{
    const int nowhere = open("/dev/null", O_WRONLY);

    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static void traffic(void)
{
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 16) {
        fill(out, (size_t)bytes, rank);
        must(MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, in, bytes, MPI_BYTE, rank ^ 1, 0, W, &s));
        check(is_filled(in, (size_t)bytes, rank ^ 1), "message");
    }
    works();
}

/* A child of every rank that does this, and traffic before and after. */
static void child(void (*does)(void))
{
    const int it = fork();

    if (it == 0) {
        alarm(60);
        does();
        _exit(0);
    }
    traffic();
    check(waitpid(it, &status, 0) == it, "child");
    traffic();
}

static void nothing(void)
{
}
static void child_ends(void)
{
    child(nothing);
}

/* As by mistake: with all that a program has to do at its end. */
static void exits(void)
{
    line[0] = '\0';
    exit(0);
}
static void child_exits(void)
{
    child(exits);
}

static void dies(void)
{
    raise(SIGKILL);
}
static void child_is_killed(void)
{
    child(dies);
}

static void executes(void)
{
    execlp("true", "true", (char *)NULL);
}
static void child_executes(void)
{
    child(executes);
}

static void finalizes(void)
{
    quiet();
    MPI_Finalize();
}
static void child_finalizes(void)
{
    child(finalizes);
}

static void calls(void)
{
    quiet();
    MPI_Send(&x, 1, MPI_INT, rank ^ 1, 0, W);
}
static void child_sends(void)
{
    child(calls);
}

static void receives(void)
{
    int flag;

    quiet();
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, W, &flag, &s);
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &r);
    MPI_Test(&r, &flag, &s);
}
static void child_receives(void)
{
    child(receives);
}

static void calls_collectively(void)
{
    quiet();
    alarm(1);
    MPI_Barrier(W);
}
static void child_meets_a_barrier(void)
{
    child(calls_collectively);
}

/* The child runs the same program, in the environment of a rank. */
static void starts_itself(void)
{
    quiet();
    alarm(2); /* it may wait for others, but not for ever */
    execl("/proc/self/exe", "forks", "traffic", (char *)NULL);
}
static void child_is_a_rank_again(void)
{
    child(starts_itself);
}

static void fork_before_init(void)
{
    int it = fork();

    if (it == 0)
        _exit(0);
    begin();
    errors_return();
    traffic();
    waitpid(it, &status, 0);
    speak();
    MPI_Finalize();
}

/* The program that was started is a child of the one that the launcher knows. */
static void rank_is_a_grandchild(void)
{
    int it = fork();

    if (it > 0) {
        waitpid(it, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    begin();
    errors_return();
    traffic();
    speak();
    MPI_Finalize();
    _exit(0);
}

/* Its parent ends, it goes on for a while; the job does not wait for it for ever. */
static void child_stays(void)
{
    if (fork() == 0) {
        nap(1500);
        _exit(0);
    }
    traffic();
}

static void daemon_stays(void)
{
    if (fork() == 0) {
        setsid();
        for (int i = 0; i < 1000; i++)
            close(i);
        nap(1500);
        _exit(0);
    }
    traffic();
}

/* Operations are under way; the child gets copies of their memory. */
static void fork_during_operations(void)
{
    MPI_Request q[2];
    int it;

    fill(out, sizeof out, rank);
    must(MPI_Irecv(in, sizeof in, MPI_BYTE, rank ^ 1, 1, W, &q[0]));
    must(MPI_Isend(out, sizeof out, MPI_BYTE, rank ^ 1, 1, W, &q[1]));
    it = fork();
    if (it == 0) {
        memset(in, 1, sizeof in);
        memset(out, 1, sizeof out);
        _exit(0);
    }
    must(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
    check(is_filled(in, sizeof in, rank ^ 1), "message");
    waitpid(it, &status, 0);
    works();
}

static void many_children(void)
{
    for (int i = 0; i < 50; i++)
        if (fork() == 0)
            _exit(0);
    traffic();
    while (wait(&status) > 0)
        ;
    works();
}

static void shell(void)
{
    FILE *pipe;
    char text[10] = "";

    check(system("exit 3") == 3 << 8, "system");
    pipe = popen("echo hello", "r");
    check(fgets(text, sizeof text, pipe) && strcmp(text, "hello\n") == 0, "popen");
    check(pclose(pipe) == 0, "pclose");
    traffic();
}

static void spawned(void)
{
    char *arguments[] = {(char *)"true", NULL};
    pid_t it;

    check(posix_spawnp(&it, "true", NULL, NULL, arguments, environ) == 0, "spawn");
    traffic();
    waitpid(it, &status, 0);
    check(status == 0, "status");
    works();
}

/* The child goes on as if it were the rank, the parent waits for it. */
static void child_goes_on(void)
{
    int it = fork();

    if (it == 0) {
        alarm(2);
        quiet();
        for (int i = 0; i < 100; i++)
            MPI_Send(&x, 1, MPI_INT, rank ^ 1, 3, W);
        MPI_Finalize();
        exit(0);
    }
    waitpid(it, &status, 0);
    works();
}

static void traffic_alone(void)
{
    traffic();
}

TRIALS(TRIAL(child_ends, 2, "works*2"), TRIAL(child_exits, 2, "works*2"),
       TRIAL(child_is_killed, 2, "works*2"), TRIAL(child_executes, 2, "works*2"),
       TRIAL(child_finalizes, 2, "works*2"), TRIAL(child_sends, 2, "works*2"),
       TRIAL(child_receives, 2, "works*2"), TRIAL(child_meets_a_barrier, 2, "works*2"),
       TRIAL(child_is_a_rank_again, 2, "works*2"), ALONE(fork_before_init, 2, 0, "works"),
       ALONE(rank_is_a_grandchild, 2, 0, "works"), TRIAL(child_stays, 2, "works"),
       TRIAL(daemon_stays, 2, "works"), TRIAL(fork_during_operations, 2, "works"),
       TRIAL(many_children, 2, "works*2"), TRIAL(shell, 2, "works"), TRIAL(spawned, 2, "works*2"),
       TRIAL(child_goes_on, 2, "works"),
       {"traffic", 2, traffic_alone, "works", 0, JOINED})
