/* Whether ranks of several hosts have entered the network's groups, as the counts of messages tell. Arguments: a word, and how many
 * broadcasts. "world": of all ranks, behind one that does not block. "copy": of a copy of the world, whose making is the
 * first collective call. "some": of all ranks but the last, which calls no collective function at all. */
#include "check.h"

static void broadcasts(MPI_Comm comm, int count)
{
    int members, me;
    MPI(MPI_Comm_size(comm, &members));
    MPI(MPI_Comm_rank(comm, &me));
    for (int i = 0; i < count; i++) {
        int number = me == i % members ? i + 7 : 0;
        MPI(MPI_Bcast(&number, 1, MPI_INT, i % members, comm));
        CHECK(number == i + 7, "broadcast %d brings %d", i, number);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    begin(&argc, &argv);
    if (argc != 3)
        return usage("entered (world | copy | some) COUNT");
    const int count = atoi(argv[2]), last = size - 1;
    if (strcmp(argv[1], "world") == 0) {
        int number = rank == 0 ? 5 : 0;
        MPI_Request request;
        MPI(MPI_Ibcast(&number, 1, MPI_INT, 0, comm, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(number == 5, "the first brings %d", number);
        broadcasts(comm, count);
    } else if (strcmp(argv[1], "copy") == 0) {
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        broadcasts(comm, count);
        MPI(MPI_Comm_free(&comm));
    } else if (rank != last) {
        MPI_Group all, some;
        MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
        MPI(MPI_Group_excl(all, 1, &last, &some));
        MPI(MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &comm));
        broadcasts(comm, count);
        MPI(MPI_Comm_free(&comm));
        MPI(MPI_Group_free(&some));
        MPI(MPI_Group_free(&all));
        if (rank == 0)
            MPI(MPI_Send(NULL, 0, MPI_BYTE, last, 1, MPI_COMM_WORLD));
    } else {
        MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    MPI(MPI_Finalize());
    return 0;
}
