/* groups.c - MPI 5.0, section 7.3: groups are ordered sets of processes, made of
 * each other without communication. Any number of ranks. */
#include "../check.h"

static MPI_Group world;

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

/* The group has these members, as ranks of MPI_COMM_WORLD, in this order. */
static void has(MPI_Group group, int n, const int *members, const char *what)
{
    int got = -1, own = -1, where = MPI_UNDEFINED;
    int *ranks = allocate(sizeof(int) * (size_t)n), *seen = allocate(sizeof(int) * (size_t)n);

    MPI(MPI_Group_size(group, &got));
    CHECK(got == n, "%s: %d members instead of %d", what, got, n);
    for (int i = 0; i < n; i++) {
        ranks[i] = i;
        seen[i] = -77;
    }
    MPI(MPI_Group_translate_ranks(group, n, ranks, world, seen));
    for (int i = 0; i < n; i++) {
        CHECK(seen[i] == members[i], "%s: member %d is %d instead of %d", what, i, seen[i], members[i]);
        if (members[i] == rank)
            where = i;
    }
    MPI(MPI_Group_rank(group, &own));
    CHECK(own == where, "%s: own rank %d instead of %d", what, own, where);
    free(ranks);
    free(seen);
}

static void is(MPI_Group one, MPI_Group other, int wanted, const char *what)
{
    int result = -1;

    MPI(MPI_Group_compare(one, other, &result));
    CHECK(result == wanted, "%s: comparison gives %d instead of %d", what, result, wanted);
}

static void of_communicators(void)
{
    MPI_Group again, self;
    int n = -1, r = -1;

    MPI(MPI_Group_size(world, &n));
    CHECK(n == size, "the group of MPI_COMM_WORLD has %d members", n);
    MPI(MPI_Group_rank(world, &r));
    CHECK(r == rank, "rank %d in the group of MPI_COMM_WORLD", r);
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &again));
    is(world, again, MPI_IDENT, "two groups of one communicator");
    MPI(MPI_Comm_group(MPI_COMM_SELF, &self));
    has(self, 1, &rank, "the group of MPI_COMM_SELF");
    is(world, self, size == 1 ? MPI_IDENT : MPI_UNEQUAL, "MPI_COMM_WORLD and MPI_COMM_SELF");
    MPI(MPI_Group_free(&again));
    CHECK(again == MPI_GROUP_NULL, "a freed group is not MPI_GROUP_NULL");
    MPI(MPI_Group_free(&self));
    CHECK(self == MPI_GROUP_NULL, "a freed group is not MPI_GROUP_NULL");
}

static void empty(void)
{
    MPI_Group made;
    int n = -1, r = -1, result = -1, zero = 0;

    MPI(MPI_Group_size(MPI_GROUP_EMPTY, &n));
    CHECK(n == 0, "MPI_GROUP_EMPTY has %d members", n);
    MPI(MPI_Group_rank(MPI_GROUP_EMPTY, &r));
    CHECK(r == MPI_UNDEFINED, "rank %d in MPI_GROUP_EMPTY", r);
    MPI(MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &result));
    CHECK(result == MPI_IDENT, "MPI_GROUP_EMPTY differs from itself: %d", result);
    is(MPI_GROUP_EMPTY, world, MPI_UNEQUAL, "none and all");
    MPI(MPI_Group_incl(world, 0, &zero, &made));
    CHECK(made == MPI_GROUP_EMPTY, "a group of no rank is not MPI_GROUP_EMPTY");
    MPI(MPI_Group_incl(world, 0, NULL, &made));
    CHECK(made == MPI_GROUP_EMPTY, "a group of no rank, without an array");
    MPI(MPI_Group_range_incl(world, 0, NULL, &made));
    CHECK(made == MPI_GROUP_EMPTY, "a group of no range is not MPI_GROUP_EMPTY");
    MPI(MPI_Group_difference(world, world, &made));
    CHECK(made == MPI_GROUP_EMPTY, "a group without itself is not MPI_GROUP_EMPTY");
    MPI(MPI_Group_intersection(world, MPI_GROUP_EMPTY, &made));
    CHECK(made == MPI_GROUP_EMPTY, "the intersection with MPI_GROUP_EMPTY");
    MPI(MPI_Group_intersection(MPI_GROUP_EMPTY, world, &made));
    CHECK(made == MPI_GROUP_EMPTY, "the intersection of MPI_GROUP_EMPTY");
    MPI(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &made));
    CHECK(made == MPI_GROUP_EMPTY, "the union of nothing");
    MPI(MPI_Group_union(MPI_GROUP_EMPTY, world, &made));
    is(made, world, MPI_IDENT, "the union with MPI_GROUP_EMPTY");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_difference(world, MPI_GROUP_EMPTY, &made));
    is(made, world, MPI_IDENT, "the difference from MPI_GROUP_EMPTY");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_excl(world, 0, NULL, &made));
    is(made, world, MPI_IDENT, "the group without no rank");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_range_excl(world, 0, NULL, &made));
    is(made, world, MPI_IDENT, "the group without no range");
    MPI(MPI_Group_free(&made));
}

