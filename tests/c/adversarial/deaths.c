/* deaths.c - ranks that end while others still want something of them, in jobs that no
 * launcher watches: those that handle errors hear of it, nothing of a call that failed
 * goes on behind their backs, and they go on with each other. The last rank is the one
 * that ends, unless said otherwise; rank 0 speaks. */
#include "trial.h"

static int x[100000], y[100000], flag;
static MPI_Request r;
static MPI_Status s;

/* The last rank ends once everybody has come so far; the others come back when their
 * messages to it fail. */
static void one_ends(void)
{
    const int last = size - 1;
    int code = MPI_SUCCESS;

    must(MPI_Barrier(W));
    if (rank == last)
        _exit(0);
    while (code == MPI_SUCCESS)
        code = MPI_Recv(&flag, 1, MPI_INT, last, 999, W, &s);
    if (rank == 0)
        saw(code);
}

static void meet(int others)
{
    int z = 0;

    /* All but the last, around a ring. */
    must(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % others, 555, &z, 1, MPI_INT,
                      (rank + others - 1) % others, 555, W, &s));
    check(z == (rank + others - 1) % others, "ring");
}

/* A function that returns leaves its frame to the next one. */
static __attribute__((noinline)) void exchange_in_a_frame(void)
{
    int in[64];

    saw(MPI_Sendrecv(x, 1, MPI_INT, 2, 1, in, 64, MPI_INT, 1, 7, W, &s));
}

static __attribute__((noinline)) int frame_is_left_alone(void)
{
    volatile int mine[256];
    int changed = 0;

    for (int i = 0; i < 256; i++)
        mine[i] = 0x1234;
    must(MPI_Send(x, 1, MPI_INT, 1, 8, W));               /* now rank 1 sends */
    must(MPI_Recv(&flag, 1, MPI_INT, 1, 9, W, &s));       /* it has */
    for (int i = 0; i < 1000; i++)
        must(MPI_Iprobe(1, 12345, W, &flag, &s));         /* let it come in */
    for (int i = 0; i < 256; i++)
        changed += mine[i] != 0x1234;
    return !changed;
}

static void sendrecv_to_the_dead(void)
{
    static int out[64];

    one_ends();
    if (rank == 0) {
        exchange_in_a_frame();
        say(frame_is_left_alone() ? "untouched" : "overwritten");
        speak();
        must(MPI_Recv(y, 64, MPI_INT, 1, 7, W, &s));
    } else {
        must(MPI_Recv(x, 1, MPI_INT, 0, 8, W, &s));
        for (int i = 0; i < 64; i++)
            out[i] = 0x6666;
        must(MPI_Send(out, 64, MPI_INT, 0, 7, W));
        must(MPI_Send(out, 1, MPI_INT, 0, 9, W));
    }
    meet(2);
}

/* The same by a collective operation: what the others send later belongs to nobody. */
static __attribute__((noinline)) void gather_in_a_frame(void)
{
    int in[3 * 64];

    refused(MPI_Gather(x, 64, MPI_INT, in, 64, MPI_INT, 0, W));
}

static __attribute__((noinline)) void alltoall_in_a_frame(void)
{
    int in[3 * 64];

    refused(MPI_Alltoall(x, 64, MPI_INT, in, 64, MPI_INT, W));
}

static void collective_in_a_frame(void (*call)(void), int gather)
{
    static int out[3 * 64], in[3 * 64];

    one_ends();
    for (int i = 0; i < 3 * 64; i++)
        out[i] = 0x6666;
    if (rank == 0) {
        call();
        say(frame_is_left_alone() ? "untouched" : "overwritten");
    } else {
        must(MPI_Recv(x, 1, MPI_INT, 0, 8, W, &s));
        if (gather)
            MPI_Gather(out, 64, MPI_INT, in, 64, MPI_INT, 0, W);
        else
            MPI_Alltoall(out, 64, MPI_INT, in, 64, MPI_INT, W);
        must(MPI_Send(out, 1, MPI_INT, 0, 9, W));
    }
    meet(2);
}

static void gather_with_the_dead(void)
{
    collective_in_a_frame(gather_in_a_frame, 1);
}

static void alltoall_with_the_dead(void)
{
    collective_in_a_frame(alltoall_in_a_frame, 0);
}

static void receives_from_the_dead(void)
{
    const int last = size - 1;

    one_ends();
    saw(MPI_Recv(x, 1, MPI_INT, last, 1, W, &s));
    saw(MPI_Probe(last, 1, W, &s));
    must(MPI_Irecv(x, 1, MPI_INT, last, 1, W, &r));
    saw(MPI_Wait(&r, &s));
    check(r == MPI_REQUEST_NULL, "handle");
    saw(MPI_Sendrecv(x, 1, MPI_INT, 0, 1, y, 1, MPI_INT, last, 1, W, &s));
    must(MPI_Recv(x, 1, MPI_INT, 0, 1, W, &s)); /* what it has sent to itself */
    meet(size - 1);
}

