/* communicators.c - MPI 5.0, sections 7.4, 7.8 and 11.10: communicators are
 * compared, named, duplicated (also without waiting), made of groups and of
 * resources, and taken down. Any number of ranks, on one host; with an argument each
 * on a host of its own. */
#include "../check.h"

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void refuses(int code, int wanted, const char *what)
{
    CHECK(code != MPI_SUCCESS, "%s succeeds", what);
    CHECK(class_of(code) == wanted, "%s: class %d instead of %d", what, class_of(code), wanted);
}

static void is(MPI_Comm one, MPI_Comm other, int wanted, const char *what)
{
    int result = -1;

    MPI(MPI_Comm_compare(one, other, &result));
    CHECK(result == wanted, "%s: comparison gives %d instead of %d", what, result, wanted);
}

/* Messages and collectives work on the communicator, which has these ranks. */
static void works(MPI_Comm comm, int r_wanted, int n_wanted, const char *what)
{
    int r = -1, n = -1, in = -1, sum = -1, flag = -1;
    MPI_Status status;

    CHECK(comm != MPI_COMM_NULL, "%s is MPI_COMM_NULL", what);
    MPI(MPI_Comm_rank(comm, &r));
    MPI(MPI_Comm_size(comm, &n));
    CHECK(r == r_wanted && n == n_wanted, "%s: rank %d of %d instead of %d of %d", what, r, n, r_wanted,
          n_wanted);
    MPI(MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 3, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                     &status));
    CHECK(in == (r + n - 1) % n && status.MPI_SOURCE == in, "%s: %d came from %d", what, in,
          status.MPI_SOURCE);
    MPI(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == n * (n - 1) / 2, "%s: sum %d", what, sum);
    MPI(MPI_Barrier(comm));
    MPI(MPI_Comm_test_inter(comm, &flag));
    CHECK(flag == 0, "%s is an intercommunicator", what);
}

static void compared(void)
{
    MPI_Comm copy, back, half, parent = MPI_COMM_WORLD;

    is(MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_IDENT, "MPI_COMM_WORLD and itself");
    is(MPI_COMM_SELF, MPI_COMM_SELF, MPI_IDENT, "MPI_COMM_SELF and itself");
    is(MPI_COMM_WORLD, MPI_COMM_SELF, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL, "the two predefined ones");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    is(copy, MPI_COMM_WORLD, MPI_CONGRUENT, "a duplicate");
    is(copy, copy, MPI_IDENT, "a duplicate and itself");
    MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back));
    is(back, copy, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR, "the same ranks backwards");
    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &half));
    is(half, copy, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL, "a part");
    MPI(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL, "a job that no program has spawned has a parent");
    MPI(MPI_Comm_free(&half));
    MPI(MPI_Comm_free(&back));
    MPI(MPI_Comm_disconnect(&copy));
    CHECK(copy == MPI_COMM_NULL, "a disconnected communicator is not MPI_COMM_NULL");
}

static void named(void)
{
    char name[MPI_MAX_OBJECT_NAME], longest[MPI_MAX_OBJECT_NAME];
    int len = -1;
    MPI_Comm copy;

    MPI(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && len == 14, "MPI_COMM_WORLD is %s, %d", name, len);
    MPI(MPI_Comm_get_name(MPI_COMM_SELF, name, &len));
    CHECK(strcmp(name, "MPI_COMM_SELF") == 0 && len == 13, "MPI_COMM_SELF is %s, %d", name, len);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MPI(MPI_Comm_get_name(copy, name, &len));
    CHECK(name[0] == 0 && len == 0, "a duplicate is %s, %d", name, len);
    MPI(MPI_Comm_set_name(copy, "the copy"));
    MPI(MPI_Comm_get_name(copy, name, &len));
    CHECK(strcmp(name, "the copy") == 0 && len == 8, "the copy is %s, %d", name, len);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    MPI(MPI_Comm_set_name(copy, longest));
    MPI(MPI_Comm_get_name(copy, name, &len));
    CHECK(strcmp(name, longest) == 0 && len == (int)sizeof longest - 1, "the longest name has length %d", len);
    MPI(MPI_Comm_set_name(copy, ""));
    MPI(MPI_Comm_get_name(copy, name, &len));
    CHECK(name[0] == 0 && len == 0, "without a name it is %s, %d", name, len);
    MPI(MPI_Comm_set_name(MPI_COMM_WORLD, "all of us"));
    MPI(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len));
    CHECK(strcmp(name, "all of us") == 0 && len == 9, "MPI_COMM_WORLD is now %s, %d", name, len);
    MPI(MPI_Comm_set_name(MPI_COMM_WORLD, "MPI_COMM_WORLD"));
    MPI(MPI_Comm_free(&copy));
}