static void chosen(void)
{
    int *backwards = allocate(sizeof(int) * (size_t)size), *rest = allocate(sizeof(int) * (size_t)size);
    int last = size - 1;
    MPI_Group reversed, one, most;

    for (int i = 0; i < size; i++) {
        backwards[i] = last - i;
        rest[i] = i;
    }
    MPI(MPI_Group_incl(world, size, backwards, &reversed));
    has(reversed, size, backwards, "backwards");
    is(reversed, world, size == 1 ? MPI_IDENT : MPI_SIMILAR, "backwards and forwards");
    MPI(MPI_Group_incl(reversed, 1, &last, &one));
    has(one, 1, rest, "the last of the backward group");
    is(one, world, size == 1 ? MPI_IDENT : MPI_UNEQUAL, "one and all");
    MPI(MPI_Group_excl(world, 1, &last, &most));
    has(most, last, rest, "all but the last");
    if (last > 0)
        MPI(MPI_Group_free(&most));
    /* The order of the excluded ranks does not matter. */
    MPI(MPI_Group_excl(world, size, backwards, &most));
    CHECK(most == MPI_GROUP_EMPTY, "the group without all its ranks");
    MPI(MPI_Group_free(&one));
    MPI(MPI_Group_free(&reversed));
    free(backwards);
    free(rest);
}

static void ranges(void)
{
    int *wanted = allocate(sizeof(int) * (size_t)size), n = 0;
    int every_second[1][3] = {{0, size - 1, 2}}, down[1][3] = {{size - 1, 0, -1}};
    int twice[2][3] = {{size - 1, size - 1, 5}, {0, size - 2, 1}};
    MPI_Group made;

    for (int i = 0; i < size; i += 2)
        wanted[n++] = i;
    MPI(MPI_Group_range_incl(world, 1, every_second, &made));
    has(made, n, wanted, "every second");
    MPI(MPI_Group_free(&made));
    n = 0;
    for (int i = 1; i < size; i += 2)
        wanted[n++] = i;
    MPI(MPI_Group_range_excl(world, 1, every_second, &made));
    has(made, n, wanted, "all but every second");
    if (n > 0)
        MPI(MPI_Group_free(&made));
    for (int i = 0; i < size; i++)
        wanted[i] = size - 1 - i;
    MPI(MPI_Group_range_incl(world, 1, down, &made));
    has(made, size, wanted, "a descending range");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_range_excl(world, 1, down, &made));
    CHECK(made == MPI_GROUP_EMPTY, "the group without a range of all");
    if (size > 1) {
        wanted[0] = size - 1;
        for (int i = 1; i < size; i++)
            wanted[i] = i - 1;
        MPI(MPI_Group_range_incl(world, 2, twice, &made));
        has(made, size, wanted, "two ranges");
        MPI(MPI_Group_free(&made));
        MPI(MPI_Group_range_excl(world, 2, twice, &made));
        CHECK(made == MPI_GROUP_EMPTY, "the group without two ranges of all");
    }
    free(wanted);
}

