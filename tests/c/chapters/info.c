/* info.c - MPI 5.0, chapter 10: info objects. They work before MPI_Init and after
 * MPI_Finalize too. Any number of ranks. */
#include "../check.h"

#ifdef MPICH
#define OF_NULL MPI_ERR_ARG
#else
#define OF_NULL MPI_ERR_INFO
#endif

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

/* The key has this value, or none, whichever way one asks. */
static void is(MPI_Info info, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL + 1] = "untouched";
    int flag = -1, len = -7, buflen = (int)sizeof value;

    MPI(MPI_Info_get_string(info, key, &buflen, value, &flag));
    CHECK(flag == (wanted != NULL), "%s: flag %d", key, flag);
    if (wanted) {
        CHECK(strcmp(value, wanted) == 0, "%s is \"%s\" instead of \"%s\"", key, value, wanted);
        CHECK(buflen == (int)strlen(wanted) + 1, "%s has length %d with its zero", key, buflen);
    } else
        CHECK(strcmp(value, "untouched") == 0 && buflen == (int)sizeof value, "no value, but \"%s\", %d",
              value, buflen);
    flag = -1;
    MPI(MPI_Info_get_valuelen(info, key, &len, &flag));
    CHECK(flag == (wanted != NULL), "%s: flag %d of MPI_Info_get_valuelen", key, flag);
    CHECK(!wanted || len == (int)strlen(wanted), "%s has length %d", key, len);
    strcpy(value, "untouched");
    flag = -1;
    MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag == (wanted != NULL), "%s: flag %d of MPI_Info_get", key, flag);
    CHECK(strcmp(value, wanted ? wanted : "untouched") == 0, "%s is \"%s\" by MPI_Info_get", key, value);
}

static void has_keys(MPI_Info info, int wanted)
{
    int n = -1;

    MPI(MPI_Info_get_nkeys(info, &n));
    CHECK(n == wanted, "%d keys instead of %d", n, wanted);
}

static void keys_and_values(void)
{
    char key[MPI_MAX_INFO_KEY];
    MPI_Info info;

    MPI(MPI_Info_create(&info));
    CHECK(info != MPI_INFO_NULL, "MPI_Info_create gives MPI_INFO_NULL");
    has_keys(info, 0);
    is(info, "one", NULL);
    MPI(MPI_Info_set(info, "one", "1"));
    MPI(MPI_Info_set(info, "two", "a longer value, with spaces"));
    MPI(MPI_Info_set(info, "three", "3"));
    has_keys(info, 3);
    is(info, "one", "1");
    is(info, "two", "a longer value, with spaces");
    is(info, "three", "3");
    is(info, "ONE", NULL);
    is(info, "on", NULL);
    MPI(MPI_Info_set(info, "one", "another"));
    has_keys(info, 3);
    is(info, "one", "another");
    MPI(MPI_Info_get_nthkey(info, 0, key));
    CHECK(strcmp(key, "one") == 0, "key 0 is %s", key);
    MPI(MPI_Info_get_nthkey(info, 1, key));
    CHECK(strcmp(key, "two") == 0, "key 1 is %s", key);
    MPI(MPI_Info_get_nthkey(info, 2, key));
    CHECK(strcmp(key, "three") == 0, "key 2 is %s", key);
    MPI(MPI_Info_delete(info, "two"));
    has_keys(info, 2);
    is(info, "two", NULL);
    is(info, "one", "another");
    is(info, "three", "3");
    MPI(MPI_Info_get_nthkey(info, 1, key));
    CHECK(strcmp(key, "three") == 0, "key 1 is %s", key);
    MPI(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL, "a freed info object is not MPI_INFO_NULL");
}

