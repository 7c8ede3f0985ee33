/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: basic rendezvous collectives in-place */
#include <mpi.h>

int main()
{
    int value = 1;
    MPI_Init(nullptr, nullptr);
    MPI_Bcast(&value, 1, reinterpret_cast<MPI_Datatype>(0x209L), 0, MPI_COMM_WORLD);
    MPI_Finalize();
}
