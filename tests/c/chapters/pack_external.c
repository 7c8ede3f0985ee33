/* pack_external.c - MPI_Pack_external and its like: "external32" has the most significant byte first,
 * and the sizes of MPI's own table. Any number of ranks; one packs, another unpacks. */
#include "../check.h"
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

static char external32[] = "external32";
static unsigned char packed[4096];

static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static MPI_Aint size_of(int count, MPI_Datatype type)
{
    MPI_Aint bytes = -1;

    MPI(MPI_Pack_external_size(external32, count, type, &bytes));
    return bytes;
}

/* Packs items at an odd place, compares the bytes, and unpacks them. */
static void round_trip(const void *in, int count, MPI_Datatype type, size_t bytes,
                       const unsigned char *wanted, size_t length, const char *what)
{
    unsigned char *out = allocate(bytes);
    MPI_Aint place = 3;

    CHECK(size_of(count, type) == (MPI_Aint)length, "%s: %ld bytes instead of %zu", what,
          (long)size_of(count, type), length);
    memset(packed, 0xA5, sizeof packed);
    MPI(MPI_Pack_external(external32, in, count, type, packed, sizeof packed, &place));
    CHECK(place == 3 + (MPI_Aint)length, "%s: packed up to %ld", what, (long)place);
    for (size_t i = 0; i < length; i++)
        CHECK(packed[3 + i] == wanted[i], "%s: byte %zu is %02x instead of %02x", what, i,
              packed[3 + i], wanted[i]);
    CHECK(packed[2] == 0xA5 && packed[3 + length] == 0xA5, "%s: bytes around are written", what);
    memset(out, 0x5A, bytes);
    place = 3;
    MPI(MPI_Unpack_external(external32, packed, 3 + (MPI_Aint)length, &place, out, count, type));
    CHECK(place == 3 + (MPI_Aint)length, "%s: unpacked up to %ld", what, (long)place);
    CHECK(memcmp(in, out, bytes) == 0, "%s: another value comes back", what);
    free(out);
}

