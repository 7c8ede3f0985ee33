/* threads.c - threads that ask at any time, take turns, call at once where they may not,
 * abort, end too early, or have hardly any stack. */
#include "trial.h"

static char out[1 << 20], in[1 << 20];
static int x;
static MPI_Request r;
static MPI_Status s;

static void begin_with(int wanted)
{
    int given;

    MPI_Init_thread(NULL, NULL, wanted, &given);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    errors_return();
    check(given >= wanted, "level");
}

static void end(void)
{
    speak();
    MPI_Finalize();
}

static void start(pthread_t *thread, void *(*work)(void *), size_t stack)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    check(pthread_create(thread, &attributes, work, NULL) == 0, "thread");
}

static void traffic(void)
{
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 16) {
        fill(out, (size_t)bytes, rank);
        must(MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, in, bytes, MPI_BYTE, rank ^ 1, 0, W, &s));
        check(is_filled(in, (size_t)bytes, rank ^ 1), "message");
        must(MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, W));
    }
    works();
}

static volatile int stop;

static void *ask(void *unused)
{
    while (!stop) {
        int begun = 0, over = 1, level = -1, major, minor;

        MPI_Initialized(&begun);
        MPI_Finalized(&over);
        MPI_Query_thread(&level);
        MPI_Get_version(&major, &minor);
        if (!begun || over || level < MPI_THREAD_FUNNELED || MPI_Wtime() <= 0)
            return (void *)1;
    }
    return unused;
}

/* These may be called from any thread at any level. */
static void questions_from_threads(void)
{
    pthread_t threads[3];
    void *result;

    begin_with(MPI_THREAD_FUNNELED);
    for (int i = 0; i < 3; i++)
        start(&threads[i], ask, 0);
    for (int i = 0; i < 20; i++) {
        traffic();
        line[0] = '\0';
        repeated = 0;
    }
    stop = 1;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        check(result == NULL, "answers");
    }
    works();
    end();
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *take_turns(void *unused)
{
    int mine = -1;

    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&turn);
        must(MPI_Sendrecv(&i, 1, MPI_INT, rank, 7, &mine, 1, MPI_INT, rank, 7, W, &s));
        check(mine == i, "turn");
        pthread_mutex_unlock(&turn);
    }
    return unused;
}

static void turns(void)
{
    pthread_t threads[4];

    begin_with(MPI_THREAD_SERIALIZED);
    for (int i = 0; i < 4; i++)
        start(&threads[i], take_turns, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    traffic();
    end();
}

static void *wait_for_five(void *unused)
{
    int came = 0;

    MPI_Recv(&came, 1, MPI_INT, rank ^ 1, 5, W, IGNORE);
    return came == 5 ? unused : (void *)1;
}

/* One thread waits in a receive, another calls: under SERIALIZED a misuse. It is named,
 * or it does no harm. */
static void calls_at_once(void)
{
    const int five = 5;
    pthread_t thread;

    begin_with(MPI_THREAD_SERIALIZED);
    must(MPI_Barrier(W));
    if (rank == 0) {
        start(&thread, wait_for_five, 0);
        nap(50);
        for (int i = 0; i < 100; i++) {
            int flag;

            MPI_Iprobe(1, 12345, W, &flag, &s);
        }
        nap(200);
        pthread_join(thread, NULL);
    } else {
        nap(100);
        must(MPI_Send(&five, 1, MPI_INT, 0, 5, W));
    }
    works();
    end();
}

static void *hurry(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        int mine = -1;

        if (MPI_Sendrecv(&i, 1, MPI_INT, rank, 7, &mine, 1, MPI_INT, rank, 7, W, IGNORE) == MPI_SUCCESS && mine != i)
            abort(); /* counts as a fault */
    }
    return unused;
}

/* The same in a hurry: it may end, if it says why; it may not fault, mix messages or wait for ever. */
static void races(void)
{
    pthread_t threads[2];

    begin_with(MPI_THREAD_SERIALIZED);
    for (int i = 0; i < 2; i++)
        start(&threads[i], hurry, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    works();
    end();
}

static void *abort_job(void *unused)
{
    nap(50);
    MPI_Abort(W, 17);
    return unused;
}

static void abort_from_a_thread(void)
{
    pthread_t thread;

    begin_with(MPI_THREAD_SERIALIZED);
    if (rank == 0)
        start(&thread, abort_job, 0);
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 5, W, &s);
    survived();
    end();
}

