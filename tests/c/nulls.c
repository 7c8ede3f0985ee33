/* nulls.c - a null pointer where a call writes its result, or reads a handle: an
 * error class, nothing is done, and nothing is written. Any number of ranks. */
#include "check.h"

static int x[4], n;
static char text[8192];
static MPI_Aint address;
static MPI_Count wide;
static MPI_Message m;
static MPI_Request q, r[2];
static MPI_Status s;

static void expect(int code, const char *call)
{
    int class = -1;

    CHECK(code != MPI_SUCCESS, "%s succeeded", call);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_ARG, "%s: error class %d", call, class);
}

#define NULL_IN(call) expect(call, #call)

static void whatever(MPI_Comm w)
{
    NULL_IN(MPI_Comm_rank(w, NULL));
    NULL_IN(MPI_Comm_size(w, NULL));
    NULL_IN(MPI_Comm_dup(w, NULL));
    NULL_IN(MPI_Comm_split(w, 0, 0, NULL));
    NULL_IN(MPI_Comm_free(NULL));
    NULL_IN(MPI_Comm_get_errhandler(w, NULL));
    NULL_IN(MPI_Initialized(NULL));
    NULL_IN(MPI_Finalized(NULL));
    NULL_IN(MPI_Query_thread(NULL));
    NULL_IN(MPI_Is_thread_main(NULL));
    NULL_IN(MPI_Get_version(NULL, &n));
    NULL_IN(MPI_Get_version(&n, NULL));
    NULL_IN(MPI_Get_library_version(NULL, &n));
    NULL_IN(MPI_Get_library_version(text, NULL));
    NULL_IN(MPI_Get_processor_name(NULL, &n));
    NULL_IN(MPI_Get_processor_name(text, NULL));
    NULL_IN(MPI_Error_class(0, NULL));
    NULL_IN(MPI_Error_string(0, NULL, &n));
    NULL_IN(MPI_Error_string(0, text, NULL));
    NULL_IN(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL));
    NULL_IN(MPI_Get_count(NULL, MPI_INT, &n));
    NULL_IN(MPI_Get_count(&s, MPI_INT, NULL));
    NULL_IN(MPI_Get_elements(NULL, MPI_INT, &n));
    NULL_IN(MPI_Get_elements(&s, MPI_INT, NULL));
    NULL_IN(MPI_Get_elements_x(&s, MPI_INT, NULL));
    NULL_IN(MPI_Test_cancelled(NULL, &n));
    NULL_IN(MPI_Test_cancelled(&s, NULL));
    NULL_IN(MPI_Status_set_cancelled(NULL, 1));
    NULL_IN(MPI_Status_set_elements(NULL, MPI_INT, 1));
    NULL_IN(MPI_Status_set_elements_x(NULL, MPI_INT, 1));
    NULL_IN(MPI_Type_size(MPI_INT, NULL));
    NULL_IN(MPI_Type_size_x(MPI_INT, NULL));
    NULL_IN(MPI_Type_get_extent(MPI_INT, NULL, &address));
    NULL_IN(MPI_Type_get_extent(MPI_INT, &address, NULL));
    NULL_IN(MPI_Type_get_extent_x(MPI_INT, NULL, &wide));
    NULL_IN(MPI_Type_get_true_extent(MPI_INT, NULL, &address));
    NULL_IN(MPI_Type_get_true_extent(MPI_INT, &address, NULL));
    NULL_IN(MPI_Type_get_name(MPI_INT, NULL, &n));
    NULL_IN(MPI_Type_get_name(MPI_INT, text, NULL));
    NULL_IN(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, NULL));
    NULL_IN(MPI_Get_address(x, NULL));
    NULL_IN(MPI_Op_commutative(MPI_SUM, NULL));
}

