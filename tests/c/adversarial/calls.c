/* calls.c - calls of all functions with arguments that a seed draws: handles that are
 * good, null, freed, of another kind or made up, counts, ranks and tags of all sizes,
 * and memory that is there for whatever call may be accepted. No call may do anything
 * but succeed or return an error of a class; what could wait for ever by the rules is not
 * drawn. `./calls all_calls SEED COUNT` makes other calls, `say` behind them names each
 * before it is made, `count` tells how many of each function succeeded. */
#include "trial.h"

static uint64_t seed = 1, state;
static long calls = 60000;
static int names_calls, tells_counts;

/* ---- Drawing ------------------------------------------------------------------------- */

static uint64_t draw(void)
{
    uint64_t x = (state += 0x9E3779B97F4A7C15u);

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static int below(int bound)
{
    return (int)(draw() % (uint64_t)bound);
}

/* Few arguments are wrong at once, or no call would come far. */
static int odd(void)
{
    return below(24) == 0;
}

static int any_number(void)
{
    static const int numbers[] = {0,    1,    2,    3,     7,       8,       -1,          -2,      -3,     -4,
                                  100,  1000, 4096, 65536, 1 << 20, 1 << 30, 1 << 24,     INT_MAX, INT_MIN, -32766,
                                  0x101, 0x102, 501, 221,  16383,   16384,   INT_MAX - 1, 62,      -100,   55};

    return below(3) ? below(6) - 1 : below(8) ? numbers[below(LENGTH(numbers))] : (int)draw();
}

static MPI_Count any_count(void)
{
    static const MPI_Count large[] = {INT64_MAX,     INT64_MIN,     1LL << 31, (1LL << 31) - 1, 1LL << 32,
                                      1LL << 62,     -(1LL << 31),  1LL << 40, INT64_MAX / 4,   -(1LL << 40),
                                      INT64_MAX - 1, 1LL << 33 | 1, INT64_MIN + 1};

    return below(6) ? below(12) : below(3) ? any_number() : large[below(LENGTH(large))];
}

/* ---- Handles -------------------------------------------------------------------------- */

enum { COMM, GROUP, TYPE, OP, REQUEST, MESSAGE, INFO, ERRHANDLER, KINDS };
enum { ROOM = 14 };

static const intptr_t nulls[KINDS] = {
    (intptr_t)MPI_COMM_NULL,    (intptr_t)MPI_GROUP_NULL,   (intptr_t)MPI_DATATYPE_NULL,
    (intptr_t)MPI_OP_NULL,      (intptr_t)MPI_REQUEST_NULL, (intptr_t)MPI_MESSAGE_NULL,
    (intptr_t)MPI_INFO_NULL,    (intptr_t)MPI_ERRHANDLER_NULL};

/* What has been made; who frees a handle does not tell, so some are stale. */
static intptr_t pool[KINDS][ROOM];
static MPI_Comm quiet;

static intptr_t predefined(int kind)
{
    static const MPI_Datatype datatypes[] = {MPI_INT,   MPI_CHAR,       MPI_DOUBLE,      MPI_BYTE, MPI_DOUBLE_INT,
                                             MPI_SHORT, MPI_LONG_DOUBLE, MPI_C_BOOL,      MPI_2INT, MPI_PACKED,
                                             MPI_FLOAT, MPI_INT64_T,    MPI_LONG_DOUBLE_INT, MPI_INTEGER,
                                             MPI_C_DOUBLE_COMPLEX, MPI_SHORT_INT, MPI_AINT, MPI_LOGICAL};
    static const MPI_Op operations[] = {MPI_SUM, MPI_MIN,  MPI_MAX,    MPI_PROD,   MPI_BAND,    MPI_BOR, MPI_BXOR,
                                        MPI_LAND, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};

    switch (kind) {
    case COMM:
        return (intptr_t)(below(2) ? MPI_COMM_WORLD : MPI_COMM_SELF);
    case GROUP:
        return (intptr_t)MPI_GROUP_EMPTY;
    case TYPE:
        return (intptr_t)datatypes[below(LENGTH(datatypes))];
    case OP:
        return (intptr_t)operations[below(LENGTH(operations))];
    case MESSAGE:
        return (intptr_t)MPI_MESSAGE_NO_PROC;
    case INFO:
        return (intptr_t)MPI_INFO_ENV;
    case ERRHANDLER:
        return (intptr_t)MPI_ERRORS_RETURN;
    default:
        return nulls[kind];
    }
}

/* Returns a handle, and its place in the pool or -1. */
static intptr_t handle_at(int kind, int *place)
{
    intptr_t it;

    *place = -1;
    if (odd())
        it = below(2) ? nulls[kind] : below(2) ? any_number() : pool[below(KINDS)][below(ROOM)];
    else if ((kind == COMM || kind == TYPE || kind == OP) && below(2))
        it = predefined(kind);
    else if (below(20) == 0)
        it = predefined(kind);
    else
        it = pool[kind][*place = below(ROOM)];
    /* An error must not end the job, and some calls need a communicator without other traffic. */
    if (it == (intptr_t)quiet || it == (intptr_t)MPI_ERRORS_ARE_FATAL || it == (intptr_t)MPI_ERRORS_ABORT)
        it = nulls[kind];
    return it;
}

static intptr_t handle(int kind)
{
    int place;

    return handle_at(kind, &place);
}

/* ---- Memory ---------------------------------------------------------------------------- */

/* Accepted calls stay this near to the middle of an arena. */
enum { NEAR = 1 << 16, MIDDLE = 1 << 22 };

static char arena[2][2 * MIDDLE];
static char attached_memory[1 << 20];

static int is_near(MPI_Count it)
{
    return it <= NEAR && it >= -NEAR;
}

/* Whether a call with that count and datatype stays inside, or must be refused. */
static int fits(MPI_Count count, MPI_Datatype datatype)
{
    MPI_Count lower, extent, true_lower, true_extent, size;

    if (count <= 0 || MPI_Type_get_true_extent_c(datatype, &true_lower, &true_extent) != MPI_SUCCESS
        || MPI_Type_get_extent_c(datatype, &lower, &extent) != MPI_SUCCESS
        || MPI_Type_size_c(datatype, &size) != MPI_SUCCESS)
        return 1;
    return is_near(extent) && is_near(true_lower) && is_near(true_extent) && is_near(size)
           && (count <= 1 || (extent == 0 ? 1 : (count - 1) <= NEAR / (extent < 0 ? -extent : extent)))
           && (size == 0 || count <= NEAR / size);
}

static int is_absolute(MPI_Datatype datatype)
{
    MPI_Count lower, extent;

    return MPI_Type_get_true_extent_c(datatype, &lower, &extent) == MPI_SUCCESS && lower != 0;
}

/* ---- Arguments --------------------------------------------------------------------------- */

#define COUNTED(C)                                                                                       \
    {                                                                                                    \
        C n1, n2, items, block, stride, room, position;                                                  \
        C a1[16], b1[16], a2[16], b2[16], l1[16], l2[16], l3[16], result[8];                             \
    }
struct plain COUNTED(int);
struct large COUNTED(MPI_Count);

static struct plain plain;
static struct large large;
static char *in, *out;
static MPI_Comm c, c2, comm, delayed[8], lonely;
static MPI_Group g, g2, group;
static MPI_Datatype t, u, old, type, types[16], types2[16], contents[64];
static MPI_Op op, operation;
static MPI_Info info, made_info;
static MPI_Errhandler e, errhandler;
static MPI_Request made, several[8];
static int several_at[8];
static MPI_Message message, held;
static int held_at;
static MPI_Status status, statuses[8];
static int peer, from, tag, tag2, root, to_me, flag, number, n, dims, order, size1, split_type, code, key, text_room;
static int nums[16], nums2[16], nums3[16], rising[16], distributions[16], ranges[8][3], limits[3];
static int outs[64], outs2[64], outs3[64], outs4[64], i1, i2, i3, i4, keyval, keys[8], added_class, added_code;
static MPI_Aint far[16], near[16], near2[16], fars[64];
static MPI_Count far_result, far_result2, fars2[64];
static void *attribute, *value;
static const char *text, *text2;
static char text_out[MPI_MAX_LIBRARY_VERSION_STRING];
static int bsent, is_persistent;

/* Returns arrays that last as long as the persistent request that has them. */
static void *kept(void *memory, size_t bytes)
{
    return is_persistent ? memcpy(malloc(bytes), memory, bytes) : memory;
}

#define KEPT(array) ((__typeof__(&*(array)))kept(array, sizeof *(array) * 16))

static int any_rank(void)
{
    return below(3) ? 0 : below(3) ? MPI_PROC_NULL : below(3) ? MPI_ANY_SOURCE : any_number();
}

static int any_tag(void)
{
    return below(6) ? below(3) : below(2) ? MPI_ANY_TAG : any_number();
}

static const char *any_text(void)
{
    static char long_text[2000];
    static const char *const texts[] = {"a", "key", "", "value", "host", "mpi_memory_alloc_kinds", long_text,
                                        long_text + 1700, " ", "thread_level", "mpi_hw_resource_type"};

    memset(long_text, 'x', sizeof long_text - 1);
    return odd() ? NULL : texts[below(LENGTH(texts))];
}

static char *any_buffer(int side, int may_be_null)
{
    if (may_be_null && below(12) == 0)
        return below(2) ? NULL : (char *)MPI_IN_PLACE;
    return arena[side] + MIDDLE + below(64);
}

/* Draws all arguments. `counted` is whether counts may exceed an int, `to_nobody` whether no
 * message is meant to have a partner, so that no memory is touched. */
static void draw_arguments(int counted, int to_nobody)
{
    struct large *z = &large;
    const int lists = below(4);

    c = (MPI_Comm)handle(COMM), c2 = (MPI_Comm)handle(COMM);
    g = (MPI_Group)handle(GROUP), g2 = (MPI_Group)handle(GROUP);
    t = (MPI_Datatype)handle(TYPE), u = below(2) ? t : (MPI_Datatype)handle(TYPE);
    op = (MPI_Op)handle(OP);
    info = (MPI_Info)handle(INFO), e = (MPI_Errhandler)handle(ERRHANDLER);
    if (below(3) == 0)
        info = MPI_INFO_NULL;
    held = (MPI_Message)handle_at(MESSAGE, &held_at);
    for (int i = 0; i < 8; i++)
        several[i] = (MPI_Request)handle_at(REQUEST, &several_at[i]);
    comm = MPI_COMM_NULL, group = MPI_GROUP_NULL, type = MPI_DATATYPE_NULL, operation = MPI_OP_NULL;
    made_info = MPI_INFO_NULL, errhandler = MPI_ERRHANDLER_NULL, made = MPI_REQUEST_NULL, message = MPI_MESSAGE_NULL;

    peer = to_nobody ? MPI_PROC_NULL : any_rank(), from = to_nobody ? MPI_PROC_NULL : any_rank();
    to_me = to_nobody ? MPI_PROC_NULL : below(8) ? 0 : any_rank();
    if (to_me == MPI_ANY_SOURCE)
        to_me = 0;
    tag = any_tag(), tag2 = below(2) ? tag : any_tag(), root = below(8) ? 0 : any_number();
    flag = below(4) ? below(2) : any_number(), number = any_number();
    n = odd() ? -below(3) : below(9), dims = odd() ? -1 : below(6);
    order = below(8) ? (below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN) : any_number();
    split_type = below(2) ? MPI_COMM_TYPE_SHARED : below(2) ? MPI_COMM_TYPE_HW_UNGUIDED + below(3) : any_number();
    size1 = below(2) ? 1 : any_number();
    code = below(3) ? below(63) : below(2) ? added_code : any_number(), key = below(8) ? keys[below(8)] : any_number();
    if (below(16) == 0)
        key = MPI_TAG_UB + below(7);
    text = any_text(), text2 = any_text(), text_room = below(4) ? below(1100) : -below(3);
    value = below(2) ? (void *)arena : NULL;
    for (int i = 0; i < 16; i++) {
        nums[i] = lists == 0 ? any_number() : lists == 1 ? 0 : below(2);
        nums2[i] = lists == 0 ? any_number() : lists == 1 ? 0 : below(2);
        nums3[i] = below(4) ? 1 : any_number();
        rising[i] = (i ? rising[i - 1] : 0) + (i < 4 ? below(3) : 0) - (odd() ? 1 : 0);
        distributions[i] = below(8) ? MPI_DISTRIBUTE_NONE + below(3) : any_number();
        far[i] = below(2) ? below(200) - 50 : any_count(), near[i] = below(200) - 50, near2[i] = 8 * below(100);
        if (lists == 2 && nums2[i] == 0)
            nums2[i] = MPI_DISTRIBUTE_DFLT_DARG;
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 3; j++)
            ranges[i][j] = odd() ? any_number() : j == 2 ? 1 : 0;
    for (int i = 0; i < 3; i++)
        limits[i] = below(8) ? 64 : below(8) - 2;

    z->n1 = any_count(), z->n2 = below(2) ? z->n1 : any_count();
    z->items = any_count(), z->block = any_count(), z->stride = any_count();
    z->room = below(4) ? below(1000) : below(2) ? -below(3) : below((int)sizeof attached_memory);
    z->position = below(3) ? 0 : any_count();
    for (int i = 0; i < 16; i++) {
        z->a1[i] = any_count(), z->b1[i] = below(9) - 2, z->a2[i] = below(2) ? z->a1[i] : any_count();
        z->b2[i] = below(9) - 2;
        z->l1[i] = any_count(), z->l2[i] = below(4) ? below(9) : any_count(), z->l3[i] = below(4) ? 0 : any_count();
        if (below(3) == 0)
            z->l2[i] = z->l1[i];
    }
#define NARROW(field)           \
    if (!counted)               \
        z->field = (int)z->field
#define NARROWED(field)               \
    for (int i = 0; i < 16; i++)      \
        NARROW(field[i])
    NARROW(n1), (void)0;
    NARROW(n2), (void)0;
    NARROW(items), (void)0;
    NARROW(block), (void)0;
    NARROW(stride), (void)0;
    NARROW(position), (void)0;
    NARROWED(a1);
    NARROWED(a2);
    NARROWED(l1);
    NARROWED(l2);
    NARROWED(l3);
    if (!to_nobody) {
        for (int tries = 0; !fits(z->n1, t) || !fits(z->n2, t) || !fits(z->n1, u) || !fits(z->n2, u); tries++) {
            z->n1 = below(3) - (odd() ? 4 : 0), z->n2 = below(2) ? z->n1 : below(4);
            if (tries > 3)
                t = u = below(2) ? MPI_DATATYPE_NULL : MPI_INT;
        }
    }
    for (int i = 0; i < 16; i++) {
        types[i] = below(2) ? t : below(2) ? (MPI_Datatype)predefined(TYPE) : (MPI_Datatype)handle(TYPE);
        types2[i] = below(2) ? types[i] : (MPI_Datatype)predefined(TYPE);
        if (!fits(1, types[i]))
            types[i] = MPI_CHAR;
        for (int j = 0; j < 4; j++) {
            const MPI_Datatype theirs = j == 0 ? t : j == 1 ? u : j == 2 ? types[i] : types2[i];

            if (!fits(z->a1[i], theirs))
                z->a1[i] = below(2);
            if (!fits(z->a2[i], theirs))
                z->a2[i] = below(2);
            if (!fits(z->a1[i], theirs) || !fits(z->a2[i], theirs))
                z->a1[i] = z->a2[i] = 0;
        }
    }
    old = fits(1, t) ? t : MPI_INT;
    {
        /* MPI_BOTTOM is where displacements begin: no place for items of those datatypes. */
        int may_be_null = !is_absolute(t) && !is_absolute(u);

        for (int i = 0; i < 16; i++)
            may_be_null = may_be_null && !is_absolute(types[i]) && !is_absolute(types2[i]);
        in = any_buffer(0, may_be_null), out = any_buffer(below(8) ? 1 : 0, may_be_null);
    }

#define SAME(field) plain.field = (int)z->field
#define SAME_LIST(field)              \
    for (int i = 0; i < 16; i++)      \
        SAME(field[i])
    SAME(n1), SAME(n2), SAME(items), SAME(block), SAME(stride), SAME(room), SAME(position);
    SAME_LIST(a1);
    SAME_LIST(b1);
    SAME_LIST(a2);
    SAME_LIST(b2);
    SAME_LIST(l1);
    SAME_LIST(l2);
    SAME_LIST(l3);
}

/* ---- Functions of the program ---------------------------------------------------------------- */

static int callbacks_fail = 1;

static int callback_code(void)
{
    return callbacks_fail && below(12) == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy(MPI_Comm of, int k, void *extra, void *was, void *is, int *copied)
{
    (void)of, (void)k, (void)extra;
    *(void **)is = was;
    *copied = below(2);
    return callback_code();
}

static int copy_of_type(MPI_Datatype of, int k, void *extra, void *was, void *is, int *copied)
{
    (void)of;
    return copy(MPI_COMM_NULL, k, extra, was, is, copied);
}

static int forget(MPI_Comm of, int k, void *was, void *extra)
{
    (void)of, (void)k, (void)was, (void)extra;
    return callback_code();
}

static int forget_of_type(MPI_Datatype of, int k, void *was, void *extra)
{
    (void)of;
    return forget(MPI_COMM_NULL, k, was, extra);
}

static MPI_Comm_copy_attr_function *comm_copy(void)
{
    return below(2) ? copy : below(2) ? MPI_COMM_DUP_FN : MPI_COMM_NULL_COPY_FN;
}

static MPI_Comm_delete_attr_function *comm_delete(void)
{
    return below(2) ? forget : MPI_COMM_NULL_DELETE_FN;
}

static MPI_Type_copy_attr_function *type_copy(void)
{
    return below(2) ? copy_of_type : below(2) ? MPI_TYPE_DUP_FN : MPI_TYPE_NULL_COPY_FN;
}

static MPI_Type_delete_attr_function *type_delete(void)
{
    return below(2) ? forget_of_type : MPI_TYPE_NULL_DELETE_FN;
}

/* Touches the first byte of the first item and the last of the last. */
static void user_operation_c(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype)
{
    MPI_Count lower, extent, true_lower, true_extent, last;

    if (MPI_Type_get_true_extent_c(*datatype, &true_lower, &true_extent) != MPI_SUCCESS
        || MPI_Type_get_extent_c(*datatype, &lower, &extent) != MPI_SUCCESS || *len < 0)
        say("wrong:operation");
    else if (*len > 0 && true_extent > 0) {
        last = (*len - 1) * extent + true_lower + true_extent - 1;
        ((char *)inoutvec)[true_lower] ^= ((char *)invec)[true_lower];
        ((char *)inoutvec)[last] ^= ((char *)invec)[last];
    }
}

static void user_operation(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype)
{
    MPI_Count items = *len;

    user_operation_c(invec, inoutvec, &items, datatype);
}

static void on_error(MPI_Comm *of, int *error, ...)
{
    (void)of, (void)error;
}

static int grequest_query(void *extra, MPI_Status *its)
{
    (void)extra;
    MPI_Status_set_elements(its, MPI_INT, below(5));
    MPI_Status_set_cancelled(its, below(2));
    its->MPI_SOURCE = 0, its->MPI_TAG = 0;
    return callback_code();
}

static int grequest_free(void *extra)
{
    (void)extra;
    return callback_code();
}

static int grequest_cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return callback_code();
}

/* ---- Calls that need care --------------------------------------------------------------------- */

/* Leaves only requests on which a wait ends at once. */
static void only_ready(int count)
{
    for (int i = 0; i < count; i++) {
        int done = 0;

        if (MPI_Request_get_status(several[i], &done, IGNORE) == MPI_SUCCESS && !done)
            several[i] = MPI_REQUEST_NULL, several_at[i] = -1;
    }
}

/* A rank that no message goes to. */
static int nobody(void)
{
    return peer == 0 ? MPI_PROC_NULL : peer;
}

/* A rank from which a message is there, or none comes. */
static int come(void)
{
    int found = 0;

    return MPI_Iprobe(peer, tag, c, &found, IGNORE) == MPI_SUCCESS && !found ? MPI_PROC_NULL : peer;
}

typedef int sender(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* A blocking send to this rank, whose receive is posted. */
static int paired(sender *send)
{
    MPI_Request r;
    int error = MPI_Irecv(out, plain.n2, u, 0, tag, quiet, &r);

    if (error == MPI_SUCCESS) {
        error = send(in, plain.n1, t, 0, tag, quiet);
        if (error != MPI_SUCCESS)
            MPI_Cancel(&r);
        MPI_Wait(&r, IGNORE);
    }
    return error;
}

static int allocated(void)
{
    void *memory = NULL;
    const MPI_Aint bytes = below(4) ? below(10000) : any_count();
    const int error = MPI_Alloc_mem(bytes, info, &memory);

    if (error == MPI_SUCCESS && bytes > 0)
        *(char *)memory = 1;
    return error == MPI_SUCCESS ? MPI_Free_mem(memory) : error;
}

static MPI_Comm *fresh(void)
{
    lonely = MPI_COMM_NULL;
    if (!odd())
        MPI_Comm_dup(MPI_COMM_SELF, &lonely);
    return &lonely;
}

/* Receives all messages that are there. */
static void receive_all(MPI_Comm of)
{
    for (;;) {
        MPI_Message m;
        int found = 0;

        if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, of, &found, &m, IGNORE) != MPI_SUCCESS || !found)
            return;
        MPI_Mrecv(arena[1], sizeof arena[1], MPI_BYTE, &m, IGNORE);
    }
}

