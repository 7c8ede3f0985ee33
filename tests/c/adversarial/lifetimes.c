/* lifetimes.c - calls before MPI_Init and after MPI_Finalize, both of them twice or
 * never, and what becomes of processes around them: descriptors, limits, directories,
 * environments. */
#include "trial.h"

static char out[1 << 20], in[1 << 20];
static int x, flag;
static MPI_Status s;

static void traffic(void)
{
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 16) {
        fill(out, (size_t)bytes, rank);
        must(MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, in, bytes, MPI_BYTE, rank ^ 1, 0, W, &s));
        check(is_filled(in, (size_t)bytes, rank ^ 1), "message");
    }
    works();
}

static void start(void)
{
    begin();
    errors_return();
}

static void finish(void)
{
    speak();
    MPI_Finalize();
}

/* ---- Too early, too late, twice ----------------------------------------------------------- */

static void questions_before(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    saw(MPI_Initialized(&flag));
    check(!flag, "initialized");
    saw(MPI_Finalized(&flag));
    check(!flag, "finalized");
    saw(MPI_Get_version(&x, &flag));
    saw(MPI_Get_library_version(text, &length));
    start();
    finish();
}

static void questions_after(void)
{
    start();
    MPI_Finalize();
    saw(MPI_Initialized(&flag));
    check(flag, "initialized");
    saw(MPI_Finalized(&flag));
    check(flag, "finalized");
    saw(MPI_Get_version(&x, &flag));
    speak();
}

static void size_before(void)
{
    MPI_Comm_size(W, &size);
    survived();
    speak();
}

static void barrier_before(void)
{
    MPI_Barrier(W);
    survived();
    speak();
}

static void finalize_before(void)
{
    MPI_Finalize();
    survived();
    speak();
}

static void wait_before(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MPI_Wait(&r, &s);
    survived();
    speak();
}

static void barrier_after(void)
{
    start();
    MPI_Finalize();
    MPI_Barrier(W);
    survived();
    speak();
}

static void finalize_twice(void)
{
    start();
    MPI_Finalize();
    MPI_Finalize();
    survived();
    speak();
}

static void init_twice(void)
{
    start();
    refused(MPI_Init(NULL, NULL));
    refused(MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &x));
    works();
    finish();
}

static void init_after(void)
{
    start();
    MPI_Finalize();
    MPI_Init(NULL, NULL);
    survived();
    speak();
}

static void abort_before(void)
{
    MPI_Abort(MPI_COMM_WORLD, 17);
    survived();
    speak();
}

static void no_arguments(void)
{
    int none = 0;
    char *nothing[] = {NULL}, **list = nothing;

    MPI_Init(&none, &list);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    works();
    finish();
}

/* ---- Ends ------------------------------------------------------------------------------------- */

static void finalize_now(void)
{
    MPI_Finalize();
}

static void finalized_at_exit(void)
{
    start();
    works();
    speak();
    atexit(finalize_now);
    exit(0);
}

static void exit_five(void)
{
    _exit(5);
}

static void another_code_at_exit(void)
{
    start();
    works();
    finish();
    atexit(exit_five);
    exit(0);
}

static int by_destructor;

static __attribute__((destructor)) void destructor(void)
{
    if (by_destructor)
        MPI_Finalize();
}

static void finalized_by_a_destructor(void)
{
    start();
    works();
    speak();
    by_destructor = 1;
}

static int by_constructor;

static __attribute__((constructor)) void constructor(int argc, char **argv)
{
    by_constructor = argc > 1 && strcmp(argv[1], "begun_by_a_constructor") == 0;
    if (by_constructor)
        MPI_Init(NULL, NULL);
}

static void begun_by_a_constructor(void)
{
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    works();
    finish();
}

/* Nobody waits for ranks that have gone without a word. */
static void some_exit_without_finalize(void)
{
    start();
    if (rank == 1)
        exit(0);
    MPI_Recv(&x, 1, MPI_INT, 1, 0, W, &s);
    MPI_Finalize();
    _exit(0);
}

static void exit_codes_differ(void)
{
    start();
    works();
    line[0] = '\0';
    MPI_Finalize();
    exit(rank == 1 ? 9 : 0);
}

/* ---- Descriptors, limits, places ------------------------------------------------------------- */

static void no_standard_input(void)
{
    close(STDIN_FILENO);
    start();
    traffic();
    finish();
}

/* The library's own descriptors get other numbers: it is no harm to write to these. */
static void no_standard_streams(void)
{
    const int kept = fcntl(STDOUT_FILENO, F_DUPFD, 100);

    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    start();
    for (int stream = 0; stream <= 2; stream++)
        check(write(stream, "lost", 4) == -1 && errno == EBADF, "descriptor");
    traffic();
    MPI_Finalize();
    dup2(kept, STDOUT_FILENO);
    speak();
}

/* As daemons do: everything above 2 is closed, whoever it belongs to. */
static void all_descriptors_closed(void)
{
    start();
    works();
    must(MPI_Barrier(W));
    for (int i = 3; i < 1024; i++)
        close(i);
    traffic();
    finish();
}

static void all_descriptors_closed_before(void)
{
    for (int i = 3; i < 1024; i++)
        close(i);
    start(); /* says that the launcher's descriptor is missing */
    survived();
    finish();
}

static void limit(int resource, rlim_t value)
{
    struct rlimit now;

    getrlimit((__rlimit_resource_t)resource, &now);
    now.rlim_cur = value;
    setrlimit((__rlimit_resource_t)resource, &now);
}

static void no_descriptors_left(void)
{
    start();
    limit(RLIMIT_NOFILE, 0);
    traffic();
    finish();
}

