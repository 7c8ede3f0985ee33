/* intercommunicators.c - MPI 5.0, sections 7.6 and 6.2.3: two groups that share no
 * process talk to each other; their communicator is made, merged, duplicated and
 * split, and collective calls carry what one group has to the other. Any number of
 * ranks, on one host; with an argument each on a host of its own. One rank has nobody
 * to talk to. */
#include "../check.h"

#ifdef MPICH_NAME
/* MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array that is too short. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

/* Ranks of MPI_COMM_WORLD alternate between the groups. */
static int colour, local_rank, local_size, remote_size;
static MPI_Comm local, inter;

/* The rank in MPI_COMM_WORLD of a rank of the local or the remote group. */
static int here(int r)
{
    return 2 * r + colour;
}

static int there(int r)
{
    return 2 * r + 1 - colour;
}

static void refuses(int code, int wanted, const char *what)
{
    int class = -1;

    CHECK(code != MPI_SUCCESS, "%s succeeds", what);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == wanted, "%s: class %d instead of %d", what, class, wanted);
}

static void is(MPI_Comm one, MPI_Comm other, int wanted, const char *what)
{
    int result = -1;

    MPI(MPI_Comm_compare(one, other, &result));
    CHECK(result == wanted, "%s: comparison gives %d instead of %d", what, result, wanted);
}

/* Every member hears from every member of the other group. */
static void talks(MPI_Comm comm, const char *what)
{
    int r = -1, n = -1, far = -1, flag = -1, own;
    int *in;
    MPI_Request *q;

    CHECK(comm != MPI_COMM_NULL, "%s is MPI_COMM_NULL", what);
    MPI(MPI_Comm_test_inter(comm, &flag));
    CHECK(flag == 1, "%s is no intercommunicator", what);
    MPI(MPI_Comm_rank(comm, &r));
    MPI(MPI_Comm_size(comm, &n));
    MPI(MPI_Comm_remote_size(comm, &far));
    CHECK(r >= 0 && r < n && far > 0, "%s: rank %d of %d, and %d", what, r, n, far);
    own = 1000 * colour + r;
    in = allocate(far * sizeof *in);
    q = allocate(2 * far * sizeof *q);
    for (int i = 0; i < far; i++) {
        MPI(MPI_Irecv(in + i, 1, MPI_INT, i, 5, comm, q + i));
        MPI(MPI_Isend(&own, 1, MPI_INT, i, 5, comm, q + far + i));
    }
    MPI(MPI_Waitall(2 * far, q, MPI_STATUSES_IGNORE));
    for (int i = 0; i < far; i++)
        CHECK(in[i] == 1000 * (1 - colour) + i, "%s: %d came from %d", what, in[i], i);
    free(q);
    free(in);
}

static void has(MPI_Group group, int n_wanted, int (*world_rank)(int), const char *what)
{
    MPI_Group world;
    int n = -1;

    MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI(MPI_Group_size(group, &n));
    CHECK(n == n_wanted, "%s has %d members instead of %d", what, n, n_wanted);
    for (int i = 0; i < n; i++) {
        int at = -1;

        MPI(MPI_Group_translate_ranks(group, 1, &i, world, &at));
        CHECK(at == world_rank(i), "%s: member %d is %d instead of %d", what, i, at, world_rank(i));
    }
    MPI(MPI_Group_free(&world));
    MPI(MPI_Group_free(&group));
}

static void made(void)
{
    int flag = -1, n = -1;
    MPI_Comm peers, other, back, turned, parent = MPI_COMM_WORLD;
    MPI_Group group;

    MPI(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
    CHECK(flag == 0, "MPI_COMM_WORLD is an intercommunicator");
    MPI(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag == 1, "what MPI_Intercomm_create makes is none");
    MPI(MPI_Comm_rank(inter, &n));
    CHECK(n == local_rank, "rank %d instead of %d", n, local_rank);
    MPI(MPI_Comm_size(inter, &n));
    CHECK(n == local_size, "%d ranks instead of %d", n, local_size);
    MPI(MPI_Comm_remote_size(inter, &n));
    CHECK(n == remote_size, "%d remote ranks instead of %d", n, remote_size);
    MPI(MPI_Comm_group(inter, &group));
    has(group, local_size, here, "the local group");
    MPI(MPI_Comm_remote_group(inter, &group));
    has(group, remote_size, there, "the remote group");
    MPI(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL, "the job has a parent");
    talks(inter, "the first");

    /* Other leaders, another communicator between them, another tag. */
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &peers));
    MPI(MPI_Intercomm_create(local, local_size - 1, local_rank == local_size - 1 ? peers : MPI_COMM_NULL,
                             local_rank == local_size - 1 ? there(remote_size - 1) : -77, 12, &other));
    talks(other, "that of other leaders");
    is(inter, inter, MPI_IDENT, "one and itself");
    is(inter, other, MPI_CONGRUENT, "two of the same groups");
    is(inter, local, MPI_UNEQUAL, "an intercommunicator and its local group");
    is(MPI_COMM_WORLD, inter, MPI_UNEQUAL, "MPI_COMM_WORLD and an intercommunicator");
    MPI(MPI_Comm_split(local, 0, -local_rank, &back));
    MPI(MPI_Intercomm_create(back, 0, peers, there(remote_size - 1), 0, &turned));
    talks(turned, "that of turned groups");
    is(inter, turned, size == 2 ? MPI_CONGRUENT : MPI_SIMILAR, "the same groups backwards");
    MPI(MPI_Comm_free(&turned));
    MPI(MPI_Comm_free(&back));
    MPI(MPI_Comm_disconnect(&other));
    CHECK(other == MPI_COMM_NULL, "a disconnected one is not null");
    MPI(MPI_Comm_free(&peers));
}

