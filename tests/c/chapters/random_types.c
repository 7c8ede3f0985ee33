/* random_types.c - random nested datatypes against a map of their bytes, by
 * packing, sending, broadcasting and gathering.
 *
 *     random_types SEED CASES [BYTES [corners]]
 *
 * BYTES: about how many bytes of data a message has at most (4000). With
 * `corners` there are blocks without items, and structures some of whose parts
 * have bounds that were set: libraries differ in the bounds of those, and this
 * program holds to the standard's section 5.1.7. */
#include "../check.h"

enum { MOST = 600, DEPTH = 5 };

/* The bytes of one item, in the order of a message. */
struct map {
    MPI_Aint at[MOST];
    int bytes;
    MPI_Aint lb, ub;
    int marked;      /* the bounds were set by MPI_Type_create_resized */
    int counts;      /* it has data or bounds */
    MPI_Aint align;
};

static unsigned long long state;
static int corners;

static int below(int n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return n < 1 ? 0 : (int)((state >> 33) % (unsigned)n);
}

/* Adds a copy of `part` at a displacement; returns 0 if the map is full. */
static int add(struct map *to, const struct map *part, MPI_Aint at)
{
    if (to->bytes + part->bytes > MOST)
        return 0;
    for (int i = 0; i < part->bytes; i++)
        to->at[to->bytes++] = part->at[i] + at;
    if (!part->counts)
        return 1;
    const MPI_Aint lb = part->lb + at, ub = part->ub + at;

    if (!to->counts || (part->marked && !to->marked)) {
        to->lb = lb;
        to->ub = ub;
    } else if (part->marked == to->marked) {
        to->lb = lb < to->lb ? lb : to->lb;
        to->ub = ub > to->ub ? ub : to->ub;
    }
    to->marked |= part->marked;
    to->counts = 1;
    to->align = part->align > to->align ? part->align : to->align;
    return 1;
}

static MPI_Aint extent(const struct map *map)
{
    return map->ub - map->lb;
}

static MPI_Datatype basic(struct map *map)
{
    static const struct {
        int size;
        int kind;
    } all[] = {{1, 0}, {2, 1}, {4, 2}, {8, 3}, {4, 4}, {8, 5}};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE};
    const int which = below(6);

    memset(map, 0, sizeof *map);
    for (int i = 0; i < all[which].size; i++)
        map->at[i] = i;
    map->bytes = all[which].size;
    map->ub = map->align = map->bytes;
    map->counts = 1;
    return types[all[which].kind];
}

