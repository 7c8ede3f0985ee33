/* bench.c - measures the cost of messages, as a plain C program over MPI.
 *
 *   mpicc -O3 bench.c -o bench
 *   mpirun -n 2 ./bench 0.1 latency 8 bandwidth 65536
 *   mpirun -n 8 ./bench 0.1 barrier 0 allreduce 8
 *
 * The arguments are the seconds to spend on each measurement, then names and
 * sizes in bytes; the table `measurements` below has the names. `pombo bench`
 * compares libraries with it. It keeps one such program of each library waiting
 * and runs them in turns, so that other load of the machine affects all of them:
 *
 *   mpirun -n 2 ./bench turns PREFIX LIMIT
 *
 * Rank r then reads lines of SECONDS NAME SIZE from the file PREFIX.r, a FIFO,
 * and sleeps in between. It ends at the end of the FIFO, or when a line takes
 * longer than LIMIT seconds. The last form measures the time of MPI_Init and
 * MPI_Finalize:
 *
 *   mpirun -n 2 ./bench start LIMIT
 *
 * And this one what memory the library needs once each rank has sent messages to
 * all others, of 8 bytes first, then of 1 MiB:
 *
 *   mpirun -n 64 ./bench pss LIMIT
 *
 * Rank 0 prints lines of the form
 *
 *   library NAME AND VERSION
 *   bench NAME SIZE MEDIAN LOW HIGH UNIT
 *
 * Median and quartiles are those of many batches. Times are those of the slowest
 * rank; those of casts run from the root's start to the end of the last rank.
 *
 * A program sends what it has just written and reads what it receives. So does this
 * one, and the times include it: every word is written before the send, differs from
 * that of the message before, and is compared after the receive; one that is wrong
 * ends the job. This work is the same for all libraries, but not what they make of
 * the caches. Only measurements called *-unwritten send the same bytes again and
 * again and read none of them, as most benchmarks do.
 */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 64   /* messages under way at a time */
#define BATCHES 25  /* batches of a measurement, if time permits */
#define PATIENCE 4  /* times the seconds of a measurement: longest wait for an undisturbed batch */
#define MAX_REPEATS 10000000
#define MAX_SIZE (1 << 25)
#define IN_ONE_GO (4 << 20) /* bytes of consecutive broadcasts */
#define MOST_IN_ONE_GO 16
#define PAUSE 1e-4 /* seconds until all ranks wait for the root */
#define LINE 256    /* bytes of the longest line of a turn */
#define ANSWER 99   /* tag of the message that ends a window; no message of a window has it */
#define BAD_USAGE 2
#define LONGEST_SENT (1 << 20) /* bytes, to all ranks */

struct measurement {
    const char *name;
    const char *unit; /* us: time of each; MB/s, M/s: millions of each per second */
    int pair;         /* runs between two ranks */
    void (*once)(int size); /* runs one repetition */
    int parts;        /* units in one repetition; for MB/s times the size */
    int messages;     /* messages in each buffer; EVERY: one for each rank */
    int unwritten;    /* messages are neither written nor read */
    int spread;       /* window: message i has tag i * spread */
    int backwards;    /* window: the last one sent is received first */
    int source;       /* window: source of the receives */
    int most;         /* from one root: most consecutive broadcasts; else 0 */
};
#define EVERY 0

static int me, ranks;
static int has_cores; /* there is a core for each rank */
static char *outgoing, *incoming; /* their size depends on the measurement */
static const struct measurement *current;
static uint64_t repetition; /* the number of this one since the start, alike at all ranks */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pins ranks to the allowed cores in turn: some libraries do so by themselves and
 * some do not, and all must run alike here. */
static void pin(void)
{
    cpu_set_t allowed, own;
    int left;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        return;
    has_cores = CPU_COUNT(&allowed) >= ranks;
    left = me % CPU_COUNT(&allowed);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && left-- == 0) {
            CPU_ZERO(&own);
            CPU_SET(core, &own);
            sched_setaffinity(0, sizeof own, &own); /* unpinned ranks give worse figures, but valid ones */
            return;
        }
    }
}

static void refuse(const char *why)
{
    if (me == 0)
        fprintf(stderr, "bench: %s\n", why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, BAD_USAGE);
    exit(BAD_USAGE);
}