/* Sets of the even ranks and of the lower half. */
static void sets(void)
{
    int *even = allocate(sizeof(int) * (size_t)size), *low = allocate(sizeof(int) * (size_t)size);
    int *wanted = allocate(sizeof(int) * (size_t)size), evens = 0, lows = 0, n = 0;
    MPI_Group a, b, made, other;

    for (int i = 0; i < size; i += 2)
        even[evens++] = i;
    for (int i = size / 2; i >= 0; i--)
        low[lows++] = i;
    MPI(MPI_Group_incl(world, evens, even, &a));
    MPI(MPI_Group_incl(world, lows, low, &b));

    for (int i = 0; i < evens; i++)
        wanted[n++] = even[i];
    for (int i = 0; i < lows; i++)
        if (low[i] % 2)
            wanted[n++] = low[i];
    MPI(MPI_Group_union(a, b, &made));
    has(made, n, wanted, "the union");
    MPI(MPI_Group_union(b, a, &other));
    is(made, other, size == 1 ? MPI_IDENT : MPI_SIMILAR, "unions both ways");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_free(&other));

    n = 0;
    for (int i = 0; i < lows; i++)
        if (low[i] % 2 == 0)
            wanted[n++] = low[i];
    MPI(MPI_Group_intersection(b, a, &made));
    has(made, n, wanted, "the intersection");
    MPI(MPI_Group_free(&made));

    n = 0;
    for (int i = 0; i < lows; i++)
        if (low[i] % 2)
            wanted[n++] = low[i];
    MPI(MPI_Group_difference(b, a, &made));
    has(made, n, wanted, "the difference");
    if (n > 0)
        MPI(MPI_Group_free(&made));

    MPI(MPI_Group_union(a, a, &made));
    is(made, a, MPI_IDENT, "the union with itself");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_intersection(b, b, &made));
    is(made, b, MPI_IDENT, "the intersection with itself");
    MPI(MPI_Group_free(&made));
    MPI(MPI_Group_free(&a));
    MPI(MPI_Group_free(&b));
    free(even);
    free(low);
    free(wanted);
}

static void translated(void)
{
    int first = 0, ranks[2] = {0, MPI_PROC_NULL}, seen[2] = {-5, -5};
    int *all = allocate(sizeof(int) * (size_t)size), *out = allocate(sizeof(int) * (size_t)size);
    MPI_Group one;

    for (int i = 0; i < size; i++) {
        all[i] = i;
        out[i] = -5;
    }
    MPI(MPI_Group_incl(world, 1, &first, &one));
    MPI(MPI_Group_translate_ranks(world, size, all, one, out));
    CHECK(out[0] == 0, "rank 0 is %d in its own group", out[0]);
    for (int i = 1; i < size; i++)
        CHECK(out[i] == MPI_UNDEFINED, "rank %d is %d in a group without it", i, out[i]);
    MPI(MPI_Group_translate_ranks(one, 2, ranks, world, seen));
    CHECK(seen[0] == 0, "the member of the group is %d", seen[0]);
    CHECK(seen[1] == MPI_PROC_NULL, "MPI_PROC_NULL is translated to %d", seen[1]);
    MPI(MPI_Group_translate_ranks(world, 0, NULL, one, NULL));
    MPI(MPI_Group_free(&one));
    free(all);
    free(out);
}

/* A group does not depend on the communicator that it comes from. */
static void outlives(void)
{
    MPI_Comm half;
    MPI_Group group;
    int *wanted = allocate(sizeof(int) * (size_t)size), n = 0;

    MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    MPI(MPI_Comm_group(half, &group));
    MPI(MPI_Comm_free(&half));
    for (int i = size - 1; i >= 0; i--)
        if (i % 2 == rank % 2)
            wanted[n++] = i;
    has(group, n, wanted, "the group of a freed communicator");
    MPI(MPI_Group_free(&group));
    free(wanted);
}