/* Messages in the attached buffer would never leave it. */
static void keep(void)
{
    if (bsent)
        receive_all(c);
}

static void end_request(MPI_Request *r)
{
    int done = 0;

    MPI_Cancel(r);
    MPI_Grequest_complete(*r);
    for (int i = 0; i < 4 && !done && *r != MPI_REQUEST_NULL; i++)
        if (MPI_Test(r, &done, IGNORE) != MPI_SUCCESS)
            break;
    if (*r != MPI_REQUEST_NULL)
        MPI_Request_free(r);
}

static void end_of(int kind, intptr_t it)
{
    MPI_Comm its_comm = (MPI_Comm)it;
    MPI_Group its_group = (MPI_Group)it;
    MPI_Datatype its_type = (MPI_Datatype)it;
    MPI_Op its_op = (MPI_Op)it;
    MPI_Request its_request = (MPI_Request)it;
    MPI_Message its_message = (MPI_Message)it;
    MPI_Info its_info = (MPI_Info)it;
    MPI_Errhandler its_errhandler = (MPI_Errhandler)it;

    if (it == nulls[kind])
        return;
    switch (kind) {
    case COMM:
        if (bsent)
            receive_all(its_comm);
        for (int i = 0; i < 20 && MPI_Comm_free(&its_comm) != MPI_SUCCESS; i++)
            ;
        break;
    case GROUP:
        MPI_Group_free(&its_group);
        break;
    case TYPE:
        for (int i = 0; i < 20 && MPI_Type_free(&its_type) != MPI_SUCCESS; i++)
            ;
        break;
    case OP:
        MPI_Op_free(&its_op);
        break;
    case REQUEST:
        end_request(&its_request);
        break;
    case MESSAGE:
        MPI_Mrecv(arena[1], sizeof arena[1], MPI_BYTE, &its_message, IGNORE);
        break;
    case INFO:
        MPI_Info_free(&its_info);
        break;
    default:
        MPI_Errhandler_free(&its_errhandler);
    }
}

