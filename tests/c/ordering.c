/* ordering.c - messages of one sender do not overtake each other: large and
 * small mixed, one tag and many, exact and wildcard receives, sends before the
 * receives and receives before the sends. Any number of ranks.
 *
 * Every rank sends to the next one (with one rank: to itself), so all sends are
 * non-blocking. A message starts with its number. */
#include "check.h"

#define MESSAGES 240
#define LARGEST 70000

/* Sizes in an order that mixes what libraries treat differently. */
static int length(int i)
{
    static const int of[] = {4, LARGEST, 40, 3000, 4, 9000, 64, 20000, 128, 4, 4097, 4};

    return of[i % (int)(sizeof of / sizeof *of)];
}

static int to, from;
static unsigned char *out[MESSAGES], *in[MESSAGES];
static MPI_Request sends[MESSAGES], receives[MESSAGES];

static void send(int i, int tag)
{
    fill(out[i], (size_t)length(i), (unsigned)i);
    memcpy(out[i], &i, sizeof i);
    MPI(MPI_Isend(out[i], length(i), MPI_BYTE, to, tag, MPI_COMM_WORLD, &sends[i]));
}

/* Message `i`, whole, is in `buffer`. */
static void is(unsigned char *buffer, MPI_Status *status, int i, int tag, const char *what)
{
    int number;

    memcpy(&number, buffer, sizeof number);
    CHECK(number == i, "%s: message %d instead of %d", what, number, i);
    verify_status(status, from, tag, length(i), what);
    for (int k = 4; k < length(i); k++)
        CHECK(buffer[k] == content((unsigned)i, (size_t)k), "%s: message %d, byte %d", what, i, k);
}

