/* handles.c - handles that are null, made up, of another kind or over, and places for
 * results that are not there. */
#include "trial.h"

/* A handle from a number: MPI's handles are pointers here and integers elsewhere. */
#define MADE_UP(type, number) ((type)(intptr_t)(number))

static const int numbers[] = {0, 1, 2, 7, 63, 0x3FF, 0x4321, 0x12345678, INT_MAX, -1, INT_MIN};

static int x[8], flag;
static MPI_Request r;
static MPI_Status s;

static void comm_null(void)
{
    MPI_Comm c = MPI_COMM_NULL, d;

    saw(MPI_Send(x, 1, MPI_INT, 0, 0, c));
    saw(MPI_Ssend(x, 1, MPI_INT, 0, 0, c));
    saw(MPI_Isend(x, 1, MPI_INT, 0, 0, c, &r));
    saw(MPI_Recv(x, 1, MPI_INT, 0, 0, c, &s));
    saw(MPI_Irecv(x, 1, MPI_INT, 0, 0, c, &r));
    saw(MPI_Sendrecv(x, 1, MPI_INT, 0, 0, x, 1, MPI_INT, 0, 0, c, &s));
    saw(MPI_Probe(0, 0, c, &s));
    saw(MPI_Iprobe(0, 0, c, &flag, &s));
    saw(MPI_Barrier(c));
    saw(MPI_Ibarrier(c, &r));
    saw(MPI_Allreduce(x, x + 1, 1, MPI_INT, MPI_SUM, c));
    saw(MPI_Comm_rank(c, x));
    saw(MPI_Comm_size(c, x));
    saw(MPI_Comm_dup(c, &d));
    saw(MPI_Comm_split(c, 0, 0, &d));
    saw(MPI_Comm_free(&c));
    saw(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
    works();
}

static void comm_made_up(void)
{
    for (int i = 0; i < LENGTH(numbers); i++) {
        MPI_Comm c = MADE_UP(MPI_Comm, numbers[i]), d;

        refused(MPI_Send(x, 1, MPI_INT, 0, 0, c));
        refused(MPI_Irecv(x, 1, MPI_INT, 0, 0, c, &r));
        refused(MPI_Barrier(c));
        refused(MPI_Comm_dup(c, &d));
        refused(MPI_Comm_free(&c));
    }
    works();
}

/* Numbers near those that a library gives away first. */
static void comm_guessed(void)
{
    for (int i = 0; i < 16; i++) {
        MPI_Comm c = MADE_UP(MPI_Comm, 0x1000 + i);

        refused(MPI_Comm_free(&c));
    }
    works();
}

static void type_made_up(void)
{
    for (int i = 0; i < LENGTH(numbers); i++) {
        MPI_Datatype t = MADE_UP(MPI_Datatype, numbers[i]);

        refused(MPI_Send(x, 1, t, rank, 0, W));
        refused(MPI_Irecv(x, 1, t, rank, 0, W, &r));
        refused(MPI_Bcast(x, 1, t, 0, W));
        refused(MPI_Type_size(t, x));
    }
    works();
}

static void op_made_up(void)
{
    for (int i = 0; i < LENGTH(numbers); i++) {
        MPI_Op op = MADE_UP(MPI_Op, numbers[i]);

        refused(MPI_Allreduce(x, x + 1, 1, MPI_INT, op, W));
        refused(MPI_Reduce_local(x, x + 1, 1, MPI_INT, op));
        refused(MPI_Iscan(x, x + 1, 1, MPI_INT, op, W, &r));
    }
    works();
}

static void request_made_up(void)
{
    for (int i = 0; i < LENGTH(numbers); i++) {
        MPI_Request q = MADE_UP(MPI_Request, numbers[i]);

        refused(MPI_Wait(&q, &s));
        q = MADE_UP(MPI_Request, numbers[i]);
        refused(MPI_Test(&q, &flag, &s));
        q = MADE_UP(MPI_Request, numbers[i]);
        refused(MPI_Cancel(&q));
        refused(MPI_Request_get_status(q, &flag, &s));
        refused(MPI_Waitall(1, &q, &s));
        q = MADE_UP(MPI_Request, numbers[i]);
        refused(MPI_Request_free(&q));
    }
    works();
}

static void message_made_up(void)
{
    for (int i = 0; i < LENGTH(numbers); i++) {
        MPI_Message m = MADE_UP(MPI_Message, numbers[i]);

        refused(MPI_Mrecv(x, 1, MPI_INT, &m, &s));
        m = MADE_UP(MPI_Message, numbers[i]);
        refused(MPI_Imrecv(x, 1, MPI_INT, &m, &r));
    }
    works();
}

static void errhandler_made_up(void)
{
    for (int i = 0; i < LENGTH(numbers); i++)
        refused(MPI_Comm_set_errhandler(W, MADE_UP(MPI_Errhandler, numbers[i])));
    refused(MPI_Comm_set_errhandler(W, MPI_ERRHANDLER_NULL));
    works();
}

/* A handle of another kind in its place. */
static void kinds_swapped(void)
{
    refused(MPI_Send(x, 1, MADE_UP(MPI_Datatype, (intptr_t)W), rank, 0, W));
    refused(MPI_Send(x, 1, MPI_INT, rank, 0, MADE_UP(MPI_Comm, (intptr_t)MPI_INT)));
    refused(MPI_Allreduce(x, x + 1, 1, MPI_INT, MADE_UP(MPI_Op, (intptr_t)MPI_INT), W));
    refused(MPI_Allreduce(x, x + 1, 1, MADE_UP(MPI_Datatype, (intptr_t)MPI_SUM), MPI_SUM, W));
    refused(MPI_Barrier(MADE_UP(MPI_Comm, (intptr_t)MPI_SUM)));
    refused(MPI_Barrier(MADE_UP(MPI_Comm, (intptr_t)MPI_REQUEST_NULL)));
    refused(MPI_Comm_set_errhandler(W, MADE_UP(MPI_Errhandler, (intptr_t)MPI_SUM)));
    works();
}

/* Requests that are null: at once, and the status is the empty one. */
static void request_null(void)
{
    MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status t[2];
    int index = 5, count = -1;

#define EMPTY(st)                                                                             \
    (MPI_Get_count(&(st), MPI_INT, &count), check(count == 0, "count"),                       \
     check((st).MPI_SOURCE == MPI_ANY_SOURCE && (st).MPI_TAG == MPI_ANY_TAG, "envelope"),     \
     say((st).MPI_ERROR == MPI_SUCCESS ? "empty" : "no-error-set"))
#define ANEW memset(t, 0x77, sizeof t)
    ANEW, saw(MPI_Wait(&q[0], &t[0])), EMPTY(t[0]);
    ANEW, saw(MPI_Test(&q[0], &flag, &t[0])), EMPTY(t[0]);
    ANEW, saw(MPI_Waitany(2, q, &index, &t[0])), EMPTY(t[0]);
    check(index == MPI_UNDEFINED, "index");
    ANEW, saw(MPI_Testany(2, q, &index, &flag, &t[0])), EMPTY(t[0]);
    check(flag && index == MPI_UNDEFINED, "index");
    ANEW, saw(MPI_Request_get_status(q[0], &flag, &t[0])), EMPTY(t[0]);
    ANEW, saw(MPI_Waitall(2, q, t)), EMPTY(t[1]);
    saw(MPI_Waitsome(2, q, &index, x, t));
    check(index == MPI_UNDEFINED, "some");
    saw(MPI_Cancel(&q[0]));
    saw(MPI_Request_free(&q[0]));
}

static void message_twice(void)
{
    MPI_Message m, copy;

    MPI_Isend(&rank, 1, MPI_INT, rank, 4, W, &r);
    must(MPI_Mprobe(rank, 4, W, &m, &s));
    copy = m;
    saw(MPI_Mrecv(x, 1, MPI_INT, &m, &s));
    check(m == MPI_MESSAGE_NULL, "handle");
    saw(MPI_Mrecv(x, 1, MPI_INT, &m, &s));
    saw(MPI_Mrecv(x, 1, MPI_INT, &copy, &s));
    must(MPI_Wait(&r, &s));
    works();
}

static void message_of_nobody(void)
{
    MPI_Message m;

    saw(MPI_Mprobe(MPI_PROC_NULL, 4, W, &m, &s));
    check(m == MPI_MESSAGE_NO_PROC, "message");
    memset(&s, 0x77, sizeof s);
    saw(MPI_Mrecv(x, 1, MPI_INT, &m, &s));
    check(m == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL, "source");
    m = MPI_MESSAGE_NO_PROC;
    saw(MPI_Imrecv(x, 1, MPI_INT, &m, &r));
    saw(MPI_Wait(&r, &s));
    works();
}

static void world_is_not_freed(void)
{
    MPI_Comm c = MPI_COMM_WORLD, d = MPI_COMM_SELF;

    saw(MPI_Comm_free(&c));
    saw(MPI_Comm_free(&d));
    works();
}

/* ---- Places that are not there -------------------------------------------------------- */

static void no_place_in_communicators(void)
{
    refused(MPI_Comm_rank(W, NULL));
    refused(MPI_Comm_size(W, NULL));
    refused(MPI_Comm_dup(W, NULL));
    refused(MPI_Comm_split(W, 0, 0, NULL));
    refused(MPI_Comm_free(NULL));
    refused(MPI_Comm_get_errhandler(W, NULL));
    works();
}

static void no_place_in_messages(void)
{
    refused(MPI_Isend(x, 1, MPI_INT, rank, 0, W, NULL));
    refused(MPI_Issend(x, 1, MPI_INT, rank, 0, W, NULL));
    refused(MPI_Irecv(x, 1, MPI_INT, rank, 0, W, NULL));
    refused(MPI_Iprobe(rank, 0, W, NULL, &s));
    refused(MPI_Improbe(rank, 0, W, NULL, NULL, &s));
    refused(MPI_Mprobe(MPI_PROC_NULL, 0, W, NULL, &s));
    refused(MPI_Mrecv(x, 1, MPI_INT, NULL, &s));
    refused(MPI_Imrecv(x, 1, MPI_INT, NULL, &r));
    refused(MPI_Buffer_detach(NULL, NULL));
    works();
}

static void no_place_in_requests(void)
{
    int n;

    refused(MPI_Wait(NULL, &s));
    refused(MPI_Test(NULL, &flag, &s));
    r = MPI_REQUEST_NULL;
    refused(MPI_Test(&r, NULL, &s));
    refused(MPI_Request_get_status(r, NULL, &s));
    refused(MPI_Request_free(NULL));
    refused(MPI_Cancel(NULL));
    refused(MPI_Waitall(3, NULL, MPI_STATUSES_IGNORE));
    refused(MPI_Testall(3, NULL, &flag, MPI_STATUSES_IGNORE));
    refused(MPI_Testall(1, &r, NULL, MPI_STATUSES_IGNORE));
    refused(MPI_Waitany(3, NULL, &n, &s));
    refused(MPI_Waitany(1, &r, NULL, &s));
    refused(MPI_Testany(1, &r, NULL, &flag, &s));
    refused(MPI_Waitsome(1, &r, NULL, x, &s));
    refused(MPI_Testsome(1, &r, NULL, x, &s));
    works();
}

static void no_place_in_collectives(void)
{
    refused(MPI_Ibarrier(W, NULL));
    refused(MPI_Ibcast(x, 1, MPI_INT, 0, W, NULL));
    refused(MPI_Iallreduce(x, x + 1, 1, MPI_INT, MPI_SUM, W, NULL));
    works();
}

static void no_place_in_enquiries(void)
{
    int length;
    char text[MPI_MAX_ERROR_STRING];

    memset(&s, 0, sizeof s);
    refused(MPI_Initialized(NULL));
    refused(MPI_Finalized(NULL));
    refused(MPI_Query_thread(NULL));
    refused(MPI_Get_version(NULL, NULL));
    refused(MPI_Get_library_version(NULL, NULL));
    refused(MPI_Get_processor_name(NULL, &length));
    refused(MPI_Error_class(MPI_ERR_ARG, NULL));
    refused(MPI_Error_string(MPI_ERR_ARG, NULL, &length));
    refused(MPI_Error_string(MPI_ERR_ARG, text, NULL));
    refused(MPI_Type_size(MPI_INT, NULL));
    refused(MPI_Get_count(&s, MPI_INT, NULL));
    refused(MPI_Get_elements(&s, MPI_INT, NULL));
    refused(MPI_Test_cancelled(&s, NULL));
    refused(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL));
    refused(MPI_Get_address(x, NULL));
    works();
}