/* Takes what a call has made, in the place of something else. */
static void adopt(int kind, intptr_t it)
{
    const int place = below(ROOM);

    if (it == nulls[kind] || it == 0)
        return;
    end_of(kind, pool[kind][place]);
    pool[kind][place] = it;
    if (kind == TYPE && below(4)) {
        MPI_Datatype its = (MPI_Datatype)it;

        MPI_Type_commit(&its);
    }
}

static void adopt_all(void)
{
    for (int i = 0; i < 8; i++)
        if (several_at[i] >= 0)
            pool[REQUEST][several_at[i]] = (intptr_t)several[i];
    if (held_at >= 0)
        pool[MESSAGE][held_at] = (intptr_t)held;
    adopt(COMM, (intptr_t)comm);
    for (int i = 0; i < LENGTH(delayed); i++) {
        adopt(COMM, (intptr_t)delayed[i]);
        delayed[i] = MPI_COMM_NULL;
    }
    adopt(GROUP, (intptr_t)group);
    adopt(TYPE, (intptr_t)type);
    adopt(OP, (intptr_t)operation);
    adopt(REQUEST, (intptr_t)made);
    adopt(MESSAGE, (intptr_t)message);
    adopt(INFO, (intptr_t)made_info);
    adopt(ERRHANDLER, (intptr_t)errhandler);
    if (keyval > 0) {
        const int place = below(8);

        MPI_Comm_free_keyval(&keys[place]);
        MPI_Type_free_keyval(&keys[place]);
        keys[place] = keyval;
        keyval = 0;
    }
}

