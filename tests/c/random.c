/* random.c [SEED] [MESSAGES] [LARGEST] [SECONDS] - random traffic among all ranks,
 * and everything is checked: content, length, order per (source, tag, communicator).
 * Every rank computes the same plan from the seed, so each knows what must arrive.
 * Any number of ranks (one: to itself). A failing run is repeated by giving its seed.
 * LARGEST is the longest message in bytes. With SECONDS it goes on for that time, and
 * in the end no rank may take more memory than it did in the beginning.
 *
 * The plan is legal, so it must end. It has rounds with a barrier between them.
 * - On communicator 0 all receives of a round are posted before any send, and all
 *   ranks know that they are; so sends may block, or be ready sends.
 * - On communicator 1 all sends are non-blocking and come first; the receives come
 *   one by one, in any order, with or without a probe, matched probes included, and
 *   some of them are cancelled, maybe too late.
 * Per receiver, communicator and round all receives are of one kind: exact, any
 * tag, any source, any of both. So a wildcard never takes what another needs. */
#include "check.h"

#include <stdint.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define ROUND 60 /* messages of all ranks together */
#define TAGS 3
#define BUFFERED (64 * 1024) /* bytes of the longest buffered send */
#define FLAT 8192 /* KiB that a rank may grow by */

enum kind { EXACT, ANY_TAG, ANY_SOURCE, ANY };
enum mode { ISEND, ISSEND, BSEND, IBSEND, SEND, SSEND, RSEND, IRSEND, SENDRECV, MODES };

static int largest = 200 * 1024;

struct message {
    int from, to, tag, comm, bytes;
    enum mode mode;
};

static MPI_Comm comms[2];
static struct message plan[ROUND];
static unsigned round_number;
static uint64_t state;
static unsigned char *out[ROUND], *in[ROUND];

/* xorshift: the same row of numbers everywhere. */
static unsigned dice(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static int random_size(void)
{
    int bytes;

    switch (dice(6)) {
    case 0: return 0;
    case 1: bytes = (int)dice(64); break;
    case 2: bytes = (int)dice(1024); break;
    case 3: bytes = (int)dice(20000); break;
    case 4: bytes = 1 << dice(18); break;
    default: /* the longer the rarer */
        bytes = largest;
        while (bytes > 200 * 1024 && dice(3) > 0)
            bytes /= 2;
        bytes = (int)dice((unsigned)bytes + 1);
    }
    return bytes < largest ? bytes : largest;
}

/* All ranks roll the same dice equally often. */
static void make_plan(int messages)
{
    for (int k = 0; k < messages; k++) {
        struct message *m = &plan[k];
        m->from = (int)dice((unsigned)size);
        m->to = (int)dice((unsigned)size);
        m->tag = (int)dice(TAGS);
        m->comm = (int)dice(2);
        m->bytes = random_size();
        m->mode = (enum mode)dice(MODES);
        if (m->comm == 1)
            m->mode = (enum mode)(m->mode % SEND); /* none that may block */
        if ((m->mode == BSEND || m->mode == IBSEND) && m->bytes > BUFFERED)
            m->mode = ISEND;
    }
}

static unsigned id(int k)
{
    return round_number * ROUND + (unsigned)k;
}

/* The envelopes to ask for, in random order: as many as there are messages. */
struct receive {
    int source, tag;
    MPI_Request request;
    MPI_Status status;
};

static int make_receives(struct receive *list, int messages, int comm, enum kind kind)
{
    int n = 0;

    for (int k = 0; k < messages; k++)
        if (plan[k].to == rank && plan[k].comm == comm) {
            const unsigned place = dice((unsigned)n + 1);
            list[n] = list[place];
            list[place].source = kind == ANY_SOURCE || kind == ANY ? MPI_ANY_SOURCE : plan[k].from;
            list[place].tag = kind == ANY_TAG || kind == ANY ? MPI_ANY_TAG : plan[k].tag;
            n++;
        }
    return n;
}

static int done[ROUND]; /* messages that have been accounted for */

/* What arrived must be the first message of its sender, tag and communicator that
 * has not been accounted for. Called in the order in which receives were posted. */
static void account(MPI_Status *status, const unsigned char *buffer, int messages, int comm)
{
    int k = 0;

    while (k < messages &&
           (done[k] || plan[k].to != rank || plan[k].comm != comm ||
            plan[k].from != status->MPI_SOURCE || plan[k].tag != status->MPI_TAG))
        k++;
    CHECK(k < messages, "round %u: nobody planned tag %d from rank %d on communicator %d",
          round_number, status->MPI_TAG, status->MPI_SOURCE, comm);
    done[k] = 1;
    verify_status(status, plan[k].from, plan[k].tag, plan[k].bytes, "random");
    verify(buffer, (size_t)plan[k].bytes, id(k), "random");
}

/* Room for any message of the round to this rank. */
static int room(int messages, int comm)
{
    int bytes = 0;

    for (int k = 0; k < messages; k++)
        if (plan[k].to == rank && plan[k].comm == comm && plan[k].bytes > bytes)
            bytes = plan[k].bytes;
    return bytes;
}

static void send(int k, MPI_Request *request)
{
    const struct message *m = &plan[k];
    const MPI_Comm c = comms[m->comm];

    out[k] = allocate((size_t)m->bytes);
    fill(out[k], (size_t)m->bytes, id(k));
    *request = MPI_REQUEST_NULL;
    switch (m->mode) {
    case SEND: MPI(MPI_Send(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c)); break;
    case SSEND: MPI(MPI_Ssend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c)); break;
    case RSEND: MPI(MPI_Rsend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c)); break;
    case SENDRECV:
        MPI(MPI_Sendrecv(out[k], m->bytes, MPI_BYTE, m->to, m->tag, NULL, 0, MPI_BYTE,
                         MPI_PROC_NULL, 0, c, MPI_STATUS_IGNORE));
        break;
    case BSEND: MPI(MPI_Bsend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c)); break;
    case IBSEND: MPI(MPI_Ibsend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c, request)); break;
    case ISSEND: MPI(MPI_Issend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c, request)); break;
    case IRSEND: MPI(MPI_Irsend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c, request)); break;
    default: MPI(MPI_Isend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c, request));
    }
    if (m->mode == BSEND) /* it has a copy */
        memset(out[k], 0, (size_t)m->bytes);
}

