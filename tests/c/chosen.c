/* Collective operations of arguments' sizes, whose counts of messages tell by which algorithm they went: with an info key
 * and its value if the first two arguments are not "-". Then: names and bytes of operations, or further keys and values
 * for the operations behind them. */
#include "check.h"

static void run(const char *name, int bytes, MPI_Comm comm)
{
    const int block = bytes / size;
    char *send = calloc((size_t)(bytes + 16) * (size_t)size, 1), *receive = calloc((size_t)(bytes + 16) * (size_t)size, 1);
    MPI_Request request;

    CHECK(send != NULL && receive != NULL, "no memory for %d bytes", bytes);
    if (strcmp(name, "allreduce") == 0) {
        int64_t *own = (int64_t *)send, *sum = (int64_t *)receive;
        for (int i = 0; i < bytes / 8; i++)
            own[i] = rank + i;
        MPI(MPI_Allreduce(own, sum, bytes / 8, MPI_INT64_T, MPI_SUM, comm));
        for (int i = 0; i < bytes / 8; i++)
            CHECK(sum[i] == size * (size - 1) / 2 + (int64_t)size * i, "sum %d", i);
    } else if (strcmp(name, "alltoall") == 0) {
        MPI(MPI_Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, comm));
    } else if (strcmp(name, "allgather") == 0) {
        MPI(MPI_Allgather(send, block, MPI_BYTE, receive, block, MPI_BYTE, comm));
    } else if (strcmp(name, "gather") == 0) {
        MPI(MPI_Gather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, 0, comm));
    } else if (strcmp(name, "bcast") == 0) {
        /* Each root sends another length, so that the bytes of a rank tell which roots it serves. */
        for (int root = 0; root < size; root++) {
            const int length = bytes + root * 16;
            memset(send, rank == root ? 7 + root : 0, (size_t)length);
            MPI(MPI_Ibcast(send, length, MPI_BYTE, root, comm, &request));
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int i = 0; i < length; i++)
                CHECK(send[i] == 7 + root, "byte %d from root %d", i, root);
        }
    } else {
        CHECK(0, "no operation %s", name);
    }
    free(send);
    free(receive);
}

static void set_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;

    MPI(MPI_Info_create(&info));
    if (strcmp(key, "-") != 0)
        MPI(MPI_Info_set(info, key, value));
    MPI(MPI_Comm_set_info(comm, info));
    MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    begin(&argc, &argv);
    if (argc < 5)
        return usage("chosen KEY VALUE (OPERATION BYTES | KEY VALUE) ..");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    set_hint(comm, argv[1], argv[2]);
    for (int i = 3; i + 1 < argc; i += 2) {
        if (strncmp(argv[i], "pombo_coll_", 11) == 0)
            set_hint(comm, argv[i], argv[i + 1]);
        else
            run(argv[i], atoi(argv[i + 1]), comm);
    }
    MPI(MPI_Comm_free(&comm));
    return end("chosen");
}
