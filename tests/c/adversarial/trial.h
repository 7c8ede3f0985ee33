/* trial.h - what the adversarial programs share. Each program of this folder is a
 * table of trials of one theme: `./program list` prints the table, `./program NAME`
 * runs one of them. A trial errs on purpose, as programs do, and says in one line
 * what it saw; beside its name stands what every rank should say, and how the job
 * should end. Included once by each program.
 *
 * What ranks say is written as "0 this; 1 that", or once without a number where all
 * of them say the same. Ranks with nothing to say are left out. "*" is whatever they
 * like, and an end by an error: the program is so wrong that only faults and endless
 * waits are asked about. */
#ifndef TRIAL_H
#define TRIAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kind {
    JOINED,   /* between MPI_Init and MPI_Finalize */
    BARE,     /* calls them itself */
    UNWATCHED /* after MPI_Init; no launcher ends the others when a rank ends */
};

struct trial {
    const char *name;
    int ranks;
    void (*run)(void);
    const char *expect;
    int code; /* exit code of the job */
    enum kind kind;
};

#define TRIAL(name, ranks, expect) {#name, ranks, name, expect, 0, JOINED}
#define ENDS(name, ranks, code, expect) {#name, ranks, name, expect, code, JOINED}
#define ALONE(name, ranks, code, expect) {#name, ranks, name, expect, code, BARE}
#define LEFT(name, ranks, expect) {#name, ranks, name, expect, 0, UNWATCHED}

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))
#define W MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int rank = 0, size = 1;

/* ---- What a rank says ---------------------------------------------------------------- */

static char line[1000];
static char last_word[100];
static int repeated;

/* Adds a word to the line; one that comes again is counted: "ERR_COMM*3". */
static inline void say(const char *format, ...)
{
    char word[100];
    size_t used;
    va_list list;

    va_start(list, format);
    vsnprintf(word, sizeof word, format, list);
    va_end(list);
    if (repeated && strcmp(word, last_word) == 0) {
        char *end = strrchr(line, ' ');

        end = end ? end + 1 : line;
        snprintf(end, sizeof line - (size_t)(end - line), "%s*%d", word, ++repeated);
        return;
    }
    used = strlen(line);
    snprintf(line + used, sizeof line - used, "%s%s", used ? " " : "", word);
    strcpy(last_word, word);
    repeated = 1;
}

/* Writes the line at once, so that lines of several ranks do not mix. */
static inline void speak(void)
{
    char text[1100];
    const int length = line[0] ? snprintf(text, sizeof text, "%d %s\n", rank, line) : 0;

    line[0] = '\0';
    repeated = 0;
    if (length > 0 && write(STDOUT_FILENO, text, (size_t)length) != length)
        _exit(4);
}

/* ---- Errors --------------------------------------------------------------------------- */

static inline const char *name_of(int code)
{
    static const struct {
        int class;
        const char *name;
    } names[] = {{MPI_SUCCESS, "ok"},
                 {MPI_ERR_BUFFER, "ERR_BUFFER"},
                 {MPI_ERR_COUNT, "ERR_COUNT"},
                 {MPI_ERR_TYPE, "ERR_TYPE"},
                 {MPI_ERR_TAG, "ERR_TAG"},
                 {MPI_ERR_COMM, "ERR_COMM"},
                 {MPI_ERR_RANK, "ERR_RANK"},
                 {MPI_ERR_REQUEST, "ERR_REQUEST"},
                 {MPI_ERR_ROOT, "ERR_ROOT"},
                 {MPI_ERR_OP, "ERR_OP"},
                 {MPI_ERR_ARG, "ERR_ARG"},
                 {MPI_ERR_TRUNCATE, "ERR_TRUNCATE"},
                 {MPI_ERR_OTHER, "ERR_OTHER"},
                 {MPI_ERR_INTERN, "ERR_INTERN"},
                 {MPI_ERR_PENDING, "ERR_PENDING"},
                 {MPI_ERR_IN_STATUS, "ERR_IN_STATUS"},
                 {MPI_ERR_NO_MEM, "ERR_NO_MEM"},
                 {MPI_ERR_PROC_ABORTED, "ERR_PROC_ABORTED"},
                 {MPI_ERR_UNSUPPORTED_OPERATION, "ERR_UNSUPPORTED_OPERATION"}};
    int class = code;

    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    for (int i = 0; i < LENGTH(names); i++)
        if (names[i].class == class)
            return names[i].name;
    return "another-error";
}