static void of_groups(void)
{
    MPI_Group world, even, all_back, none;
    MPI_Comm made;
    int *ranks = allocate(sizeof(int) * (size_t)size), n = 0, down[1][3] = {{size - 1, 0, -1}};

    MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < size; i += 2)
        ranks[n++] = i;
    MPI(MPI_Group_incl(world, n, ranks, &even));

    MPI(MPI_Comm_create(MPI_COMM_WORLD, world, &made));
    works(made, rank, size, "made of the whole group");
    is(made, MPI_COMM_WORLD, MPI_CONGRUENT, "made of the whole group");
    MPI(MPI_Comm_free(&made));

    MPI(MPI_Comm_create(MPI_COMM_WORLD, even, &made));
    if (rank % 2)
        CHECK(made == MPI_COMM_NULL, "who is not in the group gets a communicator");
    else {
        works(made, rank / 2, n, "made of the even ranks");
        MPI(MPI_Comm_free(&made));
    }

    MPI(MPI_Group_range_incl(world, 1, down, &all_back));
    MPI(MPI_Comm_create(MPI_COMM_WORLD, all_back, &made));
    works(made, size - 1 - rank, size, "made backwards");
    MPI(MPI_Comm_free(&made));

    /* Two groups in one call. */
    MPI(MPI_Group_free(&even));
    n = 0;
    for (int i = rank % 2; i < size; i += 2)
        ranks[n++] = i;
    MPI(MPI_Group_incl(world, n, ranks, &even));
    MPI(MPI_Comm_create(MPI_COMM_WORLD, even, &made));
    works(made, rank / 2, n, "one of two at once");
    MPI(MPI_Comm_free(&made));

    MPI(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made));
    CHECK(made == MPI_COMM_NULL, "MPI_GROUP_EMPTY gives a communicator");

    /* Only members call; both halves do so at once, and again. */
    for (int turn = 0; turn < 20; turn++) {
        MPI(MPI_Comm_create_group(MPI_COMM_WORLD, even, 5, &made));
        works(made, rank / 2, n, "made by its members");
        MPI(MPI_Comm_free(&made));
    }
    MPI(MPI_Group_difference(world, world, &none));
    MPI(MPI_Group_free(&even));

    /* Groups that overlap, one after the other, beside messages of the program. */
    if (size > 2) {
        int in = -1, out = 100 + rank, to = (rank + 1) % size, from = (rank + size - 1) % size;
        MPI_Request r[2];
        MPI_Status status[2];

        MPI(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]));
        for (int left = 0; left < size; left++) {
            int pair[2] = {left, (left + 1) % size};
            MPI_Group two;

            MPI(MPI_Group_incl(world, 2, pair, &two));
            if (rank == pair[0] || rank == pair[1]) {
                MPI(MPI_Comm_create_group(MPI_COMM_WORLD, two, 0, &made));
                works(made, rank == pair[1], 2, "a pair");
                MPI(MPI_Comm_free(&made));
            }
            MPI(MPI_Group_free(&two));
        }
        MPI(MPI_Isend(&out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &r[1]));
        MPI(MPI_Waitall(2, r, status));
        CHECK(in == 100 + from, "a receive of anything got %d while groups agreed", in);
    }
    MPI(MPI_Group_free(&all_back));
    MPI(MPI_Group_free(&world));
    free(ranks);
}