static void messages(MPI_Comm w)
{
    int there = -1;

    m = MPI_MESSAGE_NO_PROC;
    NULL_IN(MPI_Isend(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Issend(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Irsend(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Ibsend(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Irecv(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Iprobe(0, 1, w, NULL, &s));
    NULL_IN(MPI_Mprobe(MPI_PROC_NULL, 1, w, NULL, &s));
    NULL_IN(MPI_Improbe(0, 1, w, NULL, &m, &s));
    NULL_IN(MPI_Improbe(0, 1, w, &n, NULL, &s));
    NULL_IN(MPI_Mrecv(x, 1, MPI_INT, NULL, &s));
    NULL_IN(MPI_Imrecv(x, 1, MPI_INT, NULL, &q));
    NULL_IN(MPI_Imrecv(x, 1, MPI_INT, &m, NULL));
    NULL_IN(MPI_Ibarrier(w, NULL));
    NULL_IN(MPI_Ibcast(x, 1, MPI_INT, 0, w, NULL));
    NULL_IN(MPI_Iallreduce(x, x + 2, 1, MPI_INT, MPI_SUM, w, NULL));
    NULL_IN(MPI_Buffer_detach(NULL, &n));
    NULL_IN(MPI_Buffer_detach(text, NULL));
    CHECK(m == MPI_MESSAGE_NO_PROC, "a refused call has taken the message");
    MPI(MPI_Barrier(w));
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &there, MPI_STATUS_IGNORE));
    CHECK(!there, "a refused send has sent");
    MPI(MPI_Barrier(w));
}

static void requests(MPI_Comm w)
{
    const int to = (rank + 1) % size, from = (rank - 1 + size) % size;
    int in[2] = {-1, -1};

    for (int i = 0; i < 2; i++)
        MPI(MPI_Irecv(&in[i], 1, MPI_INT, from, i, w, &r[i]));
    for (int i = 0; i < 2; i++)
        MPI(MPI_Send(&rank, 1, MPI_INT, to, i, w));
    NULL_IN(MPI_Wait(NULL, &s));
    NULL_IN(MPI_Test(NULL, &n, &s));
    NULL_IN(MPI_Test(&r[0], NULL, &s));
    NULL_IN(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Testall(2, NULL, &n, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Testall(2, r, NULL, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Waitany(2, NULL, &n, &s));
    NULL_IN(MPI_Waitany(2, r, NULL, &s));
    NULL_IN(MPI_Testany(2, NULL, &n, &n, &s));
    NULL_IN(MPI_Testany(2, r, NULL, &n, &s));
    NULL_IN(MPI_Testany(2, r, &n, NULL, &s));
    NULL_IN(MPI_Waitsome(2, NULL, &n, x, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Waitsome(2, r, NULL, x, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Waitsome(2, r, &n, NULL, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Testsome(2, NULL, &n, x, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Testsome(2, r, NULL, x, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Testsome(2, r, &n, NULL, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Request_get_status(MPI_REQUEST_NULL, NULL, &s));
    NULL_IN(MPI_Request_free(NULL));
    NULL_IN(MPI_Cancel(NULL));
    CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL, "a refused call has ended one");
    MPI(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK(in[0] == from && in[1] == from, "%d and %d in place of %d", in[0], in[1], from);
    /* Where there is nothing, null may stand for it. */
    MPI(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    MPI(MPI_Waitsome(0, NULL, &n, NULL, MPI_STATUSES_IGNORE));
    CHECK(n == MPI_UNDEFINED, "%d of no requests", n);
}

#ifdef MPI_ABI_VERSION /* newer than the libraries around */
static void others(MPI_Comm w)
{
    NULL_IN(MPI_Abi_get_version(NULL, &n));
    NULL_IN(MPI_Abi_get_version(&n, NULL));
    NULL_IN(MPI_Abi_get_info(NULL));
    NULL_IN(MPI_Abi_get_fortran_info(NULL));
    NULL_IN(MPI_Abi_get_fortran_booleans(4, NULL, x, &n));
    NULL_IN(MPI_Abi_get_fortran_booleans(4, x, NULL, &n));
    NULL_IN(MPI_Abi_get_fortran_booleans(4, x, x + 1, NULL));
    NULL_IN(MPI_Abi_set_fortran_booleans(4, x, NULL));
    NULL_IN(MPI_Get_hw_resource_info(NULL));
    NULL_IN(MPI_Pack_external(NULL, x, 1, MPI_INT, text, 8, &address));
    NULL_IN(MPI_Pack_external("external32", x, 1, MPI_INT, text, 8, NULL));
    NULL_IN(MPI_Pack_external_c("external32", x, 1, MPI_INT, text, 8, NULL));
    NULL_IN(MPI_Unpack_external(NULL, text, 8, &address, x, 1, MPI_INT));
    NULL_IN(MPI_Unpack_external("external32", text, 8, NULL, x, 1, MPI_INT));
    NULL_IN(MPI_Unpack_external_c("external32", text, 8, NULL, x, 1, MPI_INT));
    NULL_IN(MPI_Pack_external_size(NULL, 1, MPI_INT, &address));
    NULL_IN(MPI_Pack_external_size("external32", 1, MPI_INT, NULL));
    NULL_IN(MPI_Pack_external_size_c("external32", 1, MPI_INT, NULL));
    NULL_IN(MPI_Type_create_f90_integer(9, NULL));
    NULL_IN(MPI_Type_create_f90_real(6, 30, NULL));
    NULL_IN(MPI_Type_create_f90_complex(6, 30, NULL));
    NULL_IN(MPI_Psend_init(x, 1, 1, MPI_INT, 0, 1, w, MPI_INFO_NULL, NULL));
    NULL_IN(MPI_Precv_init(x, 1, 1, MPI_INT, 0, 1, w, MPI_INFO_NULL, NULL));
    NULL_IN(MPI_Parrived(MPI_REQUEST_NULL, 0, NULL));
    NULL_IN(MPI_Pready_list(1, NULL, MPI_REQUEST_NULL));
    NULL_IN(MPI_Buffer_iflush(NULL));
    NULL_IN(MPI_Comm_iflush_buffer(w, NULL));
    NULL_IN(MPI_Comm_detach_buffer(w, NULL, &n));
    NULL_IN(MPI_Comm_detach_buffer(w, text, NULL));
    NULL_IN(MPI_Comm_detach_buffer_c(w, NULL, &wide));
    NULL_IN(MPI_Isend_c(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Issend_c(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Irsend_c(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Ibsend_c(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Irecv_c(x, 1, MPI_INT, 0, 1, w, NULL));
    NULL_IN(MPI_Mrecv_c(x, 1, MPI_INT, NULL, &s));
    NULL_IN(MPI_Imrecv_c(x, 1, MPI_INT, NULL, &q));
    NULL_IN(MPI_Imrecv_c(x, 1, MPI_INT, &m, NULL));
    NULL_IN(MPI_Buffer_detach_c(NULL, &wide));
    NULL_IN(MPI_Buffer_detach_c(text, NULL));
    NULL_IN(MPI_Ibcast_c(x, 1, MPI_INT, 0, w, NULL));
    NULL_IN(MPI_Ireduce(x, x + 2, 1, MPI_INT, MPI_SUM, 0, w, NULL));
    NULL_IN(MPI_Iscan(x, x + 2, 1, MPI_INT, MPI_SUM, w, NULL));
    NULL_IN(MPI_Iexscan(x, x + 2, 1, MPI_INT, MPI_SUM, w, NULL));
    NULL_IN(MPI_Igather(x, 1, MPI_INT, text, 1, MPI_INT, 0, w, NULL));
    NULL_IN(MPI_Iscatter(text, 1, MPI_INT, x, 1, MPI_INT, 0, w, NULL));
    NULL_IN(MPI_Iallgather(x, 1, MPI_INT, text, 1, MPI_INT, w, NULL));
    NULL_IN(MPI_Ialltoall(text, 1, MPI_INT, text, 1, MPI_INT, w, NULL));
    NULL_IN(MPI_Ialltoallv(text, x, x, MPI_INT, text, x, x, MPI_INT, w, NULL));
    NULL_IN(MPI_Get_count_c(NULL, MPI_INT, &wide));
    NULL_IN(MPI_Get_count_c(&s, MPI_INT, NULL));
    NULL_IN(MPI_Get_elements_c(NULL, MPI_INT, &wide));
    NULL_IN(MPI_Get_elements_c(&s, MPI_INT, NULL));
    NULL_IN(MPI_Status_get_source(NULL, &n));
    NULL_IN(MPI_Status_get_source(&s, NULL));
    NULL_IN(MPI_Status_get_tag(NULL, &n));
    NULL_IN(MPI_Status_get_tag(&s, NULL));
    NULL_IN(MPI_Status_get_error(NULL, &n));
    NULL_IN(MPI_Status_get_error(&s, NULL));
    NULL_IN(MPI_Status_set_source(NULL, 1));
    NULL_IN(MPI_Status_set_tag(NULL, 1));
    NULL_IN(MPI_Status_set_error(NULL, 1));
    NULL_IN(MPI_Status_set_elements_c(NULL, MPI_INT, 1));
    NULL_IN(MPI_Type_size_c(MPI_INT, NULL));
    NULL_IN(MPI_Type_get_extent_c(MPI_INT, NULL, &wide));
    NULL_IN(MPI_Type_get_extent_c(MPI_INT, &wide, NULL));
    NULL_IN(MPI_Type_get_true_extent_c(MPI_INT, NULL, &wide));
    NULL_IN(MPI_Type_get_true_extent_c(MPI_INT, &wide, NULL));
    NULL_IN(MPI_Type_get_true_extent_x(MPI_INT, NULL, &wide));
    r[0] = r[1] = MPI_REQUEST_NULL;
    NULL_IN(MPI_Request_get_status_all(2, NULL, &n, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Request_get_status_all(2, r, NULL, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Request_get_status_any(2, NULL, &n, &n, &s));
    NULL_IN(MPI_Request_get_status_any(2, r, NULL, &n, &s));
    NULL_IN(MPI_Request_get_status_any(2, r, &n, NULL, &s));
    NULL_IN(MPI_Request_get_status_some(2, NULL, &n, x, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Request_get_status_some(2, r, NULL, x, MPI_STATUSES_IGNORE));
    NULL_IN(MPI_Request_get_status_some(2, r, &n, NULL, MPI_STATUSES_IGNORE));
}
#endif

static int raised;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    raised += *comm == MPI_COMM_WORLD;
}

/* The error handler of the communicator that a call names learns of its other arguments. */
static void handlers(void)
{
    MPI_Errhandler handler;

    MPI(MPI_Comm_create_errhandler(note, &handler));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    NULL_IN(MPI_Comm_size(MPI_COMM_WORLD, NULL));
    NULL_IN(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, NULL));
    NULL_IN(MPI_Irecv(x, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, NULL));
    CHECK(raised == 3, "the handler of MPI_COMM_WORLD was called %d times for 3 null pointers", raised);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Errhandler_free(&handler));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    memset(&s, 0, sizeof s);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    whatever(MPI_COMM_WORLD);
    messages(MPI_COMM_WORLD);
    requests(MPI_COMM_WORLD);
#ifdef MPI_ABI_VERSION
    others(MPI_COMM_WORLD);
#endif
    handlers();
    return end("nulls");
}
