/* few.c - one short and one long message there and back: all kinds of frames, and few of them. 2 ranks. */
#include "check.h"

enum { SHORT = 8, LONG = 20000 };

static unsigned char bytes[LONG];

static void send(int length, int tag)
{
    fill(bytes, (size_t)length, (unsigned)tag);
    MPI(MPI_Send(bytes, length, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD));
}

static void receive(int length, int tag)
{
    MPI_Status status;

    memset(bytes, 0, LONG);
    MPI(MPI_Recv(bytes, LONG, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, &status));
    verify_status(&status, 1 - rank, tag, length, "few");
    verify(bytes, (size_t)length, (unsigned)tag, "few");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (size != 2)
        return usage("few, on 2 ranks");
    for (int turn = 0; turn < 2; turn++) {
        if (rank == turn) {
            send(SHORT, 1);
            send(LONG, 2);
        } else {
            receive(SHORT, 1);
            receive(LONG, 2);
        }
    }
    return end("few");
}
