/* both_send.c - every rank sends many short messages to the next ones and only then
 * receives. The standard lets such sends wait; no library that people use does.
 *
 * both_send WAY COUNT BYTES [SECONDS]: so many messages of so many bytes to each other
 * rank, by MPI_Send (send), or by MPI_Isend that is waited for at once by MPI_Wait (wait),
 * MPI_Waitany (any), MPI_Test (test), MPI_Testsome (some) or MPI_Request_get_status
 * (status), or all of them at the end by MPI_Waitall (all). Every buffer is overwritten
 * as soon as its send is over. Rank 0 sleeps for SECONDS between sending and receiving. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <unistd.h>

static const char *way;

static int is(const char *name)
{
    return strcmp(way, name) == 0;
}

static void until_over(MPI_Request *request)
{
    int flag = 0, index = -1;

    if (is("wait"))
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    else if (is("any"))
        MPI(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE));
    else if (is("test"))
        while (!flag)
            MPI(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    else if (is("some"))
        while (flag != 1)
            MPI(MPI_Testsome(1, request, &flag, &index, MPI_STATUSES_IGNORE));
    else
        while (!flag)
            MPI(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_Request *requests;
    unsigned char *buffer;
    int count, bytes;

    begin(&argc, &argv);
    if (argc < 4)
        return usage("both_send WAY COUNT BYTES [SECONDS]");
    way = argv[1];
    count = atoi(argv[2]);
    bytes = atoi(argv[3]);
    const int all = is("all");

    buffer = allocate((size_t)bytes * (all ? (size_t)count : 1));
    requests = allocate(sizeof *requests * (size_t)count);
    for (int next = 1; next < size; next++) {
        const int to = (rank + next) % size;

        for (int i = 0; i < count; i++) {
            unsigned char *at = buffer + (all ? (size_t)bytes * (size_t)i : 0);

            fill(at, (size_t)bytes, (unsigned)(rank * count + i));
            if (is("send")) {
                MPI(MPI_Send(at, bytes, MPI_BYTE, to, i & 1, MPI_COMM_WORLD));
            } else {
                MPI(MPI_Isend(at, bytes, MPI_BYTE, to, i & 1, MPI_COMM_WORLD, &requests[i]));
                if (!all) {
                    until_over(&requests[i]);
                    /* What is over may be used, whether its handle has gone or not. */
                    memset(at, 0xee, (size_t)bytes);
                    if (is("status"))
                        MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
                }
            }
            if (!all)
                memset(at, 0xee, (size_t)bytes);
        }
        if (all) {
            MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
            memset(buffer, 0xee, (size_t)bytes * (size_t)count);
        }
    }
    if (rank == 0 && argc > 4)
        sleep((unsigned)atoi(argv[4]));
    /* The messages of one tag, then those of the other: in another order than they came. */
    for (int next = 1; next < size; next++) {
        const int from = (rank + size - next) % size;

        for (int tag = 1; tag >= 0; tag--)
            for (int i = tag; i < count; i += 2) {
                MPI_Status status;

                MPI(MPI_Recv(buffer, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status));
                verify(buffer, (size_t)bytes, (unsigned)(from * count + i), "message");
                verify_status(&status, from, tag, bytes, "message");
            }
    }
    free(requests);
    free(buffer);
    return end("both_send");
}
