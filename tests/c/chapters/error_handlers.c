/* error_handlers.c - MPI 5.0, sections 9.3 to 9.5: error handlers of the program, and
 * its own error classes, codes and texts. Any number of ranks. */
#include "../check.h"

static int calls, last_code;
static MPI_Comm last_comm;

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static void noted(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
}

static int others;

static void other(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    others++;
}

/* One more call of the handler, for this communicator and class. */
static void was_called(int code, MPI_Comm comm, int class, const char *what)
{
    static int before;

    CHECK(code != MPI_SUCCESS, "%s succeeds", what);
    CHECK(class_of(code) == class, "%s: class %d instead of %d", what, class_of(code), class);
    CHECK(calls == before + 1, "%s: the handler was called %d times", what, calls - before);
    CHECK(last_comm == comm, "%s: the handler got another communicator", what);
    CHECK(last_code == code, "%s: the handler got %d, the caller %d", what, last_code, code);
    before = calls;
}

static void called(void)
{
    MPI_Errhandler mine, got = MPI_ERRHANDLER_NULL;
    MPI_Comm comm, copy, part;
    int x = 0;

    MPI(MPI_Comm_create_errhandler(noted, &mine));
    CHECK(mine != MPI_ERRHANDLER_NULL, "MPI_Comm_create_errhandler gives MPI_ERRHANDLER_NULL");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL, "a duplicate has another handler than MPI_COMM_WORLD");
    MPI(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL, "a freed handler is not MPI_ERRHANDLER_NULL");
    MPI(MPI_Comm_set_errhandler(comm, mine));
    MPI(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == mine, "the communicator has another handler than it was given");
    MPI(MPI_Errhandler_free(&got));
    CHECK(calls == 0, "the handler was called without an error");

    was_called(MPI_Send(&x, 1, MPI_INT, size, 0, comm), comm, MPI_ERR_RANK, "a send to no rank");
    was_called(MPI_Send(&x, -1, MPI_INT, 0, 0, comm), comm, MPI_ERR_COUNT, "a negative count");
    was_called(MPI_Recv(&x, 1, MPI_INT, 0, -5, comm, MPI_STATUS_IGNORE), comm, MPI_ERR_TAG, "a negative tag");
    was_called(MPI_Bcast(&x, 1, MPI_INT, size, comm), comm, MPI_ERR_ROOT, "no root");

    /* Communicators that are made of it have its handler. */
    MPI(MPI_Comm_dup(comm, &copy));
    was_called(MPI_Send(&x, 1, MPI_INT, size, 0, copy), copy, MPI_ERR_RANK, "a send in a duplicate");
    MPI(MPI_Comm_split(comm, rank, 0, &part));
    was_called(MPI_Send(&x, 1, MPI_INT, 1, 0, part), part, MPI_ERR_RANK, "a send in a part");

    /* The handler lives as long as a communicator has it. */
    MPI(MPI_Errhandler_free(&mine));
    CHECK(mine == MPI_ERRHANDLER_NULL, "a freed handler is not MPI_ERRHANDLER_NULL");
    was_called(MPI_Send(&x, 1, MPI_INT, size, 0, comm), comm, MPI_ERR_RANK, "a send after the handler was freed");
    MPI(MPI_Comm_free(&comm));
    was_called(MPI_Send(&x, 1, MPI_INT, size, 0, copy), copy, MPI_ERR_RANK, "a send in the duplicate alone");
    MPI(MPI_Comm_get_errhandler(copy, &got));
    MPI(MPI_Comm_free(&copy));
    MPI(MPI_Comm_free(&part));

    /* Only the handle that MPI_Comm_get_errhandler gave is left. */
    MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI(MPI_Comm_set_errhandler(comm, got));
    MPI(MPI_Errhandler_free(&got));
    was_called(MPI_Send(&x, 1, MPI_INT, 1, 0, comm), comm, MPI_ERR_RANK, "a send after everything else is freed");
    MPI(MPI_Comm_free(&comm));
}

/* Errors of requests go to the handler of their communicator. */
static void of_requests(void)
{
    MPI_Errhandler mine;
    MPI_Comm comm;
    MPI_Request r;
    MPI_Status status;
    int x[2] = {1, 2}, y = 0, code;

    MPI(MPI_Comm_create_errhandler(noted, &mine));
    MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI(MPI_Comm_set_errhandler(comm, mine));
    MPI(MPI_Irecv(&y, 1, MPI_INT, 0, 0, comm, &r));
    MPI(MPI_Send(x, 2, MPI_INT, 0, 0, comm));
    code = MPI_Wait(&r, &status);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE, "a truncated message: class %d", class_of(code));
    CHECK(last_comm == comm && last_code == code, "the handler got something else");
    MPI(MPI_Errhandler_free(&mine));
    MPI(MPI_Comm_free(&comm));
}