static void many(void)
{
    MPI_Group groups[200];
    int which;

    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 200; i++) {
            which = (i + turn) % size;
            MPI(MPI_Group_incl(world, 1, &which, &groups[i]));
        }
        for (int i = 199; i >= 0; i--) {
            which = (i + turn) % size;
            has(groups[i], 1, &which, "one of many groups");
            MPI(MPI_Group_free(&groups[i]));
        }
    }
}

static void refuses(int code, int wanted, const char *what)
{
    CHECK(code != MPI_SUCCESS, "%s succeeds", what);
    CHECK(class_of(code) == wanted, "%s: class %d instead of %d", what, class_of(code), wanted);
}

static void errors(void)
{
    int big = size, negative = -1, n = -1, seen = -1;
    int stride[1][3] = {{0, 0, 0}}, beyond[1][3] = {{0, size, 1}};
    MPI_Group made = MPI_GROUP_NULL;
#ifndef MPICH
    int twice[2] = {0, 0}, huge[1][3] = {{-2147483647 - 1, 2147483647, 1}};
    MPI_Group freed;
#endif

    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    refuses(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP, "the size of MPI_GROUP_NULL");
    refuses(MPI_Group_rank(MPI_GROUP_NULL, &n), MPI_ERR_GROUP, "the rank in MPI_GROUP_NULL");
    refuses(MPI_Group_compare(world, MPI_GROUP_NULL, &n), MPI_ERR_GROUP, "a comparison with MPI_GROUP_NULL");
    refuses(MPI_Group_union(MPI_GROUP_NULL, world, &made), MPI_ERR_GROUP, "a union with MPI_GROUP_NULL");
    refuses(MPI_Group_incl(world, 1, &big, &made), MPI_ERR_RANK, "a rank that is too large");
    refuses(MPI_Group_incl(world, 1, &negative, &made), MPI_ERR_RANK, "a negative rank");
    refuses(MPI_Group_excl(world, 1, &big, &made), MPI_ERR_RANK, "an excluded rank that is too large");
    refuses(MPI_Group_translate_ranks(world, 1, &big, world, &seen), MPI_ERR_RANK, "translation of no rank");
    CHECK(MPI_Group_incl(world, -1, &big, &made) != MPI_SUCCESS, "a negative number of ranks");
    refuses(MPI_Group_range_incl(world, 1, stride, &made), MPI_ERR_ARG, "a stride of 0");
    CHECK(MPI_Group_range_incl(world, 1, beyond, &made) != MPI_SUCCESS, "a range beyond the group");
    refuses(MPI_Comm_group(MPI_COMM_NULL, &made), MPI_ERR_COMM, "the group of MPI_COMM_NULL");
    made = MPI_GROUP_NULL;
    refuses(MPI_Group_free(&made), MPI_ERR_GROUP, "freeing MPI_GROUP_NULL");
#ifndef MPICH /* freed handles: it may crash */
    MPI(MPI_Comm_group(MPI_COMM_SELF, &made));
    freed = made;
    MPI(MPI_Group_free(&made));
    refuses(MPI_Group_size(freed, &n), MPI_ERR_GROUP, "the size of a freed group");
    refuses(MPI_Group_free(&freed), MPI_ERR_GROUP, "freeing a group twice");
    refuses(MPI_Group_rank((MPI_Group)12345, &n), MPI_ERR_GROUP, "the rank in no group");
    refuses(MPI_Group_incl(world, 2, twice, &made), MPI_ERR_RANK, "a rank that is included twice");
    refuses(MPI_Group_excl(world, 2, twice, &made), MPI_ERR_RANK, "a rank that is excluded twice");
    refuses(MPI_Group_incl(world, 1, NULL, &made), MPI_ERR_ARG, "no array of ranks");
    refuses(MPI_Group_range_incl(world, 1, huge, &made), MPI_ERR_RANK, "a range of many");
#endif
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    of_communicators();
    empty();
    chosen();
    ranges();
    sets();
    translated();
    outlives();
    many();
    errors();
    MPI(MPI_Group_free(&world));
    return end("groups");
}
