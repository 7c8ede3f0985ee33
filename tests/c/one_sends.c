/* one_sends.c - rank 0 sends, rank 1 sleeps and then receives: more than the sender may copy.
 *
 * one_sends COUNT BYTES */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc < 3 || size != 2)
        return usage("one_sends COUNT BYTES, with 2 ranks");
    const int count = atoi(argv[1]), bytes = atoi(argv[2]);
    unsigned char *buffer = allocate((size_t)bytes);

    if (rank == 1)
        sleep(1);
    for (int i = 0; i < count; i++)
        if (rank == 0) {
            fill(buffer, (size_t)bytes, (unsigned)i);
            MPI(MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        } else {
            MPI(MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            verify(buffer, (size_t)bytes, (unsigned)i, "message");
        }
    free(buffer);
    return end("one_sends");
}
