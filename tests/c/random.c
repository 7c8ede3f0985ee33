/* random.c [SEED] [MESSAGES] - random traffic among all ranks, and everything is
 * checked: content, length, order per (source, tag, communicator). Every rank
 * computes the same plan from the seed, so each knows what must arrive. Any number
 * of ranks (one: to itself). A failing run is repeated by giving its seed.
 *
 * The plan is legal, so it must end. It has rounds with a barrier between them.
 * - On communicator 0 all receives of a round are posted before any send; so sends
 *   may block (MPI_Send, MPI_Ssend, MPI_Sendrecv).
 * - On communicator 1 all sends are non-blocking and come first; the receives come
 *   one by one, in any order, with or without a probe.
 * Per receiver, communicator and round all receives are of one kind: exact, any
 * tag, any source, any of both. So a wildcard never takes what another needs. */
#include "check.h"

#include <stdint.h>

#define ROUND 60 /* messages of all ranks together */
#define LARGEST (200 * 1024)
#define TAGS 3

enum kind { EXACT, ANY_TAG, ANY_SOURCE, ANY };
enum mode { ISEND, SEND, SSEND, SENDRECV, MODES };

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
    switch (dice(6)) {
    case 0: return 0;
    case 1: return (int)dice(64);
    case 2: return (int)dice(1024);
    case 3: return (int)dice(20000);
    case 4: return 1 << dice(18);
    default: return (int)dice(LARGEST + 1);
    }
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

static void send(int k, MPI_Request *request)
{
    const struct message *m = &plan[k];
    const MPI_Comm c = comms[m->comm];

    fill(out[k], (size_t)m->bytes, id(k));
    *request = MPI_REQUEST_NULL;
    if (m->mode == SEND)
        MPI(MPI_Send(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c));
    else if (m->mode == SSEND)
        MPI(MPI_Ssend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c));
    else if (m->mode == SENDRECV)
        MPI(MPI_Sendrecv(out[k], m->bytes, MPI_BYTE, m->to, m->tag, NULL, 0, MPI_BYTE,
                         MPI_PROC_NULL, 0, c, MPI_STATUS_IGNORE));
    else
        MPI(MPI_Isend(out[k], m->bytes, MPI_BYTE, m->to, m->tag, c, request));
}

/* One receive on communicator 1, in one of four ways. */
static void receive_late(const struct receive *r, unsigned how, int messages)
{
    MPI_Status status;
    MPI_Request request;
    int flag = 0, bytes = LARGEST, source = r->source, tag = r->tag;

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
        MPI(MPI_Irecv(in[0], bytes, MPI_BYTE, source, tag, comms[1], &request));
        while (!flag)
            MPI(MPI_Test(&request, &flag, &status));
    } else {
        MPI(MPI_Recv(in[0], bytes, MPI_BYTE, source, tag, comms[1], &status));
    }
    account(&status, in[0], messages, 1);
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
    for (int i = 0; i < posted; i++)
        MPI(MPI_Irecv(in[i], LARGEST, MPI_BYTE, early[i].source, early[i].tag, comms[0],
                      &early[i].request));
    for (int pass = 1; pass >= 0; pass--) /* communicator 1 first: it never blocks */
        for (int k = 0; k < messages; k++)
            if (plan[k].from == rank && plan[k].comm == pass)
                send(k, &sends[k]);
    for (int i = 0; i < posted; i++)
        MPI(MPI_Wait(&early[i].request, &early[i].status));
    for (int i = 0; i < posted; i++)
        account(&early[i].status, in[i], messages, 0);
    for (int i = 0; i < to_come; i++)
        receive_late(&late[i], dice(4), messages);
    for (int k = 0; k < messages; k++) {
        if (plan[k].from == rank)
            MPI(MPI_Wait(&sends[k], MPI_STATUS_IGNORE));
        CHECK(done[k] || plan[k].to != rank, "round %u: message %d never came", round_number, k);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD)); /* wildcards must not see the next round */
    state = common;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const int messages = argc > 2 ? atoi(argv[2]) : 1200;

    if (messages < 1)
        return usage("random [SEED] [MESSAGES]");
    state = seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    comms[0] = MPI_COMM_WORLD;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    for (int i = 0; i < ROUND; i++) {
        out[i] = allocate(1 << 18);
        in[i] = allocate(1 << 18);
    }
    for (int k = 0; k < 16; k++)
        dice(2);
    for (int left = messages; left > 0; left -= ROUND, round_number++) {
        const int now = left < ROUND ? left : ROUND;
        make_plan(now);
        play(now);
    }
    for (int i = 0; i < ROUND; i++) {
        free(out[i]);
        free(in[i]);
    }
    MPI(MPI_Comm_free(&comms[1]));
    return end("random");
}