/* A status is read, so it cannot be ignored. */
static void no_status_to_read(void)
{
    refused(MPI_Get_count(NULL, MPI_INT, x));
    refused(MPI_Get_elements(NULL, MPI_INT, x));
    refused(MPI_Test_cancelled(NULL, x));
    refused(MPI_Status_set_cancelled(NULL, 1));
    refused(MPI_Status_set_elements(NULL, MPI_INT, 1));
    works();
}

/* ---- Who hears of an error -------------------------------------------------------------- */

/* An error without an object: the handler of MPI_COMM_SELF. */
static void errors_of_nothing(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    saw(MPI_Comm_size(MPI_COMM_NULL, x));
    saw(MPI_Type_size(MPI_DATATYPE_NULL, x));
    works();
}

static void fatal_errors_of_nothing(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Type_size(MPI_DATATYPE_NULL, x);
    survived();
}

/* A communicator is freed before the error of its request is seen. */
static void errors_of_the_freed(void)
{
    MPI_Comm c;
    MPI_Request out;

    must(MPI_Comm_dup(W, &c));
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    must(MPI_Irecv(x, 1, MPI_INT, rank, 0, c, &r));
    must(MPI_Isend(x + 2, 2, MPI_INT, rank, 0, c, &out));
    must(MPI_Comm_free(&c));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    saw(MPI_Wait(&r, &s));
    MPI_Wait(&out, &s);
    works();
}