static void finish(int messages)
{
    MPI(MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* All sends first, then one receive after the other. */
static void sends_first(int source, int tag, const char *what)
{
    MPI_Status status;

    for (int i = 0; i < MESSAGES; i++)
        send(i, 7);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < MESSAGES; i++) {
        MPI(MPI_Recv(in[0], LARGEST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
        is(in[0], &status, i, 7, what);
    }
    finish(MESSAGES);
}

/* All receives first; then every second one after the sends have begun. */
static void receives_first(int source, int tag, int before, const char *what)
{
    MPI_Status status[MESSAGES];

    for (int i = 0; i < before; i++)
        MPI(MPI_Irecv(in[i], LARGEST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &receives[i]));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < MESSAGES; i++)
        send(i, 7);
    for (int i = before; i < MESSAGES; i++)
        MPI(MPI_Irecv(in[i], LARGEST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &receives[i]));
    MPI(MPI_Waitall(MESSAGES, receives, status));
    for (int i = 0; i < MESSAGES; i++)
        is(in[i], &status[i], i, 7, what);
    finish(MESSAGES);
}

/* Each message has its own tag; received backwards. */
static void reverse_tags(int posted_first)
{
    MPI_Status status[MESSAGES];

    if (!posted_first)
        for (int i = 0; i < MESSAGES; i++)
            send(i, i);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = MESSAGES - 1; i >= 0; i--)
        MPI(MPI_Irecv(in[i], LARGEST, MPI_BYTE, from, i, MPI_COMM_WORLD, &receives[i]));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (posted_first)
        for (int i = 0; i < MESSAGES; i++)
            send(i, i);
    MPI(MPI_Waitall(MESSAGES, receives, status));
    for (int i = 0; i < MESSAGES; i++)
        is(in[i], &status[i], i, i, "reverse tags");
    finish(MESSAGES);
}

/* Two tags interleaved: all of one tag, then all of the other; each in order. */
static void two_tags(int source)
{
    MPI_Status status;

    for (int i = 0; i < MESSAGES; i++)
        send(i, i % 2);
    for (int tag = 1; tag >= 0; tag--)
        for (int i = tag; i < MESSAGES; i += 2) {
            MPI(MPI_Recv(in[0], LARGEST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
            is(in[0], &status, i, tag, "two tags");
        }
    finish(MESSAGES);
}

/* Of two posted receives that fit, the first posted one takes the message, be it
 * the exact one or the wildcard; a receive that does not fit is passed over. */
static void post_order(int large)
{
    const int base = large ? 1 : 0; /* length(1) is large, length(0) small */
    static const struct {
        int any_source[2], tag[2]; /* of the receives; tag -1 is any */
        int sent[2];               /* tags in the order of sending */
        int taken[2];              /* which message each receive must get */
    } cases[] = {
        {{0, 0}, {-1, 5}, {5, 5}, {0, 1}}, /* wildcard, then exact */
        {{0, 0}, {5, -1}, {5, 5}, {0, 1}}, /* exact, then wildcard */
        {{1, 0}, {5, 5}, {5, 5}, {0, 1}},  {{0, 1}, {5, 5}, {5, 5}, {0, 1}},
        {{1, 1}, {-1, 5}, {5, 5}, {0, 1}}, {{1, 1}, {5, -1}, {5, 5}, {0, 1}},
        {{0, 0}, {6, -1}, {5, 6}, {1, 0}}, /* the first receive does not fit */
        {{0, 1}, {6, -1}, {5, 6}, {1, 0}}, {{1, 0}, {6, -1}, {5, 6}, {1, 0}},
        {{1, 0}, {6, 5}, {5, 6}, {1, 0}},  {{0, 0}, {-1, 6}, {5, 6}, {0, 1}},
    };

    for (int early = 0; early < 2; early++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            MPI_Status status[2];
            if (!early)
                for (int i = 0; i < 2; i++)
                    send(base + 12 * i, cases[c].sent[i]);
            for (int r = 0; r < 2; r++)
                MPI(MPI_Irecv(in[r], LARGEST, MPI_BYTE,
                              cases[c].any_source[r] ? MPI_ANY_SOURCE : from,
                              cases[c].tag[r] < 0 ? MPI_ANY_TAG : cases[c].tag[r], MPI_COMM_WORLD,
                              &receives[r]));
            MPI(MPI_Barrier(MPI_COMM_WORLD));
            if (early)
                for (int i = 0; i < 2; i++)
                    send(base + 12 * i, cases[c].sent[i]);
            MPI(MPI_Waitall(2, receives, status));
            for (int r = 0; r < 2; r++)
                is(in[r], &status[r], base + 12 * cases[c].taken[r],
                   cases[c].sent[cases[c].taken[r]], "post order");
            for (int i = 0; i < 2; i++)
                MPI(MPI_Wait(&sends[base + 12 * i], MPI_STATUS_IGNORE));
            MPI(MPI_Barrier(MPI_COMM_WORLD));
        }
}

/* Everybody sends to rank 0: among the messages of one sender the order holds. */
static void many_senders(void)
{
    const int each = MESSAGES / 4;
    MPI_Status status;

    to = 0;
    for (int i = 0; i < each; i++)
        send(i, i % 3);
    if (rank == 0) {
        int *next = allocate((size_t)size * sizeof *next);
        memset(next, 0, (size_t)size * sizeof *next);
        for (int i = 0; i < each * size; i++) {
            MPI(MPI_Recv(in[0], LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &status));
            from = status.MPI_SOURCE;
            CHECK(from >= 0 && from < size, "source %d", from);
            is(in[0], &status, next[from], next[from] % 3, "many senders");
            next[from]++;
        }
        free(next);
    }
    finish(each);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank - 1 + size) % size;
    for (int i = 0; i < MESSAGES; i++) {
        out[i] = allocate((size_t)length(i));
        in[i] = allocate(LARGEST);
    }
    sends_first(from, 7, "sends first");
    sends_first(MPI_ANY_SOURCE, 7, "sends first, any source");
    sends_first(from, MPI_ANY_TAG, "sends first, any tag");
    sends_first(MPI_ANY_SOURCE, MPI_ANY_TAG, "sends first, any");
    receives_first(from, 7, MESSAGES, "receives first");
    receives_first(MPI_ANY_SOURCE, MPI_ANY_TAG, MESSAGES, "receives first, any");
    receives_first(from, 7, MESSAGES / 2, "half of the receives first");
    receives_first(MPI_ANY_SOURCE, MPI_ANY_TAG, MESSAGES / 2, "half of the receives first, any");
    reverse_tags(0);
    reverse_tags(1);
    two_tags(from);
    two_tags(MPI_ANY_SOURCE);
    post_order(0);
    post_order(1);
    many_senders();
    for (int i = 0; i < MESSAGES; i++) {
        free(out[i]);
        free(in[i]);
    }
    return end("ordering");
}
