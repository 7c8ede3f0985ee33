/* comms.c - communicators keep their messages apart: duplicates, splits (with
 * keys, ties and MPI_UNDEFINED), nested ones, MPI_COMM_SELF, many at a time,
 * freed with messages under way, collectives on two halves at once. Any number of
 * ranks. */
#include "check.h"

static int to, from;

/* Messages with equal envelopes on two communicators, received the other way
 * round; neither wildcards nor probes look across. */
static void isolation(MPI_Comm a, MPI_Comm b, int bytes)
{
    unsigned char *out[2], *in = allocate((size_t)bytes);
    MPI_Request r[2];
    MPI_Status status;
    int flag = 1;

    for (int i = 0; i < 2; i++) {
        out[i] = allocate((size_t)bytes);
        fill(out[i], (size_t)bytes, 10u + (unsigned)i);
    }
    MPI(MPI_Isend(out[0], bytes, MPI_BYTE, to, 5, a, &r[0]));
    /* Whoever comes here has sent on `a`, and nothing is sent on `b`. */
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, b, &flag, &status));
    CHECK(!flag, "a message showed up on another communicator");
    MPI(MPI_Barrier(b));
    MPI(MPI_Isend(out[1], bytes, MPI_BYTE, to, 5, b, &r[1]));
    MPI(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, b, &status));
    verify_status(&status, from, 5, bytes, "probe on the copy");
    MPI(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, b, &status));
    verify_status(&status, from, 5, bytes, "the copy");
    verify(in, (size_t)bytes, 11, "the copy");
    MPI(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, a, &status));
    verify_status(&status, from, 5, bytes, "the original");
    verify(in, (size_t)bytes, 10, "the original");
    MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    MPI(MPI_Barrier(b));
    for (int i = 0; i < 2; i++)
        free(out[i]);
    free(in);
}

/* What collectives send is invisible to receives that take anything. */
static void collectives_are_invisible(void)
{
    MPI_Request r[2];
    MPI_Status status[2];
    int in = -1, out = rank, sum = 0, flag = 1;

    MPI(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]));
    for (int i = 0; i < 20; i++) {
        MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == size * (size - 1) / 2, "sum %d", sum);
    }
    MPI(MPI_Test(&r[0], &flag, &status[0]));
    CHECK(!flag, "a receive took a message of a collective");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Isend(&out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &r[1]));
    MPI(MPI_Waitall(2, r, status));
    CHECK(in == from && status[0].MPI_SOURCE == from && status[0].MPI_TAG == 3,
          "%d from %d, tag %d", in, status[0].MPI_SOURCE, status[0].MPI_TAG);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void is(MPI_Comm c, int rank_wanted, int size_wanted, const char *what)
{
    int r = -1, s = -1;

    CHECK(c != MPI_COMM_NULL, "%s is MPI_COMM_NULL", what);
    MPI(MPI_Comm_rank(c, &r));
    MPI(MPI_Comm_size(c, &s));
    CHECK(r == rank_wanted && s == size_wanted, "%s: rank %d of %d instead of %d of %d", what, r,
          s, rank_wanted, size_wanted);
}

/* Everybody tells its world rank around the ring of `c`: ranks in messages and
 * statuses are the communicator's own. */
static void ring(MPI_Comm c, int world_rank_before)
{
    int r, n, in = -1;
    MPI_Status status;

    MPI(MPI_Comm_rank(c, &r));
    MPI(MPI_Comm_size(c, &n));
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, (r + 1) % n, 9, &in, 1, MPI_INT, MPI_ANY_SOURCE, 9, c,
                     &status));
    CHECK(status.MPI_SOURCE == (r - 1 + n) % n, "source %d instead of %d", status.MPI_SOURCE,
          (r - 1 + n) % n);
    CHECK(in == world_rank_before, "heard of %d instead of %d", in, world_rank_before);
    MPI(MPI_Barrier(c));
}

static void splits(void)
{
    const int odd = rank % 2, of_mine = (size + 1 - odd) / 2, last = size - 1;
    MPI_Comm half, back, ties, single, none, again;

    MPI(MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half));
    is(half, rank / 2, of_mine, "odd or even");
    ring(half, rank >= 2 ? rank - 2 : odd + 2 * (of_mine - 1));

    MPI(MPI_Comm_split(MPI_COMM_WORLD, 7, -rank, &back));
    is(back, last - rank, size, "backwards");
    ring(back, (rank + 1) % size);

    MPI(MPI_Comm_split(back, 0, 42, &ties)); /* equal keys: as in the old one */
    is(ties, last - rank, size, "ties");

    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &single));
    is(single, 0, 1, "one each");
    ring(single, rank);

    MPI(MPI_Comm_split(MPI_COMM_WORLD, odd ? MPI_UNDEFINED : 1, rank, &none));
    if (odd)
        CHECK(none == MPI_COMM_NULL, "MPI_UNDEFINED gave a communicator");
    else
        is(none, rank / 2, (size + 1) / 2, "the even ones");

    /* Nested: the halves of a half of a copy. */
    MPI(MPI_Comm_split(half, rank / 2 % 2, 0, &again));
    is(again, rank / 4, (of_mine + 1 - rank / 2 % 2) / 2, "a quarter");
    ring(again, rank >= 4 ? rank - 4 : rank + 4 * ((last - rank) / 4));

    MPI(MPI_Comm_free(&half));
    CHECK(half == MPI_COMM_NULL, "a freed communicator is not MPI_COMM_NULL");
    ring(again, rank >= 4 ? rank - 4 : rank + 4 * ((last - rank) / 4));
    MPI(MPI_Comm_free(&again));
    MPI(MPI_Comm_free(&back));
    MPI(MPI_Comm_free(&ties));
    MPI(MPI_Comm_free(&single));
    if (!odd)
        MPI(MPI_Comm_free(&none));
}

