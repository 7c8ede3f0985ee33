/* Functions that need no other process and no MPI_Init, called as C calls them. Prints what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

static void texts(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major, minor, class_;
    CHECK(MPI_Get_version(&major, &minor) == MPI_SUCCESS && major == 5 && minor == 0);
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
    CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS);
    CHECK(strncmp(text, "Pombo ", 6) == 0 && strlen(text) == (size_t)length);
    CHECK(MPI_Get_processor_name(text, &length) == MPI_SUCCESS);
    CHECK(length > 0 && strlen(text) == (size_t)length);
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, "MPI_ERR_RANK: invalid rank") == 0 && strlen(text) == (size_t)length);
    CHECK(MPI_Error_class(MPI_ERR_TAG, &class_) == MPI_SUCCESS && class_ == MPI_ERR_TAG);
    CHECK(MPI_Type_get_name(MPI_DOUBLE_INT, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, "MPI_DOUBLE_INT") == 0 && length == 14);
}

#define SIZE_IS(type, expected) \
    do { \
        int size = -1; \
        MPI_Count size_c = -1, size_x = -1; \
        CHECK(MPI_Type_size(type, &size) == MPI_SUCCESS && size == (int)(expected)); \
        CHECK(MPI_Type_size_c(type, &size_c) == MPI_SUCCESS && size_c == (MPI_Count)(expected)); \
        CHECK(MPI_Type_size_x(type, &size_x) == MPI_SUCCESS && size_x == (MPI_Count)(expected)); \
    } while (0)

static void sizes(void)
{
    SIZE_IS(MPI_CHAR, sizeof(char));
    SIZE_IS(MPI_WCHAR, sizeof(L'x'));
    SIZE_IS(MPI_SHORT, sizeof(short));
    SIZE_IS(MPI_INT, sizeof(int));
    SIZE_IS(MPI_UNSIGNED_LONG, sizeof(unsigned long));
    SIZE_IS(MPI_LONG_LONG_INT, sizeof(long long));
    SIZE_IS(MPI_FLOAT, sizeof(float));
    SIZE_IS(MPI_DOUBLE, sizeof(double));
    SIZE_IS(MPI_LONG_DOUBLE, sizeof(long double));
    SIZE_IS(MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double));
    SIZE_IS(MPI_C_BOOL, 1);
    SIZE_IS(MPI_AINT, sizeof(MPI_Aint));
    SIZE_IS(MPI_UINT16_T, 2);
}

#define LAID_OUT_AS(type, value) \
    do { \
        struct pair { \
            value a; \
            int b; \
        }; \
        MPI_Aint lb = -1, extent = -1, true_lb = -1, true_extent = -1; \
        CHECK(MPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS); \
        CHECK(lb == 0 && extent == (MPI_Aint)sizeof(struct pair)); \
        CHECK(MPI_Type_get_true_extent(type, &true_lb, &true_extent) == MPI_SUCCESS); \
        CHECK(true_lb == 0 && true_extent == (MPI_Aint)((char *)(&((struct pair *)0)->b + 1) - (char *)0)); \
        SIZE_IS(type, sizeof(value) + sizeof(int)); \
    } while (0)

static void pairs(void)
{
    LAID_OUT_AS(MPI_FLOAT_INT, float);
    LAID_OUT_AS(MPI_DOUBLE_INT, double);
    LAID_OUT_AS(MPI_LONG_INT, long);
    LAID_OUT_AS(MPI_SHORT_INT, short);
    LAID_OUT_AS(MPI_2INT, int);
    LAID_OUT_AS(MPI_LONG_DOUBLE_INT, long double);
}

static void statuses(void)
{
    MPI_Status status;
    int number, flag;
    MPI_Count large;
    memset(&status, 0, sizeof status);
    CHECK(MPI_Status_set_source(&status, 3) == MPI_SUCCESS && status.MPI_SOURCE == 3);
    CHECK(MPI_Status_set_tag(&status, 4) == MPI_SUCCESS && status.MPI_TAG == 4);
    CHECK(MPI_Status_set_error(&status, 5) == MPI_SUCCESS && status.MPI_ERROR == 5);
    CHECK(MPI_Status_get_source(&status, &number) == MPI_SUCCESS && number == 3);
    CHECK(MPI_Status_get_tag(&status, &number) == MPI_SUCCESS && number == 4);
    CHECK(MPI_Status_get_error(&status, &number) == MPI_SUCCESS && number == 5);
    CHECK(MPI_Status_set_cancelled(&status, 1) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == 5);

    CHECK(MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 3) == MPI_SUCCESS);
    CHECK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &number) == MPI_SUCCESS && number == 3);
    CHECK(MPI_Get_count(&status, MPI_DOUBLE_INT, &number) == MPI_SUCCESS && number == MPI_UNDEFINED);
    CHECK(MPI_Status_set_elements_c(&status, MPI_INT, 3000000000) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &number) == MPI_SUCCESS && number == MPI_UNDEFINED);
    CHECK(MPI_Get_count_c(&status, MPI_INT, &large) == MPI_SUCCESS && large == 3000000000);
}

static void conversions(void)
{
    MPI_Fint f_status[MPI_F_STATUS_SIZE];
    MPI_Status status, back;
    memset(&status, 7, sizeof status);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Op_c2f(MPI_SUM) == 0x21);
    CHECK(MPI_Status_c2f(&status, f_status) == MPI_SUCCESS);
    CHECK(MPI_Status_f2c(f_status, &back) == MPI_SUCCESS);
    CHECK(memcmp(&status, &back, sizeof status) == 0);
}

static void addresses_and_memory(void)
{
    char bytes[10] = "";
    MPI_Aint from, to;
    char *memory = NULL;
    MPI_Datatype matched;
    CHECK(MPI_Get_address(bytes, &from) == MPI_SUCCESS);
    CHECK(MPI_Address(bytes + 6, &to) == MPI_SUCCESS);
    CHECK(MPI_Aint_diff(to, from) == 6 && MPI_Aint_add(from, 6) == to);
    CHECK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory != NULL);
    memset(memory, 1, 100000);
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &matched) == MPI_SUCCESS && matched == MPI_REAL8);
    CHECK(MPI_Wtick() > 0 && MPI_Wtime() > 0);
}

static void operations(void)
{
    int commutes = 0;
    CHECK(MPI_Op_commutative(MPI_SUM, &commutes) == MPI_SUCCESS && commutes);
}

int main(void)
{
    texts();
    sizes();
    pairs();
    statuses();
    conversions();
    addresses_and_memory();
    operations();
    return failures != 0;
}
