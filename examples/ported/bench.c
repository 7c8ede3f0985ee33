/* bench.c - what messages cost, as a plain C program over MPI.
 *
 *   mpicc -O2 bench.c -o bench
 *   mpirun -n 2 ./bench pair 0.1 60
 *   mpirun -n 8 ./bench all 0.1 60
 *
 * "pair" measures between two ranks, "all" what all ranks do together. Then come
 * the seconds to spend on each measurement, and the seconds after which every
 * rank ends itself, whatever hangs. Rank 0 prints lines of the form
 *
 *   library NAME AND VERSION
 *   bench NAME SIZE MEDIAN LOW HIGH UNIT
 *
 * SIZE is in bytes; median and quartiles are those of many batches. Times are
 * those of the slowest rank. `pombo bench` compares libraries with it.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 64     /* messages under way together */
#define BATCHES 25    /* of a measurement, if there is time */
#define MIN_BATCHES 3 /* even if there is not */
#define MAX_REPEATS 10000000
#define MAX_SIZE (1 << 20)
#define ANSWER 99 /* tag of what ends a window; no message of a window has it */
#define BAD_USAGE 2

static int me, ranks;
static char *outgoing, *incoming; /* outgoing: MAX_SIZE bytes; incoming: WINDOW times that for a pair */

/* One measurement. */
struct task {
    const char *name;
    int size; /* bytes of a message */
    void (*once)(const struct task *, int i); /* repetition i */
    double each;      /* what one repetition counts: half round trips, messages, bytes */
    const char *unit; /* us: time of each; MB/s, M/s: millions of each in a second */
    int spread;       /* window: message i has tag i * spread */
    int backwards;    /* window: the last one sent is received first */
    int source;       /* window: whom the receiver names */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rank r stays on the r-th allowed core, if every rank has one: some libraries
 * do so by themselves and some do not, and here all shall be alike. */
static void pin(void)
{
    cpu_set_t allowed, own;
    int left = me;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < ranks)
        return;
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && left-- == 0) {
            CPU_ZERO(&own);
            CPU_SET(core, &own);
            sched_setaffinity(0, sizeof own, &own); /* unpinned is worse, not wrong */
            return;
        }
    }
}

/* ---- what is repeated ---------------------------------------------------- */