static void sends_to_the_dead(void)
{
    const int last = size - 1;

    one_ends();
    refused(MPI_Ssend(x, 1, MPI_INT, last, 1, W));
    refused(MPI_Send(x, 100000, MPI_INT, last, 1, W));
    for (int i = 0; i < 1000; i++)
        MPI_Send(x, 1, MPI_INT, last, 1, W); /* may be lost, must not wait */
    if (MPI_Isend(x, 100000, MPI_INT, last, 1, W, &r) == MPI_SUCCESS)
        refused(MPI_Wait(&r, &s));
    else
        say("refused");
    meet(size - 1);
}

static void bsends_to_the_dead(void)
{
    static char room[1 << 20];
    void *old;
    int n;

    one_ends();
    must(MPI_Buffer_attach(room, sizeof room));
    for (int i = 0; i < 100; i++)
        MPI_Bsend(x, 1000, MPI_INT, size - 1, 1, W);
    must(MPI_Buffer_detach(&old, &n));
    meet(size - 1);
}

/* What somebody has sent before the end arrives. */
static void last_will(void)
{
    if (rank == 1) {
        must(MPI_Send(&rank, 1, MPI_INT, 0, 5, W));
        must(MPI_Send(&rank, 1, MPI_INT, 0, 6, W));
        _exit(0);
    }
    must(MPI_Recv(x, 1, MPI_INT, 1, 6, W, &s));
    nap(100);
    saw(MPI_Recv(x + 1, 1, MPI_INT, 1, 5, W, &s));
    check(x[0] == 1 && x[1] == 1, "contents");
    saw(MPI_Recv(x, 1, MPI_INT, 1, 5, W, &s));
}

/* A long message is announced, and never comes. */
static void announced_and_gone(void)
{
    if (rank == 1) {
        must(MPI_Isend(x, 100000, MPI_INT, 0, 5, W, &r));
        must(MPI_Send(x, 1, MPI_INT, 0, 6, W));
        _exit(0);
    }
    must(MPI_Recv(y, 1, MPI_INT, 1, 6, W, &s));
    nap(100);
    saw(MPI_Recv(y, 100000, MPI_INT, 1, 5, W, &s));
}

/* Of several requests one is of the dead. */
static void waitall_with_the_dead(void)
{
    MPI_Request q[3];
    MPI_Status t[3];

    one_ends();
    if (rank == 0) {
        must(MPI_Irecv(x, 1, MPI_INT, 1, 1, W, &q[0]));
        must(MPI_Irecv(x + 1, 1, MPI_INT, 2, 1, W, &q[1]));
        must(MPI_Irecv(x + 2, 1, MPI_INT, 1, 2, W, &q[2]));
        must(MPI_Send(y, 1, MPI_INT, 1, 3, W));
        saw(MPI_Waitall(3, q, t));
        for (int i = 0; i < 3; i++) {
            if (t[i].MPI_ERROR == MPI_ERR_PENDING)
                t[i].MPI_ERROR = MPI_Wait(&q[i], &t[i]);
            saw(t[i].MPI_ERROR);
        }
        check(x[0] == 1 && x[2] == 1, "messages");
    } else {
        must(MPI_Recv(y, 1, MPI_INT, 0, 3, W, &s));
        must(MPI_Send(&rank, 1, MPI_INT, 0, 1, W));
        must(MPI_Send(&rank, 1, MPI_INT, 0, 2, W));
    }
    meet(2);
}

/* Collective operations fail in every rank that is left, as often as they are called. */
static void collectives_with_the_dead(void)
{
    one_ends();
    for (int i = 0; i < 3; i++) {
        refused(MPI_Barrier(W));
        refused(MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, W));
        refused(MPI_Alltoall(x, 1, MPI_INT, y, 1, MPI_INT, W));
        refused(MPI_Allgather(x, 1000, MPI_INT, y, 1000, MPI_INT, W));
    }
    meet(size - 1);
}

static void icollective_with_the_dead(void)
{
    one_ends();
    if (MPI_Iallreduce(x, y, 1, MPI_INT, MPI_SUM, W, &r) == MPI_SUCCESS)
        refused(MPI_Wait(&r, &s));
    else
        say("refused");
    meet(size - 1);
}

/* A communicator without the dead goes on, even one that is made from it. */
static void communicator_of_the_living(void)
{
    MPI_Comm c, d;
    int sum = 0;

    must(MPI_Comm_split(W, rank == size - 1, 0, &c));
    one_ends();
    refused(MPI_Barrier(W));
    for (int i = 0; i < 100; i++)
        must(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c));
    check(sum == (size - 1) * (size - 2) / 2, "sum");
    must(MPI_Comm_dup(c, &d));
    must(MPI_Barrier(d));
    must(MPI_Comm_free(&d));
    meet(size - 1);
}