static void self(void)
{
    int in = 0, out = 77 + rank, sum = 0;
    MPI_Comm copy;
    MPI_Request r;
    MPI_Status status;

    is(MPI_COMM_SELF, 0, 1, "MPI_COMM_SELF");
    MPI(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    MPI(MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r));
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, copy, &status));
    CHECK(in == rank && status.MPI_SOURCE == 0, "a copy of MPI_COMM_SELF: %d", in);
    MPI(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status));
    CHECK(in == out && status.MPI_SOURCE == 0, "MPI_COMM_SELF: %d", in);
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MPI(MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    CHECK(sum == out, "a sum over one is %d", sum);
    MPI(MPI_Comm_free(&copy));
}

/* Many at a time, then many one after the other. */
static void many(void)
{
    enum { ALIVE = 64, TURNS = 300 };
    MPI_Comm c[ALIVE], one = MPI_COMM_WORLD, next;
    MPI_Request r[ALIVE];
    int out[ALIVE], in = -1;

    for (int i = 0; i < ALIVE; i++) {
        MPI(MPI_Comm_dup(i ? c[i - 1] : MPI_COMM_WORLD, &c[i]));
        out[i] = 1000 * rank + i;
        MPI(MPI_Isend(&out[i], 1, MPI_INT, to, 0, c[i], &r[i]));
    }
    for (int i = ALIVE - 1; i >= 0; i--) {
        MPI(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c[i], MPI_STATUS_IGNORE));
        CHECK(in == 1000 * from + i, "communicator %d carried %d", i, in);
    }
    MPI(MPI_Waitall(ALIVE, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < ALIVE; i++)
        MPI(MPI_Comm_free(&c[i]));
    for (int i = 0; i < TURNS; i++) {
        MPI(MPI_Comm_dup(one, &next));
        if (i > 0)
            MPI(MPI_Comm_free(&one));
        one = next;
    }
    ring(one, from);
    MPI(MPI_Comm_free(&one));
}

/* A communicator may be freed while its messages are still under way. */
static void freed_too_early(int bytes)
{
    unsigned char *out = allocate((size_t)bytes), *in = allocate((size_t)bytes);
    MPI_Comm c;
    MPI_Request r[2];
    MPI_Status status[2];

    fill(out, (size_t)bytes, (unsigned)rank);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    MPI(MPI_Irecv(in, bytes, MPI_BYTE, from, 2, c, &r[0]));
    MPI(MPI_Isend(out, bytes, MPI_BYTE, to, 2, c, &r[1]));
    MPI(MPI_Comm_free(&c));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c)); /* must not get in the way */
    MPI(MPI_Waitall(2, r, status));
    verify_status(&status[0], from, 2, bytes, "freed too early");
    verify(in, (size_t)bytes, (unsigned)from, "freed too early");
    MPI(MPI_Comm_free(&c));
    free(out);
    free(in);
}

/* Different collectives on the two halves, and on all between them. */
static void halves_at_once(void)
{
    const int upper = rank >= size / 2;
    int r, n, all = 0;
    MPI_Comm half;

    MPI(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half));
    MPI(MPI_Comm_rank(half, &r));
    MPI(MPI_Comm_size(half, &n));
    for (int turn = 0; turn < 10; turn++) {
        for (int i = 0; i < (upper ? 5 : 3); i++) {
            int x = r + 1, y = 0, *list = allocate(sizeof x * (size_t)n);
            if (upper) {
                MPI(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, half));
                CHECK(y == n * (n + 1) / 2, "sum over the upper half: %d", y);
            } else {
                MPI(MPI_Allgather(&x, 1, MPI_INT, list, 1, MPI_INT, half));
                for (int k = 0; k < n; k++)
                    CHECK(list[k] == k + 1, "list of the lower half: %d at %d", list[k], k);
                x = r == i % n ? 55 : 0;
                MPI(MPI_Bcast(&x, 1, MPI_INT, i % n, half));
                CHECK(x == 55, "broadcast in the lower half: %d", x);
            }
            free(list);
        }
        MPI(MPI_Allreduce(&turn, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(all == turn * size, "sum over all: %d", all);
    }
    MPI(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    MPI_Comm copy, second;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank - 1 + size) % size;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    is(copy, rank, size, "a copy");
    MPI(MPI_Comm_dup(copy, &second));
    for (int bytes = 1; bytes <= 1000000; bytes *= 100) {
        isolation(MPI_COMM_WORLD, copy, bytes);
        isolation(copy, MPI_COMM_WORLD, bytes);
        isolation(second, copy, bytes);
    }
    MPI(MPI_Comm_free(&copy));
    ring(second, from);
    MPI(MPI_Comm_free(&second));
    collectives_are_invisible();
    splits();
    self();
    many();
    freed_too_early(100);
    freed_too_early(300000);
    halves_at_once();
    return end("comms");
}