static void exchanged(void)
{
    MPI_Errhandler first, second, got;
    MPI_Comm comm;
    int x = 0;

    MPI(MPI_Comm_create_errhandler(noted, &first));
    MPI(MPI_Comm_create_errhandler(other, &second));
    CHECK(first != second, "two handlers are one");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, first));
    MPI(MPI_Comm_set_errhandler(comm, second));
    calls = others = 0;
    CHECK(MPI_Send(&x, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS, "a send to no rank");
    CHECK(others == 1 && calls == 0, "the first handler was called");
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Send(&x, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS, "a send to no rank");
    CHECK(others == 1 && calls == 0, "a handler was called beside MPI_ERRORS_RETURN");
    MPI(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN is not the handler");
    MPI(MPI_Comm_set_errhandler(comm, first));
    CHECK(MPI_Send(&x, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS, "a send to no rank");
    CHECK(others == 1 && calls == 1, "the second handler was called");
    MPI(MPI_Errhandler_free(&first));
    MPI(MPI_Errhandler_free(&second));
    MPI(MPI_Comm_free(&comm));
}

/* Handlers may call MPI, and cause errors again. */
static int depth;

static void communicates(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = -1, sum = -1, class = -1, x = 0;

    depth++;
    MPI(MPI_Error_string(*code, text, &len));
    CHECK(len > 0 && (int)strlen(text) == len, "the text of code %d has length %d", *code, len);
    MPI(MPI_Error_class(*code, &class));
    CHECK(class == MPI_ERR_RANK, "class %d", class);
    if (depth == 1) {
        MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *comm));
        CHECK(sum == size * (size - 1) / 2, "sum %d in a handler", sum);
        CHECK(MPI_Send(&x, 1, MPI_INT, size, 0, *comm) != MPI_SUCCESS, "a send to no rank in a handler");
    }
}

static void nested(void)
{
    MPI_Errhandler mine;
    MPI_Comm comm;
    int x = 0;

    MPI(MPI_Comm_create_errhandler(communicates, &mine));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, mine));
    MPI(MPI_Errhandler_free(&mine));
    CHECK(MPI_Send(&x, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS, "a send to no rank");
    CHECK(depth == 2, "the handler was called %d times", depth);
    MPI(MPI_Barrier(comm));
    MPI(MPI_Comm_free(&comm));
}

static void by_the_program(void)
{
    MPI_Errhandler mine;
    MPI_Comm comm;

    MPI(MPI_Comm_create_errhandler(noted, &mine));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, mine));
    calls = 0;
    MPI(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY));
    CHECK(calls == 1 && last_comm == comm && last_code == MPI_ERR_TOPOLOGY, "%d calls, code %d", calls,
          last_code);
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY));
    CHECK(calls == 1, "the former handler was called");
    MPI(MPI_Errhandler_free(&mine));
    MPI(MPI_Comm_free(&comm));
}

static int last_used(void)
{
    int *value = NULL, flag = -1;

    MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag == 1, "MPI_LASTUSEDCODE has no value");
    return *value;
}

static void text_is(int code, const char *wanted)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = -1;

    MPI(MPI_Error_string(code, text, &len));
    CHECK(strcmp(text, wanted) == 0 && len == (int)strlen(wanted), "the text of %d is \"%s\", %d", code, text,
          len);
}

static void classes(void)
{
    MPI_Errhandler mine;
    MPI_Comm comm;
    int first = -1, second = -1, code = -1, of_mpi = -1;

    CHECK(last_used() >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE is %d", last_used());
    MPI(MPI_Add_error_class(&first));
    CHECK(first > MPI_ERR_LASTCODE, "class %d is one of MPI's", first);
    CHECK(last_used() >= first, "MPI_LASTUSEDCODE is %d after class %d", last_used(), first);
    CHECK(class_of(first) == first, "class %d has class %d", first, class_of(first));
    text_is(first, "");
    MPI(MPI_Add_error_class(&second));
    CHECK(second != first, "two classes are one");
    MPI(MPI_Add_error_code(first, &code));
    CHECK(code != first && code != second && code > MPI_ERR_LASTCODE, "code %d", code);
    CHECK(class_of(code) == first, "code %d has class %d instead of %d", code, class_of(code), first);
#ifndef MPICH /* which counts only classes */
    CHECK(last_used() >= code, "MPI_LASTUSEDCODE is %d after code %d", last_used(), code);
#endif
    text_is(code, "");
    MPI(MPI_Add_error_string(first, "my class"));
    MPI(MPI_Add_error_string(code, "my code"));
    text_is(first, "my class");
    text_is(code, "my code");
    MPI(MPI_Add_error_string(code, "my code, explained at length"));
    text_is(code, "my code, explained at length");
    text_is(second, "");
    MPI(MPI_Add_error_code(MPI_ERR_RANK, &of_mpi));
    CHECK(class_of(of_mpi) == MPI_ERR_RANK, "a code of MPI_ERR_RANK has class %d", class_of(of_mpi));

    MPI(MPI_Comm_create_errhandler(noted, &mine));
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, mine));
    calls = 0;
    MPI(MPI_Comm_call_errhandler(comm, code));
    CHECK(calls == 1 && last_code == code, "the handler got %d instead of %d", last_code, code);
    MPI(MPI_Errhandler_free(&mine));
    MPI(MPI_Comm_free(&comm));
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(MPI_Remove_error_class(first) != MPI_SUCCESS, "a class is removed before its code");
    CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS, "a code is removed before its text");
    MPI(MPI_Remove_error_string(code));
    text_is(code, "");
    MPI(MPI_Remove_error_code(code));
    CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS, "a code is removed twice");
    CHECK(MPI_Remove_error_class(first) != MPI_SUCCESS, "a class is removed before its text");
    MPI(MPI_Remove_error_string(first));
    MPI(MPI_Remove_error_class(first));
    CHECK(MPI_Error_class(first, &code) != MPI_SUCCESS, "a removed class has a class");
    MPI(MPI_Remove_error_code(of_mpi));
    CHECK(MPI_Remove_error_class(MPI_ERR_RANK) != MPI_SUCCESS, "MPI_ERR_RANK is removed");
    CHECK(MPI_Remove_error_code(second) != MPI_SUCCESS, "a class is removed as a code");
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
#endif
}