static void of_types(int apart)
{
    const int half_size = (size + 1 - rank % 2) / 2;
    MPI_Comm made, half;
    MPI_Info info;

    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made));
    works(made, apart ? 0 : rank, apart ? 1 : size, "who shares memory");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made));
    works(made, apart ? 0 : size - 1 - rank, apart ? 1 : size, "who shares memory, backwards");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
    MPI(MPI_Comm_split_type(half, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    works(made, apart ? 0 : rank / 2, apart ? 1 : half_size, "who shares memory in a half");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Comm_free(&half));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0,
                            MPI_INFO_NULL, &made));
    if (rank == 0) {
        works(made, 0, 1, "alone with MPI_COMM_TYPE_SHARED");
        MPI(MPI_Comm_free(&made));
    } else
        CHECK(made == MPI_COMM_NULL, "MPI_UNDEFINED gives a communicator");
    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "mpi_hw_resource_type", "no such thing"));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made));
    CHECK(made == MPI_COMM_NULL, "an unknown resource gives a communicator");
    MPI(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, rank, info, &made));
#ifndef MPICH /* which knows another name */
    works(made, apart ? 0 : rank, apart ? 1 : size, "who shares memory, by name");
#endif
    if (made != MPI_COMM_NULL)
        MPI(MPI_Comm_free(&made));
#ifdef MPI_COMM_TYPE_RESOURCE_GUIDED /* since MPI 4.1 */
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &made));
    works(made, apart ? 0 : rank, apart ? 1 : size, "who shares memory, as a resource");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Info_delete(info, "mpi_hw_resource_type"));
    MPI(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &made));
    works(made, rank, size, "mpi://WORLD");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Info_set(info, "mpi_pset_name", "mpi://SELF"));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &made));
    works(made, 0, 1, "mpi://SELF");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Info_set(info, "mpi_pset_name", "mpi://of nobody"));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &made));
    CHECK(made == MPI_COMM_NULL, "an unknown set of processes gives a communicator");
#endif
    MPI(MPI_Info_free(&info));
    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &made));
    if (made != MPI_COMM_NULL) {
        int n = -1;

        MPI(MPI_Comm_size(made, &n));
        CHECK(n < size, "a finer resource has all %d ranks", n);
        MPI(MPI_Comm_free(&made));
    }
}