/* A receive that is taken back, if it is not too late. Says whether it was. */
static int receive_or_cancel(unsigned char *buffer, int bytes, int source, int tag, MPI_Status *status)
{
    MPI_Request request;
    int flag = 0, cancelled;

    MPI(MPI_Irecv(buffer, bytes, MPI_BYTE, source, tag, comms[1], &request));
    for (unsigned tests = dice(4); tests > 0 && !flag; tests--)
        MPI(MPI_Test(&request, &flag, status));
    if (flag)
        return 1;
    MPI(MPI_Cancel(&request));
    MPI(MPI_Wait(&request, status));
    MPI(MPI_Test_cancelled(status, &cancelled));
    return !cancelled;
}

/* One receive on communicator 1, in one of seven ways. */
static void receive_late(const struct receive *r, unsigned how, int messages)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int flag = 0, bytes = room(messages, 1), source = r->source, tag = r->tag;
    unsigned char *buffer = allocate((size_t)bytes);

    if (how == 1)
        MPI(MPI_Probe(source, tag, comms[1], &status));
    while (how == 2 && !flag)
        MPI(MPI_Iprobe(source, tag, comms[1], &flag, &status));
    if (how == 1 || how == 2) { /* just enough room, and only for this one */
        MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
        source = status.MPI_SOURCE;
        tag = status.MPI_TAG;
    }
    if (how == 3) {
        MPI(MPI_Irecv(buffer, bytes, MPI_BYTE, source, tag, comms[1], &request));
        while (!flag)
            MPI(MPI_Test(&request, &flag, &status));
    } else if (how == 4) {
        while (!receive_or_cancel(buffer, bytes, source, tag, &status))
            ;
    } else if (how == 5) {
        MPI(MPI_Mprobe(source, tag, comms[1], &message, &status));
        MPI(MPI_Mrecv(buffer, bytes, MPI_BYTE, &message, &status));
    } else if (how == 6) {
        while (!flag)
            MPI(MPI_Improbe(source, tag, comms[1], &flag, &message, &status));
        MPI(MPI_Imrecv(buffer, bytes, MPI_BYTE, &message, &request));
        MPI(MPI_Wait(&request, &status));
    } else {
        MPI(MPI_Recv(buffer, bytes, MPI_BYTE, source, tag, comms[1], &status));
    }
    account(&status, buffer, messages, 1);
    free(buffer);
}

