/* What the standard ABI fixes, written down a second time: sizes, layouts, and values of every family. */
#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif

CHECK(sizeof(MPI_Status) == 32);
CHECK(offsetof(MPI_Status, MPI_SOURCE) == 0);
CHECK(offsetof(MPI_Status, MPI_TAG) == 4);
CHECK(offsetof(MPI_Status, MPI_ERROR) == 8);
CHECK(offsetof(MPI_Status, MPI_internal) == 12);
CHECK(sizeof(MPI_Aint) == sizeof(void *));
CHECK(sizeof(MPI_Count) == 8);
CHECK(sizeof(MPI_Offset) == 8);
CHECK(sizeof(MPI_Fint) == 4);
CHECK(sizeof(MPI_Comm) == sizeof(void *));
CHECK(sizeof(MPI_T_cb_safety) == sizeof(int));

CHECK(MPI_VERSION == 5 && MPI_SUBVERSION == 0);
CHECK(MPI_ABI_VERSION == 1 && MPI_ABI_SUBVERSION == 0);
CHECK(MPI_SUCCESS == 0 && MPI_ERR_RANK == 6 && MPI_ERR_TRUNCATE == 15 && MPI_ERR_OTHER == 16);
CHECK(MPI_ERR_UNSUPPORTED_OPERATION == 55 && MPI_ERR_ABI == 62 && MPI_T_ERR_CANNOT_INIT == 1001);
CHECK(MPI_ERR_LASTCODE == 16383);
CHECK(MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3 && MPI_ROOT == -4);
CHECK(MPI_UNDEFINED == -32766 && MPI_BSEND_OVERHEAD == 512 && MPI_KEYVAL_INVALID == 0);
CHECK(MPI_THREAD_SINGLE == 0 && MPI_THREAD_FUNNELED == 1024);
CHECK(MPI_THREAD_SERIALIZED == 2048 && MPI_THREAD_MULTIPLE == 4096);
CHECK(MPI_MAX_PROCESSOR_NAME == 256 && MPI_MAX_ERROR_STRING == 512 && MPI_MAX_OBJECT_NAME == 128);
CHECK(MPI_MAX_LIBRARY_VERSION_STRING == 8192);
CHECK(MPI_IDENT == 201 && MPI_CONGRUENT == 202 && MPI_SIMILAR == 203 && MPI_UNEQUAL == 204);
CHECK(MPI_CART == 211 && MPI_COMM_TYPE_SHARED == 221 && MPI_TAG_UB == 501 && MPI_WIN_BASE == 601);
CHECK(MPI_COMBINER_NAMED == 101 && MPI_ORDER_C == 12 && MPI_MODE_RDONLY == 16);

/* Handles are no constant expressions to the language: the program says what is wrong by its exit code. */
static const struct {
    const void *handle;
    intptr_t value;
} HANDLES[] = {
    {MPI_IN_PLACE, 1},
    {MPI_OP_NULL, 0x20},
    {MPI_SUM, 0x21},
    {MPI_MIN, 0x22},
    {MPI_MAX, 0x23},
    {MPI_PROD, 0x24},
    {MPI_BAND, 0x28},
    {MPI_LAND, 0x30},
    {MPI_MINLOC, 0x38},
    {MPI_NO_OP, 0x3d},
    {MPI_COMM_NULL, 0x100},
    {MPI_COMM_WORLD, 0x101},
    {MPI_COMM_SELF, 0x102},
    {MPI_GROUP_NULL, 0x108},
    {MPI_GROUP_EMPTY, 0x109},
    {MPI_WIN_NULL, 0x110},
    {MPI_FILE_NULL, 0x118},
    {MPI_SESSION_NULL, 0x120},
    {MPI_MESSAGE_NULL, 0x128},
    {MPI_INFO_NULL, 0x130},
    {MPI_ERRHANDLER_NULL, 0x140},
    {MPI_ERRORS_ARE_FATAL, 0x141},
    {MPI_ERRORS_ABORT, 0x142},
    {MPI_ERRORS_RETURN, 0x143},
    {MPI_REQUEST_NULL, 0x180},
    {MPI_DATATYPE_NULL, 0x200},
    {MPI_AINT, 0x201},
    {MPI_INT, 0x209},
    {MPI_LONG, 0x20a},
    {MPI_FLOAT, 0x210},
    {MPI_DOUBLE, 0x214},
    {MPI_LONG_DOUBLE, 0x220},
    {MPI_DOUBLE_INT, 0x229},
    {MPI_C_BOOL, 0x238},
    {MPI_INT8_T, 0x240},
    {MPI_CHAR, 0x243},
    {MPI_BYTE, 0x247},
    {MPI_UINT64_T, 0x259},
    {MPI_REAL8, 0x2da},
};

int main(void)
{
    for (size_t i = 0; i < sizeof HANDLES / sizeof HANDLES[0]; i++)
        if ((intptr_t)HANDLES[i].handle != HANDLES[i].value)
            return (int)i + 1;
    return 0;
}
