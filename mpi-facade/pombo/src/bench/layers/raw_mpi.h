/* mpi.h - what bench.c calls of MPI, between two processes over plain shared memory. `pombo bench --layers` compiles
 * bench.c with it and so shows, in the turns of the layers, what the machine itself needs for the same messages: they
 * are written, copied and compared, but nothing is matched, queued, checked or limited by credit. Messages are taken in
 * the order in which they were sent, so measurements that receive in another order fail.
 *
 * RAW_METHOD is how payload goes from one process to the other:
 *   MAILBOX   in lines that hold 56 bytes and a sequence word each: one line is transferred for a short message
 *   PLAIN     through a room of 3 MiB, by memcpy in and memcpy out: most processors' own caches do not hold it
 *   STREAMED  as PLAIN, but stored past the caches
 *   SINGLE    by one copy of the receiver out of the sender's memory (process_vm_readv)
 */
#ifndef RAW_MPI_H
#define RAW_MPI_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MAILBOX 1
#define PLAIN 2
#define STREAMED 3
#define SINGLE 4

#define RAW_LINE 64
#define RAW_ROOM (3 << 20)
#define RAW_PIECE (RAW_METHOD == MAILBOX ? 56 : RAW_METHOD == SINGLE ? 1 << 30 : 8 << 10) /* bytes moved at once */
#define RAW_RESTARTS (2 << 10) /* lanes of blocking messages up to this size begin anew: their lines stay in the caches */
#define RAW_LOOKS 10000 /* looks after which a process yields, as the other may have no core */
#define RAW_QUEUE 256   /* requests under way */

typedef int MPI_Comm, MPI_Datatype, MPI_Op, MPI_Status;
typedef int MPI_Request;
#define MPI_COMM_WORLD 0
#define MPI_CHAR 1
#define MPI_DOUBLE 8
#define MPI_SUM 0
#define MPI_MAX 1
#define MPI_ANY_SOURCE (-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_MAX_LIBRARY_VERSION_STRING 64

/* What one process sends to the other. Blocking messages and windows have a lane each. */
struct raw_lane {
    /* Bytes that are there for the reader, and bytes of the lane in the other direction that the writer has taken. */
    _Alignas(2 * RAW_LINE) _Atomic uint64_t published;
    _Atomic uint64_t taken_back;
    _Alignas(2 * RAW_LINE) _Atomic uint64_t taken; /* bytes that the reader has taken */
    _Alignas(4096) char room[RAW_ROOM];
};

/* A process' view of a lane that it writes or reads. */
struct raw_side {
    struct raw_lane *lane;
    uint64_t position; /* bytes written or read since the start */
    uint64_t offset;   /* the place of the next ones in the room */
    uint64_t taken;    /* of a writer: bytes that the reader has taken as far as known */
};

struct raw_message {
    char *place;
    size_t left;
    int is_begun;
};

struct raw_queue {
    struct raw_side side;
    struct raw_message message[RAW_QUEUE];
    unsigned first, end;
};

static int raw_me;
static pid_t raw_other;
static struct raw_queue raw_out[2], raw_in[2]; /* of blocking messages, of windows */

static inline uint64_t raw_span(size_t bytes)
{
    const uint64_t lines = (bytes + (RAW_METHOD == MAILBOX ? 8 : 0) + RAW_LINE - 1) / RAW_LINE;
    return (RAW_METHOD == SINGLE || lines == 0 ? 1 : lines) * RAW_LINE;
}

/* Returns where the next span lies; both sides skip the end of the room alike. */
static inline char *raw_place(struct raw_side *side, uint64_t span, uint64_t *after)
{
    if (side->offset + span > RAW_ROOM) {
        side->position += RAW_ROOM - side->offset;
        side->offset = 0;
    }
    *after = side->position + span;
    return side->lane->room + side->offset;
}

static void raw_copy_in(char *to, const char *from, size_t size)
{
#ifdef __SSE2__
    if (RAW_METHOD == STREAMED) {
        for (; size >= 16; size -= 16, to += 16, from += 16)
            _mm_stream_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)from));
        memcpy(to, from, size);
        _mm_sfence();
        return;
    }
#endif
    memcpy(to, from, size);
}

