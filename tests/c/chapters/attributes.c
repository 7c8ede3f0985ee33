/* attributes.c - MPI 5.0, section 7.7 and 9.1.2: attributes of communicators, their
 * functions at duplication, deletion and the end, the predefined ones, and the
 * deprecated names. Any number of ranks. */
#include "../check.h"

static int copies, deletions, numbers[8];

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

/* The communicator has this attribute, or none. */
static void is(MPI_Comm comm, int key, void *wanted, const char *what)
{
    void *value = &deletions;
    int flag = -1;

    MPI(MPI_Comm_get_attr(comm, key, &value, &flag));
    CHECK(flag == (wanted != NULL), "%s: flag %d", what, flag);
    CHECK(!wanted || value == wanted, "%s: another value", what);
}

/* Copies the number after the attribute's; remembers its arguments. */
static MPI_Comm last_old;
static int last_key;
static void *last_extra, *last_value;

static int copy_next(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    copies++;
    last_old = old;
    last_key = key;
    last_extra = extra;
    last_value = in;
    *(void **)out = (int *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_nothing(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)key, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int copy_fails(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    deletions++;
    last_old = comm;
    last_key = key;
    last_extra = extra;
    last_value = value;
    return MPI_SUCCESS;
}

static int may_delete;

static int delete_fails(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return may_delete ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void set_and_get(void)
{
    MPI_Comm comm;
    int key, other;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL));
    CHECK(key != MPI_KEYVAL_INVALID && other != MPI_KEYVAL_INVALID && key != other, "keys %d and %d", key,
          other);
    is(comm, key, NULL, "before it is set");
    MPI(MPI_Comm_set_attr(comm, key, &numbers[0]));
    is(comm, key, &numbers[0], "after it is set");
    is(comm, other, NULL, "another key");
    is(MPI_COMM_WORLD, key, NULL, "another communicator");
    MPI(MPI_Comm_set_attr(comm, other, &numbers[1]));
    MPI(MPI_Comm_set_attr(comm, key, &numbers[2]));
    is(comm, key, &numbers[2], "after it is set again");
    is(comm, other, &numbers[1], "the other one");
    MPI(MPI_Comm_delete_attr(comm, key));
    is(comm, key, NULL, "after it is deleted");
    is(comm, other, &numbers[1], "the other one");
    MPI(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID, "a freed key is %d", key);
    MPI(MPI_Comm_free_keyval(&other));
    MPI(MPI_Comm_free(&comm));
}

static void functions(void)
{
    MPI_Comm comm, copy, again;
    MPI_Request request;
    int key, same, nothing, kept;

    MPI(MPI_Comm_create_keyval(copy_next, deleted, &key, &numbers[7]));
    MPI(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &same, NULL));
    MPI(MPI_Comm_create_keyval(copy_nothing, MPI_COMM_NULL_DELETE_FN, &nothing, NULL));
    MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(copies == 0 && deletions == 0, "functions of attributes that are not set were called");
    MPI(MPI_Comm_set_attr(comm, key, &numbers[0]));
    MPI(MPI_Comm_set_attr(comm, same, &numbers[3]));
    MPI(MPI_Comm_set_attr(comm, nothing, &numbers[4]));
    MPI(MPI_Comm_set_attr(comm, kept, &numbers[5]));
    CHECK(copies == 0 && deletions == 0, "setting calls a function");

    MPI(MPI_Comm_dup(comm, &copy));
    CHECK(copies == 2, "%d copies instead of 2", copies);
    CHECK(last_old == comm && last_key == key, "copied of another communicator or key");
    CHECK(last_extra == &numbers[7] && last_value == &numbers[0], "copied with another state or value");
    is(comm, key, &numbers[0], "the original");
    is(copy, key, &numbers[1], "the copy");
    is(copy, same, &numbers[3], "copied by MPI_COMM_DUP_FN");
    is(copy, nothing, NULL, "not copied by its function");
    is(copy, kept, NULL, "not copied by MPI_COMM_NULL_COPY_FN");

    MPI(MPI_Comm_idup(copy, &again, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(copies == 3, "%d copies instead of 3", copies);
    is(again, key, &numbers[2], "the copy without waiting");
    is(again, same, &numbers[3], "the copy without waiting");

    MPI(MPI_Comm_delete_attr(copy, key));
    CHECK(deletions == 1, "%d deletions instead of 1", deletions);
    CHECK(last_old == copy && last_key == key, "deleted of another communicator or key");
    CHECK(last_extra == &numbers[7] && last_value == &numbers[1], "deleted with another state or value");
    MPI(MPI_Comm_set_attr(comm, key, &numbers[6]));
    CHECK(deletions == 2 && last_value == &numbers[0], "a replaced value was not deleted");
    is(comm, key, &numbers[6], "the new value");

    /* A freed key stays with its attributes. */
    last_key = key;
    MPI(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID && deletions == 2, "freeing a key deletes attributes");
    MPI(MPI_Comm_free(&again));
    CHECK(deletions == 3 && last_value == &numbers[2], "%d deletions instead of 3", deletions);
    MPI(MPI_Comm_disconnect(&comm));
    CHECK(deletions == 4 && last_value == &numbers[6], "%d deletions instead of 4", deletions);
    MPI(MPI_Comm_free(&copy));
    CHECK(deletions == 4, "a deleted attribute was deleted again");
    MPI(MPI_Comm_free_keyval(&same));
    MPI(MPI_Comm_free_keyval(&nothing));
    MPI(MPI_Comm_free_keyval(&kept));
}

/* Only duplicates get attributes. */
static void not_copied(void)
{
    MPI_Comm comm, made;
    MPI_Group group;
    int key, before = copies;

    MPI(MPI_Comm_create_keyval(copy_next, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_attr(comm, key, &numbers[0]));
    MPI(MPI_Comm_split(comm, 0, rank, &made));
    is(made, key, NULL, "an attribute after MPI_Comm_split");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Comm_group(comm, &group));
    MPI(MPI_Comm_create(comm, group, &made));
    is(made, key, NULL, "an attribute after MPI_Comm_create");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Group_free(&group));
    CHECK(copies == before, "MPI_Comm_split or MPI_Comm_create has copied");
    MPI(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made));
    is(made, key, &numbers[1], "an attribute after MPI_Comm_dup_with_info");
    MPI(MPI_Comm_free(&made));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Comm_free_keyval(&key));
}

