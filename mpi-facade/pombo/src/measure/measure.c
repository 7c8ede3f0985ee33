/* measure.c - measures the times of a message and of collective operations, as a plain C program over MPI.
 *
 *   measure times SAMPLES BYTES...
 *   measure collectives RUNS ITERATIONS PAUSE OPERATION:ALGORITHM:BYTES...
 *
 * `pombo measure` runs it. Times are nanoseconds. The first form prints lines of
 *
 *   WHAT MODE BYTES MEDIAN LOW HIGH
 *
 * with quartiles, where WHAT is end or hold and MODE standard or synchronous, or WHAT is combine and MODE sum:
 *
 *   end      half of a ping-pong
 *   hold     (M blocking sends to the receivers in turn + the last acknowledgement - one acknowledgement) / M
 *   combine  MPI_Reduce_local of doubles
 *
 * The second form prints, for each run of so many iterations, lines of
 *
 *   OPERATION:ALGORITHM:BYTES RUN MEDIAN LOW HIGH
 *
 * Each participant times its own part after a barrier. The result is the maximum over the participants, for a
 * barrier their mean, and for gather and reduce the root's time. PAUSE is how many microseconds all ranks sleep
 * before the barrier. An algorithm is that of the info key pombo_coll_OPERATION; "default" sets none.
 *
 * Every buffer is written, outside of the time, before it is sent; what arrives is compared with it.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEAST_SENDS 8     /* blocking sends of one t_hold, at least */
#define SHORT 1024        /* bytes up to which messages are so fast that many are timed at once */
#define MANY 64           /* such messages */
#define MOST_SAMPLES 1024
#define MOST_SPECS 256
#define ACK 1

static int me, ranks;
static char *buffer, *incoming;
static size_t room;
static uint64_t turn;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void refuse(const char *why)
{
    fprintf(stderr, "measure: %s\n", why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_spread(const char *head, double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, ascending);
    printf("%s %.1f %.1f %.1f\n", head, value[count / 2], value[count / 4], value[count * 3 / 4]);
    fflush(stdout);
}

/* Writes words that differ from turn to turn and from place to place. */
static void fill(char *place, size_t bytes)
{
    size_t at;

    for (at = 0; at + 8 <= bytes; at += 8) {
        const uint64_t word = turn * UINT64_C(0x9E3779B97F4A7C15) + at;
        memcpy(place + at, &word, 8);
    }
    memset(place + at, (int)(turn & 0x7f), bytes - at);
}

static void check(const char *place, size_t bytes)
{
    uint64_t word;

    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        memcpy(&word, place + at, 8);
        if (word != turn * UINT64_C(0x9E3779B97F4A7C15) + at)
            refuse("a wrong byte arrived");
    }
}