/* Writes a piece of the message; returns 0 if the room is full. */
static inline int raw_put(struct raw_side *side, struct raw_side *back, struct raw_message *message)
{
    const size_t size = message->left < (size_t)RAW_PIECE ? message->left : (size_t)RAW_PIECE;
    const uint64_t span = raw_span(size);
    uint64_t after;
    char *place = raw_place(side, span, &after);

    if (after - side->taken > RAW_ROOM) {
        side->taken = atomic_load_explicit(&side->lane->taken, memory_order_acquire);
        if (after - side->taken > RAW_ROOM)
            return 0;
    }
    side->position = after;
    side->offset += span;
    if (RAW_METHOD == MAILBOX) {
        /* The low half tells what this process has taken, so nobody looks at the other's position for it. */
        const uint64_t word = after / RAW_LINE << 32 | (uint32_t)(back->position / RAW_LINE);
        if (size == 56)
            memcpy(place + 8, message->place, 56);
        else if (size == 8)
            memcpy(place + 8, message->place, 8);
        else
            memcpy(place + 8, message->place, size);
        atomic_store_explicit((_Atomic uint64_t *)place, word, memory_order_release);
    } else {
        if (RAW_METHOD == SINGLE) {
            const uint64_t exposed[2] = {(uint64_t)(uintptr_t)message->place, size};
            memcpy(place, exposed, sizeof exposed);
        } else {
            raw_copy_in(place, message->place, size);
        }
        atomic_store_explicit(&side->lane->taken_back, back->position, memory_order_relaxed);
        atomic_store_explicit(&side->lane->published, after, memory_order_release);
    }
    message->place += size;
    message->left -= size;
    return 1;
}

static void raw_fail(const char *what)
{
    perror(what);
    _exit(1);
}

/* Takes a piece of the message; returns 0 if it is not there. */
static inline int raw_take(struct raw_side *side, struct raw_side *back, struct raw_message *message)
{
    const size_t size = message->left < (size_t)RAW_PIECE ? message->left : (size_t)RAW_PIECE;
    const uint64_t span = raw_span(size);
    uint64_t after;
    char *place = raw_place(side, span, &after);

    if (RAW_METHOD == MAILBOX) {
        const uint64_t word = atomic_load_explicit((_Atomic uint64_t *)place, memory_order_acquire);
        if (word >> 32 != (after / RAW_LINE & UINT32_MAX))
            return 0;
        back->taken += ((uint32_t)word - (uint32_t)(back->taken / RAW_LINE)) * (uint64_t)RAW_LINE;
        if (size == 56)
            memcpy(message->place, place + 8, 56);
        else if (size == 8)
            memcpy(message->place, place + 8, 8);
        else
            memcpy(message->place, place + 8, size);
    } else {
        if (atomic_load_explicit(&side->lane->published, memory_order_acquire) < after)
            return 0;
        back->taken = atomic_load_explicit(&side->lane->taken_back, memory_order_relaxed);
        if (RAW_METHOD == SINGLE) {
            uint64_t exposed[2];
            memcpy(exposed, place, sizeof exposed);
            struct iovec here = {message->place, size}, there = {(void *)(uintptr_t)exposed[0], size};
            if (size > 0 && process_vm_readv(raw_other, &here, 1, &there, 1, 0) != (ssize_t)size)
                raw_fail("raw_mpi.h: process_vm_readv");
        } else {
            memcpy(message->place, place, size);
        }
    }
    side->position = after;
    side->offset += span;
    atomic_store_explicit(&side->lane->taken, after, memory_order_release);
    message->place += size;
    message->left -= size;
    return 1;
}

static inline void raw_look_again(unsigned *looks)
{
    if (++*looks % RAW_LOOKS == 0)
        sched_yield();
}

/* Waits until the reader has taken everything. */
static void raw_drain(struct raw_side *side)
{
    for (unsigned looks = 0; side->taken != side->position; raw_look_again(&looks))
        side->taken = atomic_load_explicit(&side->lane->taken, memory_order_acquire);
}

static inline int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    struct raw_side *side = &raw_out[0].side;
    struct raw_message message = {(char *)(uintptr_t)data, (size_t)(count * type), 0};
    unsigned looks = 0;
    (void)to, (void)tag, (void)comm;

    if (message.left <= RAW_RESTARTS) {
        raw_drain(side);
        side->offset = 0;
    }
    do {
        while (!raw_put(side, &raw_in[0].side, &message))
            raw_look_again(&looks);
    } while (message.left > 0);
    if (RAW_METHOD == SINGLE)
        raw_drain(side);
    return 0;
}

static inline int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct raw_side *side = &raw_in[0].side;
    struct raw_message message = {data, (size_t)(count * type), 0};
    unsigned looks = 0;
    (void)from, (void)tag, (void)comm, (void)status;

    if (message.left <= RAW_RESTARTS)
        side->offset = 0;
    do {
        while (!raw_take(side, &raw_out[0].side, &message))
            raw_look_again(&looks);
    } while (message.left > 0);
    return 0;
}

/* Moves on with the oldest request of a queue as far as possible. */
static inline int raw_progress(struct raw_queue *queue, struct raw_side *back,
                               int (*move)(struct raw_side *, struct raw_side *, struct raw_message *))
{
    struct raw_message *message = &queue->message[queue->first % RAW_QUEUE];

    while (queue->first != queue->end && (message->left > 0 || !message->is_begun)) {
        if (!move(&queue->side, back, message))
            return 0;
        message->is_begun = 1;
        if (message->left == 0)
            message = &queue->message[++queue->first % RAW_QUEUE];
    }
    return 1;
}

static inline void raw_queue_message(struct raw_queue *queue, const void *data, int count, MPI_Datatype type)
{
    queue->message[queue->end++ % RAW_QUEUE] =
        (struct raw_message){(char *)(uintptr_t)data, (size_t)(count * type), 0};
}

