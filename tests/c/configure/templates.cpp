/* source: basic rendezvous; object: basic rendezvous any-source any-tag */
#include <mpi.h>
#include <vector>

template <typename T> MPI_Datatype type_of();
template <> MPI_Datatype type_of<double>() { return MPI_DOUBLE; }
template <> MPI_Datatype type_of<char>() { return MPI_BYTE; }

template <typename T> void send(const std::vector<T> &items, int to)
{
    ::MPI_Send(items.data(), static_cast<int>(items.size()), type_of<T>(), to, 1, MPI_COMM_SELF);
}

// None of these is a call: MPI_Bcast(x), 'MPI_Bcast(x)'.
const char *text = R"(MPI_Type_vector(2, 1, 2, MPI_INT) " MPI_Bcast(x))";
const int million = 1'000'000;

int main()
{
    std::vector<double> items(8, million);
    MPI_Init(nullptr, nullptr);
    send(items, 0);
    MPI_Recv(items.data(), 8, type_of<double>(), 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return text == nullptr;
}