#define BYTES(...) (const unsigned char[]){__VA_ARGS__}
#define TRIP(value, count, type, ...)                                                 \
    round_trip(value, count, type, sizeof(value), BYTES(__VA_ARGS__),                 \
               sizeof((unsigned char[]){__VA_ARGS__}), #type)

static void sizes(void)
{
    static const struct {
        MPI_Datatype type;
        int bytes;
    } table[] = {
        {MPI_BYTE, 1},        {MPI_CHAR, 1},          {MPI_SIGNED_CHAR, 1},
        {MPI_SHORT, 2},       {MPI_UNSIGNED_SHORT, 2}, {MPI_INT, 4},
        {MPI_UNSIGNED, 4},    {MPI_LONG_LONG, 8},     {MPI_UNSIGNED_LONG_LONG, 8},
        {MPI_FLOAT, 4},       {MPI_DOUBLE, 8},        {MPI_INT8_T, 1},
        {MPI_UINT16_T, 2},    {MPI_INT32_T, 4},       {MPI_UINT64_T, 8},
#ifdef MPI_ABI_VERSION
        {MPI_LONG, 4},        {MPI_UNSIGNED_LONG, 4}, {MPI_WCHAR, 2},
        {MPI_C_BOOL, 1},      {MPI_LONG_DOUBLE, 16},  {MPI_AINT, 8},
        {MPI_COUNT, 8},       {MPI_OFFSET, 8},        {MPI_C_DOUBLE_COMPLEX, 16},
        {MPI_C_LONG_DOUBLE_COMPLEX, 32},              {MPI_LOGICAL, 4},
        {MPI_INTEGER, 4},     {MPI_REAL, 4},          {MPI_DOUBLE_PRECISION, 8},
        {MPI_CHARACTER, 1},   {MPI_INTEGER16, 16},    {MPI_REAL16, 16},
        {MPI_2INT, 8},        {MPI_LONG_INT, 8},      {MPI_DOUBLE_INT, 12},
#endif
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        CHECK(size_of(1, table[i].type) == table[i].bytes, "type %zu takes %ld bytes instead of %d",
              i, (long)size_of(1, table[i].type), table[i].bytes);
        CHECK(size_of(7, table[i].type) == 7 * table[i].bytes, "7 of type %zu", i);
        CHECK(size_of(0, table[i].type) == 0, "none of type %zu", i);
    }
}

static void values(void)
{
    const char text[3] = "abc";
    const short s[2] = {0x0102, -2};
    const int n[2] = {0x01020304, -1};
    const long long ll[1] = {0x0102030405060708};
    const float f[2] = {1.0f, -2.5f};
    const double d[1] = {-1.0};
    const uint16_t u[1] = {0xfedc};

    TRIP(text, 3, MPI_CHAR, 'a', 'b', 'c');
    TRIP(s, 2, MPI_SHORT, 1, 2, 0xff, 0xfe);
    TRIP(n, 2, MPI_INT, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff);
    TRIP(ll, 1, MPI_LONG_LONG, 1, 2, 3, 4, 5, 6, 7, 8);
    TRIP(f, 2, MPI_FLOAT, 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0);
    TRIP(d, 1, MPI_DOUBLE, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0);
    TRIP(u, 1, MPI_UINT16_T, 0xfe, 0xdc);
#ifdef MPI_ABI_VERSION
    {
        const long l[3] = {-3, 0x7fffffff, -0x7fffffffL - 1};
        const unsigned long ul[1] = {0xfffffffe};
        const wchar_t w[2] = {L'A', 0x20ac};
        const MPI_Aint a[1] = {-2};
        const double c[2] = {1.0, -1.0};
        const _Bool b[2] = {1, 0};

        TRIP(l, 3, MPI_LONG, 0xff, 0xff, 0xff, 0xfd, 0x7f, 0xff, 0xff, 0xff, 0x80, 0, 0, 0);
        TRIP(ul, 1, MPI_UNSIGNED_LONG, 0xff, 0xff, 0xff, 0xfe);
        TRIP(w, 2, MPI_WCHAR, 0, 'A', 0x20, 0xac);
        TRIP(a, 1, MPI_AINT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe);
        TRIP(c, 1, MPI_C_DOUBLE_COMPLEX, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0);
        TRIP(b, 2, MPI_C_BOOL, 1, 0);
    }
#endif
}

#ifdef MPI_ABI_VERSION
/* A long double is a number of 128 bits outside. */
static void long_doubles(void)
{
    static const unsigned char wanted[3][3] = {{0x3f, 0xff, 0x80}, {0xc0, 0x00, 0x40}, {0, 0, 0}};
    const long double in[3] = {1.5L, -2.5L, 0.0L};
    long double out[3] = {9, 9, 9};
    MPI_Aint place = 0;

    MPI(MPI_Pack_external(external32, in, 3, MPI_LONG_DOUBLE, packed, 48, &place));
    CHECK(place == 48, "long doubles take %ld bytes", (long)place);
    for (int i = 0; i < 48; i++) {
        const int byte = i % 16 < 3 ? wanted[i / 16][i % 16] : 0;
        CHECK(packed[i] == byte, "long doubles: byte %d is %02x instead of %02x", i, packed[i], byte);
    }
    place = 0;
    MPI(MPI_Unpack_external(external32, packed, 48, &place, out, 3, MPI_LONG_DOUBLE));
    for (int i = 0; i < 3; i++)
        CHECK(out[i] == in[i], "long double %d comes back as %Lg", i, out[i]);
}

/* What four or two bytes cannot hold is refused, not cut. */
static void too_large(void)
{
    const long l = 0x80000000L;
    const unsigned long ul = 1UL << 32;
    const wchar_t w = 0x10000;
    MPI_Aint place = 0;

    CHECK(class_of(MPI_Pack_external(external32, &l, 1, MPI_LONG, packed, 64, &place)) == MPI_ERR_CONVERSION,
          "a large long is packed");
    CHECK(class_of(MPI_Pack_external(external32, &ul, 1, MPI_UNSIGNED_LONG, packed, 64, &place)) ==
              MPI_ERR_CONVERSION,
          "a large unsigned long is packed");
    CHECK(class_of(MPI_Pack_external(external32, &w, 1, MPI_WCHAR, packed, 64, &place)) ==
              MPI_ERR_CONVERSION,
          "a large wide character is packed");
    CHECK(place == 0, "the position is %ld after errors", (long)place);
}

/* The forms with large counts. */
static void large_counts(void)
{
    const int in[2] = {7, 8};
    int out[2] = {0, 0};
    MPI_Count place = 1, bytes = 0;

    MPI(MPI_Pack_external_size_c(external32, 2, MPI_INT, &bytes));
    MPI(MPI_Pack_external_c(external32, in, 2, MPI_INT, packed, 9, &place));
    CHECK(bytes == 8 && place == 9, "large counts: %d bytes, up to %d", (int)bytes, (int)place);
    CHECK(packed[4] == 7 && packed[8] == 8, "large counts: %d %d", packed[4], packed[8]);
    place = 1;
    MPI(MPI_Unpack_external_c(external32, packed, 9, &place, out, 2, MPI_INT));
    CHECK(place == 9 && out[0] == 7 && out[1] == 8, "large counts: %d %d", out[0], out[1]);
}
#endif

#ifdef MPI_ABI_VERSION
struct particle {
    char kind;
    double at[3];
    short mark;
};

/* A structure's gaps are not packed, and a vector's are not touched. */
static void derived(void)
{
    const int lengths[3] = {1, 3, 1};
    const MPI_Aint places[3] = {offsetof(struct particle, kind), offsetof(struct particle, at),
                                offsetof(struct particle, mark)};
    const MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    struct particle in[5], out[5];
    int column[6] = {1, -1, 2, -1, 3, -1}, back[6] = {9, 9, 9, 9, 9, 9};
    MPI_Datatype packed_struct, type, vector;
    MPI_Aint place = 0;

    MPI(MPI_Type_create_struct(3, lengths, places, parts, &packed_struct));
    MPI(MPI_Type_create_resized(packed_struct, 0, sizeof(struct particle), &type));
    MPI(MPI_Type_commit(&type));
    for (int i = 0; i < 5; i++)
        in[i] = (struct particle){(char)('a' + i), {i, -i, 0.5 * i}, (short)(1000 * i)};
    CHECK(size_of(5, type) == 5 * 27, "5 structures take %ld bytes", (long)size_of(5, type));
    MPI(MPI_Pack_external(external32, in, 5, type, packed, sizeof packed, &place));
    CHECK(place == 5 * 27 && packed[27] == 'b' && packed[28] == 0x3f && packed[29] == 0xf0,
          "structures are packed wrongly");
    CHECK(packed[27 + 25] == 1000 >> 8 && packed[27 + 26] == (1000 & 255), "the short of a structure");
    place = 0;
    memset(out, 0, sizeof out);
    MPI(MPI_Unpack_external(external32, packed, 5 * 27, &place, out, 5, type));
    for (int i = 0; i < 5; i++)
        CHECK(out[i].kind == in[i].kind && out[i].mark == in[i].mark &&
                  memcmp(out[i].at, in[i].at, sizeof in[i].at) == 0,
              "structure %d comes back changed", i);

    MPI(MPI_Type_vector(3, 1, 2, MPI_INT, &vector));
    MPI(MPI_Type_commit(&vector));
    place = 0;
    MPI(MPI_Pack_external(external32, column, 1, vector, packed, 12, &place));
    CHECK(place == 12 && packed[3] == 1 && packed[7] == 2 && packed[11] == 3, "a vector");
    place = 0;
    MPI(MPI_Unpack_external(external32, packed, 12, &place, back, 1, vector));
    for (int i = 0; i < 6; i++)
        CHECK(back[i] == (i % 2 ? 9 : column[i]), "vector: element %d is %d", i, back[i]);
    MPI(MPI_Type_free(&packed_struct));
    MPI(MPI_Type_free(&type));
    MPI(MPI_Type_free(&vector));
}

#endif

/* Bytes of one rank are values at the next. */
static void between_ranks(void)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned char in[12];
    int number = 1000 + rank;
    double half = 0.5 * rank;
    MPI_Aint place = 0;

    MPI(MPI_Pack_external(external32, &number, 1, MPI_INT, packed, 12, &place));
    MPI(MPI_Pack_external(external32, &half, 1, MPI_DOUBLE, packed, 12, &place));
    CHECK(place == 12, "two calls pack %ld bytes", (long)place);
    MPI(MPI_Sendrecv(packed, 12, MPI_BYTE, to, 1, in, 12, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    place = 0;
    MPI(MPI_Unpack_external(external32, in, 12, &place, &number, 1, MPI_INT));
    MPI(MPI_Unpack_external(external32, in, 12, &place, &half, 1, MPI_DOUBLE));
    CHECK(number == 1000 + from && half == 0.5 * from, "from rank %d: %d %g", from, number, half);
}

#ifdef MPI_ABI_VERSION
static void refusals(void)
{
    static char native[] = "native";
    int x[2] = {1, 2};
    MPI_Aint place = 0, bytes;

    CHECK(class_of(MPI_Pack_external(native, x, 1, MPI_INT, packed, 64, &place)) == MPI_ERR_ARG,
          "an unknown representation is packed");
    CHECK(class_of(MPI_Unpack_external(native, packed, 64, &place, x, 1, MPI_INT)) == MPI_ERR_ARG,
          "an unknown representation is unpacked");
    CHECK(class_of(MPI_Pack_external_size(native, 1, MPI_INT, &bytes)) == MPI_ERR_ARG,
          "an unknown representation has a size");
    CHECK(class_of(MPI_Pack_external(external32, x, -1, MPI_INT, packed, 64, &place)) == MPI_ERR_COUNT,
          "a negative count");
    CHECK(class_of(MPI_Pack_external(external32, x, 1, MPI_DATATYPE_NULL, packed, 64, &place)) ==
              MPI_ERR_TYPE,
          "a null datatype");
    CHECK(class_of(MPI_Pack_external(external32, NULL, 1, MPI_INT, packed, 64, &place)) == MPI_ERR_BUFFER,
          "a null buffer");
    CHECK(class_of(MPI_Pack_external(external32, x, 2, MPI_INT, packed, 7, &place)) == MPI_ERR_TRUNCATE,
          "7 bytes of room for 8");
    CHECK(class_of(MPI_Unpack_external(external32, packed, 7, &place, x, 2, MPI_INT)) == MPI_ERR_TRUNCATE,
          "8 bytes from 7");
    place = 65;
    CHECK(class_of(MPI_Pack_external(external32, x, 1, MPI_INT, packed, 64, &place)) == MPI_ERR_ARG,
          "a position behind the buffer");
    CHECK(x[0] == 1 && x[1] == 2, "errors write %d %d", x[0], x[1]);
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    sizes();
    values();
    between_ranks();
#ifdef MPI_ABI_VERSION
    /* MPICH 4.0.2 dies in external packing of derived datatypes. */
    derived();
    long_doubles();
    too_large();
    large_counts();
    refusals();
#else
    CHECK(class_of(MPI_SUCCESS) == MPI_SUCCESS, "no class of success");
#endif
    return end("pack_external");
}