TRIALS(TRIAL(comm_null, 2, "ERR_COMM*17 works"),
       TRIAL(comm_made_up, 2, "refused*55 works"),
       TRIAL(comm_guessed, 2, "refused*16 works"),
       TRIAL(type_made_up, 2, "refused*44 works"),
       TRIAL(op_made_up, 2, "refused*33 works"),
       TRIAL(request_made_up, 2, "refused*66 works"),
       TRIAL(message_made_up, 2, "refused*22 works"),
       TRIAL(errhandler_made_up, 2, "refused*12 works"),
       TRIAL(kinds_swapped, 2, "refused*7 works"),
       TRIAL(request_null, 1,
             "ok empty ok empty ok empty ok empty ok empty ok empty ok ERR_REQUEST*2"),
       TRIAL(message_twice, 2, "ok ERR_REQUEST*2 works"),
       TRIAL(message_of_nobody, 2, "ok*4 works"),
       TRIAL(world_is_not_freed, 2, "ERR_COMM*2 works"),
       TRIAL(no_place_in_communicators, 2, "refused*6 works"),
       TRIAL(no_place_in_messages, 2, "refused*9 works"),
       TRIAL(no_place_in_requests, 2, "refused*14 works"),
       TRIAL(no_place_in_collectives, 2, "refused*3 works"),
       TRIAL(no_place_in_enquiries, 2, "refused*15 works"),
       TRIAL(no_status_to_read, 2, "refused*5 works"),
       TRIAL(errors_of_nothing, 2, "ERR_COMM ERR_TYPE works"),
       ENDS(fatal_errors_of_nothing, 1, 3, ""),
       TRIAL(errors_of_the_freed, 2, "ERR_TRUNCATE works"))
