/* errors.c - with MPI_ERRORS_RETURN every wrong call returns the right error
 * class, which has a text, and the library goes on working. Any number of ranks. */
#include "check.h"

static int to, from;

/* One message around the ring: all is well still. */
static void works(void)
{
    int in = -1;

    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    CHECK(in == from, "after an error the ring carries %d instead of %d", in, from);
}

static void has_text(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = -1;

    memset(text, 'x', sizeof text);
    MPI(MPI_Error_string(code, text, &length));
    CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && text[length] == '\0' &&
              (int)strlen(text) == length,
          "the text of error %d has length %d", code, length);
}

static void expect(int code, int wanted, const char *call)
{
    int class = -1;

    CHECK(code != MPI_SUCCESS, "%s succeeded", call);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == wanted, "%s: error class %d instead of %d", call, class, wanted);
    has_text(code);
    has_text(class);
}

/* Wrong in all ranks alike, so that no collective is left half-way. */
#define WRONG(class, call)            \
    do {                              \
        expect(call, class, #call);   \
        works();                      \
    } while (0)

static void point_to_point(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    int x[4] = {0}, flag, count;

    WRONG(MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, size, 1, w));
    WRONG(MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, -1000, 1, w));
    WRONG(MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, MPI_ANY_SOURCE, 1, w));
    WRONG(MPI_ERR_RANK, MPI_Ssend(x, 1, MPI_INT, size + 1000000, 1, w));
    WRONG(MPI_ERR_RANK, MPI_Isend(x, 1, MPI_INT, size, 1, w, &r));
    WRONG(MPI_ERR_RANK, MPI_Recv(x, 1, MPI_INT, size, 1, w, &s));
    WRONG(MPI_ERR_RANK, MPI_Irecv(x, 1, MPI_INT, -1000, 1, w, &r));
    WRONG(MPI_ERR_RANK, MPI_Probe(size, 1, w, &s));
    WRONG(MPI_ERR_RANK, MPI_Iprobe(size, 1, w, &flag, &s));
    WRONG(MPI_ERR_RANK, MPI_Sendrecv(x, 1, MPI_INT, size, 1, x + 2, 1, MPI_INT, from, 1, w, &s));
    WRONG(MPI_ERR_RANK, MPI_Sendrecv(x, 1, MPI_INT, to, 1, x + 2, 1, MPI_INT, size, 1, w, &s));

    WRONG(MPI_ERR_COUNT, MPI_Send(x, -1, MPI_INT, to, 1, w));
    WRONG(MPI_ERR_COUNT, MPI_Ssend(x, -1, MPI_INT, to, 1, w));
    WRONG(MPI_ERR_COUNT, MPI_Isend(x, -2000000000, MPI_INT, to, 1, w, &r));
    WRONG(MPI_ERR_COUNT, MPI_Recv(x, -1, MPI_INT, from, 1, w, &s));
    WRONG(MPI_ERR_COUNT, MPI_Irecv(x, -1, MPI_INT, from, 1, w, &r));

    WRONG(MPI_ERR_TAG, MPI_Send(x, 1, MPI_INT, to, -1000, w));
    WRONG(MPI_ERR_TAG, MPI_Send(x, 1, MPI_INT, to, MPI_ANY_TAG, w));
    WRONG(MPI_ERR_TAG, MPI_Isend(x, 1, MPI_INT, to, -1000, w, &r));
    WRONG(MPI_ERR_TAG, MPI_Recv(x, 1, MPI_INT, from, -1000, w, &s));
    WRONG(MPI_ERR_TAG, MPI_Irecv(x, 1, MPI_INT, from, -1000, w, &r));
    WRONG(MPI_ERR_TAG, MPI_Iprobe(from, -1000, w, &flag, &s));

    WRONG(MPI_ERR_TYPE, MPI_Send(x, 1, MPI_DATATYPE_NULL, to, 1, w));
    WRONG(MPI_ERR_TYPE, MPI_Isend(x, 1, MPI_DATATYPE_NULL, to, 1, w, &r));
    WRONG(MPI_ERR_TYPE, MPI_Recv(x, 1, MPI_DATATYPE_NULL, from, 1, w, &s));
    WRONG(MPI_ERR_TYPE, MPI_Irecv(x, 1, MPI_DATATYPE_NULL, from, 1, w, &r));
#ifdef MPI_ABI_VERSION /* a handle that the ABI has not given to any type */
    WRONG(MPI_ERR_TYPE, MPI_Send(x, 1, (MPI_Datatype)0x3FF, to, 1, w));
    WRONG(MPI_ERR_TYPE, MPI_Recv(x, 1, (MPI_Datatype)0x3FF, from, 1, w, &s));