static void play(int messages)
{
    static struct receive early[ROUND], late[ROUND];
    static MPI_Request sends[ROUND];
    const uint64_t common = state;

    /* From here each rank rolls its own dice. */
    state ^= ((uint64_t)rank + 1) * 0x9E3779B97F4A7C15u;
    memset(done, 0, sizeof done);
    const int posted = make_receives(early, messages, 0, (enum kind)dice(4));
    const int to_come = make_receives(late, messages, 1, (enum kind)dice(4));
    const int bytes = room(messages, 0);
    for (int i = 0; i < posted; i++) {
        in[i] = allocate((size_t)bytes);
        MPI(MPI_Irecv(in[i], bytes, MPI_BYTE, early[i].source, early[i].tag, comms[0],
                      &early[i].request));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* ready sends may begin */
    for (int pass = 1; pass >= 0; pass--) /* communicator 1 first: it never blocks */
        for (int k = 0; k < messages; k++)
            if (plan[k].from == rank && plan[k].comm == pass)
                send(k, &sends[k]);
    for (int i = 0; i < posted; i++)
        MPI(MPI_Wait(&early[i].request, &early[i].status));
    for (int i = 0; i < posted; i++) {
        account(&early[i].status, in[i], messages, 0);
        free(in[i]);
    }
    for (int i = 0; i < to_come; i++)
        receive_late(&late[i], dice(7), messages);
    for (int k = 0; k < messages; k++) {
        CHECK(done[k] || plan[k].to != rank, "round %u: message %d never came", round_number, k);
        if (plan[k].from == rank) {
            MPI(MPI_Wait(&sends[k], MPI_STATUS_IGNORE));
            free(out[k]);
        }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* wildcards must not see the next round */
    state = common;
}

/* KiB that this rank takes now; 0 where the system does not say. */
static long taken(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    long kib = 0;

    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &kib);
    if (file)
        fclose(file);
    return kib;
}

/* The most that this rank took in the first and in the last third of the time. */
static void note(double part, long *early, long *late)
{
    long *most = part < 1.0 / 3 ? early : part > 2.0 / 3 ? late : NULL;
    const long now = taken();

    if (most && now > *most)
        *most = now;
}

/* Do all ranks go on? Rank 0 has the clock. */
static int go_on(double begun, double seconds, long *early, long *late)
{
    int more = MPI_Wtime() - begun < seconds;

    note((MPI_Wtime() - begun) / seconds, early, late);
    MPI(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return more;
}

static void play_for(double seconds)
{
    const double begun = MPI_Wtime();
    long early = 0, late = 0;

    while (go_on(begun, seconds, &early, &late)) {
        make_plan(ROUND);
        play(ROUND);
        round_number++;
    }
    CHECK(late <= early + FLAT, "%ld KiB in the beginning, %ld in the end", early, late);
    if (rank == 0)
        fprintf(stderr, "random: %u messages, %ld KiB in the beginning, %ld in the end\n",
                round_number * ROUND, early, late);
}

static void play_some(int messages)
{
    for (int left = messages; left > 0; left -= ROUND, round_number++) {
        const int now = left < ROUND ? left : ROUND;
        make_plan(now);
        play(now);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const int messages = argc > 2 ? atoi(argv[2]) : 1200;
    const double seconds = argc > 4 ? atof(argv[4]) : 0;

    if (argc > 3)
        largest = atoi(argv[3]);
    if ((messages < 1 && seconds <= 0) || largest < 0)
        return usage("random [SEED] [MESSAGES] [LARGEST] [SECONDS]");
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 16); /* what is freed leaves the process */
#endif
    state = seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    comms[0] = MPI_COMM_WORLD;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    for (int k = 0; k < 16; k++)
        dice(2);
    const int bytes = ROUND * (BUFFERED + MPI_BSEND_OVERHEAD);
    void *buffer = allocate((size_t)bytes);
    int detached = 0;
    MPI(MPI_Buffer_attach(buffer, bytes));
    if (seconds > 0)
        play_for(seconds);
    else
        play_some(messages);
    MPI(MPI_Buffer_detach(&buffer, &detached));
    CHECK(detached == bytes, "the buffer came back with %d bytes instead of %d", detached, bytes);
    free(buffer);
    MPI(MPI_Comm_free(&comms[1]));
    return end("random");
}