static void ping_pong(const struct task *t, int i)
{
    (void)i;
    if (me == 0) {
        MPI_Send(outgoing, t->size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(incoming, t->size, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(incoming, t->size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, t->size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static void send_window(const struct task *t)
{
    MPI_Request request[WINDOW];

    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(outgoing, t->size, MPI_CHAR, 1, i * t->spread, MPI_COMM_WORLD, &request[i]);
    MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
    MPI_Recv(NULL, 0, MPI_CHAR, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_window(const struct task *t)
{
    MPI_Request request[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        const int message = t->backwards ? WINDOW - 1 - i : i;
        char *place = incoming + (size_t)i * (size_t)t->size;
        MPI_Irecv(place, t->size, MPI_CHAR, t->source, message * t->spread, MPI_COMM_WORLD,
                  &request[i]);
    }
    MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
    MPI_Send(NULL, 0, MPI_CHAR, 0, ANSWER, MPI_COMM_WORLD);
}

static void window(const struct task *t, int i)
{
    (void)i;
    if (me == 0)
        send_window(t);
    else
        receive_window(t);
}

static void barrier(const struct task *t, int i)
{
    (void)t, (void)i;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(const struct task *t, int i)
{
    const int count = t->size / (int)sizeof(double);

    (void)i;
    MPI_Allreduce(outgoing, incoming, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* One root would run ahead of the others. As the roots take turns, each waits
 * for what the one before has sent. */
static void bcast(const struct task *t, int i)
{
    MPI_Bcast(outgoing, t->size, MPI_CHAR, i % ranks, MPI_COMM_WORLD);
}

/* ---- measuring: time decides how often, and rank 0 decides for all ------- */

static int agreed(int wish)
{
    MPI_Bcast(&wish, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return wish;
}

static double slowest(double seconds)
{
    double most = seconds;

    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

/* The first one is not timed: it brings the ranks into step. */
static double batch(const struct task *t, int repeats)
{
    double start;

    t->once(t, 0);
    start = now();
    for (int i = 1; i <= repeats; i++)
        t->once(t, i);
    return slowest(now() - start);
}

/* How many repetitions last about `seconds`; warms up on the way. */
static int calibrate(const struct task *t, double seconds)
{
    for (int repeats = 1;;) {
        const double took = batch(t, repeats);
        double wish = took > 0 ? repeats * (seconds / took) : MAX_REPEATS;
        if (wish > 8.0 * repeats)
            wish = 8.0 * repeats;
        if (wish > MAX_REPEATS)
            wish = MAX_REPEATS;
        const int next = agreed((int)wish);
        /* Close enough: what is left to gain is less than another round. */
        if (next <= repeats + repeats / 2)
            return next > 0 ? next : 1;
        repeats = next;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print(const char *name, int size, const char *unit, double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, ascending);
    if (me == 0)
        printf("bench %s %d %.9g %.9g %.9g %s\n", name, size, value[n / 2], value[n / 4],
               value[n - 1 - n / 4], unit);
    fflush(stdout);
}

static void measure(const struct task *t, double seconds)
{
    const int repeats = calibrate(t, seconds / BATCHES);
    const double end = now() + seconds;
    double value[BATCHES];
    int n = 0, more = 1;

    while (more) {
        const double took = batch(t, repeats) * 1e6, all = repeats * t->each;
        value[n++] = strchr(t->unit, '/') ? all / took : took / all;
        more = agreed(n < MIN_BATCHES || (n < BATCHES && now() < end));
    }
    print(t->name, t->size, t->unit, value, n);
}

/* ---- what is measured --------------------------------------------------- */

static void measure_pair(double seconds)
{
    static const int latency[] = {0, 8, 64, 1024, 8192, 65536, MAX_SIZE};
    static const int bandwidth[] = {1024, 8192, 65536, MAX_SIZE};
    const struct task rate[] = {
        {"rate-equal-tags", 8, window, WINDOW, "M/s", 0, 0, 0},
        {"rate-distinct-tags", 8, window, WINDOW, "M/s", 1, 0, 0},
        {"rate-reverse-order", 8, window, WINDOW, "M/s", 1, 1, 0},
        {"rate-any-source", 8, window, WINDOW, "M/s", 0, 0, MPI_ANY_SOURCE},
    };

    for (size_t i = 0; i < sizeof latency / sizeof *latency; i++) {
        const struct task t = {"latency", latency[i], ping_pong, 2, "us", 0, 0, 0};
        measure(&t, seconds);
    }
    for (size_t i = 0; i < sizeof bandwidth / sizeof *bandwidth; i++) {
        const double bytes = (double)WINDOW * bandwidth[i];
        const struct task t = {"bandwidth", bandwidth[i], window, bytes, "MB/s", 0, 0, 0};
        measure(&t, seconds);
    }
    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++)
        measure(&rate[i], seconds);
}

static void measure_all(double seconds)
{
    const struct task tasks[] = {
        {"barrier", 0, barrier, 1, "us", 0, 0, 0},
        {"allreduce", 8, allreduce, 1, "us", 0, 0, 0},
        {"bcast", 1024, bcast, 1, "us", 0, 0, 0},
        {"bcast", MAX_SIZE, bcast, 1, "us", 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        measure(&tasks[i], seconds);
}

static void refuse(const char *why)
{
    if (me == 0)
        fprintf(stderr, "bench: %s\n", why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, BAD_USAGE);
    exit(BAD_USAGE);
}

/* Zeros in memory that is really there. */
static char *buffer(size_t bytes)
{
    char *memory = malloc(bytes);

    if (memory == NULL)
        refuse("not enough memory; 65 MiB are needed for each rank");
    return memset(memory, 0, bytes);
}

static void print_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(text, &length);
    if (me == 0)
        printf("library %.*s\n", (int)strcspn(text, "\n"), text);
}

int main(int argc, char **argv)
{
    const double seconds = argc == 4 ? atof(argv[2]) : 0;
    const int limit = argc == 4 ? atoi(argv[3]) : 0;
    int pair;
    double start, init;

    if (limit > 0)
        alarm((unsigned)limit);
    start = now();
    MPI_Init(&argc, &argv);
    init = now() - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!(seconds > 0) || limit <= 0)
        refuse("write: bench pair|all SECONDS LIMIT, for example: bench pair 0.1 60");
    pair = strcmp(argv[1], "pair") == 0;
    if (!pair && strcmp(argv[1], "all") != 0)
        refuse("the first argument is pair or all");
    if (pair && ranks != 2)
        refuse("a pair is two ranks; start it with -n 2");
    pin();
    outgoing = buffer(MAX_SIZE);
    incoming = buffer(pair ? (size_t)WINDOW * MAX_SIZE : MAX_SIZE);
    print_library();
    init = slowest(init) * 1e3;
    print("init", 0, "ms", &init, 1);
    if (pair)
        measure_pair(seconds);
    else
        measure_all(seconds);
    MPI_Finalize();
    return 0;
}