#endif
    memset(&s, 0, sizeof s);
    MPI(MPI_Sendrecv(x, 1, MPI_INT, to, 1, x + 2, 1, MPI_INT, from, 1, w, &s));
    WRONG(MPI_ERR_TYPE, MPI_Get_count(&s, MPI_DATATYPE_NULL, &count));

    WRONG(MPI_ERR_COMM, MPI_Send(x, 1, MPI_INT, 0, 1, MPI_COMM_NULL));
    WRONG(MPI_ERR_COMM, MPI_Irecv(x, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &r));
    WRONG(MPI_ERR_COMM, MPI_Iprobe(0, 1, MPI_COMM_NULL, &flag, &s));
    WRONG(MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &count));
    WRONG(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &count));
}

static void collective(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    double d[2] = {0};
    int x[4] = {0}, *many = allocate(sizeof(int) * (size_t)size);
    MPI_Comm c = MPI_COMM_NULL;

    WRONG(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    WRONG(MPI_ERR_COMM, MPI_Bcast(x, 1, MPI_INT, 0, MPI_COMM_NULL));
    WRONG(MPI_ERR_COMM, MPI_Allreduce(x, x + 2, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
    WRONG(MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &c));
    WRONG(MPI_ERR_COMM, MPI_Comm_split(MPI_COMM_NULL, 0, 0, &c));
    WRONG(MPI_ERR_COMM, MPI_Comm_free(&c));

    WRONG(MPI_ERR_ROOT, MPI_Bcast(x, 1, MPI_INT, size, w));
    WRONG(MPI_ERR_ROOT, MPI_Bcast(x, 1, MPI_INT, -1000, w));
    WRONG(MPI_ERR_ROOT, MPI_Reduce(x, x + 2, 1, MPI_INT, MPI_SUM, size, w));
    WRONG(MPI_ERR_ROOT, MPI_Gather(x, 1, MPI_INT, many, 1, MPI_INT, size, w));
    WRONG(MPI_ERR_ROOT, MPI_Scatter(many, 1, MPI_INT, x, 1, MPI_INT, -1000, w));

    WRONG(MPI_ERR_COUNT, MPI_Bcast(x, -1, MPI_INT, 0, w));
    WRONG(MPI_ERR_COUNT, MPI_Allreduce(x, x + 2, -1, MPI_INT, MPI_SUM, w));
    WRONG(MPI_ERR_COUNT, MPI_Allgather(x, -1, MPI_INT, many, 1, MPI_INT, w));
    WRONG(MPI_ERR_COUNT, MPI_Alltoall(many, 1, MPI_INT, many, -1, MPI_INT, w));

    WRONG(MPI_ERR_TYPE, MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, w));
    WRONG(MPI_ERR_TYPE, MPI_Allreduce(x, x + 2, 1, MPI_DATATYPE_NULL, MPI_SUM, w));
    WRONG(MPI_ERR_TYPE, MPI_Allgather(x, 1, MPI_DATATYPE_NULL, many, 1, MPI_INT, w));

    WRONG(MPI_ERR_OP, MPI_Allreduce(x, x + 2, 1, MPI_INT, MPI_OP_NULL, w));
    WRONG(MPI_ERR_OP, MPI_Reduce(x, x + 2, 1, MPI_INT, MPI_OP_NULL, 0, w));
    WRONG(MPI_ERR_OP, MPI_Allreduce(d, d + 1, 1, MPI_DOUBLE, MPI_BAND, w));
    WRONG(MPI_ERR_OP, MPI_Allreduce(x, x + 2, 1, MPI_INT, MPI_MAXLOC, w));
    free(many);
}

/* The text of the class says which message was too long, for whom. */
static void names(int tag, int bytes, int room)
{
    char text[MPI_MAX_ERROR_STRING], wanted[200];
    int length;

    snprintf(wanted, sizeof wanted,
             ": the message from rank %d, tag %d has %d bytes, the buffer %d; communicator MPI_COMM_WORLD",
             from, tag, bytes, room);
    MPI(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
    CHECK(strstr(text, wanted) != NULL, "the text is %s instead of %s", text, wanted);
}

/* A message longer than the buffer: MPI_ERR_TRUNCATE, nothing written behind the
 * buffer, and the next message is whole. `early` posts the receive first. */
static void truncation(int bytes, int early)
{
    unsigned char *out = allocate((size_t)bytes), *in = allocate((size_t)bytes);
    const int room = bytes / 2;
    MPI_Request r[3];
    MPI_Status s[3];
    int code;

    fill(out, (size_t)bytes, 4);
    memset(in, 0x5A, (size_t)bytes);
    if (early) {
        MPI(MPI_Irecv(in, room, MPI_BYTE, from, 6, MPI_COMM_WORLD, &r[0]));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(MPI_Isend(out, bytes, MPI_BYTE, to, 6, MPI_COMM_WORLD, &r[1]));
    MPI(MPI_Isend(out, bytes, MPI_BYTE, to, 6, MPI_COMM_WORLD, &r[2]));
    if (early)
        code = MPI_Wait(&r[0], &s[0]);
    else
        code = MPI_Recv(in, room, MPI_BYTE, from, 6, MPI_COMM_WORLD, &s[0]);
    expect(code, MPI_ERR_TRUNCATE, "a receive with too little room");
    names(6, bytes, room);
    for (int i = room; i < bytes; i++)
        CHECK(in[i] == 0x5A, "%d bytes into %d: byte %d is written", bytes, room, i);
    MPI(MPI_Recv(in, bytes, MPI_BYTE, from, 6, MPI_COMM_WORLD, &s[0]));
    verify_status(&s[0], from, 6, bytes, "after a truncation");
    verify(in, (size_t)bytes, 4, "after a truncation");
    MPI(MPI_Waitall(2, r + 1, MPI_STATUSES_IGNORE));
    free(out);
    free(in);
    works();
}

/* Waitall tells which of its requests failed. */
static void in_status(void)
{
    int out[2] = {1, 2}, in[3] = {0}, class = -1;
    MPI_Request r[4];
    MPI_Status s[4];

    MPI(MPI_Irecv(&in[0], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &r[0]));
    MPI(MPI_Irecv(&in[1], 1, MPI_INT, from, 2, MPI_COMM_WORLD, &r[1]));
    MPI(MPI_Isend(out, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &r[2]));
    MPI(MPI_Isend(out, 2, MPI_INT, to, 2, MPI_COMM_WORLD, &r[3]));
    memset(s, 0x77, sizeof s);
    expect(MPI_Waitall(4, r, s), MPI_ERR_IN_STATUS, "MPI_Waitall");
    for (int i = 0; i < 4; i++) {
        if (s[i].MPI_ERROR == MPI_ERR_PENDING) /* allowed: it is not done yet */
            MPI(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
        else if (i == 1)
            expect(s[i].MPI_ERROR, MPI_ERR_TRUNCATE, "the truncated one");
        else
            CHECK(s[i].MPI_ERROR == MPI_SUCCESS, "request %d: error %d", i, s[i].MPI_ERROR);
    }
    names(2, 8, 4);
    MPI(MPI_Error_class(MPI_SUCCESS, &class));
    CHECK(class == MPI_SUCCESS && in[0] == 1 && in[2] == 0, "in_status: %d %d %d", class, in[0],
          in[2]);
    works();
}

/* A communicator hands its error handler on to copies and parts. */
static void inherited(void)
{
    MPI_Comm c, half;
    int x = 0;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    WRONG(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 1, c));
    MPI(MPI_Comm_split(c, rank % 2, 0, &half));
    WRONG(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 1, half));
    MPI(MPI_Comm_free(&half));
    MPI(MPI_Comm_free(&c));
}

static void texts(void)
{
    static const int classes[] = {
        MPI_SUCCESS,      MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,    MPI_ERR_TAG,
        MPI_ERR_COMM,     MPI_ERR_RANK,   MPI_ERR_ROOT,  MPI_ERR_GROUP,   MPI_ERR_OP,
        MPI_ERR_TOPOLOGY, MPI_ERR_DIMS,   MPI_ERR_ARG,   MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE,
        MPI_ERR_OTHER,    MPI_ERR_INTERN, MPI_ERR_FILE,  MPI_ERR_WIN,     MPI_ERR_NO_MEM};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        int class = -1;
        has_text(classes[i]);
        MPI(MPI_Error_class(classes[i], &class));
        CHECK(class == classes[i], "the class of class %d is %d", classes[i], class);
    }
}

/* What is not implemented is named by the text of its error, too. */
static void missing(void)
{
    char port[MPI_MAX_PORT_NAME], text[MPI_MAX_ERROR_STRING];
    int len;
    const int code = MPI_Open_port(MPI_INFO_NULL, port);

    CHECK(code == MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Open_port returned %d", code);
    MPI(MPI_Error_string(code, text, &len));
    CHECK(strstr(text, "MPI_Open_port is not implemented") != NULL && (int)strlen(text) == len, "the text: %s", text);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank - 1 + size) % size;
    /* Errors without a communicator go to MPI_COMM_SELF's handler since MPI 4,
     * to MPI_COMM_WORLD's before. */
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    point_to_point();
    collective();
    for (int early = 0; early < 2; early++) {
        truncation(8, early);
        truncation(1000, early);
        truncation(20000, early);
        truncation(1000000, early);
    }
    in_status();
    inherited();
    texts();
    missing();
    return end("errors");
}