/* Says the class of what a call returned. */
static inline void saw(int code)
{
    say("%s", name_of(code));
}

/* Says whether a call was refused, where the class is a matter of taste. */
static inline void refused(int code)
{
    say(code == MPI_SUCCESS ? "taken" : "refused");
}

/* Says nothing unless the call failed. */
static inline void must(int code)
{
    if (code != MPI_SUCCESS)
        say("unexpected:%s", name_of(code));
}

static inline void check(int condition, const char *what)
{
    if (!condition)
        say("wrong:%s", what);
}

static inline void errors_return(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* ---- What goes on ---------------------------------------------------------------------- */

/* A message and a collective of all ranks; `right` tells whether they brought the right numbers. */
static inline int exchange(int *right)
{
    const int to = (rank + 1) % size, from = (rank - 1 + size) % size;
    int in = -1, sum = -1, code;

    code = MPI_Sendrecv(&rank, 1, MPI_INT, to, 9999, &in, 1, MPI_INT, from, 9999, W, IGNORE);
    if (code == MPI_SUCCESS)
        code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, W);
    *right = in == from && sum == size * (size - 1) / 2;
    return code;
}

/* Says whether messages and collectives between all ranks still do what they should. */
static inline void works(void)
{
    int right;
    const int code = exchange(&right);

    if (code != MPI_SUCCESS)
        say("broken:%s", name_of(code));
    else
        say(right ? "works" : "broken");
}

static inline void nap(int milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

/* For a rank that the launcher should end. That others have ended may reach it first, as an error. */
static inline void survived(void)
{
    nap(20000);
    say("survived");
}

/* A message of many bytes that both sides know. */
static inline void fill(void *buffer, size_t bytes, int seed)
{
    unsigned char *p = (unsigned char *)buffer;

    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)((unsigned)seed * 37u + i * 7u + (i >> 8) * 3u);
}

static inline int is_filled(const void *buffer, size_t bytes, int seed)
{
    const unsigned char *p = (const unsigned char *)buffer;

    for (size_t i = 0; i < bytes; i++)
        if (p[i] != (unsigned char)((unsigned)seed * 37u + i * 7u + (i >> 8) * 3u))
            return 0;
    return 1;
}

/* Finds nothing but `byte` in memory. */
static inline int is_all(const void *buffer, size_t bytes, unsigned char byte)
{
    const unsigned char *p = (const unsigned char *)buffer;

    for (size_t i = 0; i < bytes; i++)
        if (p[i] != byte)
            return 0;
    return 1;
}

static inline void begin(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
}

static inline int choose(int argc, char **argv, const struct trial *trials, int count)
{
    const char *wanted = argc > 1 ? argv[1] : "";

    for (const struct trial *it = trials; it < trials + count; it++) {
        if (strcmp(wanted, "list") == 0) {
            printf("%s\t%d\t%d\t%d\t%s\n", it->name, it->ranks, it->code, (int)it->kind,
                   it->expect);
            continue;
        }
        if (strcmp(wanted, it->name) != 0)
            continue;
        if (it->kind != BARE) {
            begin();
            errors_return();
        }
        it->run();
        speak();
        if (it->kind == JOINED)
            MPI_Finalize();
        if (it->kind == UNWATCHED)
            _exit(0);
        return 0;
    }
    if (strcmp(wanted, "list") == 0)
        return 0;
    fprintf(stderr, "usage: %s list|NAME\n", argv[0]);
    return 1;
}

#define TRIALS(...)                                                \
    static const struct trial trials[] = {__VA_ARGS__};            \
    int main(int argc, char **argv)                                \
    {                                                              \
        return choose(argc, argv, trials, LENGTH(trials));         \
    }

#endif