/* Makes a random type and its map; the type is committed only at the top. */
static MPI_Datatype make(struct map *map, int depth)
{
    static struct map inner[DEPTH + 1][3];
    struct map *const child = inner[depth];
    MPI_Datatype old[3], new = MPI_DATATYPE_NULL;
    int lengths[4], places[4];
    MPI_Aint bytes[4];
    int ok = 1;

    if (depth == 0)
        return basic(map);
    const int blocks = 1 + below(4), least = corners ? 0 : 1, length = least + below(4 - least);
    const int kind = below(11), olds = kind == 7 ? 3 : 1;

    for (int i = 0; i < olds; i++)
        old[i] = make(&child[i], olds == 3 && !corners ? 0 : below(depth));
    const MPI_Aint each = extent(&child[0]);

    memset(map, 0, sizeof *map);
    for (int i = 0; i < 4; i++) {
        lengths[i] = least + below(4 - least);
        places[i] = 5 * i + below(4) - 3;
        bytes[i] = 48 * i + below(40) - 20;
    }
    switch (kind) {
    case 0:
        MPI(MPI_Type_contiguous(blocks, old[0], &new));
        for (int i = 0; i < blocks; i++)
            ok &= add(map, &child[0], i * each);
        break;
    case 1: {
        const int stride = below(9) - 3;

        MPI(MPI_Type_vector(blocks, length, stride, old[0], &new));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                ok &= add(map, &child[0], (i * stride + j) * each);
        break;
    }
    case 2: {
        const MPI_Aint stride = below(200) - 60;

        MPI(MPI_Type_create_hvector(blocks, length, stride, old[0], &new));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                ok &= add(map, &child[0], i * stride + j * each);
        break;
    }
    case 3:
        MPI(MPI_Type_indexed(blocks, lengths, places, old[0], &new));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < lengths[i]; j++)
                ok &= add(map, &child[0], (places[i] + j) * each);
        break;
    case 4:
        MPI(MPI_Type_create_hindexed(blocks, lengths, bytes, old[0], &new));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < lengths[i]; j++)
                ok &= add(map, &child[0], bytes[i] + j * each);
        break;
    case 5:
        MPI(MPI_Type_create_indexed_block(blocks, length, places, old[0], &new));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                ok &= add(map, &child[0], (places[i] + j) * each);
        break;
    case 6:
        MPI(MPI_Type_create_hindexed_block(blocks, length, bytes, old[0], &new));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                ok &= add(map, &child[0], bytes[i] + j * each);
        break;
    case 7: {
        MPI(MPI_Type_create_struct(3, lengths, bytes, old, &new));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < lengths[i]; j++)
                ok &= add(map, &child[i], bytes[i] + j * extent(&child[i]));
        break;
    }
    case 8: {
        const MPI_Aint lb = below(40) - 20, more = below(64);

        MPI(MPI_Type_create_resized(old[0], lb, each + more, &new));
        add(map, &child[0], 0);
        map->lb = lb;
        map->ub = lb + each + more;
        map->marked = map->counts = 1;
        break;
    }
    case 9: {
        const int sizes[2] = {2 + below(3), 2 + below(4)};
        const int parts[2] = {1 + below(sizes[0]), 1 + below(sizes[1])};
        const int starts[2] = {below(sizes[0] - parts[0] + 1), below(sizes[1] - parts[1] + 1)};
        const int c = below(2);

        MPI(MPI_Type_create_subarray(2, sizes, parts, starts, c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old[0],
                                     &new));
        const int fast = c ? 1 : 0, slow = 1 - fast;

        for (int i = 0; i < parts[slow]; i++)
            for (int j = 0; j < parts[fast]; j++)
                ok &= add(map, &child[0],
                          ((starts[slow] + i) * sizes[fast] + starts[fast] + j) * each);
        map->lb = 0;
        map->ub = sizes[0] * sizes[1] * each;
        map->marked = map->counts = 1;
        break;
    }
    default:
        MPI(MPI_Type_dup(old[0], &new));
        *map = child[0];
    }
    if (kind == 7 && !corners) {
        /* Libraries also differ in the padding of a structure. */
        MPI_Datatype padded = new;

        MPI(MPI_Type_create_resized(padded, map->lb, extent(map), &new));
        MPI(MPI_Type_free(&padded));
        map->marked = 1;
    }
    if (kind == 7 && !map->marked && map->align > 0) {
        const MPI_Aint rest = extent(map) % map->align;

        if (rest > 0)
            map->ub += map->align - rest;
    }
    for (int i = 0; i < olds; i++) {
        int numbers, addresses, types, combiner;

        MPI(MPI_Type_get_envelope(old[i], &numbers, &addresses, &types, &combiner));
        if (combiner != MPI_COMBINER_NAMED)
            MPI(MPI_Type_free(&old[i]));
    }
    if (!ok) {
        MPI(MPI_Type_free(&new));
        return make(map, depth);
    }
    return new;
}

/* Memory for items of a map. */
struct memory {
    unsigned char *start, *base;
    size_t bytes;
};

static struct memory room(const struct map *map, int items)
{
    MPI_Aint low = 0, high = 0;
    struct memory memory;

    for (int item = 0; item < items; item += items > 1 ? items - 1 : 1)
        for (int i = 0; i < map->bytes; i++) {
            const MPI_Aint at = map->at[i] + item * extent(map);

            low = at < low ? at : low;
            high = at >= high ? at + 1 : high;
        }
    memory.bytes = (size_t)(high - low) + 1;
    memory.start = allocate(memory.bytes);
    memory.base = memory.start - low;
    return memory;
}

/* Whether items may be received: no byte twice. */
static int distinct(const struct map *map, int items, struct memory memory)
{
    memset(memory.start, 0, memory.bytes);
    for (int item = 0; item < items; item++)
        for (int i = 0; i < map->bytes; i++)
            if (memory.base[map->at[i] + item * extent(map)]++)
                return 0;
    return 1;
}

static void expect(const struct map *map, int items, struct memory memory, const unsigned char *bytes,
                   const char *what)
{
    for (int item = 0; item < items; item++)
        for (int i = 0; i < map->bytes; i++) {
            const int k = item * map->bytes + i;
            const unsigned char got = memory.base[map->at[i] + item * extent(map)];

            CHECK(got == bytes[k], "%s: byte %d is %u instead of %u", what, k, got, bytes[k]);
        }
}

/* Checks that everything but the data still has the value 0xee. */
static void expect_gaps(const struct map *map, int items, struct memory memory, const char *what)
{
    for (int item = 0; item < items; item++)
        for (int i = 0; i < map->bytes; i++)
            memory.base[map->at[i] + item * extent(map)] = 0xee;
    for (size_t i = 0; i < memory.bytes; i++)
        CHECK(memory.start[i] == 0xee, "%s: byte %zu beside the data has changed", what, i);
}