/* Functions of attributes call MPI: they own a communicator, and communicate. */
static int free_mine(MPI_Comm comm, int key, void *value, void *extra)
{
    int sum = -1;

    (void)comm, (void)key, (void)extra;
    MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)value));
    CHECK(sum == size * (size - 1) / 2, "sum %d inside a delete function", sum);
    MPI(MPI_Comm_free((MPI_Comm *)value));
    free(value);
    deletions++;
    return MPI_SUCCESS;
}

static int copy_mine(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    MPI_Comm *mine = allocate(sizeof *mine);

    (void)old, (void)key, (void)extra;
    MPI(MPI_Comm_dup(*(MPI_Comm *)in, mine));
    *(void **)out = mine;
    *flag = 1;
    return MPI_SUCCESS;
}

static void nested(void)
{
    MPI_Comm comm, copy, *mine = allocate(sizeof *mine);
    int key, before = deletions;

    MPI(MPI_Comm_create_keyval(copy_mine, free_mine, &key, NULL));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, mine));
    MPI(MPI_Comm_set_attr(comm, key, mine));
    MPI(MPI_Comm_dup(comm, &copy));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Barrier(copy));
    MPI(MPI_Comm_free(&copy));
    CHECK(deletions == before + 2, "%d deletions", deletions - before);
    MPI(MPI_Comm_free_keyval(&key));
}

