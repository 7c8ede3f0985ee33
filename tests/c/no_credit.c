/* no_credit.c - two ranks have sent each other all that may be under way, and none of it is
 * received yet, when they exchange messages in collective calls.
 *
 * no_credit COUNT: so many messages of 8 bytes from each to the other. */
#include "check.h"

enum { LONGEST = 2048, TURNS = 40 };

static unsigned char out[2 * LONGEST], in[2 * LONGEST];

/* What the rank at that place gets or gives in a turn differs by rank and turn. */
static unsigned seed(int of, int turn)
{
    return (unsigned)(of * TURNS + turn);
}

static void exchange(int turn, int bytes)
{
    const int other = 1 - rank, words = bytes / 4;
    int *sum = (int *)in;

    fill(out, (size_t)bytes, seed(rank, turn));
    MPI(MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD));
    for (int r = 0; r < 2; r++)
        verify(in + r * bytes, (size_t)bytes, seed(r, turn), "block gathered");

    fill(out + other * bytes, (size_t)bytes, seed(rank, turn));
    fill(out + rank * bytes, (size_t)bytes, seed(rank, turn));
    MPI(MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD));
    for (int r = 0; r < 2; r++)
        verify(in + r * bytes, (size_t)bytes, seed(r, turn), "block exchanged");
    memcpy(in, out, 2 * (size_t)bytes);
    MPI(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, bytes, MPI_BYTE, MPI_COMM_WORLD));
    for (int r = 0; r < 2; r++)
        verify(in + r * bytes, (size_t)bytes, seed(r, turn), "block exchanged in place");

    for (int i = 0; i < words; i++)
        sum[i] = (rank + 1) * (turn + i);
    MPI(MPI_Allreduce(MPI_IN_PLACE, sum, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < words; i++)
        CHECK(sum[i] == 3 * (turn + i), "turn %d: sum %d is %d", turn, i, sum[i]);
}

int main(int argc, char **argv)
{
    MPI_Request *requests;
    int (*sent)[2], got[2], count;

    begin(&argc, &argv);
    if (argc != 2 || size != 2)
        return usage("no_credit COUNT, on 2 ranks");
    count = atoi(argv[1]);
    requests = allocate(sizeof *requests * (size_t)count);
    sent = allocate(sizeof *sent * (size_t)count);
    for (int i = 0; i < count; i++) {
        sent[i][0] = rank;
        sent[i][1] = i;
        MPI(MPI_Isend(sent[i], 2, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[i]));
    }
    for (int turn = 0; turn < TURNS; turn++)
        exchange(turn, turn % 2 ? 8 : 8 << turn % 9);
    for (int i = 0; i < count; i++) {
        MPI(MPI_Recv(got, 2, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got[0] == 1 - rank && got[1] == i, "message %d is %d of %d", i, got[1], got[0]);
    }
    MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    free(requests);
    free(sent);
    return end("no_credit");
}