static void new_communicator_with_the_dead(void)
{
    MPI_Comm c;

    one_ends();
    refused(MPI_Comm_dup(W, &c));
    refused(MPI_Comm_split(W, 0, 0, &c));
    meet(size - 1);
}

/* A receive from the dead is taken back, waited for, and all is over. */
static void cancelled_from_the_dead(void)
{
    must(MPI_Irecv(x, 1, MPI_INT, size - 1, 1, W, &r));
    one_ends();
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    check(r == MPI_REQUEST_NULL, "handle");
    meet(size - 1);
}

/* In the middle of a message of many parts. */
static void killed_while_it_sends(void)
{
    static char big[64 << 20];

    must(MPI_Barrier(W));
    if (rank == 1) {
        must(MPI_Isend(big, sizeof big, MPI_BYTE, 0, 1, W, &r));
        for (int i = 0; i < 20; i++)
            MPI_Test(&r, &flag, &s);
        raise(SIGKILL);
    }
    /* It may have arrived: read from the sender's memory at once. */
    MPI_Recv(big, sizeof big, MPI_BYTE, 1, 1, W, &s);
    saw(MPI_Recv(x, 1, MPI_INT, 1, 2, W, &s));
}

static void finalize_without_the_dead(void)
{
    one_ends();
    meet(size - 1);
    speak();
    MPI_Finalize();
    _exit(0);
}

/* Somebody else ends, in another way, while all wait for it at once. */
static void killed_while_all_wait(void)
{
    if (rank == size - 1) {
        nap(100);
        raise(SIGKILL);
    }
    if (rank == 0)
        saw(MPI_Recv(x, 1, MPI_INT, size - 1, 1, W, &s));
    if (rank == 1)
        saw(MPI_Ssend(x, 1, MPI_INT, size - 1, 1, W));
    if (rank == 2)
        saw(MPI_Probe(size - 1, 1, W, &s));
    meet(size - 1);
}

/* A rank has forked, and its child lives on: it has ended all the same. */
static void survived_by_its_child(void)
{
    if (rank == 1) {
        const int child = fork();

        if (child == 0) {
            close(STDOUT_FILENO);
            close(STDERR_FILENO);
            nap(60000);
            _exit(0);
        }
        must(MPI_Send(&child, 1, MPI_INT, 0, 1, W));
        must(MPI_Recv(x, 1, MPI_INT, 0, 2, W, &s));
        _exit(0);
    }
    must(MPI_Recv(x, 1, MPI_INT, 1, 1, W, &s));
    must(MPI_Send(x, 1, MPI_INT, 1, 2, W));
    saw(MPI_Recv(y, 1, MPI_INT, 1, 3, W, &s));
    say(kill(x[0], SIGKILL) == 0 ? "child-alive" : "child-gone");
}

#define DEAD "ERR_PROC_ABORTED"

TRIALS(LEFT(sendrecv_to_the_dead, 3, "0 " DEAD "*2 untouched"),
       LEFT(gather_with_the_dead, 3, "0 " DEAD " refused untouched"),
       LEFT(alltoall_with_the_dead, 3, "0 " DEAD " refused untouched"),
       LEFT(receives_from_the_dead, 2, "0 " DEAD "*5"),
       LEFT(sends_to_the_dead, 2, "0 " DEAD " refused*3"),
       LEFT(bsends_to_the_dead, 3, "0 " DEAD),
       LEFT(last_will, 2, "0 ok " DEAD),
       LEFT(announced_and_gone, 2, "0 " DEAD),
       LEFT(waitall_with_the_dead, 3, "0 " DEAD " ERR_IN_STATUS ok " DEAD " ok"),
       LEFT(collectives_with_the_dead, 4,
            "0 " DEAD " refused*12; 1 refused*12; 2 refused*12"),
       LEFT(icollective_with_the_dead, 4, "0 " DEAD " refused; 1 refused; 2 refused"),
       LEFT(communicator_of_the_living, 4, "0 " DEAD " refused; 1 refused; 2 refused"),
       LEFT(new_communicator_with_the_dead, 3, "0 " DEAD " refused*2; 1 refused*2"),
       LEFT(cancelled_from_the_dead, 3, "0 " DEAD),
       LEFT(killed_while_it_sends, 2, "0 " DEAD),
       LEFT(finalize_without_the_dead, 3, "0 " DEAD),
       LEFT(killed_while_all_wait, 4, "0 " DEAD "; 1 " DEAD "; 2 " DEAD),
       LEFT(survived_by_its_child, 2, "0 " DEAD " child-alive"))