static inline int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                            MPI_Request *request)
{
    (void)to, (void)tag, (void)comm, (void)request;
    raw_queue_message(&raw_out[1], data, count, type);
    raw_progress(&raw_out[1], &raw_in[1].side, raw_put);
    return 0;
}

static inline int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                            MPI_Request *request)
{
    (void)from, (void)tag, (void)comm, (void)request;
    raw_queue_message(&raw_in[1], data, count, type);
    return 0;
}

static inline int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    unsigned looks = 0;
    (void)count, (void)requests, (void)statuses;

    for (;;) {
        const int out = raw_progress(&raw_out[1], &raw_in[1].side, raw_put);
        const int in = raw_progress(&raw_in[1], &raw_out[1].side, raw_take);
        if (out && in)
            break;
        raw_look_again(&looks);
    }
    if (RAW_METHOD == SINGLE)
        raw_drain(&raw_out[1].side);
    return 0;
}

/* The collective operations of two processes are exchanges: of whole messages, also in a reduction. */
static inline void raw_exchange(const void *out, int sent, void *in, int received)
{
    raw_queue_message(&raw_out[1], out, sent, 1);
    raw_queue_message(&raw_in[1], in, received, 1);
    MPI_Waitall(2, NULL, NULL);
}

static inline int MPI_Sendrecv(const void *out, int sent, MPI_Datatype type, int to, int tag, void *in, int received,
                               MPI_Datatype as, int from, int received_tag, MPI_Comm comm, MPI_Status *status)
{
    if (raw_me == 0)
        MPI_Send(out, sent, type, to, tag, comm);
    MPI_Recv(in, received, as, from, received_tag, comm, status);
    if (raw_me != 0)
        MPI_Send(out, sent, type, to, tag, comm);
    return 0;
}

static inline int MPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    raw_exchange(NULL, 0, NULL, 0);
    return 0;
}

static inline int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return raw_me == root ? MPI_Send(data, count, type, 0, 0, comm)
                          : MPI_Recv(data, count, type, 0, 0, comm, NULL);
}

static inline void raw_reduce(const double *own, double *all, int count, MPI_Op op)
{
    for (int i = 0; i < count; i++)
        all[i] = op == MPI_SUM ? own[i] + all[i] : own[i] > all[i] ? own[i] : all[i];
}

static inline int MPI_Reduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    if (raw_me != root)
        return MPI_Send(own, count, type, 0, 0, comm);
    MPI_Recv(all, count, type, 0, 0, comm, NULL);
    raw_reduce(own, all, count, op);
    return 0;
}

static inline int MPI_Allreduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    raw_exchange(own, count * type, all, count * type);
    raw_reduce(own, all, count, op);
    return 0;
}

static inline int MPI_Alltoall(const void *out, int size, MPI_Datatype type, void *in, int received, MPI_Datatype as,
                               MPI_Comm comm)
{
    (void)type, (void)as, (void)comm;
    raw_exchange((const char *)out + (1 - raw_me) * size, size, (char *)in + (1 - raw_me) * received, received);
    memcpy((char *)in + raw_me * received, (const char *)out + raw_me * size, (size_t)size);
    return 0;
}

static inline int MPI_Allgather(const void *out, int size, MPI_Datatype type, void *in, int received, MPI_Datatype as,
                                MPI_Comm comm)
{
    (void)type, (void)as, (void)comm;
    raw_exchange(out, size, (char *)in + (1 - raw_me) * received, received);
    memcpy((char *)in + raw_me * received, out, (size_t)size);
    return 0;
}

static inline int MPI_Init(int *argc, char ***argv)
{
    struct raw_lane *lanes = mmap(NULL, 4 * sizeof *lanes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = getpid();
    (void)argc, (void)argv;

    if (lanes == MAP_FAILED)
        raw_fail("raw_mpi.h: mmap");
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    raw_other = fork();
    if (raw_other < 0)
        raw_fail("raw_mpi.h: fork");
    if (raw_other == 0) {
        raw_me = 1;
        raw_other = parent;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent)
            _exit(1);
    }
    for (int kind = 0; kind < 2; kind++) {
        raw_out[kind].side.lane = &lanes[2 * kind + raw_me];
        raw_in[kind].side.lane = &lanes[2 * kind + 1 - raw_me];
    }
    return 0;
}

static inline int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = raw_me;
    return 0;
}

static inline int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = 2;
    return 0;
}

static inline int MPI_Get_library_version(char *text, int *length)
{
    static const char *const methods[] = {"", "raw mailboxes", "raw copies", "raw streamed copies", "raw single copies"};
    *length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "%s", methods[RAW_METHOD]);
    return 0;
}

static inline int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    kill(raw_other, SIGKILL);
    _exit(code);
}

static inline int MPI_Finalize(void)
{
    if (raw_me == 0)
        waitpid(raw_other, NULL, 0);
    return 0;
}

#endif
