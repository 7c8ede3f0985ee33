/* flat.c - what one of many costs: nanoseconds for each request, communicator and
 * collective operation, with few and with many of them at once, and what stays of the
 * memory. A cost that grows with their number is a search somewhere.
 *
 * Usage: flat [MOST] - up to MOST at once (10000). Any number of ranks. */
#include "check.h"

#define W MPI_COMM_WORLD
enum { KINDS = 6 };

static MPI_Request *requests;
static MPI_Status *statuses;
static int *indices, *values;
static int to, from;

static void say(const char *what, int many, double seconds, double operations)
{
    if (rank == 0)
        printf("%-34s %6d %10.1f ns\n", what, many, seconds * 1e9 / operations);
}

/* Resident memory in KiB. */
static long resident(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    long kib = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

/* ---- Requests ------------------------------------------------------------------------- */

static void begin_receives(int many, int persistent)
{
    for (int i = 0; i < many && !persistent; i++)
        MPI(MPI_Irecv(values + i, 1, MPI_INT, from, i, W, requests + i));
    if (persistent)
        MPI(MPI_Startall(many, requests));
}

static void send_all(int many)
{
    for (int i = 0; i < many; i++)
        MPI(MPI_Send(&i, 1, MPI_INT, to, i, W));
    /* All is there before the clock starts. */
    MPI(MPI_Barrier(W));
}

/* Ends all receives; returns the number of calls. */
static long end_receives(int kind, int many)
{
    long calls = 0;
    int left = many, count, flag = 0;

    for (; left > 0; calls++) {
        switch (kind) {
        case 0:
            MPI(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
            left = 0;
            break;
        case 1:
            MPI(MPI_Waitany(many, requests, &count, MPI_STATUS_IGNORE));
            left--;
            break;
        case 2:
            MPI(MPI_Waitsome(many, requests, &count, indices, MPI_STATUSES_IGNORE));
            left -= count;
            break;
        case 3:
            MPI(MPI_Testall(many, requests, &flag, MPI_STATUSES_IGNORE));
            left = flag ? 0 : left;
            break;
        case 4:
            MPI(MPI_Testany(many, requests, &count, &flag, MPI_STATUS_IGNORE));
            left -= flag;
            break;
        default:
            MPI(MPI_Testsome(many, requests, &count, indices, MPI_STATUSES_IGNORE));
            left -= count;
        }
    }
    return calls;
}

static void the_requests(int many, int persistent)
{
    static const char *const names[] = {"Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome"};
    char what[100];

    for (int i = 0; i < many && persistent; i++)
        MPI(MPI_Recv_init(values + i, 1, MPI_INT, from, i, W, requests + i));
    for (int kind = 0; kind < KINDS; kind++) {
        const int rounds = 1 + 5000 / many / (kind % 3 == 1 ? 4 : 1);
        double post = 0, ended = 0, fruitless = 0, start;

        for (int round = 0; round < rounds; round++) {
            int count = 0, flag = 0;

            start = MPI_Wtime();
            begin_receives(many, persistent);
            post += MPI_Wtime() - start;
            /* Nobody has sent: tests find nothing. */
            MPI(MPI_Barrier(W));
            start = MPI_Wtime();
            if (kind == 3)
                MPI(MPI_Testall(many, requests, &flag, MPI_STATUSES_IGNORE));
            if (kind == 4)
                MPI(MPI_Testany(many, requests, &count, &flag, MPI_STATUS_IGNORE));
            if (kind == 5)
                MPI(MPI_Testsome(many, requests, &count, indices, MPI_STATUSES_IGNORE));
            fruitless += MPI_Wtime() - start;
            CHECK(!flag && (kind != 5 || count == 0), "%s ended what nobody had sent", names[kind]);
            MPI(MPI_Barrier(W));
            send_all(many);
            start = MPI_Wtime();
            end_receives(kind, many);
            ended += MPI_Wtime() - start;
        }
        if (kind == 0)
            say(persistent ? "Startall, each" : "Irecv", many, post, (double)rounds * many);
        snprintf(what, sizeof what, "%s%s, each ended", names[kind], persistent ? " persistent" : "");
        say(what, many, ended, (double)rounds * many);
        snprintf(what, sizeof what, "%s%s, in vain, a call", names[kind], persistent ? " persistent" : "");
        if (kind >= 3)
            say(what, many, fruitless, rounds);
    }
    for (int i = 0; i < many && persistent; i++)
        MPI(MPI_Request_free(requests + i));
}

/* The last of the array ends first, so that each call passes those before it. */
static void from_behind(int many)
{
    double ended = 0, start;
    int index;

    begin_receives(many, 0);
    for (int i = many - 1; i >= 0; i--) {
        MPI(MPI_Barrier(W));
        MPI(MPI_Send(&i, 1, MPI_INT, to, i, W));
        MPI(MPI_Barrier(W));
        start = MPI_Wtime();
        MPI(MPI_Waitany(many, requests, &index, MPI_STATUS_IGNORE));
        ended += MPI_Wtime() - start;
        CHECK(index == i, "request %d ended instead of %d", index, i);
    }
    say("Waitany, last first", many, ended, many);
}

/* ---- Communicators ----------------------------------------------------------------------- */

static void held(int many)
{
    MPI_Comm *all = allocate((size_t)many * sizeof *all);
    double start = MPI_Wtime(), made, used;

    for (int i = 0; i < many; i++)
        MPI(MPI_Comm_dup(W, all + i));
    made = MPI_Wtime();
    for (int i = 0; i < many; i++) {
        int sent = i, got = -1;

        MPI(MPI_Sendrecv(&sent, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, all[i], MPI_STATUS_IGNORE));
        CHECK(got == i, "a message of another communicator");
    }
    used = MPI_Wtime();
    for (int i = 0; i < many; i++)
        MPI(MPI_Comm_free(all + i));
    say("Comm_dup, all held", many, made - start, many);
    say("Sendrecv on each", many, used - made, many);
    say("Comm_free", many, MPI_Wtime() - used, many);
    start = MPI_Wtime();
    for (int i = 0; i < many; i++)
        MPI(MPI_Comm_split(W, 0, rank, all + i));
    made = MPI_Wtime();
    for (int i = 0; i < many; i++)
        MPI(MPI_Comm_free(all + (many - 1 - i)));
    say("Comm_split, all held", many, made - start, many);
    say("Comm_free, last first", many, MPI_Wtime() - made, many);
    free(all);
}

static void one_after_the_other(int many)
{
    const double start = MPI_Wtime();

    for (int i = 0; i < many; i++) {
        MPI_Comm one;

        MPI(MPI_Comm_dup(W, &one));
        MPI(MPI_Comm_free(&one));
    }
    say("Comm_dup and Comm_free", many, MPI_Wtime() - start, many);
}

/* ---- Collective operations under way -------------------------------------------------------- */

static void under_way(int many)
{
    const int rounds = 1 + 2000 / many;
    double begun = 0, ended = 0, start;

    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < many; i++)
            values[i] = 1;
        start = MPI_Wtime();
        for (int i = 0; i < many; i++)
            MPI(MPI_Iallreduce(MPI_IN_PLACE, values + i, 1, MPI_INT, MPI_SUM, W, requests + i));
        begun += MPI_Wtime() - start;
        start = MPI_Wtime();
        MPI(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
        ended += MPI_Wtime() - start;
        for (int i = 0; i < many; i++)
            CHECK(values[i] == size, "sum %d is %d", i, values[i]);
    }
    say("Iallreduce, call", many, begun, (double)rounds * many);
    say("Iallreduce, Waitall", many, ended, (double)rounds * many);
    begun = ended = 0;
    for (int i = 0; i < many; i++)
        MPI(MPI_Allreduce_init(MPI_IN_PLACE, values + i, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, requests + i));
    for (int round = 0; round < rounds; round++) {
        start = MPI_Wtime();
        MPI(MPI_Startall(many, requests));
        begun += MPI_Wtime() - start;
        start = MPI_Wtime();
        MPI(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
        ended += MPI_Wtime() - start;
    }
    for (int i = 0; i < many; i++)
        MPI(MPI_Request_free(requests + i));
    say("Allreduce_init, Startall", many, begun, (double)rounds * many);
    say("Allreduce_init, Waitall", many, ended, (double)rounds * many);
}

int main(int argc, char **argv)
{
    int most = 10000;
    long before = 0;

    begin(&argc, &argv);
    if (argc > 1)
        most = atoi(argv[1]);
    if (argc > 2 || most < 10)
        return usage("flat [MOST]");
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    requests = allocate((size_t)most * sizeof *requests);
    statuses = allocate((size_t)most * sizeof *statuses);
    indices = allocate((size_t)most * sizeof *indices);
    values = allocate((size_t)most * sizeof *values);
    for (int many = 10; many <= most; many *= 10) {
        the_requests(many, 0);
        the_requests(many, 1);
        if (many <= 1000)
            from_behind(many);
    }
    for (int many = 10; many <= most; many *= 10) {
        held(many);
        one_after_the_other(many);
    }
    for (int many = 1; many <= most && many <= 1000; many *= 10)
        under_way(many);
    /* The second time everything finds the memory of the first. */
    for (int round = 0; round < 6; round++) {
        const int many = most < 1000 ? most : 1000;

        the_requests(many, round % 2);
        held(many);
        under_way(many);
        if (round == 1)
            before = resident();
    }
    if (rank == 0)
        printf("memory %ld KiB, then %ld KiB\n", before, resident());
    CHECK(resident() < before + 4096, "memory grows: %ld KiB, then %ld KiB", before, resident());
    free(requests), free(statuses), free(indices), free(values);
    return end("flat");
}
