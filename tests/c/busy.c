/* busy.c FILE - rank 0 begins to send and to receive 4 MiB and then computes,
 * without a call, until rank 1 has had both and made FILE. That works only if
 * something makes progress for rank 0 meanwhile. 2 ranks. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <time.h>
#include <unistd.h>

enum { LENGTH = 4 << 20, MOST_NAPS = 60000 };

static unsigned char out[LENGTH], in[LENGTH];

static void compute_until(const char *file)
{
    const struct timespec nap = {0, 10000000};
    int naps = 0;

    while (access(file, F_OK) != 0 && naps++ < MOST_NAPS)
        nanosleep(&nap, NULL);
    CHECK(naps < MOST_NAPS, "nobody served rank 1");
}

int main(int argc, char **argv)
{
    MPI_Request requests[2];
    FILE *file;

    begin(&argc, &argv);
    if (argc != 2 || size != 2)
        return usage("busy FILE, on 2 ranks");
    for (int i = 0; i < LENGTH; i++)
        out[i] = (unsigned char)(i * 7 + rank);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        MPI(MPI_Irecv(in, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[0]));
        MPI(MPI_Isend(out, LENGTH, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[1]));
        compute_until(argv[1]);
        MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else {
        MPI(MPI_Recv(in, LENGTH, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Ssend(out, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        file = fopen(argv[1], "w");
        CHECK(file != NULL, "cannot make %s", argv[1]);
        if (file != NULL)
            fclose(file);
    }
    for (int i = 0; i < LENGTH; i++)
        out[i] = (unsigned char)(i * 7 + 1 - rank);
    CHECK(memcmp(in, out, LENGTH) == 0, "other bytes");
    return end("busy");
}
