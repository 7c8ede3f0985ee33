/* signals.c - signals in the middle of MPI calls: timers without SA_RESTART, handlers
 * that jump, exit or abort, ranks that are stopped for a while. */
#include "trial.h"

#include <setjmp.h>

static char out[1 << 20], in[1 << 20];
static int x, y;
static volatile sig_atomic_t alarms;
static MPI_Request r;
static MPI_Status s;

static void count(int number)
{
    (void)number;
    alarms++;
}

/* A handler, and calls are interrupted. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(number, &action, NULL);
}

static void timer(int microseconds)
{
    const struct itimerval every = {{0, microseconds}, {0, microseconds}};

    setitimer(ITIMER_REAL, &every, NULL);
}

/* Waits in every way for a message that comes late, while the clock strikes. */
static void timer_while_waiting(void)
{
    int flag;

    handle(SIGALRM, count);
    for (int way = 0; way < 6; way++) {
        if (rank == 1) {
            nap(60);
            must(way == 4 ? MPI_Recv(&x, 1, MPI_INT, 0, way, W, &s)
                          : way == 5 ? MPI_Barrier(W) : MPI_Send(&x, 1, MPI_INT, 0, way, W));
            continue;
        }
        timer(2000);
        switch (way) {
        case 0:
            must(MPI_Recv(&x, 1, MPI_INT, 1, way, W, &s));
            break;
        case 1:
            must(MPI_Probe(1, way, W, &s));
            must(MPI_Recv(&x, 1, MPI_INT, 1, way, W, &s));
            break;
        case 2:
            must(MPI_Irecv(&x, 1, MPI_INT, 1, way, W, &r));
            must(MPI_Waitall(1, &r, &s));
            break;
        case 3:
            must(MPI_Irecv(&x, 1, MPI_INT, 1, way, W, &r));
            for (flag = 0; !flag;)
                must(MPI_Test(&r, &flag, &s));
            break;
        case 4:
            must(MPI_Ssend(&x, 1, MPI_INT, 1, way, W));
            break;
        default:
            must(MPI_Barrier(W));
        }
        timer(0);
    }
    check(rank == 1 || alarms > 0, "alarms");
    works();
}

static void timer_in_all_traffic(void)
{
    handle(SIGALRM, count);
    timer(1000);
    for (int i = 0; i < 200; i++) {
        const int bytes = i % 10 == 0 ? 1 << 20 : i;

        must(MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, in, bytes, MPI_BYTE, rank ^ 1, 0, W, &s));
        must(MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, W));
        must(MPI_Bcast(out, bytes, MPI_BYTE, 0, W));
    }
    works();
    timer(0);
}

/* MPI_Finalize is interrupted as well. */
static void timer_to_the_end(void)
{
    handle(SIGALRM, count);
    timer(300);
    works();
    if (rank == 0)
        nap(100);
}

static void default_restart(void)
{
    signal(SIGALRM, count);
    timer(1000);
    for (int i = 0; i < 100; i++)
        must(MPI_Sendrecv(out, 1 << 16, MPI_BYTE, rank ^ 1, 0, in, 1 << 16, MPI_BYTE, rank ^ 1, 0, W,
                          &s));
    works();
    timer(0);
}

static void flood_of_signals(void)
{
    const int self = getpid();
    int child;

    handle(SIGUSR1, count);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 20000; i++)
            kill(self, SIGUSR1);
        _exit(0);
    }
    for (int i = 0; i < 1000; i++)
        must(MPI_Sendrecv(out, 4096, MPI_BYTE, rank ^ 1, 0, in, 4096, MPI_BYTE, rank ^ 1, 0, W, &s));
    while (waitpid(child, &x, 0) < 0 && errno == EINTR)
        ;
    works();
}

static void all_signals_blocked(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    must(MPI_Sendrecv(out, 1 << 20, MPI_BYTE, rank ^ 1, 0, in, 1 << 20, MPI_BYTE, rank ^ 1, 0, W, &s));
    works();
}

static void ask(int number)
{
    int flag, major, minor;

    (void)number;
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
    MPI_Get_version(&major, &minor);
    alarms += MPI_Wtime() > 0;
}

/* What may be asked at any time is asked in a handler. */
static void questions_in_a_handler(void)
{
    handle(SIGALRM, ask);
    timer(500);
    for (int i = 0; i < 200; i++) {
        must(MPI_Sendrecv(out, 4096, MPI_BYTE, rank ^ 1, 0, in, 4096, MPI_BYTE, rank ^ 1, 0, W, &s));
        must(MPI_Barrier(W));
    }
    nap(10);
    works();
    timer(0);
}