/* Duplicates that ranks begin at different times, several at once. */
static void without_waiting(void)
{
    enum { N = 30 };
    MPI_Comm made[N], other, half, nested;
    MPI_Request r[N], one;
    MPI_Status status[N];
    int in = -1, out[N], from = (rank + size - 1) % size;

    MPI(MPI_Comm_idup(MPI_COMM_WORLD, &other, &one));
    MPI(MPI_Wait(&one, MPI_STATUS_IGNORE));
    CHECK(one == MPI_REQUEST_NULL, "the request is not MPI_REQUEST_NULL");
    works(other, rank, size, "a duplicate without waiting");
    is(other, MPI_COMM_WORLD, MPI_CONGRUENT, "a duplicate without waiting");
    for (int i = 0; i < N; i++)
        MPI(MPI_Comm_idup(i % 3 ? other : MPI_COMM_WORLD, &made[i], &r[i]));
    MPI(MPI_Waitall(N, r, status));
    /* Equal envelopes on all of them, received the other way round. */
    for (int i = 0; i < N; i++) {
        out[i] = 1000 * rank + i;
        MPI(MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, 0, made[i], &r[i]));
    }
    for (int i = N - 1; i >= 0; i--) {
        MPI(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made[i], MPI_STATUS_IGNORE));
        CHECK(in == 1000 * from + i, "duplicate %d carried %d", i, in);
    }
    MPI(MPI_Waitall(N, r, status));
    for (int i = 0; i < N; i++) {
        works(made[i], rank, size, "one of many duplicates");
        MPI(MPI_Comm_free(&made[i]));
    }
    /* Not all ranks are in the same call between. */
    MPI(MPI_Comm_split(other, rank % 2, 0, &half));
    MPI(MPI_Comm_idup(half, &nested, &one));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &made[0]));
    MPI(MPI_Wait(&one, MPI_STATUS_IGNORE));
    works(nested, rank / 2, (size + 1 - rank % 2) / 2, "a duplicate of a half");
    works(made[0], rank, size, "a duplicate meanwhile");
    MPI(MPI_Comm_idup(nested, &made[1], &one));
    MPI(MPI_Comm_free(&half));
    MPI(MPI_Wait(&one, MPI_STATUS_IGNORE));
    works(made[1], rank / 2, (size + 1 - rank % 2) / 2, "a duplicate of a duplicate");
    MPI(MPI_Comm_free(&made[0]));
    MPI(MPI_Comm_free(&made[1]));
    MPI(MPI_Comm_free(&nested));
    MPI(MPI_Comm_free(&other));
    /* Many duplicates of one communicator, and of each other. */
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    for (int i = 0; i < N; i++) {
        MPI(MPI_Comm_idup(other, &made[i], &one));
        MPI(MPI_Wait(&one, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < N; i++) {
        works(made[i], rank, size, "a duplicate of a duplicate");
        MPI(MPI_Comm_free(&made[i]));
    }
    for (int i = 0; i < N; i++) {
        MPI(MPI_Comm_idup(other, &made[i], &one));
        MPI(MPI_Comm_free(&other));
        MPI(MPI_Wait(&one, MPI_STATUS_IGNORE));
        other = made[i];
        works(other, rank, size, "the last of a chain");
    }
    MPI(MPI_Comm_free(&other));
    MPI(MPI_Comm_idup(MPI_COMM_SELF, &other, &one));
    MPI(MPI_Wait(&one, MPI_STATUS_IGNORE));
    works(other, 0, 1, "a duplicate of MPI_COMM_SELF");
    MPI(MPI_Comm_free(&other));
}

/* One rank waits in a blocking duplicate of another communicator, while the others
 * have not begun the first one: allowed, as MPI_Comm_idup does not wait. */
static void in_other_orders(void)
{
    MPI_Comm one, other, first, second;
    MPI_Request r;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &one));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    if (rank == 0) {
        MPI(MPI_Comm_idup(one, &first, &r));
        MPI(MPI_Comm_dup(other, &second));
    } else {
        MPI(MPI_Comm_dup(other, &second));
        MPI(MPI_Comm_idup(one, &first, &r));
    }
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    works(first, rank, size, "begun in another order");
    works(second, rank, size, "made in another order");
    MPI(MPI_Comm_free(&first));
    MPI(MPI_Comm_free(&second));
    MPI(MPI_Comm_free(&one));
    MPI(MPI_Comm_free(&other));
}

static void value_of(MPI_Comm comm, const char *key, const char *wanted, const char *what)
{
    char value[64] = "";
    int len = (int)sizeof value, flag = -1;
    MPI_Info info;

    MPI(MPI_Comm_get_info(comm, &info));
    CHECK(info != MPI_INFO_NULL, "%s has no info object", what);
    MPI(MPI_Info_get_string(info, key, &len, value, &flag));
    CHECK(flag && strcmp(value, wanted) == 0, "%s: %s is %s", what, key, flag ? value : "not there");
    MPI(MPI_Info_free(&info));
}

static void hints(void)
{
    MPI_Info info;
    MPI_Comm comm, copy, other;
    MPI_Request r;

    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
    MPI(MPI_Info_set(info, "of nobody", "ignored"));
    MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    works(comm, rank, size, "a duplicate with hints");
    is(comm, MPI_COMM_WORLD, MPI_CONGRUENT, "a duplicate with hints");
    value_of(comm, "mpi_assert_no_any_tag", "false", "a duplicate with hints");
    MPI(MPI_Info_set(info, "mpi_assert_exact_length", "false"));
    MPI(MPI_Comm_set_info(comm, info));
    value_of(comm, "mpi_assert_exact_length", "false", "a communicator with hints");
    MPI(MPI_Comm_dup(comm, &copy));
    value_of(copy, "mpi_assert_exact_length", "false", "its duplicate");
    MPI(MPI_Comm_idup_with_info(comm, info, &other, &r));
    MPI(MPI_Info_free(&info));
    MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    works(other, rank, size, "a duplicate with hints, without waiting");
    value_of(other, "mpi_assert_no_any_tag", "false", "a duplicate with hints, without waiting");
    MPI(MPI_Comm_free(&other));
    MPI(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &other));
    works(other, rank, size, "a duplicate without hints");
    MPI(MPI_Comm_free(&other));
    MPI(MPI_Comm_free(&copy));
    MPI(MPI_Comm_free(&comm));
}

