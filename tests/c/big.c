/* big.c [MEBIBYTES] - one message of 1 GiB (or as many MiB as said, at most 2047)
 * from rank 0 to the last rank; with one rank to itself, which takes the memory
 * twice. Every number of it is checked. Any number of ranks. */
#include "check.h"

#include <stdint.h>

static uint64_t number(size_t i)
{
    return (uint64_t)i * 0x9E3779B97F4A7C15u + 1;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int mebi = argc > 1 ? atoi(argv[1]) : 1024, to = size - 1;
    const int bytes = mebi * 1048576;
    const size_t length = (size_t)bytes / sizeof(uint64_t);
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    uint64_t *out = NULL, *in = NULL;

    if (mebi < 1 || mebi > 2047)
        return usage("big [MEBIBYTES], from 1 to 2047");
    if (rank == to) {
        in = allocate((size_t)bytes);
        MPI(MPI_Irecv(in, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &receive));
    }
    if (rank == 0) {
        out = allocate((size_t)bytes);
        for (size_t i = 0; i < length; i++)
            out[i] = number(i);
        MPI(MPI_Isend(out, bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD, &send));
    }
    MPI(MPI_Wait(&receive, &status));
    if (rank == to) {
        verify_status(&status, 0, 3, bytes, "big");
        for (size_t i = 0; i < length; i++)
            CHECK(in[i] == number(i), "byte %zu of %d: wrong", i * sizeof(uint64_t), bytes);
    }
    MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    free(out);
    free(in);
    return end("big");
}