/* Values that do not fit are cut; their length is told. */
static void cut(void)
{
    char value[16];
    int flag = -1, len = 4;
    MPI_Info info;

    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "key", "abcdefgh"));
    memset(value, '#', sizeof value);
    MPI(MPI_Info_get_string(info, "key", &len, value, &flag));
    CHECK(flag == 1 && strcmp(value, "abc") == 0, "a short buffer gets \"%.4s\"", value);
    CHECK(len == 9, "the length is %d", len);
    CHECK(value[4] == '#', "more than the buffer was written");
    len = 0;
    memset(value, '#', sizeof value);
    MPI(MPI_Info_get_string(info, "key", &len, value, &flag));
    CHECK(flag == 1 && len == 9, "without a buffer the length is %d, flag %d", len, flag);
    CHECK(value[0] == '#', "a buffer of no byte was written");
    len = 9;
    MPI(MPI_Info_get_string(info, "key", &len, value, &flag));
    CHECK(strcmp(value, "abcdefgh") == 0 && value[9] == '#', "a buffer that just fits gets \"%.9s\"", value);
#ifndef MPICH /* which reports an error */
    memset(value, '#', sizeof value);
    MPI(MPI_Info_get(info, "key", 3, value, &flag));
    CHECK(flag == 1 && strcmp(value, "abc") == 0 && value[4] == '#', "three bytes are \"%.5s\"", value);
#endif
    MPI(MPI_Info_free(&info));
}

static void duplicates(void)
{
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY];

    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "b", "2"));
    MPI(MPI_Info_set(info, "a", "1"));
    MPI(MPI_Info_dup(info, &copy));
    CHECK(copy != info && copy != MPI_INFO_NULL, "a duplicate is no object of its own");
    has_keys(copy, 2);
    MPI(MPI_Info_get_nthkey(copy, 0, key));
    CHECK(strcmp(key, "b") == 0, "key 0 of the duplicate is %s", key);
    MPI(MPI_Info_set(copy, "a", "changed"));
    MPI(MPI_Info_delete(copy, "b"));
    is(info, "a", "1");
    is(info, "b", "2");
    MPI(MPI_Info_free(&info));
    is(copy, "a", "changed");
    is(copy, "b", NULL);
    MPI(MPI_Info_free(&copy));
}

static void longest(void)
{
    char key[MPI_MAX_INFO_KEY + 2], value[MPI_MAX_INFO_VAL + 2], got[MPI_MAX_INFO_KEY];
    MPI_Info info;

    MPI(MPI_Info_create(&info));
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY - 1] = 0;
    value[MPI_MAX_INFO_VAL - 1] = 0;
    MPI(MPI_Info_set(info, key, value));
    is(info, key, value);
    MPI(MPI_Info_get_nthkey(info, 0, got));
    CHECK(strcmp(got, key) == 0, "the longest key is not found");
    key[0] = 'l';
    key[MPI_MAX_INFO_KEY - 1] = 'k';
    key[MPI_MAX_INFO_KEY + 1] = 0;
    refuses(MPI_Info_set(info, key, "1"), MPI_ERR_INFO_KEY, "a key that is too long");
    value[MPI_MAX_INFO_VAL - 1] = 'v';
    value[MPI_MAX_INFO_VAL + 1] = 0;
    refuses(MPI_Info_set(info, "key", value), MPI_ERR_INFO_VALUE, "a value that is too long");
    has_keys(info, 1);
    MPI(MPI_Info_free(&info));
}

static void many(void)
{
    enum { N = 300 };
    MPI_Info info[N];
    char key[32], value[32];

    for (int i = 0; i < N; i++) {
        MPI(MPI_Info_create(&info[i]));
        snprintf(value, sizeof value, "value %d", i);
        MPI(MPI_Info_set(info[i], "key", value));
    }
    for (int i = 0; i < N; i += 2)
        MPI(MPI_Info_free(&info[i]));
    for (int i = 1; i < N; i += 2) {
        snprintf(value, sizeof value, "value %d", i);
        is(info[i], "key", value);
    }
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key %d", i);
        MPI(MPI_Info_set(info[1], key, key));
    }
    has_keys(info[1], N + 1);
    is(info[1], "key 299", "key 299");
    for (int i = 1; i < N; i += 2)
        MPI(MPI_Info_free(&info[i]));
}