/* Ends all communication. */
static void settle(void)
{
    for (int i = 0; i < ROOM; i++) {
        end_of(REQUEST, pool[REQUEST][i]), pool[REQUEST][i] = nulls[REQUEST];
        end_of(MESSAGE, pool[MESSAGE][i]), pool[MESSAGE][i] = nulls[MESSAGE];
    }
    for (int i = 0; i < ROOM; i++)
        receive_all((MPI_Comm)pool[COMM][i]);
    receive_all(MPI_COMM_WORLD);
    receive_all(MPI_COMM_SELF);
    bsent = 0;
}

/* ---- The table ---------------------------------------------------------------------------------- */

#define NIL(pointer) (odd() ? NULL : (pointer))
#define LIST(array) (odd() ? NULL : (array))
#define C c
#define T t
#define U u
#define OLD old
#define IN in, z->n1, t
#define OUT out, z->n2, u
#define IN_V in, LIST(z->a1), LIST(z->b1), t
#define OUT_V out, LIST(z->a2), LIST(z->b2), u
#define IN_W(places) in, LIST(z->a1), LIST(KEPT(places)), LIST(KEPT(types))
#define OUT_W(places) out, LIST(z->a2), LIST(KEPT(places)), LIST(KEPT(types2))
#define ST (below(2) ? &status : MPI_STATUS_IGNORE)
#define STS (below(2) ? statuses : MPI_STATUSES_IGNORE)
#define MESSAGE_ NIL(&held)
#define WEIGHTS (below(4) ? nums : below(2) ? MPI_UNWEIGHTED : below(2) ? MPI_WEIGHTS_EMPTY : NULL)
#define WEIGHTS_OUT(array) (below(4) ? array : below(2) ? MPI_UNWEIGHTED : NULL)