static void send(int synchronous, int bytes, int to)
{
    if (synchronous)
        MPI_Ssend(buffer, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    else
        MPI_Send(buffer, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

static void receive(int bytes, int from)
{
    MPI_Recv(incoming, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* All ranks have arrived, and what they sent before has left. */
static void begin(void)
{
    turn++;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Returns half of a ping-pong between ranks 0 and 1; rank 1 forwards what it received. */
static double end_of(int synchronous, int bytes)
{
    const int repeats = bytes <= SHORT ? MANY : 1;
    double start;

    begin();
    if (me > 1)
        return 0;
    fill(buffer, (size_t)bytes);
    if (me == 1) {
        for (int i = 0; i < repeats; i++) {
            receive(bytes, 0);
            send(synchronous, bytes, 0);
        }
        check(incoming, (size_t)bytes);
        return 0;
    }
    start = now();
    for (int i = 0; i < repeats; i++) {
        send(synchronous, bytes, 1);
        receive(bytes, 1);
    }
    start = (now() - start) / (2 * repeats);
    check(incoming, (size_t)bytes);
    return start;
}

/* Returns t_hold, given the time of one acknowledgement. Where there are fewer receivers than sends, they take turns. */
static double hold_of(int synchronous, int bytes, double acknowledgement)
{
    const int receivers = ranks - 1;
    const int least = bytes <= SHORT ? MANY : LEAST_SENDS;
    const int sends = (least + receivers - 1) / receivers * receivers;
    double start;

    begin();
    if (me > 0) {
        for (int i = 0; i < sends / receivers; i++)
            receive(bytes, 0);
        if (me == receivers)
            MPI_Send(NULL, 0, MPI_BYTE, 0, ACK, MPI_COMM_WORLD);
        fill(buffer, (size_t)bytes);
        check(incoming, (size_t)bytes);
        return 0;
    }
    fill(buffer, (size_t)bytes);
    start = now();
    for (int i = 0; i < sends; i++)
        send(synchronous, bytes, 1 + i % receivers);
    MPI_Recv(NULL, 0, MPI_BYTE, receivers, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start = (now() - start - acknowledgement) / sends;
    return start > 0 ? start : 0;
}

static double combine_of(int bytes)
{
    const int items = bytes / 8, repeats = bytes <= SHORT ? MANY : 1;
    double *in = (double *)buffer, *inout = (double *)incoming, start;

    begin();
    if (me > 0)
        return 0;
    for (int i = 0; i < items; i++) {
        in[i] = (double)i;
        inout[i] = (double)turn;
    }
    start = now();
    for (int i = 0; i < repeats; i++)
        MPI_Reduce_local(in, inout, items, MPI_DOUBLE, MPI_SUM);
    start = (now() - start) / repeats;
    if (items > 1 && inout[items - 1] != (double)turn + (double)repeats * (items - 1))
        refuse("a wrong sum");
    return start;
}

static void make_room(size_t bytes)
{
    if (bytes <= room)
        return;
    free(buffer);
    free(incoming);
    buffer = malloc(bytes);
    incoming = malloc(bytes);
    if (buffer == NULL || incoming == NULL)
        refuse("no memory for messages of this size");
    memset(buffer, 1, bytes);
    memset(incoming, 1, bytes);
    room = bytes;
}

#define KINDS 5
static const char *const what[KINDS] = {"end standard", "hold standard", "end synchronous", "hold synchronous", "combine sum"};

/* One pass over all sizes follows the other, so that what disturbs the machine disturbs all sizes alike. */
static void times(int samples, char **size, int sizes)
{
    double *value = calloc((size_t)sizes * KINDS * MOST_SAMPLES, sizeof *value), *ack = calloc(MOST_SAMPLES, sizeof *ack);

    if (value == NULL || ack == NULL)
        refuse("no memory for the samples");
    for (int i = 0; i < sizes; i++)
        make_room((size_t)atoi(size[i]) + 8);
    for (int sample = -1; sample < samples; sample++) {
        double one = end_of(0, 0);
        /* The first pass warms up. */
        const int place = sample < 0 ? 0 : sample;
        ack[place] = one;
        if (place > 0) {
            double sorted[MOST_SAMPLES];
            memcpy(sorted, ack, (size_t)(place + 1) * sizeof *sorted);
            qsort(sorted, (size_t)place + 1, sizeof *sorted, ascending);
            one = sorted[place / 2];
        }
        for (int i = 0; i < sizes; i++) {
            const int bytes = atoi(size[i]);
            double *of = value + (size_t)i * KINDS * MOST_SAMPLES + place;

            of[0 * MOST_SAMPLES] = end_of(0, bytes);
            of[1 * MOST_SAMPLES] = hold_of(0, bytes, one);
            of[2 * MOST_SAMPLES] = end_of(1, bytes);
            of[3 * MOST_SAMPLES] = hold_of(1, bytes, one);
            of[4 * MOST_SAMPLES] = combine_of(bytes);
        }
    }
    for (int i = 0; me == 0 && i < sizes; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            char head[64];
            snprintf(head, sizeof head, "%s %s", what[kind], size[i]);
            print_spread(head, value + ((size_t)i * KINDS + (size_t)kind) * MOST_SAMPLES, samples);
        }
    }
    free(value);
    free(ack);
}

/* ---- collective operations ------------------------------------------------ */

static const char *const operations[] = {"barrier", "bcast", "gather", "scatter", "reduce", "allreduce", "allgather", "alltoall"};
enum { BARRIER, BCAST, GATHER, SCATTER, REDUCE, ALLREDUCE, ALLGATHER, ALLTOALL, OPERATIONS };

struct spec {
    int operation, bytes;
    MPI_Comm comm;
};

static struct spec parse(char *text)
{
    char operation[32], algorithm[32], key[64];
    struct spec spec = {0, 0, MPI_COMM_WORLD};
    MPI_Info info;

    if (sscanf(text, "%31[^:]:%31[^:]:%d", operation, algorithm, &spec.bytes) != 3)
        refuse("give OPERATION:ALGORITHM:BYTES");
    while (spec.operation < OPERATIONS && strcmp(operation, operations[spec.operation]) != 0)
        spec.operation++;
    if (spec.operation == OPERATIONS)
        refuse("no such operation");
    if (strcmp(algorithm, "default") != 0) {
        snprintf(key, sizeof key, "pombo_coll_%s", operation);
        MPI_Info_create(&info);
        MPI_Info_set(info, key, algorithm);
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &spec.comm);
        MPI_Info_free(&info);
    }
    return spec;
}

static void run(const struct spec *spec)
{
    const int bytes = spec->bytes;

    switch (spec->operation) {
    case BARRIER:
        MPI_Barrier(spec->comm);
        break;
    case BCAST:
        MPI_Bcast(buffer, bytes, MPI_BYTE, 0, spec->comm);
        break;
    case GATHER:
        MPI_Gather(buffer, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, 0, spec->comm);
        break;
    case SCATTER:
        MPI_Scatter(incoming, bytes, MPI_BYTE, buffer, bytes, MPI_BYTE, 0, spec->comm);
        break;
    case REDUCE:
        MPI_Reduce(buffer, incoming, bytes / 8, MPI_INT64_T, MPI_SUM, 0, spec->comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(buffer, incoming, bytes / 8, MPI_INT64_T, MPI_SUM, spec->comm);
        break;
    case ALLGATHER:
        MPI_Allgather(buffer, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, spec->comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(buffer, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, spec->comm);
        break;
    }
}

/* Returns the result of one iteration at rank 0. */
static double once(const struct spec *spec, int pause)
{
    double own, result = 0;

    turn++;
    /* A receiver's buffer holds something else, so that nothing arrives unseen. */
    if (me == 0 || spec->operation != BCAST)
        fill(buffer, (size_t)spec->bytes);
    if (pause > 0)
        usleep((useconds_t)pause);
    MPI_Barrier(MPI_COMM_WORLD);
    own = now();
    run(spec);
    own = now() - own;
    if (spec->operation == BCAST)
        check(buffer, (size_t)spec->bytes);
    if (spec->operation == GATHER || spec->operation == REDUCE)
        return own;
    MPI_Reduce(&own, &result, 1, MPI_DOUBLE, spec->operation == BARRIER ? MPI_SUM : MPI_MAX, 0, MPI_COMM_WORLD);
    return spec->operation == BARRIER ? result / ranks : result;
}

static void collectives(int runs, int iterations, int pause, char **text, int specs)
{
    static struct spec spec[MOST_SPECS];
    double *value = calloc((size_t)specs * MOST_SAMPLES, sizeof *value);

    if (specs > MOST_SPECS || value == NULL)
        refuse("too many operations");
    for (int i = 0; i < specs; i++) {
        spec[i] = parse(text[i]);
        make_room(((size_t)spec[i].bytes + 8) * (size_t)ranks);
    }
    for (int i = 0; i < specs; i++)
        once(&spec[i], pause);
    for (int number = 0; number < runs; number++) {
        for (int iteration = 0; iteration < iterations; iteration++) {
            for (int i = 0; i < specs; i++)
                value[(size_t)i * MOST_SAMPLES + (size_t)iteration] = once(&spec[i], pause);
        }
        for (int i = 0; me == 0 && i < specs; i++) {
            char head[128];
            snprintf(head, sizeof head, "%s %d", text[i], number);
            print_spread(head, value + (size_t)i * MOST_SAMPLES, iterations);
        }
    }
    free(value);
}

static int number(const char *text, int most)
{
    const int value = atoi(text);

    if (value < 0 || value > most)
        refuse("a number is out of range");
    return value;
}

int main(int count, char **argument)
{
    MPI_Init(&count, &argument);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make_room(1024);
    if (ranks < 2)
        refuse("give two ranks or more");
    if (count > 3 && strcmp(argument[1], "times") == 0)
        times(number(argument[2], MOST_SAMPLES), argument + 3, count - 3);
    else if (count > 5 && strcmp(argument[1], "collectives") == 0)
        collectives(number(argument[2], 1000), number(argument[3], MOST_SAMPLES), number(argument[4], 1000000),
                    argument + 5, count - 5);
    else
        refuse("give times or collectives");
    MPI_Finalize();
    return 0;
}