static void texts(void)
{
    static const int all[] = {MPI_SUCCESS,   MPI_ERR_BUFFER,  MPI_ERR_COUNT,    MPI_ERR_TYPE,   MPI_ERR_TAG,
                              MPI_ERR_COMM,  MPI_ERR_RANK,    MPI_ERR_REQUEST,  MPI_ERR_ROOT,   MPI_ERR_GROUP,
                              MPI_ERR_OP,    MPI_ERR_ARG,     MPI_ERR_TRUNCATE, MPI_ERR_OTHER,  MPI_ERR_INTERN,
                              MPI_ERR_INFO,  MPI_ERR_KEYVAL,  MPI_ERR_NO_MEM,   MPI_ERR_IO,     MPI_ERR_WIN,
                              MPI_ERR_SPAWN, MPI_ERR_INFO_KEY};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[MPI_MAX_ERROR_STRING];
        int len = -1;

        CHECK(class_of(all[i]) == all[i], "class %d has class %d", all[i], class_of(all[i]));
        MPI(MPI_Error_string(all[i], text, &len));
        CHECK(len > 0 && len < MPI_MAX_ERROR_STRING && (int)strlen(text) == len, "class %d: length %d", all[i],
              len);
        CHECK(all[i] == MPI_SUCCESS || (all[i] > 0 && all[i] <= MPI_ERR_LASTCODE), "class %d", all[i]);
    }
}

static void many(void)
{
    enum { N = 200 };
    MPI_Errhandler handlers[N];
    MPI_Comm comm;
    int x = 0;

    MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    for (int turn = 0; turn < 3; turn++) {
        calls = others = 0;
        for (int i = 0; i < N; i++) {
            MPI(MPI_Comm_create_errhandler(i % 2 ? noted : other, &handlers[i]));
            MPI(MPI_Comm_set_errhandler(comm, handlers[i]));
            CHECK(MPI_Send(&x, 1, MPI_INT, 1, 0, comm) != MPI_SUCCESS, "a send to no rank");
            if (i % 3 == 0)
                MPI(MPI_Errhandler_free(&handlers[i]));
        }
        for (int i = 0; i < N; i++)
            if (i % 3)
                MPI(MPI_Errhandler_free(&handlers[i]));
        CHECK(calls == N / 2 && others == N / 2, "%d and %d calls", calls, others);
    }
    MPI(MPI_Comm_free(&comm));
}

static void errors(void)
{
    MPI_Errhandler none = MPI_ERRHANDLER_NULL;
#ifndef MPICH
    MPI_Errhandler freed;
#endif
    MPI_Comm comm;
    int code = -1;

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_set_errhandler(comm, none) != MPI_SUCCESS, "MPI_ERRHANDLER_NULL is a handler");
    CHECK(MPI_Errhandler_free(&none) != MPI_SUCCESS, "MPI_ERRHANDLER_NULL is freed");
    CHECK(class_of(MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER)) == MPI_ERR_COMM,
          "the handler of MPI_COMM_NULL is called");
#ifndef MPICH /* which does not check that */
    CHECK(MPI_Add_error_code(MPI_ERR_LASTCODE - 1, &code) != MPI_SUCCESS, "a code of no class");
    CHECK(MPI_Add_error_string(MPI_ERR_RANK, "text") != MPI_SUCCESS, "a text for MPI_ERR_RANK");
#endif
    CHECK(code == -1, "a failed call has written %d", code);
#ifndef MPICH /* freed handles: it may crash */
    MPI(MPI_Comm_create_errhandler(other, &freed));
    none = freed;
    MPI(MPI_Errhandler_free(&freed));
    CHECK(class_of(MPI_Errhandler_free(&none)) == MPI_ERR_ERRHANDLER, "a handler is freed twice");
    CHECK(class_of(MPI_Comm_set_errhandler(comm, none)) == MPI_ERR_ERRHANDLER, "a freed handler is set");
    CHECK(class_of(MPI_Comm_create_errhandler(NULL, &freed)) == MPI_ERR_ARG, "a handler of no function");
#endif
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    called();
    of_requests();
    exchanged();
    nested();
    by_the_program();
    classes();
    texts();
    many();
    errors();
    return end("error_handlers");
}
