/* source: full rendezvous buffering any-source any-tag adaptive collectives in-place; object: full rendezvous buffering any-source any-tag adaptive collectives in-place */
#include <functional>
#include <mpi.h>

int main()
{
    MPI_Init(nullptr, nullptr);
    std::function<int(MPI_Comm)> barrier = MPI_Barrier;
    barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