static void few_descriptors_before(void)
{
    limit(RLIMIT_NOFILE, 24);
    start();
    traffic();
    finish();
}

static void little_stack(void)
{
    limit(RLIMIT_STACK, 128 * 1024);
    start();
    traffic();
    finish();
}

static void no_locked_memory(void)
{
    limit(RLIMIT_MEMLOCK, 0);
    start();
    traffic();
    finish();
}

static void no_files(void)
{
    limit(RLIMIT_FSIZE, 0);
    start();
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 16)
        must(MPI_Sendrecv(out, bytes, MPI_BYTE, rank ^ 1, 0, in, bytes, MPI_BYTE, rank ^ 1, 0, W, &s));
    works();
    finish();
}

/* Memory ends while thousands of receives are posted: an error, and one goes on. */
static void no_memory_left(void)
{
    enum { MANY = 1000000 };
    MPI_Request *q = (MPI_Request *)malloc(MANY * sizeof *q);
    struct rlimit before;
    int n = 0, code = MPI_SUCCESS;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    memset(q, 0, MANY * sizeof *q);
    start();
    works();
    if (file == NULL || fscanf(file, "%ld", &pages) != 1)
        say("no-size");
    getrlimit(RLIMIT_AS, &before);
    limit(RLIMIT_AS, (rlim_t)pages * 4096 + (1 << 20));
    while (n < MANY && code == MPI_SUCCESS)
        code = MPI_Irecv(&x, 1, MPI_INT, rank, 4, W, &q[n++]);
    setrlimit(RLIMIT_AS, &before);
    say(n == MANY ? "all" : "refused");
    if (code != MPI_SUCCESS)
        n--;
    for (int i = 0; i < n; i++) {
        must(MPI_Cancel(&q[i]));
        must(MPI_Wait(&q[i], &s));
    }
    works();
    finish();
}

static void nowhere(void)
{
    char name[] = "adversarial-XXXXXX";

    if (mkdtemp(name) == NULL || chdir(name) != 0 || rmdir("../") == 0)
        say("no-directory");
    if (rmdir(getcwd(in, sizeof in)) != 0)
        say("not-removed");
    umask(0777);
    start();
    traffic();
    finish();
}

static void elsewhere(void)
{
    start();
    if (chdir("/") != 0)
        say("no-root");
    clearenv();
    traffic();
    finish();
}

/* Nobody knows any more who it was: a world of its own, or an error; not a wait. */
static void environment_lost(void)
{
    clearenv();
    begin();
    say(size == 1 || size == 2 ? "begun" : "lost");
    rank = 0;
    finish();
}

static void huge_environment(void)
{
    static char value[100000];
    char name[20];
    char *const arguments[] = {(char *)"lifetimes", (char *)"huge_environment", NULL};

    if (getenv("HUGE_0") == NULL) {
        memset(value, 'x', sizeof value - 1);
        for (int i = 0; i < 15; i++) {
            snprintf(name, sizeof name, "HUGE_%d", i);
            setenv(name, value, 1);
        }
        execv("/proc/self/exe", arguments);
    }
    start();
    traffic();
    finish();
}

static void strange_environment(void)
{
    static char *strange[300];
    extern char **environ;
    int n = 0;

    for (char **it = environ; *it && n < 250; it++)
        strange[n++] = *it;
    strange[n++] = (char *)"";
    strange[n++] = (char *)"=";
    strange[n++] = (char *)"NO_VALUE";
    strange[n++] = (char *)"POMBO_";
    strange[n++] = (char *)"POMBO";
    strange[n++] = (char *)"=POMBO_NET=ethernet";
    strange[n++] = (char *)"\xff\xfe=\xff";
    environ = strange;
    start();
    traffic();
    finish();
}

TRIALS(ALONE(questions_before, 2, 0, "ok*4"), ALONE(questions_after, 2, 0, "ok*3"),
       ALONE(size_before, 1, 16, ""), ALONE(barrier_before, 1, 16, ""),
       ALONE(finalize_before, 1, 16, ""), ALONE(wait_before, 1, 16, ""),
       ALONE(barrier_after, 1, 16, ""), ALONE(finalize_twice, 1, 16, ""),
       ALONE(init_twice, 2, 0, "refused*2 works"), ALONE(init_after, 1, 16, ""),
       ALONE(abort_before, 1, 17, ""), ALONE(no_arguments, 2, 0, "works"),
       ALONE(finalized_at_exit, 2, 0, "works"), ALONE(another_code_at_exit, 2, 5, "works"),
       ALONE(finalized_by_a_destructor, 2, 0, "works"),
       ALONE(begun_by_a_constructor, 2, 0, "works"),
       ALONE(some_exit_without_finalize, 2, 1, ""), ALONE(exit_codes_differ, 2, 9, ""),
       ALONE(no_standard_input, 2, 0, "works"), ALONE(no_standard_streams, 2, 0, "works"),
       ALONE(all_descriptors_closed, 2, 0, "works*2"),
       ALONE(all_descriptors_closed_before, 2, 16, ""),
       ALONE(no_descriptors_left, 2, 0, "works"), ALONE(few_descriptors_before, 2, 0, "works"),
       ALONE(little_stack, 2, 0, "works"), ALONE(no_locked_memory, 2, 0, "works"),
       ALONE(no_files, 2, 0, "works"), ALONE(no_memory_left, 2, 0, "works refused works"),
       ALONE(nowhere, 2, 0, "works"), ALONE(elsewhere, 2, 0, "works"),
       ALONE(environment_lost, 2, 0, "begun"), ALONE(huge_environment, 2, 0, "works"),
       ALONE(strange_environment, 2, 0, "works"))