#define CALL(name, ...)                 \
    static int call_##name(void)        \
    {                                   \
        return name(__VA_ARGS__);       \
    }
#define DO(name, ...)                   \
    static int do_##name(void)          \
    {                                   \
        __VA_ARGS__;                    \
    }
#define BOTH(name, ...)                 \
    static int call_##name(void)        \
    {                                   \
        struct plain *z = kept(&plain, sizeof plain);       \
                                        \
        (void)z;                        \
        return name(__VA_ARGS__);       \
    }                                   \
    static int call_##name##_c(void)    \
    {                                   \
        struct large *z = kept(&large, sizeof large); \
                                        \
        (void)z;                        \
        return name##_c(__VA_ARGS__);   \
    }
#include "calls.h"
#undef CALL
#undef DO
#undef BOTH

#define CALL(name, ...) {#name, call_##name, 0, 0},
#define DO(name, ...) {#name, do_##name, 0, 0},
#define BOTH(name, ...) {#name, call_##name, 0, 0}, {#name "_c", call_##name##_c, 0, 0},

static struct {
    const char *name;
    int (*call)(void);
    long made, succeeded;
} table[] = {
#include "calls.h"
};

static int is_right(int returned)
{
    char words[MPI_MAX_ERROR_STRING];
    int class = -1, length = -1;

    if (returned == MPI_SUCCESS)
        return 1;
    if (MPI_Error_class(returned, &class) != MPI_SUCCESS
        || MPI_Error_string(returned, words, &length) != MPI_SUCCESS)
        return 0;
    return class > 0 && class != MPI_ERR_INTERN && class != MPI_ERR_UNKNOWN
           && (class <= MPI_ERR_ABI || class > MPI_ERR_LASTCODE) && length > 0
           && length == (int)strlen(words);
}

