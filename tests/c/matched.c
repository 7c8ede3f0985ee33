/* matched.c - Mprobe, Improbe, Mrecv, Imrecv: exact and with wildcards, small
 * and large, behind 10,000 other messages, received in another order than
 * matched, into too little room, and what a wrong handle gives. Any number of
 * ranks: every rank sends to the next one (with one rank: to itself). */
#include "check.h"

#define LARGE 300000
#define CROWD 10000

static int to, from;
static unsigned char *out, *in;

static MPI_Request send(int bytes, int tag)
{
    MPI_Request request;

    MPI(MPI_Isend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
    return request;
}

/* Matches a message, with or without blocking. */
static MPI_Message match(int blocking, int source, int tag, int bytes, int real_tag)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 0;

    memset(&status, 0x77, sizeof status);
    if (blocking)
        MPI(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &status));
    else
        while (!flag)
            MPI(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(message != MPI_MESSAGE_NULL, "a matched message has a handle");
    verify_status(&status, from, real_tag, bytes, "matched probe");
    return message;
}

static void receive(MPI_Message *message, int blocking, int bytes, int tag)
{
    MPI_Status status;
    MPI_Request request;

    memset(in, 0, LARGE);
    if (blocking) {
        MPI(MPI_Mrecv(in, bytes, MPI_BYTE, message, &status));
    } else {
        MPI(MPI_Imrecv(in, bytes, MPI_BYTE, message, &request));
        MPI(MPI_Wait(&request, &status));
    }
    CHECK(*message == MPI_MESSAGE_NULL, "a received message has no handle any more");
    verify_status(&status, from, tag, bytes, "matched receive");
    verify(in, (size_t)bytes, (unsigned)from, "matched receive");
}

static void nothing_there(void)
{
    MPI_Message message;
    int flag = 1;

    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                    MPI_STATUS_IGNORE));
    CHECK(!flag, "Improbe found a message, but all is received");
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Three messages are matched in one order and received in another, while a
 * receive that could take any of them takes a fourth. */
static void in_any_order(int blocking, int bytes)
{
    MPI_Request sent[4];
    MPI_Message matched[3];
    MPI_Status status;
    int i;

    for (i = 0; i < 4; i++)
        sent[i] = send(bytes, 10 + i);
    matched[1] = match(blocking, from, 11, bytes, 11);
    matched[0] = match(blocking, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes, 10);
    matched[2] = match(blocking, MPI_ANY_SOURCE, 12, bytes, 12);
    MPI(MPI_Recv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    verify_status(&status, from, 13, bytes, "the receive beside them");
    for (i = 2; i >= 0; i--)
        receive(&matched[i], blocking, bytes, 10 + i);
    MPI(MPI_Waitall(4, sent, MPI_STATUSES_IGNORE));
    nothing_there();
}

/* The last of very many messages is matched first. */
static void behind_a_crowd(int blocking)
{
    static MPI_Request sent[CROWD + 1];
    MPI_Message message;
    int i;

    for (i = 0; i < CROWD; i++)
        sent[i] = send(4, 1);
    sent[CROWD] = send(4, 2);
    message = match(blocking, from, 2, 4, 2);
    for (i = 0; i < CROWD; i++)
        MPI(MPI_Recv(in, 4, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    receive(&message, blocking, 4, 2);
    MPI(MPI_Waitall(CROWD + 1, sent, MPI_STATUSES_IGNORE));
    nothing_there();
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void faults(void)
{
    MPI_Request sent;
    MPI_Message message, copy;
    MPI_Status status;
    int flag = 0, code, count = -1;

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    /* Dead handles are errors of no object. */
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    sent = send(8, 5);
    message = copy = match(1, from, 5, 8, 5);
    code = MPI_Mrecv(in, 4, MPI_BYTE, &message, &status);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE, "truncation gave class %d", class_of(code));
    CHECK(message == MPI_MESSAGE_NULL, "a truncated message is received");
    code = MPI_Mrecv(in, 4, MPI_BYTE, &copy, &status);
    CHECK(class_of(code) == MPI_ERR_REQUEST, "a dead handle gave class %d", class_of(code));
    code = MPI_Mrecv(in, 4, MPI_BYTE, &message, &status);
    CHECK(class_of(code) == MPI_ERR_REQUEST, "the null handle gave class %d", class_of(code));
    MPI(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    code = MPI_Mprobe(size, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(class_of(code) == MPI_ERR_RANK, "a wrong source gave class %d", class_of(code));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));

    MPI(MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC, "MPI_PROC_NULL always matches");
    MPI(MPI_Mrecv(in, 4, MPI_BYTE, &message, &status));
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0,
          "a receive from nobody: source %d, tag %d, count %d", status.MPI_SOURCE, status.MPI_TAG,
          count);
}

int main(int argc, char **argv)
{
    int blocking;

    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    out = malloc(LARGE);
    in = malloc(LARGE);
    CHECK(out && in, "no memory");
    fill(out, LARGE, (unsigned)rank);
    for (blocking = 0; blocking < 2; blocking++) {
        in_any_order(blocking, 0);
        in_any_order(blocking, 40);
        in_any_order(blocking, LARGE);
        behind_a_crowd(blocking);
    }
    faults();
    free(out);
    free(in);
    return end("matched");
}
