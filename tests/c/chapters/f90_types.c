/* f90_types.c - the datatypes of Fortran's parameterised kinds: the same handle for the same
 * arguments, predefined but without a name. Any number of ranks. */
#include "../check.h"

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static int size_of(MPI_Datatype type)
{
    int bytes = -1;

    MPI(MPI_Type_size(type, &bytes));
    return bytes;
}

static MPI_Datatype integer(int r)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI(MPI_Type_create_f90_integer(r, &type));
    return type;
}

static MPI_Datatype real(int p, int r)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI(MPI_Type_create_f90_real(p, r, &type));
    return type;
}

static MPI_Datatype complex(int p, int r)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI(MPI_Type_create_f90_complex(p, r, &type));
    return type;
}

/* What the constructor's arguments were. */
static void made_of(MPI_Datatype type, int combiner, int n, int first, int second)
{
    int integers = -1, addresses = -1, types = -1, found = -1, values[2] = {-7, -7};

    MPI(MPI_Type_get_envelope(type, &integers, &addresses, &types, &found));
    CHECK(found == combiner, "combiner %d instead of %d", found, combiner);
    CHECK(integers == n && addresses == 0 && types == 0, "%d integers, %d addresses, %d types",
          integers, addresses, types);
    MPI(MPI_Type_get_contents(type, integers, 0, 0, values, NULL, NULL));
    CHECK(values[0] == first && (n == 1 || values[1] == second), "arguments %d %d instead of %d %d",
          values[0], values[1], first, second);
}

static void sizes(void)
{
    static const int table[][2] = {{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 4}, {9, 4}, {10, 8}, {18, 8}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CHECK(size_of(integer(table[i][0])) == table[i][1], "integers of %d digits have %d bytes",
              table[i][0], size_of(integer(table[i][0])));
    CHECK(size_of(real(6, 30)) == 4, "real(6, 30) has %d bytes", size_of(real(6, 30)));
    CHECK(size_of(real(6, MPI_UNDEFINED)) == 4, "real(6) has %d bytes", size_of(real(6, MPI_UNDEFINED)));
    CHECK(size_of(real(7, 30)) == 8, "real(7, 30) has %d bytes", size_of(real(7, 30)));
    CHECK(size_of(real(15, 307)) == 8, "real(15, 307) has %d bytes", size_of(real(15, 307)));
    CHECK(size_of(real(MPI_UNDEFINED, 300)) == 8, "real(, 300)");
    CHECK(size_of(complex(6, 30)) == 8, "complex(6, 30) has %d bytes", size_of(complex(6, 30)));
    CHECK(size_of(complex(15, 300)) == 16, "complex(15, 300) has %d bytes", size_of(complex(15, 300)));
#ifdef MPI_ABI_VERSION
    CHECK(size_of(integer(38)) == 16, "integers of 38 digits have %d bytes", size_of(integer(38)));
    CHECK(size_of(integer(-5)) == 1, "integers of -5 digits have %d bytes", size_of(integer(-5)));
    CHECK(size_of(real(18, 4931)) == 16, "real(18, 4931) has %d bytes", size_of(real(18, 4931)));
    CHECK(size_of(real(33, 4931)) == 16, "real(33, 4931) has %d bytes", size_of(real(33, 4931)));
    CHECK(size_of(complex(33, 4931)) == 32, "complex(33, 4931) has %d bytes", size_of(complex(33, 4931)));
#endif
}

static void identity(void)
{
    CHECK(integer(9) == integer(9), "integer(9) has two handles");
    CHECK(integer(9) != integer(10), "integer(9) and (10) have one handle");
    CHECK(real(6, 30) == real(6, 30), "real(6, 30) has two handles");
    CHECK(real(6, 30) != complex(6, 30), "real and complex have one handle");
    CHECK(complex(15, 300) == complex(15, 300), "complex(15, 300) has two handles");
    made_of(integer(9), MPI_COMBINER_F90_INTEGER, 1, 9, 0);
    made_of(real(6, 30), MPI_COMBINER_F90_REAL, 2, 6, 30);
    made_of(real(6, MPI_UNDEFINED), MPI_COMBINER_F90_REAL, 2, 6, MPI_UNDEFINED);
    made_of(complex(15, 300), MPI_COMBINER_F90_COMPLEX, 2, 15, 300);
}

/* They need no commit, and carry messages and reductions as those with a name do. */
static void traffic(void)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int out[3] = {rank, 2, -3}, in[3] = {0};
    double x = 1.5, y = 0;

    MPI(MPI_Sendrecv(out, 3, integer(9), to, 1, in, 3, integer(9), from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    CHECK(in[0] == from && in[1] == 2 && in[2] == -3, "received %d %d %d", in[0], in[1], in[2]);
#ifdef MPI_ABI_VERSION
    MPI(MPI_Allreduce(&x, &y, 1, real(15, 300), MPI_SUM, MPI_COMM_WORLD));
    CHECK(y == 1.5 * size, "the sum is %g", y);
    MPI(MPI_Allreduce(MPI_IN_PLACE, out, 3, integer(9), MPI_MAX, MPI_COMM_WORLD));
    CHECK(out[0] == size - 1 && out[1] == 2, "the largest is %d", out[0]);
#else
    MPI(MPI_Bcast(&x, 1, real(15, 300), 0, MPI_COMM_WORLD));
    CHECK(x == 1.5 && y == 0, "broadcast %g", x);
#endif
}

/* A derived datatype names them by the same handle, and a copy is the program's own. */
static void derived(void)
{
    MPI_Datatype pair, copy, inner = MPI_DATATYPE_NULL;
    int integers[1], combiner, n, addresses, types;

    MPI(MPI_Type_contiguous(2, real(6, 30), &pair));
    MPI(MPI_Type_get_contents(pair, 1, 0, 1, integers, NULL, &inner));
    CHECK(integers[0] == 2 && inner == real(6, 30), "the contents are another handle");
    CHECK(size_of(pair) == 8, "a pair has %d bytes", size_of(pair));
    MPI(MPI_Type_dup(real(6, 30), &copy));
    MPI(MPI_Type_get_envelope(copy, &n, &addresses, &types, &combiner));
    CHECK(combiner == MPI_COMBINER_DUP && types == 1, "a copy has combiner %d", combiner);
    MPI(MPI_Type_free(&copy));
    MPI(MPI_Type_free(&pair));
    CHECK(copy == MPI_DATATYPE_NULL && size_of(real(6, 30)) == 4, "what is freed");
}

#ifdef MPI_ABI_VERSION
static void refusals(void)
{
    MPI_Datatype type = real(6, 30);

    CHECK(class_of(MPI_Type_free(&type)) == MPI_ERR_TYPE, "it is freed");
    CHECK(type == real(6, 30), "the handle is changed");
    CHECK(class_of(MPI_Type_create_f90_integer(39, &type)) == MPI_ERR_ARG, "integers of 39 digits");
    CHECK(class_of(MPI_Type_create_f90_real(34, 10, &type)) == MPI_ERR_ARG, "reals of 34 digits");
    CHECK(class_of(MPI_Type_create_f90_real(6, 4932, &type)) == MPI_ERR_ARG, "a range of 4932");
    CHECK(class_of(MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &type)) == MPI_ERR_ARG,
          "nothing is asked for");
    CHECK(type == real(6, 30), "an error writes a handle");
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(class_of(MPI_ERR_TYPE) == MPI_ERR_TYPE, "classes are codes");
    sizes();
    identity();
    traffic();
    derived();
#ifdef MPI_ABI_VERSION
    refusals();
#endif
    return end("f90_types");
}
