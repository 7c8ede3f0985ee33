/* p2p.c - every way to send one message, in every size around a boundary,
 * between all pairs of ranks and to oneself. Any number of ranks.
 *
 * Checks content, bytes beside the message (nothing may be written there),
 * statuses, wildcards, MPI_PROC_NULL, zero counts, MPI_Get_count. */
#include "check.h"

#include <stddef.h>
#include <stdint.h>

#define GUARD 64 /* bytes before and after the buffer that must stay as they are */
#define MEBI (1 << 20)
#define LARGEST (3 * MEBI + 1)

static const int sizes[] = {0,     1,     7,     8,     9,     55,    56,    57,       58,
                            59,    60,    61,    62,    63,    64,    65,    127,      128,
                            129,   1000,  4095,  4096,  4097,  8191,  8192,  8193,     16383,
                            16384, 16385, 65535, 65536, 65537, MEBI,  LARGEST};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

enum mode { ISEND, SEND, SSEND, SENDRECV, MODES };

static unsigned char *out, *in; /* both point behind a guard */

static void clear(int bytes)
{
    memset(in - GUARD, 0xA5, GUARD);
    memset(in, 0x5A, (size_t)bytes);
    memset(in + bytes, 0xA5, GUARD);
}

static void verify_guards(int bytes)
{
    for (int i = 0; i < GUARD; i++) {
        CHECK(in[-1 - i] == 0xA5, "size %d: written %d bytes before the buffer", bytes, i + 1);
        CHECK(in[bytes + i] == 0xA5, "size %d: written %d bytes behind the buffer", bytes, i);
    }
}