static void *begin_here(void *unused)
{
    begin_with(MPI_THREAD_SERIALIZED);
    return unused;
}

static void begun_by_a_thread(void)
{
    pthread_t thread;

    start(&thread, begin_here, 0);
    pthread_join(thread, NULL);
    traffic();
    end();
}

static void *finalize_here(void *unused)
{
    MPI_Finalize();
    return unused;
}

static void finalized_by_a_thread(void)
{
    pthread_t thread;

    begin_with(MPI_THREAD_SERIALIZED);
    traffic();
    speak();
    start(&thread, finalize_here, 0);
    pthread_join(thread, NULL);
}

static void *post_here(void *unused)
{
    must(MPI_Irecv(in, sizeof in, MPI_BYTE, rank ^ 1, 3, W, &r));
    return unused;
}

/* A thread is gone, its operation is not. */
static void posted_by_a_thread(void)
{
    pthread_t thread;

    begin_with(MPI_THREAD_SERIALIZED);
    start(&thread, post_here, 0);
    pthread_join(thread, NULL);
    fill(out, sizeof out, rank);
    must(MPI_Send(out, sizeof out, MPI_BYTE, rank ^ 1, 3, W));
    must(MPI_Wait(&r, &s));
    check(is_filled(in, sizeof in, rank ^ 1), "message");
    works();
    end();
}

static void *traffic_here(void *unused)
{
    traffic();
    return unused;
}

static void on_a_stack(size_t bytes)
{
    pthread_t thread;

    begin_with(MPI_THREAD_SERIALIZED);
    start(&thread, traffic_here, bytes);
    pthread_join(thread, NULL);
    end();
}

static void small_stack(void)
{
    on_a_stack(65536);
}

static void smallest_stack(void)
{
    on_a_stack((size_t)PTHREAD_STACK_MIN + 4096);
}

static void *all_here(void *unused)
{
    begin_with(MPI_THREAD_SERIALIZED);
    works();
    end();
    return unused;
}

static void all_on_a_small_stack(void)
{
    pthread_t thread;

    start(&thread, all_here, 128 * 1024);
    pthread_join(thread, NULL);
}

/* Cancelled by its program in the middle of a receive, whose message then comes. */
static void cancelled_thread(void)
{
    const int five = 5;
    pthread_t thread;

    begin_with(MPI_THREAD_SERIALIZED);
    must(MPI_Barrier(W));
    if (rank == 0) {
        start(&thread, wait_for_five, 0);
        nap(200);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    } else {
        nap(400);
        must(MPI_Send(&five, 1, MPI_INT, 0, 5, W));
    }
    works();
    end();
}

static void ask_once(void *unused)
{
    int over;

    (void)unused;
    MPI_Finalized(&over);
}

static void *ask_at_the_end(void *key)
{
    (void)key;
    return NULL;
}

static void questions_of_a_destructor(void)
{
    pthread_key_t key;
    pthread_t thread;

    begin_with(MPI_THREAD_FUNNELED);
    pthread_key_create(&key, ask_once);
    pthread_setspecific(key, &key);
    start(&thread, ask_at_the_end, 0);
    pthread_join(thread, NULL);
    works();
    end();
}

static void *ask_for_ever(void *unused)
{
    int over;

    for (;;)
        MPI_Finalized(&over);
    return unused;
}

/* A thread that nobody waits for still asks when the program ends. */
static void questions_to_the_end(void)
{
    pthread_t thread;

    begin_with(MPI_THREAD_FUNNELED);
    start(&thread, ask_for_ever, 0);
    pthread_detach(thread);
    works();
    end();
}

static void *change_environment(void *unused)
{
    char value[20];

    for (int i = 0; !stop; i++) {
        snprintf(value, sizeof value, "%d", i);
        setenv("POMBO_EAGER_LIMIT", value, 1);
        setenv(value, "x", 1);
        unsetenv(value);
    }
    return unused;
}

