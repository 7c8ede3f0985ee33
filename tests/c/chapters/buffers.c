/* buffers.c - buffers of buffered sends: that of the process, those of communicators, and flushes that
 * do not wait. Any number of ranks. */
#include "../check.h"

#define LONG 20000

static int to, from;
static char text[LONG], room[4 * (LONG + 1000)];

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

/* Messages of all lengths arrive in order, whosever buffer they use. */
static void receive(MPI_Comm comm, int messages, int bytes)
{
    static char in[LONG];

    for (int i = 0; i < messages; i++) {
        MPI(MPI_Recv(in, bytes, MPI_CHAR, from, i, comm, MPI_STATUS_IGNORE));
        CHECK(in[0] == (char)i && in[bytes - 1] == (char)i, "message %d holds %d", i, in[0]);
    }
}

static void send(MPI_Comm comm, int messages, int bytes)
{
    for (int i = 0; i < messages; i++) {
        memset(text, i, (size_t)bytes);
        MPI(MPI_Bsend(text, bytes, MPI_CHAR, to, i, comm));
    }
}

static void of_the_process(void)
{
    void *back = NULL;
    int bytes = -1;

    MPI(MPI_Buffer_attach(room, sizeof room));
    send(MPI_COMM_WORLD, 3, LONG);
    receive(MPI_COMM_WORLD, 3, LONG);
    MPI(MPI_Buffer_detach(&back, &bytes));
    CHECK(back == room && bytes == sizeof room, "detached %p, %d bytes", back, bytes);
}

#ifdef MPI_ABI_VERSION
/* A communicator with a buffer uses it alone; the process's serves the others. */
static void of_a_communicator(void)
{
    static char small[MPI_BSEND_OVERHEAD + 100];
    MPI_Comm own;
    void *back = NULL;
    MPI_Count large = -1;
    int bytes = -1;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &own));
    MPI(MPI_Comm_attach_buffer(own, room, sizeof room));
    CHECK(class_of(MPI_Bsend(text, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER,
          "another communicator uses the buffer");
    MPI(MPI_Buffer_attach(small, sizeof small));
    send(own, 3, LONG);
    MPI(MPI_Bsend(text, 100, MPI_CHAR, to, 9, MPI_COMM_WORLD));
    CHECK(class_of(MPI_Bsend(text, LONG, MPI_CHAR, to, 9, MPI_COMM_WORLD)) == MPI_ERR_BUFFER,
          "the communicator's buffer serves another one");
    receive(own, 3, LONG);
    MPI(MPI_Recv(text, 100, MPI_CHAR, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(class_of(MPI_Comm_attach_buffer(own, small, 1)) == MPI_ERR_BUFFER, "a second buffer");
    MPI(MPI_Comm_flush_buffer(own));
    MPI(MPI_Comm_detach_buffer(own, &back, &bytes));
    CHECK(back == room && bytes == sizeof room, "detached %p, %d bytes", back, bytes);
    CHECK(class_of(MPI_Comm_detach_buffer(own, &back, &bytes)) == MPI_ERR_BUFFER, "detached twice");
    /* Without its own it uses that of the process. */
    MPI(MPI_Bsend(text, 100, MPI_CHAR, to, 0, own));
    MPI(MPI_Recv(text, 100, MPI_CHAR, from, 0, own, MPI_STATUS_IGNORE));
    MPI(MPI_Buffer_detach(&back, &bytes));
    CHECK(back == small && bytes == sizeof small, "detached %p, %d bytes", back, bytes);

    MPI(MPI_Comm_attach_buffer_c(own, MPI_BUFFER_AUTOMATIC, 0));
    send(own, 5, LONG);
    receive(own, 5, LONG);
    MPI(MPI_Comm_detach_buffer_c(own, &back, &large));
    CHECK(back == MPI_BUFFER_AUTOMATIC && large == 0, "detached %p, %d bytes", back, (int)large);
    MPI(MPI_Comm_free(&own));
}

/* A flush is complete when what was sent before it is received. */
static void flushes(void)
{
    MPI_Comm own;
    MPI_Request r, idle;
    MPI_Status s;
    int flag = -1, many;
    void *back;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &own));
    MPI(MPI_Comm_attach_buffer(own, room, sizeof room));
    MPI(MPI_Comm_iflush_buffer(own, &idle));
    MPI(MPI_Test(&idle, &flag, &s));
    CHECK(flag == 1 && idle == MPI_REQUEST_NULL, "a flush of nothing is under way");
    send(own, 3, LONG);
    MPI(MPI_Comm_iflush_buffer(own, &r));
    MPI(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
    receive(own, 3, LONG);
    MPI(MPI_Wait(&r, &s));
    CHECK(r == MPI_REQUEST_NULL && s.MPI_SOURCE == MPI_ANY_SOURCE, "the flush has source %d", s.MPI_SOURCE);
    /* The whole buffer is free again. */
    send(own, 3, LONG);
    MPI(MPI_Comm_iflush_buffer(own, &r));
    CHECK(class_of(MPI_Cancel(&r)) == MPI_ERR_REQUEST, "a flush is cancelled");
    receive(own, 3, LONG);
    MPI(MPI_Waitall(1, &r, &s));
    MPI(MPI_Comm_iflush_buffer(own, &r));
    MPI(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL, "a freed flush");
    MPI(MPI_Comm_detach_buffer(own, &back, &many));
    MPI(MPI_Comm_free(&own));

    MPI(MPI_Buffer_attach(room, sizeof room));
    send(MPI_COMM_WORLD, 3, LONG);
    MPI(MPI_Buffer_iflush(&r));
    receive(MPI_COMM_WORLD, 3, LONG);
    MPI(MPI_Waitany(1, &r, &many, &s));
    CHECK(many == 0 && r == MPI_REQUEST_NULL, "the flush of the process's buffer");
    MPI(MPI_Buffer_flush());
    MPI(MPI_Buffer_detach(&back, &many));
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(class_of(MPI_Bsend(text, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD)) != MPI_SUCCESS, "no buffer");
    of_the_process();
#ifdef MPI_ABI_VERSION
    of_a_communicator();
    flushes();
#endif
    return end("buffers");
}