/* Messages under way when the communicator goes: they arrive. */
static void disconnected(void)
{
    MPI_Comm comm;
    MPI_Request r[2];
    MPI_Status status[2];
    int in = -1, to = (rank + 1) % size, from = (rank + size - 1) % size;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Irecv(&in, 1, MPI_INT, from, 0, comm, &r[0]));
    MPI(MPI_Isend(&rank, 1, MPI_INT, to, 0, comm, &r[1]));
    MPI(MPI_Waitall(2, r, status));
    MPI(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL, "a disconnected communicator is not MPI_COMM_NULL");
    CHECK(in == from, "received %d instead of %d", in, from);
}

static void errors(void)
{
    MPI_Comm made = MPI_COMM_NULL, copy, self;
    MPI_Group world;
#ifndef MPICH
    MPI_Info info;
#endif
    int n = -1;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MPI(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
#ifndef MPICH /* which checks that only in its build for debugging */
    refuses(MPI_Comm_remote_size(copy, &n), MPI_ERR_COMM, "the size of no remote group");
    refuses(MPI_Comm_remote_group(copy, &world), MPI_ERR_COMM, "no remote group");
#endif
    refuses(MPI_Comm_test_inter(MPI_COMM_NULL, &n), MPI_ERR_COMM, "a question about MPI_COMM_NULL");
    refuses(MPI_Comm_compare(copy, MPI_COMM_NULL, &n), MPI_ERR_COMM, "a comparison with MPI_COMM_NULL");
    refuses(MPI_Comm_dup(MPI_COMM_NULL, &made), MPI_ERR_COMM, "a duplicate of MPI_COMM_NULL");
    refuses(MPI_Comm_create(copy, MPI_GROUP_NULL, &made), MPI_ERR_GROUP, "a communicator of MPI_GROUP_NULL");
    refuses(MPI_Comm_create_group(copy, MPI_GROUP_NULL, 0, &made), MPI_ERR_GROUP,
            "a communicator of MPI_GROUP_NULL by its members");
    MPI(MPI_Comm_group(copy, &world));
    refuses(MPI_Comm_create_group(copy, world, -1, &made), MPI_ERR_TAG, "a negative tag");
    refuses(MPI_Comm_split_type(copy, -12345, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG, "an unknown type");
    made = MPI_COMM_NULL;
    refuses(MPI_Comm_free(&made), MPI_ERR_COMM, "freeing MPI_COMM_NULL");
    made = MPI_COMM_WORLD;
    CHECK(MPI_Comm_free(&made) != MPI_SUCCESS, "freeing MPI_COMM_WORLD");
    made = MPI_COMM_SELF;
    CHECK(MPI_Comm_free(&made) != MPI_SUCCESS, "freeing MPI_COMM_SELF");
    if (size > 1) {
        MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
        MPI(MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN));
        refuses(MPI_Comm_create(self, world, &made), MPI_ERR_GROUP, "a group of others");
        MPI(MPI_Comm_free(&self));
    }
    MPI(MPI_Group_free(&world));
#ifndef MPICH /* freed handles: it may crash */
    MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
    made = self;
    MPI(MPI_Comm_free(&self));
    refuses(MPI_Comm_free(&made), MPI_ERR_COMM, "freeing a communicator twice");
    refuses(MPI_Comm_set_name(made, "gone"), MPI_ERR_COMM, "a name for a freed communicator");
    refuses(MPI_Comm_get_info(made, &info), MPI_ERR_COMM, "the hints of a freed communicator");
    refuses(MPI_Comm_set_info(copy, (MPI_Info)12345), MPI_ERR_INFO, "hints of no object");
    refuses(MPI_Comm_disconnect(&made), MPI_ERR_COMM, "disconnecting a freed communicator");
#endif
    works(copy, rank, size, "after all errors");
    MPI(MPI_Comm_free(&copy));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    compared();
    named();
    of_groups();
    of_types(argc > 1);
    without_waiting();
    in_other_orders();
    hints();
    disconnected();
    errors();
    works(MPI_COMM_WORLD, rank, size, "MPI_COMM_WORLD");
    return end("communicators");
}