static void failing(void)
{
    MPI_Comm comm, copy = MPI_COMM_NULL;
    int key;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_create_keyval(copy_fails, delete_fails, &key, NULL));
    MPI(MPI_Comm_set_attr(comm, key, &numbers[0]));
    CHECK(MPI_Comm_dup(comm, &copy) != MPI_SUCCESS, "a duplicate, though a copy function fails");
    CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS, "a deletion, though its function fails");
    is(comm, key, &numbers[0], "after a failed deletion");
    CHECK(MPI_Comm_set_attr(comm, key, &numbers[1]) != MPI_SUCCESS, "a replacement, though deletion fails");
    is(comm, key, &numbers[0], "after a failed replacement");
    may_delete = 1;
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Comm_free_keyval(&key));
}

static void predefined(void)
{
    int *value = NULL, flag = -1;

    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag == 1 && *value >= 32767, "MPI_TAG_UB: flag %d", flag);
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, rank, *value, &numbers[0], 1, MPI_INT, rank, *value, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    CHECK(numbers[0] == rank, "the largest tag does not work");
    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
    CHECK(flag == 1 && (*value == MPI_PROC_NULL || (*value >= 0 && *value < size)), "MPI_HOST");
    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(flag == 1 && (*value == MPI_ANY_SOURCE || *value == MPI_PROC_NULL || (*value >= 0 && *value < size)),
          "MPI_IO");
    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(flag == 1 && (*value == 0 || *value == 1), "MPI_WTIME_IS_GLOBAL");
    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(flag == 0 || *value >= size, "MPI_UNIVERSE_SIZE is %d", *value);
    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(flag == 0 || *value >= 0, "MPI_APPNUM is %d", *value);
    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag == 1 && *value >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE is %d", *value);
    flag = -1;
    MPI(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag == 1 && *value >= 32767, "MPI_TAG_UB by MPI_Attr_get: flag %d", flag);
}

static void deprecated(void)
{
    MPI_Comm comm, copy;
    void *value = NULL;
    int key, same, flag = -1, before = deletions;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Keyval_create(copy_next, deleted, &key, &numbers[5]));
    MPI(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &same, NULL));
    MPI(MPI_Attr_get(comm, key, &value, &flag));
    CHECK(flag == 0, "an attribute before it is set");
    MPI(MPI_Attr_put(comm, key, &numbers[2]));
    MPI(MPI_Attr_put(comm, same, &numbers[4]));
    MPI(MPI_Attr_get(comm, key, &value, &flag));
    CHECK(flag == 1 && value == &numbers[2], "an attribute after MPI_Attr_put");
    is(comm, key, &numbers[2], "the new function finds it");
    MPI(MPI_Comm_dup(comm, &copy));
    CHECK(last_extra == &numbers[5], "copied with another state");
    is(copy, key, &numbers[3], "copied");
    is(copy, same, &numbers[4], "copied by MPI_DUP_FN");
    MPI(MPI_Attr_delete(comm, key));
    CHECK(deletions == before + 1 && last_value == &numbers[2], "MPI_Attr_delete does not call the function");
    MPI(MPI_Attr_get(comm, key, &value, &flag));
    CHECK(flag == 0, "an attribute after MPI_Attr_delete");
    MPI(MPI_Keyval_free(&key));
    CHECK(key == MPI_KEYVAL_INVALID, "a freed key is %d", key);
    MPI(MPI_Keyval_free(&same));
    MPI(MPI_Comm_free(&copy));
    CHECK(deletions == before + 2, "freeing does not call the function");
    MPI(MPI_Comm_free(&comm));
}

static void many(void)
{
    enum { N = 100 };
    int keys[N], before = deletions;
    MPI_Comm comm, copy;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < N; i++) {
        MPI(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, deleted, &keys[i], NULL));
        MPI(MPI_Comm_set_attr(comm, keys[i], &keys[i]));
    }
    MPI(MPI_Comm_dup(comm, &copy));
    for (int i = 0; i < N; i++)
        is(copy, keys[i], &keys[i], "one of many");
    MPI(MPI_Comm_free(&comm));
    CHECK(deletions == before + N, "%d of %d deleted", deletions - before, N);
    MPI(MPI_Comm_free(&copy));
    CHECK(deletions == before + 2 * N, "%d of %d deleted", deletions - before, 2 * N);
    for (int i = 0; i < N; i++)
        MPI(MPI_Comm_free_keyval(&keys[i]));
}