/* Threads of a program may change its environment once it has started. */
static void changing_environment(void)
{
    pthread_t thread;

    begin_with(MPI_THREAD_FUNNELED);
    start(&thread, change_environment, 0);
    traffic();
    stop = 1;
    pthread_join(thread, NULL);
    end();
}

extern char **environ;
static int has_begun;
static char late[100];

/* The library finds this one in place of the C library's. */
char *getenv(const char *name)
{
    const size_t length = strlen(name);

    if (has_begun)
        snprintf(late, sizeof late, "%s", name);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

/* So the library reads variables only as it starts. */
static void variables_are_read_at_the_start(void)
{
    MPI_Info hints;

    setenv("POMBO_COLL_BCAST", "adaptive", 1);
    setenv("POMBO_ADAPTIVE_EVERY", "1", 1);
    setenv("POMBO_ADAPTIVE_THRESHOLD", "0", 1);
    setenv("POMBO_COLL_REDUCE", "two_level", 1);
    begin_with(MPI_THREAD_FUNNELED);
    has_begun = 1;
    traffic();
    for (int i = 0; i < 200; i++)
        must(MPI_Bcast(&x, 1, MPI_INT, 0, W));
    must(MPI_Reduce(&rank, &x, 1, MPI_INT, MPI_SUM, 0, W));
    must(MPI_Info_create(&hints));
    must(MPI_Info_set(hints, "pombo_coll_bcast", "of no kind"));
    must(MPI_Comm_set_info(W, hints));
    must(MPI_Info_free(&hints));
    MPI_Finalize();
    check(!late[0], late);
    speak();
}

static void *read_for_ever(void *unused)
{
    int ends[2];

    check(pipe(ends) == 0, "pipe");
    getc(fdopen(ends[0], "r"));
    return unused;
}

/* It has the lock of a stream meanwhile; and what the program's timer has left does not end the abort early. */
static void abort_while_a_thread_reads(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    pthread_t thread;
    sigset_t set;

    begin_with(MPI_THREAD_FUNNELED);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    start(&thread, read_for_ever, 0);
    usleep(100000);
    if (rank == 1)
        MPI_Abort(W, 17);
    pthread_join(thread, NULL);
}

static void *fork_often(void *unused)
{
    for (int i = 0; i < 20; i++) {
        int status, child = fork();

        if (child == 0)
            _exit(0);
        waitpid(child, &status, 0);
    }
    return unused;
}

static void forks_of_a_thread(void)
{
    pthread_t thread;

    begin_with(MPI_THREAD_FUNNELED);
    start(&thread, fork_often, 0);
    traffic();
    pthread_join(thread, NULL);
    end();
}

static void levels_that_are_none(void)
{
    int given = -1, same = -2;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    MPI_Query_thread(&same);
    check(given == same && given >= MPI_THREAD_SINGLE && given <= MPI_THREAD_MULTIPLE, "level");
    works();
    end();
}

TRIALS(ALONE(questions_from_threads, 2, 0, "works"), ALONE(turns, 2, 0, "works"),
       ALONE(calls_at_once, 2, 0, "*"), ALONE(races, 2, 0, "*"), ALONE(abort_from_a_thread, 2, 17, ""),
       ALONE(begun_by_a_thread, 2, 0, "works"), ALONE(finalized_by_a_thread, 2, 0, "works"),
       ALONE(posted_by_a_thread, 2, 0, "works"), ALONE(small_stack, 2, 0, "works"),
       ALONE(smallest_stack, 2, 0, "works"), ALONE(all_on_a_small_stack, 2, 0, "works"),
       ALONE(cancelled_thread, 2, 0, "works"), ALONE(questions_of_a_destructor, 2, 0, "works"),
       ALONE(questions_to_the_end, 2, 0, "works"), ALONE(changing_environment, 2, 0, "works"),
       ALONE(variables_are_read_at_the_start, 2, 0, "works"),
       ALONE(abort_while_a_thread_reads, 2, 17, ""),
       ALONE(forks_of_a_thread, 2, 0, "works"), ALONE(levels_that_are_none, 2, 0, "works"))