/* Everybody sends to the rank `shift` above and receives from the one below. */
static void shift(int by, int bytes, enum mode mode)
{
    const int to = (rank + by) % size, from = (rank - by + size) % size;
    const int tag = bytes % 32768;
    const unsigned message = (unsigned)(by * 64 + (int)mode);
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Status status;

    fill(out, (size_t)bytes, message + (unsigned)rank);
    clear(bytes);
    if (mode == SENDRECV) {
        MPI(MPI_Sendrecv(out, bytes, MPI_BYTE, to, tag, in, bytes, MPI_BYTE, from, tag,
                         MPI_COMM_WORLD, &status));
    } else {
        MPI(MPI_Irecv(in, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receive));
        if (mode == SEND)
            MPI(MPI_Send(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        else if (mode == SSEND)
            MPI(MPI_Ssend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        else
            MPI(MPI_Isend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &send));
        MPI(MPI_Wait(&receive, &status));
        CHECK(receive == MPI_REQUEST_NULL, "a completed request is not MPI_REQUEST_NULL");
        MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    verify_status(&status, from, tag, bytes, "shift");
    verify(in, (size_t)bytes, message + (unsigned)from, "shift");
    verify_guards(bytes);
}

static void all_pairs(void)
{
    int turn = 0;

    for (int i = 0; i < SIZES; i++)
        for (int by = 0; by < size; by++)
            if (sizes[i] <= 4097)
                for (int m = 0; m < MODES; m++)
                    shift(by, sizes[i], (enum mode)m);
            else /* large ones take turns, to keep the test short */
                shift(by, sizes[i], (enum mode)(turn++ % MODES));
}

/* Plain blocking calls, one pair at a time; the lower rank speaks first. The
 * receive says ANY_SOURCE and ANY_TAG, and its buffer is larger than needed. */
static void blocking(void)
{
    for (int i = 0; i < SIZES; i++)
        for (int low = 0; low + 1 < size; low++) {
            const int high = low + 1, bytes = sizes[i];
            MPI_Status status;
            if (rank == low) {
                fill(out, (size_t)bytes, 1000u + (unsigned)i);
                MPI(MPI_Send(out, bytes, MPI_BYTE, high, 5, MPI_COMM_WORLD));
                clear(bytes);
                MPI(MPI_Recv(in, bytes, MPI_BYTE, high, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                verify(in, (size_t)bytes, 2000u + (unsigned)i, "answer");
                verify_guards(bytes);
            } else if (rank == high) {
                clear(bytes);
                MPI(MPI_Recv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                             &status));
                verify_status(&status, low, 5, bytes, "blocking");
                verify(in, (size_t)bytes, 1000u + (unsigned)i, "blocking");
                verify_guards(bytes);
                fill(out, (size_t)bytes, 2000u + (unsigned)i);
                MPI(MPI_Ssend(out, bytes, MPI_BYTE, low, 6, MPI_COMM_WORLD));
            }
        }
}

/* MPI_Ssend must not return before the receive has begun: what is sent after it
 * cannot be there yet. */
static void synchronous(int bytes)
{
    const int other = rank ^ 1;

    if (rank % 2 == 0 && other < size) {
        fill(out, (size_t)bytes, 3);
        MPI(MPI_Ssend(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD));
        MPI(MPI_Send(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD));
    } else if (rank % 2 == 1) {
        const double start = MPI_Wtime();
        MPI_Status status;
        int flag = 0;
        MPI(MPI_Probe(other, 1, MPI_COMM_WORLD, &status)); /* looking is not receiving */
        while (!flag && MPI_Wtime() < start + 0.02)
            MPI(MPI_Iprobe(other, 2, MPI_COMM_WORLD, &flag, &status));
        CHECK(!flag, "MPI_Ssend of %d bytes returned before the receive began", bytes);
        MPI(MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status));
        verify_status(&status, other, 1, bytes, "synchronous");
        verify(in, (size_t)bytes, 3, "synchronous");
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, &status));
    }
}

/* All ranks send to rank 0 at once, which takes them as they come. */
static void any_source(void)
{
    const int bytes = 40000;
    MPI_Request send;

    fill(out, (size_t)bytes, (unsigned)rank);
    MPI(MPI_Isend(out, bytes, MPI_BYTE, 0, 100 + rank, MPI_COMM_WORLD, &send));
    if (rank == 0) {
        char *seen = allocate((size_t)size);
        memset(seen, 0, (size_t)size);
        for (int i = 0; i < size; i++) {
            MPI_Status status;
            MPI(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &status));
            CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < size, "source %d",
                  status.MPI_SOURCE);
            verify_status(&status, status.MPI_SOURCE, 100 + status.MPI_SOURCE, bytes, "any");
            verify(in, (size_t)bytes, (unsigned)status.MPI_SOURCE, "any");
            CHECK(!seen[status.MPI_SOURCE]++, "two messages from rank %d", status.MPI_SOURCE);
        }
        free(seen);
    }
    MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void nobody(void)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int flag = 0, count = -1;

    clear(8);
    MPI(MPI_Send(out, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    MPI(MPI_Ssend(out, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    MPI(MPI_Recv(in, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status[0]));
    verify_status(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0, "receive from nobody");
    MPI(MPI_Irecv(in, 8, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]));
    MPI(MPI_Isend(out, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request[1]));
    MPI(MPI_Waitall(2, request, status));
    verify_status(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0, "Irecv from nobody");
    MPI(MPI_Sendrecv(out, 8, MPI_BYTE, MPI_PROC_NULL, 1, in, 8, MPI_BYTE, MPI_PROC_NULL, 1,
                     MPI_COMM_WORLD, &status[0]));
    verify_status(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0, "Sendrecv with nobody");
    MPI(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status[0]));
    verify_status(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0, "Probe of nobody");
    MPI(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status[0]));
    CHECK(flag, "Iprobe of nobody must be true");
    for (int i = 0; i < 8; i++)
        CHECK(in[i] == 0x5A, "a receive from nobody wrote into the buffer");

    /* A request that never was: complete, with the empty status. */
    request[0] = request[1] = MPI_REQUEST_NULL;
    MPI(MPI_Wait(&request[0], &status[0]));
    verify_status(&status[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "Wait for nothing");
    flag = 0;
    MPI(MPI_Test(&request[0], &flag, &status[0]));
    CHECK(flag, "Test of nothing must be true");
    MPI(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    MPI(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    MPI(MPI_Get_count(&status[0], MPI_INT, &count));
    CHECK(count == 0, "the empty status has count %d", count);
}

/* Typed messages to oneself, and counts that are no whole number of elements. */
static void counts(void)
{
    static const struct {
        int bytes, ints, doubles;
    } wanted[] = {{0, 0, 0}, {4, 1, MPI_UNDEFINED}, {7, MPI_UNDEFINED, MPI_UNDEFINED},
                  {8, 2, 1}, {4096, 1024, 512},     {65537, MPI_UNDEFINED, MPI_UNDEFINED}};

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        MPI_Request request;
        MPI_Status status;
        int count = -1;
        MPI(MPI_Isend(out, wanted[i].bytes, MPI_BYTE, rank, 9, MPI_COMM_WORLD, &request));
        MPI(MPI_Recv(in, LARGEST, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : rank,
                     i % 2 ? 9 : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        verify_status(&status, rank, 9, wanted[i].bytes, "to oneself");
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == wanted[i].ints, "%d bytes are %d ints, not %d", wanted[i].bytes,
              wanted[i].ints, count);
        MPI(MPI_Get_count(&status, MPI_DOUBLE, &count));
        CHECK(count == wanted[i].doubles, "%d bytes are %d doubles, not %d", wanted[i].bytes,
              wanted[i].doubles, count);
    }
}

/* Five elements of each predefined type without holes travel as five elements. */
static void types(void)
{
    const struct {
        MPI_Datatype type;
        size_t bytes;
        const char *name;
    } list[] = {
#define T(mpi, c) {mpi, sizeof(c), #mpi}
        T(MPI_CHAR, char), T(MPI_SIGNED_CHAR, signed char), T(MPI_UNSIGNED_CHAR, unsigned char),
        T(MPI_BYTE, char), T(MPI_WCHAR, wchar_t), T(MPI_SHORT, short),
        T(MPI_UNSIGNED_SHORT, unsigned short), T(MPI_INT, int), T(MPI_UNSIGNED, unsigned),
        T(MPI_LONG, long), T(MPI_UNSIGNED_LONG, unsigned long), T(MPI_LONG_LONG, long long),
        T(MPI_LONG_LONG_INT, long long), T(MPI_UNSIGNED_LONG_LONG, unsigned long long),
        T(MPI_FLOAT, float), T(MPI_DOUBLE, double), T(MPI_LONG_DOUBLE, long double),
        T(MPI_C_BOOL, _Bool), T(MPI_INT8_T, int8_t), T(MPI_INT16_T, int16_t),
        T(MPI_INT32_T, int32_t), T(MPI_INT64_T, int64_t), T(MPI_UINT8_T, uint8_t),
        T(MPI_UINT16_T, uint16_t), T(MPI_UINT32_T, uint32_t), T(MPI_UINT64_T, uint64_t),
        T(MPI_C_COMPLEX, float _Complex), T(MPI_C_FLOAT_COMPLEX, float _Complex),
        T(MPI_C_DOUBLE_COMPLEX, double _Complex),
        T(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex), T(MPI_AINT, MPI_Aint),
        T(MPI_OFFSET, MPI_Offset), T(MPI_COUNT, MPI_Count), T(MPI_PACKED, char),
        T(MPI_2INT, int[2])
#undef T
    };
    const int to = (rank + 1) % size, from = (rank - 1 + size) % size;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const int bytes = (int)(5 * list[i].bytes);
        MPI_Status status;
        int count = -1;
        fill(out, (size_t)bytes, (unsigned)i);
        clear(bytes);
        MPI(MPI_Sendrecv(out, 5, list[i].type, to, 13, in, 5, list[i].type, from, 13,
                         MPI_COMM_WORLD, &status));
        MPI(MPI_Get_count(&status, list[i].type, &count));
        CHECK(count == 5, "5 elements of %s arrived as %d", list[i].name, count);
        /* A _Bool holds 0 or 1 only; a long double has bytes that mean nothing. */
        if (list[i].type != MPI_C_BOOL && list[i].bytes <= 8)
            verify(in, (size_t)bytes, (unsigned)i, list[i].name);
        verify_guards(bytes);
    }
}

/* Zero elements, without any buffer. */
static void empty(void)
{
    const int to = (rank + 1) % size, from = (rank - 1 + size) % size;
    MPI_Request request[2];
    MPI_Status status[2];

    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* the wildcards above must not see this */
    MPI(MPI_Irecv(NULL, 0, MPI_INT, from, 11, MPI_COMM_WORLD, &request[0]));
    MPI(MPI_Isend(NULL, 0, MPI_INT, to, 11, MPI_COMM_WORLD, &request[1]));
    MPI(MPI_Waitall(2, request, status));
    verify_status(&status[0], from, 11, 0, "empty");
}

/* MPI_Test until it is done; a receive without a message is not done. */
static void test(void)
{
    const int bytes = 100000, to = (rank + 1) % size, from = (rank - 1 + size) % size;
    MPI_Request request[2];
    MPI_Status status;
    int flag = 1;

    clear(bytes);
    fill(out, (size_t)bytes, (unsigned)rank);
    MPI(MPI_Irecv(in, bytes, MPI_BYTE, from, 12, MPI_COMM_WORLD, &request[0]));
    MPI(MPI_Test(&request[0], &flag, &status));
    CHECK(!flag && request[0] != MPI_REQUEST_NULL, "received before anybody sent");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Isend(out, bytes, MPI_BYTE, to, 12, MPI_COMM_WORLD, &request[1]));
    for (flag = 0; !flag;)
        MPI(MPI_Test(&request[0], &flag, &status));
    CHECK(request[0] == MPI_REQUEST_NULL, "Test left a completed request");
    verify_status(&status, from, 12, bytes, "Test");
    verify(in, (size_t)bytes, (unsigned)from, "Test");
    verify_guards(bytes);
    for (flag = 0; !flag;)
        MPI(MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned char *a = allocate(LARGEST + 2 * GUARD), *b = allocate(LARGEST + 2 * GUARD);
    out = a + GUARD;
    in = b + GUARD;

    all_pairs();
    blocking();
    synchronous(0);
    synchronous(8);
    synchronous(70000);
    any_source();
    nobody();
    counts();
    types();
    empty();
    test();
    out = a + 3; /* buffers need no alignment */
    in = b + GUARD + 1;
    for (int i = 0; i < SIZES && sizes[i] <= 100000; i += 2)
        shift(size - 1, sizes[i], (enum mode)(i / 2 % MODES));

    free(a);
    free(b);
    return end("p2p");
}
