/* A rank ends in the middle of broadcasts and reductions; all others are told by an error. `trees_end CALL`: before
   which call. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int last = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = MPI_SUCCESS;
    for (int call = 0; call < last + 1000 && error == MPI_SUCCESS; call++) {
        if (rank == 1 && call == last)
            raise(SIGKILL);
        int value = call, sum = 0;
        error = MPI_Bcast(&value, 1, MPI_INT, call % size, MPI_COMM_WORLD);
        if (error == MPI_SUCCESS)
            error = MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, (call + 1) % size, MPI_COMM_WORLD);
    }
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    printf("%s\n", strstr(text, "has ended") ? "told" : text);
    fflush(stdout);
    _exit(0);
}