/* Groups of which not every process is in one. */
static void few(void)
{
    MPI_Comm pair = MPI_COMM_NULL;
    int in = 0, out = rank + 1, n = -1;

    if (rank < 2) {
        MPI(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 3, &pair));
        MPI(MPI_Comm_remote_size(pair, &n));
        CHECK(n == 1, "a pair has %d at the other side", n);
        MPI(MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, pair, MPI_STATUS_IGNORE));
        CHECK(in == 2 - rank, "%d came from the other one", in);
        MPI(MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, pair));
        CHECK(in == 2 - rank, "%d is the sum of the other one", in);
        MPI(MPI_Comm_free(&pair));
    }
}

static void messages(void)
{
    int out = here(local_rank), in = -1, flag = 0, sum = 0, attached = 0;
    int partner = local_rank % remote_size;
    /* Several ranks of a larger group have one partner. */
    int callers = 0;
    char room[1000 + MPI_BSEND_OVERHEAD];
    void *buffer;
    MPI_Status status;
    MPI_Message message;
    MPI_Request q[2];

    /* Everybody sends to one partner; the senders are found by MPI_ANY_SOURCE. */
    for (int r = 0; r < remote_size; r++)
        callers += r % local_size == local_rank;
    MPI(MPI_Isend(&out, 1, MPI_INT, partner, 8, inter, q));
    for (int i = 0; i < callers; i++) {
        MPI(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
        CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote_size, "source %d", status.MPI_SOURCE);
        CHECK(there(status.MPI_SOURCE) == in, "%d came from %d", in, status.MPI_SOURCE);
        CHECK(status.MPI_SOURCE % local_size == local_rank && status.MPI_TAG == 8, "tag %d", status.MPI_TAG);
        sum += in;
    }
    MPI(MPI_Wait(q, &status));
    for (int r = 0; r < remote_size; r++)
        sum -= r % local_size == local_rank ? there(r) : 0;
    CHECK(sum == 0, "the senders differ by %d", sum);

    /* The first ranks of both groups, in every form. */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (local_rank == 0) {
        in = -1;
        if (colour == 0) {
            MPI(MPI_Ssend(&out, 1, MPI_INT, 0, 20, inter));
            MPI(MPI_Send(&out, 1, MPI_INT, 0, 21, inter));
            MPI(MPI_Send(&out, 1, MPI_INT, 0, 22, inter));
            MPI(MPI_Send(&out, 1, MPI_INT, 0, 23, inter));
            MPI(MPI_Buffer_attach(room, sizeof room));
            MPI(MPI_Bsend(&out, 1, MPI_INT, 0, 24, inter));
            MPI(MPI_Buffer_detach(&buffer, &attached));
            MPI(MPI_Recv(&in, 1, MPI_INT, 0, 25, inter, &status));
            CHECK(in == 1 && status.MPI_SOURCE == 0, "%d came from %d", in, status.MPI_SOURCE);
        } else {
            MPI(MPI_Recv(&in, 1, MPI_INT, 0, 20, inter, &status));
            CHECK(in == 0 && status.MPI_SOURCE == 0, "%d came from %d by MPI_Ssend", in, status.MPI_SOURCE);
            MPI(MPI_Probe(MPI_ANY_SOURCE, 21, inter, &status));
            CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 21, "a probe finds %d", status.MPI_SOURCE);
            MPI(MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, 21, inter, MPI_STATUS_IGNORE));
            for (flag = 0; !flag;)
                MPI(MPI_Iprobe(0, 22, inter, &flag, &status));
            CHECK(status.MPI_SOURCE == 0, "MPI_Iprobe finds %d", status.MPI_SOURCE);
            MPI(MPI_Recv(&in, 1, MPI_INT, 0, 22, inter, MPI_STATUS_IGNORE));
            in = -1;
            MPI(MPI_Mprobe(MPI_ANY_SOURCE, 23, inter, &message, &status));
            CHECK(status.MPI_SOURCE == 0, "MPI_Mprobe finds %d", status.MPI_SOURCE);
            MPI(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
            CHECK(in == 0 && status.MPI_SOURCE == 0, "MPI_Mrecv gets %d of %d", in, status.MPI_SOURCE);
            in = -1;
            for (flag = 0; !flag;)
                MPI(MPI_Improbe(0, MPI_ANY_TAG, inter, &flag, &message, &status));
            CHECK(status.MPI_TAG == 24, "MPI_Improbe finds tag %d", status.MPI_TAG);
            MPI(MPI_Imrecv(&in, 1, MPI_INT, &message, q));
            MPI(MPI_Wait(q, &status));
            CHECK(in == 0 && status.MPI_SOURCE == 0, "MPI_Imrecv gets %d of %d", in, status.MPI_SOURCE);
            MPI(MPI_Send(&out, 1, MPI_INT, 0, 25, inter));
        }

        MPI(MPI_Send_init(&out, 1, MPI_INT, 0, 30, inter, q));
        MPI(MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 30, inter, q + 1));
        for (int i = 0; i < 3; i++) {
            MPI_Status both[2];

            in = -1;
            MPI(MPI_Startall(2, q));
            MPI(MPI_Waitall(2, q, both));
            CHECK(in == 1 - colour && both[1].MPI_SOURCE == 0, "start %d: %d came from %d", i, in,
                  both[1].MPI_SOURCE);
        }
        MPI(MPI_Request_free(q));
        MPI(MPI_Request_free(q + 1));

        in = colour + 40;
        MPI(MPI_Sendrecv_replace(&in, 1, MPI_INT, 0, 31, 0, 31, inter, &status));
        CHECK(in == 41 - colour && status.MPI_SOURCE == 0, "MPI_Sendrecv_replace gets %d", in);
    }

    in = -5;
    MPI(MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 1, inter));
    MPI(MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, inter, &status));
    CHECK(in == -5 && status.MPI_SOURCE == MPI_PROC_NULL, "MPI_PROC_NULL gives %d", in);

    /* Messages of other communicators are others. */
    if (local_rank == 0) {
        int pair[2] = {-1, -1}, first = 100 + colour, second = 200 + colour;

        MPI(MPI_Isend(&first, 1, MPI_INT, 1 - colour, 4, MPI_COMM_WORLD, q));
        MPI(MPI_Isend(&second, 1, MPI_INT, 0, 4, inter, q + 1));
        MPI(MPI_Recv(pair + 1, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE));
        MPI(MPI_Recv(pair, 1, MPI_INT, 1 - colour, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
        CHECK(pair[0] == 101 - colour && pair[1] == 201 - colour, "%d and %d came", pair[0], pair[1]);
    }
}

/* The merged communicator has this group first; works() tells in which order. */
static void merged(MPI_Comm comm, int high, int first, const char *what)
{
    MPI_Comm all;
    int n = -1, r = -1, flag = -1, sum = -1, *ranks;
    int first_size = (size + 1 - first) / 2;

    MPI(MPI_Intercomm_merge(comm, high, &all));
    MPI(MPI_Comm_test_inter(all, &flag));
    CHECK(flag == 0, "%s: still an intercommunicator", what);
    MPI(MPI_Comm_size(all, &n));
    MPI(MPI_Comm_rank(all, &r));
    CHECK(n == size, "%s: %d ranks", what, n);
    ranks = allocate(n * sizeof *ranks);
    MPI(MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, all));
    CHECK(ranks[r] == rank, "%s: rank %d is %d", what, r, ranks[r]);
    if (first < 0) {
        first = ranks[0] % 2;
        first_size = (size + 1 - first) / 2;
    }
    for (int i = 0; i < n; i++) {
        int wanted = i < first_size ? 2 * i + first : 2 * (i - first_size) + 1 - first;

        CHECK(ranks[i] == wanted, "%s: rank %d is %d instead of %d", what, i, ranks[i], wanted);
    }
    MPI(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == n * (n - 1) / 2, "%s: sum %d", what, sum);
    MPI(MPI_Barrier(all));
    free(ranks);
    MPI(MPI_Comm_free(&all));
}

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void duplicated(void)
{
    MPI_Comm copy, second;
    MPI_Request q;
    MPI_Info info;
    int key = MPI_KEYVAL_INVALID, value = 9, flag = 0, in = -1;
    int *found = NULL;

    MPI(MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    MPI(MPI_Comm_set_attr(inter, key, &value));
    MPI(MPI_Comm_dup(inter, &copy));
    is(inter, copy, MPI_CONGRUENT, "a duplicate");
    talks(copy, "a duplicate");
    MPI(MPI_Comm_get_attr(copy, key, &found, &flag));
    CHECK(flag && found == &value, "the duplicate has no attribute");
    MPI(MPI_Comm_delete_attr(inter, key));
    MPI(MPI_Comm_dup(copy, &second));
    talks(second, "a duplicate of a duplicate");
    MPI(MPI_Comm_free(&second));
    MPI(MPI_Info_create(&info));
    MPI(MPI_Comm_dup_with_info(copy, info, &second));
    talks(second, "a duplicate with hints");
    MPI(MPI_Info_free(&info));
    MPI(MPI_Comm_free(&second));
    MPI(MPI_Comm_idup(inter, &second, &q));
    MPI(MPI_Wait(&q, MPI_STATUS_IGNORE));
    is(inter, second, MPI_CONGRUENT, "a duplicate without waiting");
    talks(second, "a duplicate without waiting");
    merged(second, colour, 0, "merged duplicate");

    /* A communicator that is freed serves its messages to the end. */
    if (local_rank == 0) {
        MPI_Request both[2];
        int out = 60 + colour;

        MPI(MPI_Irecv(&in, 1, MPI_INT, 0, 2, second, both));
        MPI(MPI_Isend(&out, 1, MPI_INT, 0, 2, second, both + 1));
        MPI(MPI_Comm_free(&second));
        MPI(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        CHECK(in == 61 - colour, "%d came over a freed communicator", in);
    } else
        MPI(MPI_Comm_free(&second));
    CHECK(second == MPI_COMM_NULL, "a freed communicator is not null");
    MPI(MPI_Comm_free(&copy));
    MPI(MPI_Comm_free_keyval(&key));
}

static void divided(void)
{
    MPI_Comm part;
    MPI_Group group, some;
    int n = -1, r = -1, first = 0;
    int least = local_size < remote_size ? local_size : remote_size;

    /* Everybody, backwards. */
    MPI(MPI_Comm_split(inter, 3, -local_rank, &part));
    talks(part, "all of one colour");
    MPI(MPI_Comm_rank(part, &r));
    CHECK(r == local_size - 1 - local_rank, "rank %d by key", r);
    is(part, inter, size == 2 ? MPI_CONGRUENT : MPI_SIMILAR, "all of one colour");
    MPI(MPI_Comm_free(&part));

    /* Pairs of one rank of each group; who has no partner gets nothing. */
    MPI(MPI_Comm_split(inter, local_rank, 0, &part));
    if (local_rank < least) {
        int in = -1;

        MPI(MPI_Comm_size(part, &n));
        CHECK(n == 1, "%d ranks of one colour", n);
        MPI(MPI_Comm_remote_size(part, &n));
        CHECK(n == 1, "%d remote ranks of one colour", n);
        MPI(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE));
        CHECK(in == there(local_rank), "the partner is %d", in);
        MPI(MPI_Comm_free(&part));
    } else
        CHECK(part == MPI_COMM_NULL, "a colour that the other group lacks");
    MPI(MPI_Comm_split(inter, local_rank == 0 ? 1 : MPI_UNDEFINED, 0, &part));
    CHECK((part == MPI_COMM_NULL) == (local_rank > 0), "MPI_UNDEFINED gives a communicator");
    if (part != MPI_COMM_NULL)
        MPI(MPI_Comm_free(&part));
    MPI(MPI_Comm_split(inter, colour, 0, &part));
    CHECK(part == MPI_COMM_NULL, "colours of one group each give a communicator");

    /* Ranks of one host, if it has some of both groups. */
    MPI(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    if (part != MPI_COMM_NULL) {
        talks(part, "ranks of one host");
        MPI(MPI_Comm_free(&part));
    }
    MPI(MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL, "MPI_UNDEFINED gives a communicator of a host");

    /* The last of the local ranks, then none of one group, then all. */
    MPI(MPI_Comm_group(inter, &group));
    first = local_size - 1;
    MPI(MPI_Group_incl(group, 1, &first, &some));
    MPI(MPI_Comm_create(inter, some, &part));
    CHECK((part == MPI_COMM_NULL) == (local_rank != first), "MPI_Comm_create takes the wrong ranks");
    if (part != MPI_COMM_NULL) {
        int in = -1;

        MPI(MPI_Comm_remote_size(part, &n));
        CHECK(n == 1, "%d remote ranks of one", n);
        MPI(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE));
        CHECK(in == there(remote_size - 1), "the other one is %d", in);
        MPI(MPI_Comm_free(&part));
    }
    MPI(MPI_Group_free(&some));
    MPI(MPI_Comm_create(inter, colour == 0 ? group : MPI_GROUP_EMPTY, &part));
    CHECK(part == MPI_COMM_NULL, "a communicator with an empty group");
    MPI(MPI_Comm_create(inter, group, &part));
    talks(part, "that of the whole groups");
    is(part, inter, MPI_CONGRUENT, "that of the whole groups");
    MPI(MPI_Comm_free(&part));
    MPI(MPI_Group_free(&group));
}

/* How a collective call is made. */
enum { BLOCKING, IMMEDIATE, PERSISTENT, MODES };
static int mode;

#ifdef MPI_ABI_VERSION
#define STARTED(name, ...)                                           \
    do {                                                             \
        MPI_Request q_;                                              \
        MPI(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &q_));     \
        for (int start_ = 0; start_ < 2; start_++) {                 \
            MPI(MPI_Start(&q_));                                     \
            MPI(MPI_Wait(&q_, MPI_STATUS_IGNORE));                   \
        }                                                            \
        MPI(MPI_Request_free(&q_));                                  \
    } while (0)