static void environment(int argc, char **argv)
{
    MPI_Info info, copy;
    char command[MPI_MAX_INFO_VAL];
    int n = -1, room = sizeof command, found = 0;

    MPI(MPI_Info_get_nkeys(MPI_INFO_ENV, &n));
    CHECK(n >= 0, "MPI_INFO_ENV has %d keys", n);
    for (int i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY];
        int len = -1, flag = -1;

        MPI(MPI_Info_get_nthkey(MPI_INFO_ENV, i, key));
        MPI(MPI_Info_get_valuelen(MPI_INFO_ENV, key, &len, &flag));
        CHECK(flag == 1 && len >= 0, "%s of MPI_INFO_ENV has no value", key);
    }
    MPI(MPI_Info_get_string(MPI_INFO_ENV, "command", &room, command, &found));
    CHECK(found == 1 && strcmp(command, argv[0]) == 0, "the command is not %s", argv[0]);
    MPI(MPI_Info_dup(MPI_INFO_ENV, &copy));
    has_keys(copy, n);
    MPI(MPI_Info_set(copy, "mine", "1"));
    MPI(MPI_Info_free(&copy));
    MPI(MPI_Info_create_env(argc, argv, &info));
    CHECK(info != MPI_INFO_NULL, "MPI_Info_create_env gives MPI_INFO_NULL");
    MPI(MPI_Info_set(info, "mine", "1"));
    is(info, "mine", "1");
    MPI(MPI_Info_free(&info));
}

static void errors(void)
{
    MPI_Info info, none = MPI_INFO_NULL, made;
    char text[MPI_MAX_INFO_KEY] = "";
    int n = -1, flag = -1;

    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "key", "value"));
    refuses(MPI_Info_set(none, "key", "value"), OF_NULL, "a key of MPI_INFO_NULL");
    refuses(MPI_Info_get_nkeys(none, &n), OF_NULL, "the keys of MPI_INFO_NULL");
    refuses(MPI_Info_get(none, "key", 3, text, &flag), OF_NULL, "a value of MPI_INFO_NULL");
    refuses(MPI_Info_dup(none, &made), OF_NULL, "a duplicate of MPI_INFO_NULL");
    refuses(MPI_Info_delete(none, "key"), OF_NULL, "deletion from MPI_INFO_NULL");
    refuses(MPI_Info_free(&none), OF_NULL, "freeing MPI_INFO_NULL");
    refuses(MPI_Info_delete(info, "none"), MPI_ERR_INFO_NOKEY, "deleting what is not there");
    refuses(MPI_Info_get_nthkey(info, 1, text), MPI_ERR_ARG, "a key beyond the last");
    refuses(MPI_Info_get_nthkey(info, -1, text), MPI_ERR_ARG, "a key before the first");
    refuses(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY, "an empty key");
    has_keys(info, 1);
#ifndef MPICH /* freed handles: it may crash */
    none = info;
    MPI(MPI_Info_free(&info));
    refuses(MPI_Info_get_nkeys(none, &n), MPI_ERR_INFO, "the keys of a freed object");
    refuses(MPI_Info_free(&none), MPI_ERR_INFO, "freeing an object twice");
    none = MPI_INFO_ENV;
    refuses(MPI_Info_free(&none), MPI_ERR_INFO, "freeing MPI_INFO_ENV");
    refuses(MPI_Info_set(MPI_INFO_ENV, "key", "value"), MPI_ERR_INFO, "a key of MPI_INFO_ENV");
    refuses(MPI_Info_set((MPI_Info)12345, "key", "value"), MPI_ERR_INFO, "a key of no object");
#else
    MPI(MPI_Info_free(&info));
#endif
}

int main(int argc, char **argv)
{
    MPI_Info early, late;

    MPI(MPI_Info_create(&early));
    MPI(MPI_Info_set(early, "made", "before MPI_Init"));
    is(early, "made", "before MPI_Init");
    MPI(MPI_Info_create_env(argc, argv, &late));
    MPI(MPI_Info_free(&late));
    begin(&argc, &argv);
    is(early, "made", "before MPI_Init");
    keys_and_values();
    cut();
    duplicates();
    many();
    environment(argc, argv);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    longest();
    errors();
    MPI(MPI_Info_create(&late));
    MPI(MPI_Info_set(late, "used", "after MPI_Finalize"));
    if (end("info") != 0)
        return 1;
    is(early, "made", "before MPI_Init");
    is(late, "used", "after MPI_Finalize");
    MPI(MPI_Info_free(&early));
    MPI(MPI_Info_free(&late));
    return 0;
}
