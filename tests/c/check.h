/* check.h - what the C test programs share: one failed check ends the job with
 * a message, and only rank 0 says "ok NAME", after every rank has come through.
 *
 * Included once by each program of this folder. Exit codes: 0 fine, 1 wrong
 * usage, 3 a check failed. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank = 0, size = 1;

/* Prints what differed and ends all ranks. */
static inline void wrong(const char *file, int line, const char *format, ...)
{
    char text[500];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    /* One call, so that the lines of several ranks do not mix. */
    fprintf(stderr, "rank %d: %s:%d: %s\n", rank, file, line, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

#define CHECK(condition, ...)                         \
    do {                                              \
        if (!(condition))                             \
            wrong(__FILE__, __LINE__, __VA_ARGS__);   \
    } while (0)

/* Every call must succeed, even where errors are returned. */
#define MPI(call)                                                        \
    do {                                                                 \
        const int code_ = (call);                                        \
        CHECK(code_ == MPI_SUCCESS, "%s returned %d", #call, code_);     \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI(MPI_Init(argc, argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

/* Wrong arguments: every rank sees the same ones, rank 0 speaks. */
static inline int usage(const char *text)
{
    if (rank == 0)
        fprintf(stderr, "usage: %s\n", text);
    MPI_Finalize();
    return 1;
}

static inline int end(const char *name)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        printf("ok %s\n", name);
        fflush(stdout);
    }
    MPI(MPI_Finalize());
    return 0;
}

static inline void *allocate(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    CHECK(p != NULL, "no memory for %zu bytes", bytes);
    return p;
}

/* Byte `i` of a message. Differs between messages, and between the parts of one
 * message even if they are cut at powers of two and put together wrongly. */
static inline unsigned char content(unsigned message, size_t i)
{
    return (unsigned char)(message * 37u + i * 7u + (i >> 8) * 3u + (i >> 16) * 5u);
}

static inline void fill(void *buffer, size_t bytes, unsigned message)
{
    unsigned char *p = buffer;

    for (size_t i = 0; i < bytes; i++)
        p[i] = content(message, i);
}

static inline void verify(const void *buffer, size_t bytes, unsigned message, const char *what)
{
    const unsigned char *p = buffer;

    for (size_t i = 0; i < bytes; i++)
        CHECK(p[i] == content(message, i), "%s: byte %zu of %zu is %u instead of %u", what, i,
              bytes, p[i], content(message, i));
}

/* What MPI says about a received message of MPI_BYTEs. */
static inline void verify_status(MPI_Status *s, int source, int tag, int bytes, const char *what)
{
    int count = -1;

    CHECK(s->MPI_SOURCE == source, "%s: source %d instead of %d", what, s->MPI_SOURCE, source);
    CHECK(s->MPI_TAG == tag, "%s: tag %d instead of %d", what, s->MPI_TAG, tag);
    MPI(MPI_Get_count(s, MPI_BYTE, &count));
    CHECK(count == bytes, "%s: %d bytes instead of %d", what, count, bytes);
}

#endif