#else /* MPICH 4.0 has no persistent collective calls of these names */
#define STARTED(name, ...) MPI(MPI_##name(__VA_ARGS__))
#endif

#define COLLECTIVE(name, immediate, ...)                             \
    do {                                                             \
        if (mode == BLOCKING)                                        \
            MPI(MPI_##name(__VA_ARGS__));                            \
        else if (mode == IMMEDIATE) {                                \
            MPI_Request q_;                                          \
            MPI(MPI_##immediate(__VA_ARGS__, &q_));                  \
            MPI(MPI_Wait(&q_, MPI_STATUS_IGNORE));                   \
        } else                                                       \
            STARTED(name, __VA_ARGS__);                              \
    } while (0)

/* A buffer that does not count at this rank. MPICH refuses a null pointer there. */
#ifdef MPI_ABI_VERSION
#define UNUSED NULL
#else
static int unused[1];
#define UNUSED unused
#endif

/* What rank r of the world has at place i. */
static int item(int r, int i)
{
    return 1000 * (r + 1) + i % 997;
}

static int *items(int n)
{
    int *p = allocate(n * sizeof *p);

    for (int i = 0; i < n; i++)
        p[i] = item(rank, i);
    return p;
}

static int *room(int n)
{
    int *p = allocate(n * sizeof *p);

    for (int i = 0; i < n; i++)
        p[i] = -1;
    return p;
}

/* The argument of a call whose root is that rank of that group. */
static int root_of(int group, int r)
{
    if (colour != group)
        return r;
    return local_rank == r ? MPI_ROOT : MPI_PROC_NULL;
}

/* The sum of the remote group's items at a place. */
static int remote_sum(int i)
{
    int sum = 0;

    for (int r = 0; r < remote_size; r++)
        sum += item(there(r), i);
    return sum;
}

static void rooted(int group, int r, int n)
{
    int root = root_of(group, r), root_world = 2 * r + group;
    int takes = colour != group, *own, *got, *counts, *places, all = 0;

    own = items(n);
    if (takes)
        for (int i = 0; i < n; i++)
            own[i] = -1;
#ifndef MPI_ABI_VERSION /* MPICH 4.0 broadcasts from the rank of that number in the other group */
    if (mode == IMMEDIATE)
        MPI(MPI_Bcast(root == MPI_PROC_NULL ? UNUSED : own, n, MPI_INT, root, inter));
    else
#endif
        COLLECTIVE(Bcast, Ibcast, root == MPI_PROC_NULL ? UNUSED : own, n, MPI_INT, root, inter);
    for (int i = 0; i < n; i++) {
        int wanted = item(takes ? root_world : rank, i);

        CHECK(own[i] == wanted, "broadcast of %d by %d: %d is %d", n, root_world, i, own[i]);
    }
    free(own);

    own = items(n);
    got = room(n * remote_size);
    COLLECTIVE(Gather, Igather, takes ? own : UNUSED, n, MPI_INT, root == MPI_ROOT ? got : UNUSED, n, MPI_INT, root,
               inter);
    for (int i = 0; i < n * remote_size; i++) {
        int wanted = root == MPI_ROOT ? item(there(i / n), i % n) : -1;

        CHECK(got[i] == wanted, "gather of %d to %d: %d is %d", n, root_world, i, got[i]);
    }
    free(got);
    free(own);

    own = items(n * remote_size);
    got = room(n);
    COLLECTIVE(Scatter, Iscatter, root == MPI_ROOT ? own : UNUSED, n, MPI_INT, takes ? got : UNUSED, n, MPI_INT, root,
               inter);
    for (int i = 0; i < n; i++) {
        int wanted = takes ? item(root_world, local_rank * n + i) : -1;

        CHECK(got[i] == wanted, "scatter of %d by %d: %d is %d", n, root_world, i, got[i]);
    }
    free(got);
    free(own);

    own = items(n);
    got = room(n);
    COLLECTIVE(Reduce, Ireduce, takes ? own : UNUSED, root == MPI_ROOT ? got : UNUSED, n, MPI_INT, MPI_SUM, root,
               inter);
    for (int i = 0; i < n; i++) {
        int wanted = root == MPI_ROOT ? remote_sum(i) : -1;

        CHECK(got[i] == wanted, "reduction of %d to %d: %d is %d", n, root_world, i, got[i]);
    }
    free(got);
    free(own);

    /* Rank i of the other group has i + 1 items, each block one further apart. */
    counts = allocate(remote_size * sizeof *counts);
    places = allocate(remote_size * sizeof *places);
    for (int i = 0; i < remote_size; i++) {
        counts[i] = i + 1;
        places[i] = all + i;
        all += i + 1;
    }
    own = items(local_rank + 1);
    got = room(all + remote_size);
    COLLECTIVE(Gatherv, Igatherv, own, local_rank + 1, MPI_INT, got, counts, places, MPI_INT, root, inter);
    for (int i = 0; i < remote_size; i++)
        for (int j = 0; j <= i + 1; j++) {
            int wanted = root == MPI_ROOT && j <= i ? item(there(i), j) : -1;

            CHECK(got[places[i] + j] == wanted, "gatherv to %d: %d of %d is %d", root_world, j, i,
                  got[places[i] + j]);
        }
    free(got);
    free(own);
    own = items(all + remote_size);
    got = room(local_rank + 2);
    COLLECTIVE(Scatterv, Iscatterv, own, counts, places, MPI_INT, got, local_rank + 1, MPI_INT, root, inter);
    for (int j = 0; j <= local_rank + 1; j++) {
        int before = local_rank * (local_rank + 1) / 2 + local_rank;
        int wanted = takes && j <= local_rank ? item(root_world, before + j) : -1;

        CHECK(got[j] == wanted, "scatterv by %d: %d is %d", root_world, j, got[j]);
    }
    free(got);
    free(own);
    free(places);
    free(counts);
}

/* From rank i to rank j of the world go so many items. */
static int between(int i, int j)
{
    return (2 * i + j) % 4;
}

static void rootless(int n)
{
    int *own, *got, *counts = allocate(4 * remote_size * sizeof *counts), *places = counts + remote_size;
    int *out_counts = places + remote_size, *out_places = out_counts + remote_size;
    /* One group has other amounts than the other. */
    int out_n = n + 2 * colour, in_n = n + 2 * (1 - colour), all = 0, out_all = 0;
    MPI_Datatype *types = allocate(remote_size * sizeof *types);

    own = items(out_n);
    got = room(in_n * remote_size);
    COLLECTIVE(Allgather, Iallgather, own, out_n, MPI_INT, got, in_n, MPI_INT, inter);
    for (int i = 0; i < in_n * remote_size; i++)
        CHECK(got[i] == item(there(i / in_n), i % in_n), "allgather of %d: %d is %d", n, i, got[i]);
    free(got);
    free(own);

    own = items(out_n * remote_size);
    got = room(in_n * remote_size);
    COLLECTIVE(Alltoall, Ialltoall, own, out_n, MPI_INT, got, in_n, MPI_INT, inter);
    for (int i = 0; i < in_n * remote_size; i++) {
        int wanted = item(there(i / in_n), local_rank * in_n + i % in_n);

        CHECK(got[i] == wanted, "alltoall of %d: %d is %d instead of %d", n, i, got[i], wanted);
    }
    free(got);
    free(own);

    for (int i = 0; i < remote_size; i++) {
        counts[i] = i + 1;
        places[i] = all;
        all += i + 1;
    }
    own = items(local_rank + 1);
    got = room(all);
    COLLECTIVE(Allgatherv, Iallgatherv, own, local_rank + 1, MPI_INT, got, counts, places, MPI_INT, inter);
    for (int i = 0; i < remote_size; i++)
        for (int j = 0; j <= i; j++)
            CHECK(got[places[i] + j] == item(there(i), j), "allgatherv: %d of %d is %d", j, i, got[places[i] + j]);
    free(got);
    free(own);

    all = 0;
    for (int i = 0; i < remote_size; i++) {
        counts[i] = between(there(i), rank);
        places[i] = all;
        all += counts[i];
        out_counts[i] = between(rank, there(i));
        out_places[i] = out_all;
        out_all += out_counts[i];
        types[i] = MPI_INT;
    }
    for (int by_types = 0; by_types < 2; by_types++) {
        own = allocate(out_all * sizeof *own);
        for (int i = 0; i < remote_size; i++)
            for (int j = 0; j < out_counts[i]; j++)
                own[out_places[i] + j] = item(rank, 10 * i + j);
        got = room(all);
        if (by_types) {
            int *bytes = allocate(2 * remote_size * sizeof *bytes), *out_bytes = bytes + remote_size;

            for (int i = 0; i < remote_size; i++) {
                bytes[i] = places[i] * (int)sizeof(int);
                out_bytes[i] = out_places[i] * (int)sizeof(int);
            }
            COLLECTIVE(Alltoallw, Ialltoallw, own, out_counts, out_bytes, types, got, counts, bytes, types, inter);
            free(bytes);
        } else
            COLLECTIVE(Alltoallv, Ialltoallv, own, out_counts, out_places, MPI_INT, got, counts, places, MPI_INT,
                       inter);
        for (int i = 0; i < remote_size; i++)
            for (int j = 0; j < counts[i]; j++)
                CHECK(got[places[i] + j] == item(there(i), 10 * local_rank + j), "%s: %d of %d is %d",
                      by_types ? "alltoallw" : "alltoallv", j, i, got[places[i] + j]);
        free(got);
        free(own);
    }

    own = items(n);
    got = room(n);
    COLLECTIVE(Allreduce, Iallreduce, own, got, n, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < n; i++)
        CHECK(got[i] == remote_sum(i), "allreduce of %d: %d is %d", n, i, got[i]);
    free(got);
    free(own);

    /* Both groups get all items, each in blocks of its own. */
    all = n * local_size * remote_size;
    own = items(all);
    got = room(n * remote_size);
    COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, own, got, n * remote_size, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < n * remote_size; i++)
        CHECK(got[i] == remote_sum(local_rank * n * remote_size + i), "reduce_scatter_block of %d: %d is %d", n, i,
              got[i]);
    free(got);
    counts = realloc(counts, local_size * sizeof *counts);
    /* The last rank gets what the others leave. */
    for (int i = 0, rest = all; i < local_size; rest -= counts[i++])
        counts[i] = i + 1 < local_size ? i : rest;
    got = room(counts[local_rank]);
    COLLECTIVE(Reduce_scatter, Ireduce_scatter, own, got, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < counts[local_rank]; i++) {
        int before = local_rank * (local_rank - 1) / 2;

        CHECK(got[i] == remote_sum(before + i), "reduce_scatter of %d: %d is %d", n, i, got[i]);
    }
    free(got);
    free(own);
    free(types);
    free(counts);
}

/* Of two maps x -> a x + b first the right one, then the left one. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    unsigned *left = in, *right = inout;

    (void)type;
    for (int i = 0; i < *len; i++, left += 2, right += 2) {
        right[1] = left[0] * right[1] + left[1];
        right[0] = left[0] * right[0];
    }
}

/* An operation that does not commute takes the ranks of the other group in order. */
static void in_order(void)
{
    unsigned own[2] = {2u * rank + 3u, rank + 1u}, got[2], wanted[2] = {1u, 0u};
    MPI_Datatype map;
    MPI_Op op;

    MPI(MPI_Type_contiguous(2, MPI_UNSIGNED, &map));
    MPI(MPI_Type_commit(&map));
    MPI(MPI_Op_create(compose, 0, &op));
    for (int r = 0; r < remote_size; r++) {
        unsigned right[2] = {2u * there(r) + 3u, there(r) + 1u};
        int one = 1;

        compose(wanted, right, &one, &map);
        memcpy(wanted, right, sizeof right);
    }
    memset(got, 0, sizeof got);
    COLLECTIVE(Allreduce, Iallreduce, own, got, 1, map, op, inter);
    CHECK(memcmp(got, wanted, sizeof got) == 0, "composed %u and %u", got[0], got[1]);
    for (int group = 0; group < 2; group++) {
        memset(got, 0, sizeof got);
        COLLECTIVE(Reduce, Ireduce, own, got, 1, map, op, root_of(group, 0), inter);
        if (root_of(group, 0) == MPI_ROOT)
            CHECK(memcmp(got, wanted, sizeof got) == 0, "composed at the root %u and %u", got[0], got[1]);
    }
    MPI(MPI_Op_free(&op));
    MPI(MPI_Type_free(&map));
}

/* Nobody leaves a barrier before the whole other group is there. */
static void barriers(void)
{
    MPI_Request q;
    int flag = -1, token = 0;

    COLLECTIVE(Barrier, Ibarrier, inter);
    for (int first = 0; first < 2; first++) {
        if (colour == first && local_rank == 0) {
            MPI(MPI_Ibarrier(inter, &q));
            MPI(MPI_Test(&q, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a barrier that nobody else has entered is over");
            MPI(MPI_Send(&token, 1, MPI_INT, 0, 50, inter));
        } else {
            if (colour != first && local_rank == 0)
                MPI(MPI_Recv(&token, 1, MPI_INT, 0, 50, inter, MPI_STATUS_IGNORE));
            MPI(MPI_Ibarrier(inter, &q));
        }
        MPI(MPI_Wait(&q, MPI_STATUS_IGNORE));
    }
}

/* Several operations at once, and two kinds in another order in each group. */
static void overlapping(void)
{
    int in[3] = {-1, -1, -1}, out[3] = {rank, rank + 1, rank + 2};
    MPI_Request q[4];

    for (int i = 0; i < 3; i++)
        MPI(MPI_Iallreduce(out + i, in + i, 1, MPI_INT, MPI_MAX, inter, q + i));
    MPI(MPI_Ibarrier(inter, q + 3));
    MPI(MPI_Waitall(4, q, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++)
        CHECK(in[i] == there(remote_size - 1) + i, "operation %d of several gives %d", i, in[i]);
}

static void wrong_arguments(void)
{
    MPI_Comm made = MPI_COMM_NULL;
    int x = rank, y = -1;
    int dims[1] = {1}, periods[1] = {0};
#ifdef MPI_ABI_VERSION
    int n = -1;
    MPI_Group group;
#endif

    MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    refuses(MPI_Send(&x, 1, MPI_INT, remote_size, 0, inter), MPI_ERR_RANK, "a rank behind the remote group");
    refuses(MPI_Recv(&y, 1, MPI_INT, remote_size, 0, inter, MPI_STATUS_IGNORE), MPI_ERR_RANK,
            "a source behind the remote group");
    refuses(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, there(0), 1, &made), MPI_ERR_COMM,
            "an intercommunicator as the local one");
    refuses(MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM, "MPI_Scan");
    refuses(MPI_Exscan(&x, &y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM, "MPI_Exscan");
    refuses(MPI_Cart_create(inter, 1, dims, periods, 0, &made), MPI_ERR_COMM, "MPI_Cart_create");
    refuses(MPI_Bcast(&x, 1, MPI_INT, MPI_ROOT, local), MPI_ERR_ROOT, "MPI_ROOT of an intracommunicator");
    refuses(MPI_Bcast(&x, 1, MPI_INT, remote_size, inter), MPI_ERR_ROOT, "a root behind the remote group");
#ifdef MPI_ABI_VERSION
    /* MPICH waits, fails itself, or takes it. */
    refuses(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made), MPI_ERR_COMM, "MPI_Intercomm_merge of MPI_COMM_WORLD");
    refuses(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM, "the remote size of MPI_COMM_WORLD");
    refuses(MPI_Comm_remote_group(local, &group), MPI_ERR_COMM, "the remote group of the local communicator");
    refuses(MPI_Intercomm_create(local, local_size, MPI_COMM_WORLD, there(0), 1, &made), MPI_ERR_RANK,
            "a leader behind the local group");
    refuses(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, size, 1, &made), MPI_ERR_RANK,
            "a leader behind the peer communicator");
    refuses(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, here(0), 1, &made), MPI_ERR_RANK, "one leader of both");
    refuses(MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 1, &made), MPI_ERR_COMM, "no peer communicator");
    refuses(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, there(0), -1, &made), MPI_ERR_TAG, "a negative tag");
    refuses(MPI_Allreduce(MPI_IN_PLACE, &y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    refuses(MPI_Comm_create_group(inter, MPI_GROUP_EMPTY, 0, &made), MPI_ERR_COMM, "MPI_Comm_create_group");
    if (size > 2) {
        /* Only a group of several ranks can disagree, but both are told. */
        refuses(MPI_Intercomm_merge(inter, local_rank == 0, &made), MPI_ERR_ARG, "a group that disagrees");
    }
#endif
    CHECK(made == MPI_COMM_NULL, "an error gives a communicator");
    talks(inter, "the communicator after errors");
    MPI(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MAX, inter));
    CHECK(y == there(remote_size - 1), "all-reduce after errors gives %d", y);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (size > 1) {
        colour = rank % 2;
        MPI(MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &local));
        MPI(MPI_Comm_rank(local, &local_rank));
        MPI(MPI_Comm_size(local, &local_size));
        remote_size = size - local_size;
        MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - colour, 7, &inter));
        made();
        few();
        messages();
        merged(inter, colour == 1, 0, "even ranks first");
        merged(inter, colour == 0, 1, "odd ranks first");
        merged(inter, 0, -1, "nobody wants to be second");
        merged(inter, 1, -1, "nobody wants to be first");
        duplicated();
        divided();
        for (mode = 0; mode < MODES; mode++) {
            for (int group = 0; group < 2; group++)
                for (int r = 0; r < (size + 1 - group) / 2; r++)
                    rooted(group, r, r == 0 ? 40000 : 3);
            rootless(1);
            rootless(7000);
            in_order();
            barriers();
        }
        overlapping();
        wrong_arguments();
        MPI(MPI_Comm_free(&inter));
        MPI(MPI_Comm_free(&local));
    }
    return end("intercommunicators");
}
