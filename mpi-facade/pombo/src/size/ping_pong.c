/* Ten thousand messages there and back between two ranks: the program whose size `pombo size` measures. Point-to-point
   calls alone, and no printing, so what it carries is the library's. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0;
    char message[8] = "pombo";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int turn = 0; turn < 10000; turn++) {
        if (rank == 0)
            MPI_Send(message, 8, MPI_BYTE, 1, turn, MPI_COMM_WORLD);
        message[7] = (char)turn;
        if (rank == 1)
            message[7] = 0;
        MPI_Recv(message, 8, MPI_BYTE, 1 - rank, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) {
            message[7] = (char)(turn + 1);
            MPI_Send(message, 8, MPI_BYTE, 0, turn, MPI_COMM_WORLD);
        } else {
            wrong |= message[7] != (char)(turn + 1);
        }
    }
    MPI_Finalize();
    return wrong;
}
