/* short.c - short messages by blocking calls alone, for a library that has no rendezvous: more of them than a receiver
 * has room for, exchanges, and what such a library refuses by an error instead. It passes with every library. */
#include "check.h"

enum { MESSAGES = 2000, LONGEST = 8192, TURNS = 300 };

static unsigned char out[2 * LONGEST], in[2 * LONGEST];

/* All others send at once to rank 0, which takes the messages of one after those of the other. */
static void burst(void)
{
    int value;

    if (rank != 0)
        for (int i = 0; i < MESSAGES; i++) {
            value = rank * MESSAGES + i;
            MPI(MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
        }
    else
        for (int from = size - 1; from > 0; from--)
            for (int i = 0; i < MESSAGES; i++) {
                MPI(MPI_Recv(&value, 1, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                CHECK(value == from * MESSAGES + i, "message %d of rank %d is %d", i, from, value);
            }
}

/* Everybody passes messages of all lengths to the next in a ring. */
static void ring(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    for (int turn = 0; turn < TURNS; turn++) {
        const int bytes = turn * LONGEST / (TURNS - 1);

        fill(out, (size_t)bytes, (unsigned)(rank + turn));
        MPI(MPI_Sendrecv(out, bytes, MPI_BYTE, next, turn, in, bytes, MPI_BYTE, before, turn,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        verify(in, (size_t)bytes, (unsigned)(before + turn), "message of the ring");
    }
}

/* A message that is too long for a library arrives whole or is an error, and nothing is lost behind it. */
static void too_long(void)
{
    int sent = 1, told = 0;

    if (rank == 1) {
        fill(out, sizeof out, 7);
        sent = MPI_Send(out, sizeof out, MPI_BYTE, 0, 1, MPI_COMM_WORLD) == MPI_SUCCESS;
        MPI(MPI_Send(&sent, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    }
    if (rank == 0) {
        /* Tag 1 or 2: whichever comes first tells. */
        MPI_Status status;

        MPI(MPI_Recv(in, sizeof in, MPI_BYTE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        if (status.MPI_TAG == 1) {
            verify(in, sizeof in, 7, "long message");
            MPI(MPI_Recv(&told, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(told == 1, "a message came that was refused");
        } else {
            memcpy(&told, in, sizeof told);
            CHECK(told == 0, "a message is lost");
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (size < 2)
        return usage("short, on 2 ranks or more");
    burst();
    ring();
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    too_long();
    return end("short");
}
