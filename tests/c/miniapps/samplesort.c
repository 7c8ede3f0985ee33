/* samplesort.c - a mini-application: sorting by samples. Samples by
 * MPI_Allgather, blocks by MPI_Alltoall and MPI_Alltoallv, ranks of the result
 * by MPI_Exscan. Prints a hash of the sorted numbers. */
#include "../check.h"

enum { ALL = 60000, SAMPLES = 16 };

static int ascending(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int begin_at = (int)((long)rank * ALL / size), behind = (int)((long)(rank + 1) * ALL / size);
    const int own = behind - begin_at;
    unsigned *const numbers = allocate(sizeof(unsigned) * (size_t)own), samples[SAMPLES];
    unsigned *const all = allocate(sizeof(unsigned) * (size_t)(SAMPLES * size));
    int *const counts = allocate(sizeof(int) * (size_t)size * 4);
    int *const places = counts + size, *const incoming = counts + 2 * size, *const into = counts + 3 * size;

    for (int i = 0; i < own; i++) {
        unsigned x = (unsigned)(begin_at + i) * 2654435761u + 12345u;

        x ^= x >> 15;
        numbers[i] = x * 2246822519u;
    }
    qsort(numbers, (size_t)own, sizeof *numbers, ascending);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = numbers[(long)i * own / SAMPLES];
    MPI(MPI_Allgather(samples, SAMPLES, MPI_UNSIGNED, all, SAMPLES, MPI_UNSIGNED, MPI_COMM_WORLD));
    qsort(all, (size_t)(SAMPLES * size), sizeof *all, ascending);
    memset(counts, 0, sizeof(int) * (size_t)size);
    for (int i = 0, to = 0; i < own; i++) {
        while (to + 1 < size && numbers[i] >= all[(to + 1) * SAMPLES])
            to++;
        counts[to]++;
    }
    MPI(MPI_Alltoall(counts, 1, MPI_INT, incoming, 1, MPI_INT, MPI_COMM_WORLD));
    int total = 0, before = 0, sent = 0;

    for (int i = 0; i < size; i++) {
        places[i] = sent;
        into[i] = total;
        sent += counts[i];
        total += incoming[i];
    }
    unsigned *const sorted = allocate(sizeof(unsigned) * (size_t)total);

    MPI(MPI_Alltoallv(numbers, counts, places, MPI_UNSIGNED, sorted, incoming, into, MPI_UNSIGNED, MPI_COMM_WORLD));
    qsort(sorted, (size_t)total, sizeof *sorted, ascending);
    MPI(MPI_Exscan(&total, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
        before = 0;
    unsigned long hash = 0, sum = 0;

    for (int i = 0; i < total; i++)
        hash += (unsigned long)(before + i + 1) * sorted[i];
    MPI(MPI_Reduce(&hash, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (rank == 0)
        printf("samplesort: %016lx\n", sum);
    free(sorted);
    free(counts);
    free(all);
    free(numbers);
    return end("samplesort");
}