static void one(int most)
{
    static struct map map;
    MPI_Datatype type = make(&map, 1 + below(DEPTH));
    MPI_Aint lb, bytes, true_lb, true_bytes, low = 0, high = 0;
    MPI_Status status;
    int size_of, count, place = 0, room_for;

    MPI(MPI_Type_commit(&type));
    MPI(MPI_Type_size(type, &size_of));
    CHECK(size_of == map.bytes, "size %d instead of %d", size_of, map.bytes);
    MPI(MPI_Type_get_extent(type, &lb, &bytes));
    CHECK(bytes == extent(&map) && (lb == map.lb || map.bytes == 0), "bounds %ld %ld instead of %ld %ld",
          (long)lb, (long)bytes, (long)map.lb, (long)extent(&map));
    for (int i = 0; i < map.bytes; i++) {
        low = i == 0 || map.at[i] < low ? map.at[i] : low;
        high = i == 0 || map.at[i] >= high ? map.at[i] + 1 : high;
    }
    MPI(MPI_Type_get_true_extent(type, &true_lb, &true_bytes));
    CHECK(map.bytes == 0 || (true_lb == low && true_bytes == high - low), "true bounds %ld %ld", (long)true_lb,
          (long)true_bytes);

    const int items = map.bytes ? 1 + below(most / map.bytes + 1) : 1;
    const int all = items * map.bytes;
    unsigned char *const packed = allocate((size_t)all + 8), *const plain = allocate((size_t)all + 8);
    const struct memory from = room(&map, items), into = room(&map, items);
    const int receives = distinct(&map, items, into);
    const unsigned salt = (unsigned)below(256);

    for (size_t i = 0; i < from.bytes; i++)
        from.start[i] = (unsigned char)(i * 31 + (i >> 8) * 7 + salt);
    for (int item = 0; item < items; item++)
        for (int i = 0; i < map.bytes; i++)
            plain[item * map.bytes + i] = from.base[map.at[i] + item * extent(&map)];

    MPI(MPI_Pack_size(items, type, MPI_COMM_WORLD, &room_for));
    CHECK(room_for >= all, "MPI_Pack_size gives %d for %d bytes", room_for, all);
    MPI(MPI_Pack(from.base, items, type, packed, all, &place, MPI_COMM_WORLD));
    CHECK(place == all && memcmp(packed, plain, (size_t)all) == 0, "MPI_Pack");
    if (receives) {
        memset(into.start, 0xee, into.bytes);
        place = 0;
        MPI(MPI_Unpack(plain, all, &place, into.base, items, type, MPI_COMM_WORLD));
        expect(&map, items, into, plain, "MPI_Unpack");
        expect_gaps(&map, items, into, "MPI_Unpack");
    }
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    memset(packed, 0, (size_t)all);
    MPI(MPI_Sendrecv(from.base, items, type, next, 1, packed, all, MPI_BYTE, before, 1, MPI_COMM_WORLD,
                     &status));
    CHECK(memcmp(packed, plain, (size_t)all) == 0, "from the type to bytes, %d bytes", all);
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == all, "%d bytes received instead of %d", count, all);
    if (receives) {
        memset(into.start, 0xee, into.bytes);
        MPI(MPI_Sendrecv(from.base, items, type, next, 2, into.base, items, type, before, 2, MPI_COMM_WORLD,
                         &status));
        MPI(MPI_Get_count(&status, type, &count));
        CHECK(count == items || map.bytes == 0, "%d items received instead of %d", count, items);
        expect(&map, items, into, plain, "from the type to the type");
        expect_gaps(&map, items, into, "from the type to the type");

        const int root = below(size);

        memset(into.start, 0xee, into.bytes);
        MPI(rank == root ? MPI_Bcast(plain, all, MPI_BYTE, root, MPI_COMM_WORLD)
                         : MPI_Bcast(into.base, items, type, root, MPI_COMM_WORLD));
        if (rank != root)
            expect(&map, items, into, plain, "MPI_Bcast");
    }
    const int root = below(size);
    unsigned char *const gathered = allocate((size_t)all * (size_t)size + 1);

    MPI(MPI_Gather(from.base, items, type, gathered, all, MPI_BYTE, root, MPI_COMM_WORLD));
    for (int i = 0; rank == root && i < size; i++)
        CHECK(memcmp(gathered + (size_t)i * (size_t)all, plain, (size_t)all) == 0, "MPI_Gather, rank %d", i);
    free(gathered);
    free(from.start);
    free(into.start);
    free(packed);
    free(plain);
    int numbers, addresses, types, combiner;

    MPI(MPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner));
    if (combiner != MPI_COMBINER_NAMED)
        MPI(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc < 3)
        return usage("random_types SEED CASES [BYTES [corners]]");
    state = strtoull(argv[1], NULL, 10) * 77 + 1;
    const long cases = strtol(argv[2], NULL, 10);
    const int most = argc > 3 ? atoi(argv[3]) : 4000;

    corners = argc > 4;

    for (long i = 0; i < cases; i++)
        one(below(8) ? below(200) : most);
    return end("random_types");
}
