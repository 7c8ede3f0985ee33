/* Every basic datatype with values that depend on who made them and where they stand, so that a receiver computes what
 * it must get. Every value changes if its bytes are reversed. */
#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* A number below 2^53 of a maker and a place, whose bytes all differ. */
static uint64_t number(int maker, int place) {
    return 0x01020304050607ull + 0x100000001ull * (unsigned)place + 0x10101ull * (unsigned)maker;
}

static _Bool boolean(int maker, int place) { return (maker + place) % 3 == 1; }

struct float_int { float value; int place; };
struct double_int { double value; int place; };
struct long_int { long value; int place; };
struct short_int { short value; int place; };
struct long_double_int { long double value; int place; };
struct two_int { int value, place; };

/* More bits than a double has, and few enough for the 64 of x86-64, also in a sum of all ranks. */
static long double wide(int maker, int place) { return (long double)number(maker, place) * 64 + 0x1p-3L; }

/* type of C, MPI's name, expression of maker m and place p */
#define INTEGERS(X)                                                                                                    \
    X(char, MPI_CHAR, (char)(number(m, p) % 128))                                                                      \
    X(signed char, MPI_SIGNED_CHAR, (signed char)-(int)(number(m, p) % 128))                                           \
    X(unsigned char, MPI_UNSIGNED_CHAR, (unsigned char)number(m, p))                                                   \
    X(short, MPI_SHORT, (short)-(int)(number(m, p) % 32768))                                                           \
    X(unsigned short, MPI_UNSIGNED_SHORT, (unsigned short)number(m, p))                                                \
    X(int, MPI_INT, -(int)(number(m, p) % 2147483647))                                                                 \
    X(unsigned, MPI_UNSIGNED, (unsigned)number(m, p))                                                                  \
    X(long, MPI_LONG, -(long)number(m, p))                                                                             \
    X(unsigned long, MPI_UNSIGNED_LONG, number(m, p) << 9)                                                             \
    X(long long, MPI_LONG_LONG, -(long long)number(m, p))                                                              \
    X(unsigned long long, MPI_UNSIGNED_LONG_LONG, number(m, p) << 8)                                                   \
    X(int8_t, MPI_INT8_T, (int8_t)-(int)(number(m, p) % 100))                                                          \
    X(int16_t, MPI_INT16_T, (int16_t)(number(m, p) % 30011))                                                           \
    X(int32_t, MPI_INT32_T, (int32_t)(number(m, p) % 2000000011))                                                      \
    X(int64_t, MPI_INT64_T, (int64_t)number(m, p))                                                                     \
    X(uint8_t, MPI_UINT8_T, (uint8_t)number(m, p))                                                                     \
    X(uint16_t, MPI_UINT16_T, (uint16_t)(number(m, p) >> 3))                                                           \
    X(uint32_t, MPI_UINT32_T, (uint32_t)(number(m, p) >> 5))                                                           \
    X(uint64_t, MPI_UINT64_T, number(m, p) << 7)                                                                       \
    X(MPI_Aint, MPI_AINT, -(MPI_Aint)number(m, p))                                                                     \
    X(MPI_Count, MPI_COUNT, (MPI_Count)number(m, p))                                                                   \
    X(MPI_Offset, MPI_OFFSET, (MPI_Offset)number(m, p) << 4)

#define REALS(X)                                                                                                       \
    X(float, MPI_FLOAT, (float)(number(m, p) % 1048573) / 4)                                                          \
    X(double, MPI_DOUBLE, (double)number(m, p) / -8)                                                                   \
    X(long double, MPI_LONG_DOUBLE, wide(m, p))

#define COMPLEX(X)                                                                                                     \
    X(float complex, MPI_C_FLOAT_COMPLEX, (float)(number(m, p) % 4099) + (float)(number(m, p) % 8191) * I)             \
    X(double complex, MPI_C_DOUBLE_COMPLEX, (double)number(m, p) - (double)number(p, m) * I)                           \
    X(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, wide(m, p) + wide(p, m + 1) * I)

#define OTHERS(X)                                                                                                      \
    X(_Bool, MPI_C_BOOL, boolean(m, p))                                                                                \
    X(wchar_t, MPI_WCHAR, (wchar_t)(number(m, p) % 0x10ffff))                                                          \
    X(unsigned char, MPI_BYTE, (unsigned char)number(m, p))

/* Values with their places; these compare by their parts. */
#define PAIRS(X)                                                                                                       \
    X(struct float_int, MPI_FLOAT_INT, (float)(number(m, p) % 1021))                                                   \
    X(struct double_int, MPI_DOUBLE_INT, (double)(number(m, p) % 100003) / 16)                                         \
    X(struct long_int, MPI_LONG_INT, (long)number(m, p))                                                               \
    X(struct short_int, MPI_SHORT_INT, (short)(number(m, p) % 1009))                                                   \
    X(struct long_double_int, MPI_LONG_DOUBLE_INT, wide(m, p))                                                         \
    X(struct two_int, MPI_2INT, (int)(number(m, p) % 1000003))

static int me, ranks, faults;

#define CHECK(holds, ...)                                                                                              \
    do {                                                                                                               \
        if (!(holds) && faults++ < 10) {                                                                               \
            printf("rank %d: ", me);                                                                                   \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            fflush(stdout);                                                                                            \
        }                                                                                                              \
    } while (0)