static void errors(void)
{
    MPI_Comm comm;
    int key = MPI_KEYVAL_INVALID, flag = -1, tag = MPI_TAG_UB;
    void *value = NULL;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    refuses(MPI_Comm_set_attr(comm, key, value), MPI_ERR_KEYVAL, "an attribute with MPI_KEYVAL_INVALID");
    refuses(MPI_Comm_get_attr(comm, key, &value, &flag), MPI_ERR_KEYVAL, "the one of MPI_KEYVAL_INVALID");
    refuses(MPI_Comm_delete_attr(comm, key), MPI_ERR_KEYVAL, "deletion with MPI_KEYVAL_INVALID");
    refuses(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "freeing MPI_KEYVAL_INVALID");
    CHECK(MPI_Comm_set_attr(comm, MPI_TAG_UB, value) != MPI_SUCCESS, "setting MPI_TAG_UB");
    CHECK(MPI_Comm_delete_attr(comm, MPI_TAG_UB) != MPI_SUCCESS, "deleting MPI_TAG_UB");
    CHECK(MPI_Comm_free_keyval(&tag) != MPI_SUCCESS, "freeing MPI_TAG_UB");
    MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    refuses(MPI_Comm_set_attr(MPI_COMM_NULL, key, value), MPI_ERR_COMM, "an attribute of MPI_COMM_NULL");
    refuses(MPI_Comm_get_attr(MPI_COMM_NULL, key, &value, &flag), MPI_ERR_COMM, "the one of MPI_COMM_NULL");
    MPI(MPI_Comm_set_attr(comm, key, NULL));
    MPI(MPI_Comm_get_attr(comm, key, &value, &flag));
    CHECK(flag == 1 && value == NULL, "a null value");
#ifndef MPICH /* freed keys: it may crash */
    tag = key;
    MPI(MPI_Comm_free_keyval(&key));
    refuses(MPI_Comm_free_keyval(&tag), MPI_ERR_KEYVAL, "freeing a key twice");
    MPI(MPI_Comm_delete_attr(comm, tag));
    refuses(MPI_Comm_set_attr(comm, tag, value), MPI_ERR_KEYVAL, "an attribute with a freed key");
    refuses(MPI_Comm_set_attr(comm, -1, value), MPI_ERR_KEYVAL, "an attribute with a negative key");
#else
    MPI(MPI_Comm_free_keyval(&key));
#endif
    MPI(MPI_Comm_free(&comm));
}

/* At the end the attributes of MPI_COMM_SELF are deleted, the last one first, while
 * MPI still works. */
static int at_end;

static int ending(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag = -1, r = -1, in = -1;

    (void)key, (void)extra;
    MPI(MPI_Finalized(&flag));
    CHECK(flag == 0, "MPI is finalized while attributes are deleted");
    CHECK(comm == MPI_COMM_SELF, "an attribute of another communicator");
    MPI(MPI_Comm_rank(comm, &r));
    MPI(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    CHECK(r == 0 && in == rank, "messages do not work at the end");
    CHECK(value == &numbers[2 - at_end], "attribute %d is deleted in another order", at_end);
    at_end++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;

    begin(&argc, &argv);
    set_and_get();
    functions();
    not_copied();
    nested();
    failing();
    predefined();
    deprecated();
    many();
    errors();
    for (int i = 0; i < 3; i++) {
        MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ending, &key, NULL));
        MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, &numbers[i]));
        MPI(MPI_Comm_free_keyval(&key));
    }
    if (end("attributes") != 0)
        return 1;
    CHECK(at_end == 3, "%d attributes of MPI_COMM_SELF were deleted", at_end);
    return 0;
}
