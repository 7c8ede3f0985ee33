/* abi_info.c - what the binary interface leaves open. Of the standard's ABI alone. */
#include "../check.h"

#ifdef MPI_ABI_VERSION
static int class_of(int code)
{
    int class = -1;

    MPI(MPI_Error_class(code, &class));
    return class;
}

static int value_of(MPI_Info info, const char *key)
{
    char text[20];
    int length = sizeof text, flag = 0;

    MPI(MPI_Info_get_string(info, key, &length, text, &flag));
    return flag ? atoi(text) : -1;
}

static void sizes(void)
{
    MPI_Info info = MPI_INFO_NULL;

    MPI(MPI_Abi_get_info(&info));
    CHECK(value_of(info, "mpi_aint_size") == sizeof(MPI_Aint), "MPI_Aint: %d", value_of(info, "mpi_aint_size"));
    CHECK(value_of(info, "mpi_count_size") == sizeof(MPI_Count), "MPI_Count: %d",
          value_of(info, "mpi_count_size"));
    CHECK(value_of(info, "mpi_offset_size") == sizeof(MPI_Offset), "MPI_Offset: %d",
          value_of(info, "mpi_offset_size"));
    MPI(MPI_Info_free(&info));
    MPI(MPI_Get_hw_resource_info(&info));
    CHECK(info != MPI_INFO_NULL && value_of(info, "none") == -1, "no info on hardware");
    MPI(MPI_Info_free(&info));
}

static void fortran(void)
{
    MPI_Info told, info = MPI_INFO_ENV;

    MPI(MPI_Abi_get_fortran_info(&info));
    CHECK(info == MPI_INFO_NULL, "Fortran is known before it was told");
    MPI(MPI_Info_create(&told));
    MPI(MPI_Info_set(told, "mpi_integer_size", "8"));
    CHECK(class_of(MPI_Abi_set_fortran_info(told)) == MPI_ERR_ABI, "integers of 8 bytes");
    MPI(MPI_Abi_get_fortran_info(&info));
    CHECK(info == MPI_INFO_NULL, "what was refused is known");
    MPI(MPI_Info_set(told, "mpi_integer_size", "4"));
    MPI(MPI_Info_set(told, "mpi_logical_size", "4"));
    MPI(MPI_Info_set(told, "mpi_real16_supported", "true"));
    MPI(MPI_Abi_set_fortran_info(told));
    CHECK(class_of(MPI_Abi_set_fortran_info(told)) == MPI_ERR_ABI, "told twice");
    MPI(MPI_Info_free(&told));
    MPI(MPI_Abi_get_fortran_info(&info));
    CHECK(value_of(info, "mpi_integer_size") == 4 && value_of(info, "mpi_real_size") == -1,
          "Fortran's integers have %d bytes", value_of(info, "mpi_integer_size"));
    MPI(MPI_Info_free(&info));
}

static void booleans(void)
{
    int yes = 1, no = 0, all = -1, is_set = -1;
    char small[2] = {7, 7};

    MPI(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set));
    CHECK(!is_set && yes == 1 && no == 0, "logical values are known before they were told");
    CHECK(class_of(MPI_Abi_set_fortran_booleans(4, &all, &no)) == MPI_ERR_ABI, "true is -1");
    CHECK(class_of(MPI_Abi_set_fortran_booleans(3, &yes, &no)) == MPI_ERR_ARG, "logicals of 3 bytes");
    CHECK(class_of(MPI_Abi_set_fortran_booleans(4, NULL, &no)) == MPI_ERR_ARG, "no true");
    MPI(MPI_Abi_set_fortran_booleans(4, &yes, &no));
    yes = no = 5;
    MPI(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set));
    CHECK(is_set && yes == 1 && no == 0, "logical values: %d %d %d", is_set, yes, no);
    MPI(MPI_Abi_get_fortran_booleans(1, &small[0], &small[1], &is_set));
    CHECK(!is_set && small[0] == 7, "another size is known too");
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
#ifdef MPI_ABI_VERSION
    MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    sizes();
    fortran();
    booleans();
#endif
    return end("abi_info");
}