/* As works(), on a communicator without receives whose requests were freed: those take any message. */
static void works_quietly(void)
{
    int one = 1, got = -1, sum = -1;

    must(MPI_Sendrecv(&one, 1, MPI_INT, 0, 9, &got, 1, MPI_INT, 0, 9, quiet, IGNORE));
    must(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, W));
    say(got == 1 && sum == 1 ? "works" : "broken");
}

static void all_calls(void)
{
    state = seed;
    MPI_Comm_dup(MPI_COMM_SELF, &quiet);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < ROOM; i++)
            pool[kind][i] = nulls[kind];
    for (int i = 0; i < LENGTH(delayed); i++)
        delayed[i] = MPI_COMM_NULL;
    for (long i = 0; i < calls; i++) {
        const int which = below(LENGTH(table)), before = bsent;
        const char *name = table[which].name;
        const size_t length = strlen(name);
        const int is_counted = length > 2 && strcmp(name + length - 2, "_c") == 0;
        const int is_message = (strstr(name, "send") || strstr(name, "recv")) && !strstr(name, "mrecv")
                               && !strstr(name, "Mrecv") && !strstr(name, "myself");
        int returned;

        is_persistent = strstr(name, "v_init") || strstr(name, "w_init") || strstr(name, "scatter_init");
        draw_arguments(is_counted, is_message && odd());
        if (names_calls) {
            fprintf(stderr, "%ld %s comm %lx types %lx %lx counts %ld %ld buffers %p %p peer %d tag %d n %d\n", i, name,
                    (long)c, (long)t, (long)u, (long)large.n1, (long)large.n2, (void *)in, (void *)out, peer, tag, n);
        }
        returned = table[which].call();
        if (names_calls && made != MPI_REQUEST_NULL)
            fprintf(stderr, "    request %lx\n", (long)made);
        if (strstr(name, "Start"))
            bsent++;
        table[which].made++;
        table[which].succeeded += returned == MPI_SUCCESS && bsent <= before + 1;
        if (!is_right(returned)) {
            char words[MPI_MAX_ERROR_STRING] = "";
            int its;

            MPI_Error_string(returned, words, &its);
            fprintf(stderr, "seed %lu, call %ld: %s returned %d: %s\n", (unsigned long)seed, i, name, returned, words);
            say("wrong:%s", name);
        }
        adopt_all();
        if (i % 2000 == 1999) {
            settle();
            must(MPI_Allreduce(MPI_IN_PLACE, &i1, 1, MPI_INT, MPI_SUM, quiet));
        }
    }
    /* MPI_Finalize fails if the function of an attribute of MPI_COMM_SELF does. */
    callbacks_fail = 0;
    settle();
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < ROOM; i++)
            end_of(kind, pool[kind][i]);
    if (tells_counts)
        for (int i = 0; i < LENGTH(table); i++)
            fprintf(stderr, "%-40s %8ld %8ld\n", table[i].name, table[i].made, table[i].succeeded);
    works_quietly();
}

static const struct trial trials[] = {TRIAL(all_calls, 1, "works")};

int main(int argc, char **argv)
{
    if (argc > 2)
        seed = strtoul(argv[2], NULL, 0);
    if (argc > 3)
        calls = strtol(argv[3], NULL, 0);
    if (argc > 4)
        tells_counts = strcmp(argv[4], "count") == 0, names_calls = !tells_counts;
    return choose(argc, argv, trials, LENGTH(trials));
}