/* ---- what messages carry ------------------------------------------------- */

/* Returns the first word of a message of this repetition; the others count on. The
 * odd factor spreads the number over all bytes. */
static uint64_t first_word(int source, int message)
{
    const uint64_t number = repetition * WINDOW + (uint64_t)message;

    return (number * 1024 + (uint64_t)source) * UINT64_C(0x9E3779B97F4A7C15);
}

static void fill(char *place, int size, uint64_t first)
{
    const size_t words = (size_t)size / 8, rest = (size_t)size % 8;

    if (current->unwritten)
        return;
    for (size_t i = 0; i < words; i++) {
        const uint64_t word = first + i;
        memcpy(place + i * 8, &word, 8);
    }
    if (rest > 0)
        memcpy(place + words * 8, &first, rest);
}

static void wrong(int size)
{
    fprintf(stderr, "bench: rank %d: a wrong byte in %s %d\n", me, current->name, size);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(const char *place, int size, uint64_t first)
{
    const size_t words = (size_t)size / 8, rest = (size_t)size % 8;
    uint64_t differs = 0, word;

    if (current->unwritten)
        return;
    for (size_t i = 0; i < words; i++) {
        memcpy(&word, place + i * 8, 8);
        differs |= word ^ (first + i);
    }
    if (differs != 0 || (rest > 0 && memcmp(place + words * 8, &first, rest) != 0))
        wrong(size);
}

/* Rank r contributes numbers that count on from a first one, times r + 1. They are
 * whole, and so small that their sums are exact. */
static void fill_doubles(int size)
{
    const int first = (int)(repetition % (1 << 20));
    double *place = (double *)outgoing;

    for (int i = 0; i < size / 8; i++)
        place[i] = (double)(first + i) * (me + 1);
}

static void check_sum(int size)
{
    const int first = (int)(repetition % (1 << 20)), all = ranks * (ranks + 1) / 2;
    uint64_t differs = 0, has, wanted;

    for (int i = 0; i < size / 8; i++) {
        const double sum = (double)(first + i) * all;
        memcpy(&wanted, &sum, 8);
        memcpy(&has, incoming + (size_t)i * 8, 8);
        differs |= has ^ wanted;
    }
    if (differs != 0)
        wrong(size);
}

/* ---- repetitions between two ranks --------------------------------------- */

static void send_one(int size)
{
    fill(outgoing, size, first_word(me, 0));
    MPI_Send(outgoing, size, MPI_CHAR, 1 - me, 0, MPI_COMM_WORLD);
}

static void receive_one(int size)
{
    MPI_Recv(incoming, size, MPI_CHAR, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(incoming, size, first_word(1 - me, 0));
}

static void ping_pong(int size)
{
    if (me == 0)
        send_one(size);
    receive_one(size);
    if (me == 1)
        send_one(size);
}

static void send_window(int size, MPI_Request *request)
{
    for (int i = 0; i < WINDOW; i++) {
        char *place = outgoing + (size_t)i * (size_t)size;
        fill(place, size, first_word(me, i));
        MPI_Isend(place, size, MPI_CHAR, 1 - me, i * current->spread, MPI_COMM_WORLD, &request[i]);
    }
}

static void receive_window(int size, int source, MPI_Request *request)
{
    for (int i = 0; i < WINDOW; i++) {
        const int tag = (current->backwards ? WINDOW - 1 - i : i) * current->spread;
        char *place = incoming + (size_t)i * (size_t)size;
        MPI_Irecv(place, size, MPI_CHAR, source, tag, MPI_COMM_WORLD, &request[i]);
    }
}

static void check_window(int size)
{
    for (int i = 0; i < WINDOW; i++) {
        const int message = current->backwards ? WINDOW - 1 - i : i;
        check(incoming + (size_t)i * (size_t)size, size, first_word(1 - me, message));
    }
}

static void one_way(int size)
{
    MPI_Request request[WINDOW];

    if (me == 0) {
        send_window(size, request);
        MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_CHAR, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        receive_window(size, current->source, request);
        MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
        check_window(size);
        MPI_Send(NULL, 0, MPI_CHAR, 0, ANSWER, MPI_COMM_WORLD);
    }
}

static void both_ways(int size)
{
    MPI_Request request[2 * WINDOW];

    receive_window(size, 1 - me, request);
    send_window(size, request + WINDOW);
    MPI_Waitall(2 * WINDOW, request, MPI_STATUSES_IGNORE);
    check_window(size);
}

/* ---- repetitions of all ranks -------------------------------------------- */

static void barrier(int size)
{
    (void)size;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* With one root, it would run ahead of the others, or they ahead of it. The roots
 * alternate, so each waits for the data of the one before. Casts have one root, as a
 * program that distributes its data. */
static void bcast(int size)
{
    const int root = current->most ? 0 : (int)(repetition % (uint64_t)ranks);

    if (me == root)
        fill(outgoing, size, first_word(root, 0));
    MPI_Bcast(outgoing, size, MPI_CHAR, root, MPI_COMM_WORLD);
    if (me != root)
        check(outgoing, size, first_word(root, 0));
}

static void reduce(int size)
{
    const int root = (int)(repetition % (uint64_t)ranks);

    fill_doubles(size);
    MPI_Reduce(outgoing, incoming, size / 8, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    if (me == root)
        check_sum(size);
}

static void allreduce(int size)
{
    fill_doubles(size);
    MPI_Allreduce(outgoing, incoming, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check_sum(size);
}

static void allgather(int size)
{
    fill(outgoing, size, first_word(me, 0));
    MPI_Allgather(outgoing, size, MPI_CHAR, incoming, size, MPI_CHAR, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; rank++)
        check(incoming + (size_t)rank * (size_t)size, size, first_word(rank, 0));
}

static void alltoall(int size)
{
    for (int rank = 0; rank < ranks; rank++)
        fill(outgoing + (size_t)rank * (size_t)size, size, first_word(me, rank));
    MPI_Alltoall(outgoing, size, MPI_CHAR, incoming, size, MPI_CHAR, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; rank++)
        check(incoming + (size_t)rank * (size_t)size, size, first_word(rank, me));
}

static const struct measurement measurements[] = {
    {"latency", "us", 1, ping_pong, 2, 1, 0, 0, 0, 0, 0},
    {"latency-unwritten", "us", 1, ping_pong, 2, 1, 1, 0, 0, 0, 0},
    {"bandwidth", "MB/s", 1, one_way, WINDOW, WINDOW, 0, 0, 0, 0, 0},
    {"bandwidth-unwritten", "MB/s", 1, one_way, WINDOW, WINDOW, 1, 0, 0, 0, 0},
    {"bidirectional", "MB/s", 1, both_ways, 2 * WINDOW, WINDOW, 0, 0, 0, 0, 0},
    {"rate-equal-tags", "M/s", 1, one_way, WINDOW, WINDOW, 0, 0, 0, 0, 0},
    {"rate-distinct-tags", "M/s", 1, one_way, WINDOW, WINDOW, 0, 1, 0, 0, 0},
    {"rate-reverse-order", "M/s", 1, one_way, WINDOW, WINDOW, 0, 1, 1, 0, 0},
    {"rate-any-source", "M/s", 1, one_way, WINDOW, WINDOW, 0, 0, 0, MPI_ANY_SOURCE, 0},
    {"barrier", "us", 0, barrier, 1, 1, 0, 0, 0, 0, 0},
    {"bcast", "us", 0, bcast, 1, 1, 0, 0, 0, 0, 0},
    {"cast", "MB/s", 0, bcast, 1, 1, 0, 0, 0, 0, MOST_IN_ONE_GO},
    {"one-cast", "MB/s", 0, bcast, 1, 1, 0, 0, 0, 0, 1},
    {"cast-time", "us", 0, bcast, 1, 1, 0, 0, 0, 0, 1},
    {"reduce", "us", 0, reduce, 1, 1, 0, 0, 0, 0, 0},
    {"allreduce", "us", 0, allreduce, 1, 1, 0, 0, 0, 0, 0},
    {"allgather", "us", 0, allgather, 1, EVERY, 0, 0, 0, 0, 0},
    {"alltoall", "us", 0, alltoall, 1, EVERY, 0, 0, 0, 0, 0},
};

/* ---- measuring ----------------------------------------------------------- */

struct took {
    double seconds;
    double interrupts; /* involuntary context switches */
};

/* Returns the largest values of all ranks, so that all decide alike. */
static struct took slowest(struct took mine)
{
    const double own[2] = {mine.seconds, mine.interrupts};
    double most[2];

    MPI_Allreduce(own, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (struct took){most[0], most[1]};
}

static double interrupts(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (double)usage.ru_nivcsw : 0;
}

static void repeat(int size)
{
    repetition++;
    current->once(size);
}

/* Returns the number of consecutive broadcasts. */
static int in_one_go(int size)
{
    const int fit = IN_ONE_GO / (size > 0 ? size : 1);

    return fit < 1 ? 1 : fit < current->most ? fit : current->most;
}

/* Measures from the root's start, while all others wait for it, until the last rank
 * has all data. That needs a clock shared by all ranks: hosts that are network
 * namespaces of one machine have it. */
static struct took from_one_root(int size, int repeats)
{
    double own[2], most[2], ready;

    MPI_Barrier(MPI_COMM_WORLD);
    ready = now();
    while (me == 0 && now() < ready + PAUSE)
        sched_yield();
    own[0] = me == 0 ? -now() : -HUGE_VAL;
    for (int i = 0; i < repeats; i++)
        repeat(size);
    own[1] = now();
    MPI_Allreduce(own, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (struct took){most[0] + most[1], 0};
}

/* Measures a batch. The first repetition is not timed: it synchronises the ranks. */
static struct took batch(int size, int repeats)
{
    struct took took;
    double start;

    repeat(size);
    took.interrupts = interrupts();
    start = now();
    for (int i = 1; i <= repeats; i++)
        repeat(size);
    took.seconds = now() - start;
    took.interrupts = interrupts() - took.interrupts;
    return slowest(took);
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

/* Returns the number of repetitions with which the next batch takes about `aim` seconds. */
static int more(int repeats, double took, double aim)
{
    const double times = took > 0 ? aim / took : 8;
    const double wish = repeats * (times < 8 ? times : 8) + 1;

    return wish < MAX_REPEATS ? (int)wish : MAX_REPEATS;
}

/* Where each rank has a core, a batch with an involuntary context switch is
 * discarded, unless there is no other. */
static void sample(int size, double seconds)
{
    const double aim = seconds / BATCHES;
    const int bytes = strcmp(current->unit, "MB/s") == 0 ? size : 1;
    const double each = (double)current->parts * bytes;
    double value[BATCHES], spent = 0;
    int n = 0, repeats = current->most ? in_one_go(size) : 1;

    while (n == 0 || (n < BATCHES && spent < seconds)) {
        const struct took took =
            current->most ? from_one_root(size, repeats) : batch(size, repeats);
        const int is_quiet = !has_cores || took.interrupts == 0;
        spent += took.seconds;
        if (!current->most && took.seconds < aim / 2 && repeats < MAX_REPEATS) {
            repeats = more(repeats, took.seconds, aim); /* too short to count */
        } else if (is_quiet || spent > PATIENCE * seconds) {
            const double all = repeats * each, us = took.seconds * 1e6;
            value[n++] = strchr(current->unit, '/') ? all / us : us / all;
        }
    }
    print(current->name, size, current->unit, value, n);
}

/* Allocates zeroed memory and touches all pages. */
static char *buffer(size_t bytes)
{
    char *memory = malloc(bytes + 1);

    if (memory == NULL)
        refuse("not enough memory");
    return memset(memory, 0, bytes);
}

static void measure(const char *name, int size, double seconds)
{
    const struct measurement *end = measurements + sizeof measurements / sizeof *measurements;
    size_t places;

    current = measurements;
    while (current < end && strcmp(current->name, name) != 0)
        current++;
    if (current == end)
        refuse("no such measurement; the table in bench.c has the names");
    if (current->pair && ranks != 2)
        refuse("this measurement is between two ranks; start it with -n 2");
    if (size < 0 || size > MAX_SIZE || !(seconds > 0))
        refuse("seconds are above 0 and sizes between 0 and 33554432");
    places = (size_t)(current->messages == EVERY ? ranks : current->messages);
    outgoing = buffer(places * (size_t)size);
    incoming = buffer(places * (size_t)size);
    sample(size, seconds);
    free(incoming);
    free(outgoing);
}

/* ---- the forms ----------------------------------------------------- */

static void print_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(text, &length);
    if (me == 0)
        printf("library %.*s\n", (int)strcspn(text, "\n"), text);
    fflush(stdout);
}

static FILE *turns_of(const char *prefix)
{
    char path[4096];
    FILE *turns;

    snprintf(path, sizeof path, "%s.%d", prefix, me);
    turns = fopen(path, "r");
    if (turns == NULL)
        refuse("cannot open the file that tells whose turn it is");
    return turns;
}

static void take_turns(FILE *turns, unsigned limit)
{
    char line[LINE], name[LINE];
    double seconds;
    int size;

    while (fgets(line, sizeof line, turns) != NULL) {
        if (sscanf(line, "%lf %s %d", &seconds, name, &size) != 3)
            refuse("a turn is SECONDS NAME SIZE");
        alarm(limit);
        measure(name, size, seconds);
        alarm(0);
    }
    fclose(turns);
}

/* Returns the MiB of memory resident in this process, shared or not. */
static double resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void tell_start(double init)
{
    double ms = slowest((struct took){init, 0}).seconds * 1e3;
    double memory = slowest((struct took){resident(), 0}).seconds;

    print("init", 0, "ms", &ms, 1);
    print("memory", 0, "MiB", &memory, 1);
}

/* Returns the KiB of memory of this process; of a page that n processes share, the nth
 * part. Nothing if the system does not tell. */
static double proportional(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[LINE];
    double kib = 0;

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Pss: %lf", &kib) != 1)
        continue;
    fclose(file);
    return kib;
}

/* Sends to the ranks one after the other, and receives from each as many messages. */
static void send_to_all(int size)
{
    for (int step = 1; step < ranks; step++) {
        const int to = (me + step) % ranks, from = (me + ranks - step) % ranks;
        MPI_Sendrecv(outgoing, size, MPI_CHAR, to, 0, incoming, size, MPI_CHAR, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Tells the mean over all ranks. What the program itself has is in `before`. */
static void tell_memory(double before)
{
    static const int sizes[] = {0, 8, LONGEST_SENT};
    double own[3], sum[3];

    for (int i = 0; i < 3; i++) {
        if (sizes[i] > 0)
            send_to_all(sizes[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        own[i] = proportional() - before;
        MPI_Barrier(MPI_COMM_WORLD); /* nobody sends or ends while others still look */
    }
    MPI_Reduce(own, sum, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        double mean = sum[i] / ranks;
        print("pss", sizes[i], "KiB", &mean, 1);
    }
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    const int starts = strcmp(form, "start") == 0 && argc == 3;
    const int turns = strcmp(form, "turns") == 0 && argc == 4;
    const int memory = strcmp(form, "pss") == 0 && argc == 3;
    const int limit = starts || turns || memory ? atoi(argv[argc - 1]) : 0;
    double start, init, before = 0;
    FILE *file;

    if (limit > 0)
        alarm((unsigned)limit); /* ends this process if anything hangs */
    if (memory) {
        outgoing = buffer(LONGEST_SENT);
        incoming = buffer(LONGEST_SENT);
        before = proportional();
    }
    start = now();
    MPI_Init(&argc, &argv);
    init = now() - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    file = turns ? turns_of(argv[2]) : NULL;
    MPI_Barrier(MPI_COMM_WORLD); /* all ranks have opened their files before rank 0 prints */
    print_library();
    if (starts) {
        tell_start(init);
    } else if (memory) {
        tell_memory(before);
    } else if (turns && limit > 0) {
        pin();
        alarm(0);
        take_turns(file, (unsigned)limit);
    } else if (argc >= 4 && argc % 2 == 0) {
        pin();
        for (int i = 2; i < argc; i += 2)
            measure(argv[i], atoi(argv[i + 1]), atof(form));
    } else {
        refuse("write: bench SECONDS NAME SIZE..., for example: bench 0.1 latency 8");
    }
    alarm(limit > 0 ? (unsigned)limit : 0);
    MPI_Finalize();
    return 0;
}
