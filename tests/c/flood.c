/* flood.c small|large|sleep exact|wildcard [MESSAGES] - far more messages than any
 * buffer holds, all of it legal MPI. Any number of ranks.
 *
 * small, large: rank 0 starts 10,000 sends of tag 1 (8 bytes, or 64 KiB) and one
 *   of tag 2; rank 1 receives tag 2 first and then the others, in order. With one
 *   rank: to itself.
 * sleep: rank 0 sleeps for a second while all others send it a mix of sizes, half
 *   of it blocking; then it takes everything.
 *
 * All messages are windows into one row of numbers: message i is numbers i, i + 1,
 * ... so each has its own content and 10,000 of 64 KiB need 144 KiB of memory. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <stdint.h>
#include <time.h>

#define LARGEST 8192 /* numbers in 64 KiB */
#define BATCH 16     /* receives under way at a time */

static uint64_t *numbers;
static uint64_t *in[BATCH];

static uint64_t number(int i)
{
    return (uint64_t)i * 0x9E3779B97F4A7C15u + 1;
}

static void is(const uint64_t *buffer, MPI_Status *status, int source, int i, int length)
{
    verify_status(status, source, 1, length * 8, "flood");
    for (int k = 0; k < length; k++)
        CHECK(buffer[k] == number(i + k), "message %d from rank %d, number %d: %llx, not %llx", i,
              source, k, (unsigned long long)buffer[k], (unsigned long long)number(i + k));
}

static void last_first(int messages, int length, int wildcard)
{
    const int to = size > 1 ? 1 : 0, source = wildcard ? MPI_ANY_SOURCE : 0;
    MPI_Request *sends = allocate(sizeof *sends * ((size_t)messages + 1));

    if (rank == 0) {
        for (int i = 0; i < messages; i++)
            MPI(MPI_Isend(numbers + i, length, MPI_UINT64_T, to, 1, MPI_COMM_WORLD, &sends[i]));
        MPI(MPI_Isend(numbers, 1, MPI_UINT64_T, to, 2, MPI_COMM_WORLD, &sends[messages]));
    }
    if (rank == to) {
        MPI_Request receives[BATCH];
        MPI_Status status[BATCH];
        MPI(MPI_Irecv(in[0], LARGEST, MPI_UINT64_T, source, 2, MPI_COMM_WORLD, &receives[0]));
        MPI(MPI_Wait(&receives[0], &status[0]));
        verify_status(&status[0], 0, 2, 8, "the last one");
        for (int i = 0; i < messages;) {
            const int n = messages - i < BATCH ? messages - i : BATCH;
            for (int k = 0; k < n; k++)
                MPI(MPI_Irecv(in[k], LARGEST, MPI_UINT64_T, source, wildcard ? MPI_ANY_TAG : 1,
                              MPI_COMM_WORLD, &receives[k]));
            MPI(MPI_Waitall(n, receives, status));
            for (int k = 0; k < n; k++)
                is(in[k], &status[k], 0, i + k, length);
            i += n;
        }
    }
    if (rank == 0)
        MPI(MPI_Waitall(messages + 1, sends, MPI_STATUSES_IGNORE));
    free(sends);
}

/* Number of numbers in message `i` of the mix. */
static int mixed(int i)
{
    static const int of[] = {1, 1, 1, 8, 1, 100, 1, 1000, 1, LARGEST};

    return of[i % 10];
}

static void sleeper(int messages, int wildcard)
{
    MPI_Request *sends = allocate(sizeof *sends * (size_t)messages);

    for (int i = 0; i < messages; i++) {
        sends[i] = MPI_REQUEST_NULL;
        if (rank == 0 && size > 1)
            continue;
        /* To itself a rank may only send without blocking. */
        if (size == 1 || i < messages / 2)
            MPI(MPI_Isend(numbers + i, mixed(i), MPI_UINT64_T, 0, 1, MPI_COMM_WORLD, &sends[i]));
        else
            MPI(MPI_Send(numbers + i, mixed(i), MPI_UINT64_T, 0, 1, MPI_COMM_WORLD));
    }
    if (rank == 0) {
        const struct timespec second = {1, 0};
        const int first = size > 1 ? 1 : 0;
        int *next = allocate(sizeof *next * (size_t)size);
        memset(next, 0, sizeof *next * (size_t)size);
        nanosleep(&second, NULL);
        for (int k = 0; k < messages * (size - first); k++) {
            /* Exact: rank by rank, from the last one downwards. */
            const int source = wildcard ? MPI_ANY_SOURCE : size - 1 - k / messages;
            MPI_Status status;
            MPI(MPI_Recv(in[0], LARGEST, MPI_UINT64_T, source, wildcard ? MPI_ANY_TAG : 1,
                         MPI_COMM_WORLD, &status));
            const int s = status.MPI_SOURCE;
            CHECK(s >= first && s < size && next[s] < messages, "one too many from rank %d", s);
            is(in[0], &status, s, next[s], mixed(next[s]));
            next[s]++;
        }
        free(next);
    }
    MPI(MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE));
    free(sends);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    const int wildcard = strcmp(how, "wildcard") == 0, sleep = strcmp(what, "sleep") == 0;
    const int large = strcmp(what, "large") == 0, small = strcmp(what, "small") == 0;
    const int messages = argc > 3 ? atoi(argv[3]) : sleep ? 2000 : 10000;

    if (!(small || large || sleep) || !(wildcard || strcmp(how, "exact") == 0) || messages < 1)
        return usage("flood small|large|sleep exact|wildcard [MESSAGES]");
    numbers = allocate(sizeof *numbers * ((size_t)messages + LARGEST));
    for (int i = 0; i < messages + LARGEST; i++)
        numbers[i] = number(i);
    for (int i = 0; i < BATCH; i++)
        in[i] = allocate(LARGEST * sizeof(uint64_t));

    if (sleep)
        sleeper(messages, wildcard);
    else
        last_first(messages, large ? LARGEST : 1, wildcard);

    for (int i = 0; i < BATCH; i++)
        free(in[i]);
    free(numbers);
    return end("flood");
}