static void abort_here(int number)
{
    (void)number;
    MPI_Abort(MPI_COMM_WORLD, 17);
}

static void abort_in_a_handler(void)
{
    handle(SIGALRM, abort_here);
    if (rank == 0)
        timer(50000);
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 5, W, &s);
    survived();
}

static void exit_here(int number)
{
    (void)number;
    _exit(3);
}

static void exit_in_a_handler(void)
{
    handle(SIGALRM, exit_here);
    if (rank == 0)
        timer(50000);
    MPI_Barrier(W);
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 5, W, &s);
    survived();
}

static sigjmp_buf place;

static void jump(int number)
{
    (void)number;
    siglongjmp(place, 1);
}

/* A time limit as old programs have it. Who leaves a call so is inside it for ever: the
 * next one says that two are inside at once. */
static void jump_out_of_a_receive(void)
{
    static int late;
    int right;

    handle(SIGALRM, jump);
    if (rank == 0 && sigsetjmp(place, 1) == 0) {
        const struct itimerval once = {{0, 0}, {0, 50000}};

        setitimer(ITIMER_REAL, &once, NULL);
        MPI_Recv(&late, 1, MPI_INT, 1, 5, W, &s);
        say("came");
    }
    /* Here rank 0 ends, which may reach rank 1 first. */
    if (rank == 0)
        works();
    else if (exchange(&right) != MPI_SUCCESS)
        survived();
    if (rank == 1)
        must(MPI_Send(&x, 1, MPI_INT, 0, 5, W));
    works();
}

/* Stopped by somebody, and continued: nobody takes it for dead. */
static void stopped_for_a_while(void)
{
    const int self = getpid();
    int child = 0;

    if (rank == 1) {
        child = fork();
        if (child == 0) {
            for (int i = 0; i < 3; i++) {
                nap(30);
                kill(self, SIGSTOP);
                nap(100);
                kill(self, SIGCONT);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < 3000; i++) {
        must(MPI_Sendrecv(out, 4096, MPI_BYTE, rank ^ 1, 0, in, 4096, MPI_BYTE, rank ^ 1, 0, W, &s));
        if (i % 10 == 0)
            must(MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, W));
    }
    if (rank == 1)
        while (waitpid(child, &y, 0) < 0 && errno == EINTR)
            ;
    works();
}

static void broken_pipe(void)
{
    int pipes[2];

    signal(SIGPIPE, SIG_IGN);
    if (pipe(pipes) == 0) {
        close(pipes[0]);
        check(write(pipes[1], "x", 1) < 0 && errno == EPIPE, "pipe");
    }
    works();
}

static void children_end(void)
{
    handle(SIGCHLD, count);
    for (int i = 0; i < 20; i++) {
        if (fork() == 0)
            _exit(i);
        must(MPI_Sendrecv(out, 70000, MPI_BYTE, rank ^ 1, 0, in, 70000, MPI_BYTE, rank ^ 1, 0, W, &s));
    }
    while (wait(&x) > 0 || errno == EINTR)
        ;
    works();
}

static void deaf_to_sigterm(void)
{
    signal(SIGTERM, SIG_IGN);
    must(MPI_Barrier(W));
    if (rank == 0)
        MPI_Abort(W, 17);
    for (;;)
        nap(1000);
}

static void own_fault(void)
{
    must(MPI_Barrier(W));
    if (rank == 1)
        raise(SIGSEGV);
    MPI_Recv(&x, 1, MPI_INT, 1, 5, W, &s);
    survived();
}

static void interrupted_by_itself(void)
{
    must(MPI_Barrier(W));
    if (rank == 1)
        raise(SIGINT);
    MPI_Recv(&x, 1, MPI_INT, 1, 5, W, &s);
    survived();
}

TRIALS(TRIAL(timer_while_waiting, 2, "works"), TRIAL(timer_in_all_traffic, 2, "works"),
       TRIAL(timer_to_the_end, 2, "works"), TRIAL(default_restart, 2, "works"),
       TRIAL(flood_of_signals, 2, "works"), TRIAL(all_signals_blocked, 2, "works"),
       TRIAL(questions_in_a_handler, 2, "works"), ENDS(abort_in_a_handler, 2, 17, ""),
       ENDS(exit_in_a_handler, 2, 3, ""), ENDS(jump_out_of_a_receive, 2, 16, ""),
       TRIAL(stopped_for_a_while, 2, "works"), TRIAL(broken_pipe, 2, "works"),
       TRIAL(children_end, 2, "works"), ENDS(deaf_to_sigterm, 2, 17, ""),
       ENDS(own_fault, 2, 139, ""), ENDS(interrupted_by_itself, 2, 130, ""))
