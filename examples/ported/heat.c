/* heat.c - heat conduction in a plate, as a plain C program over MPI.
 *
 *   mpicc -O2 heat.c -o heat -lm
 *   mpirun -n 4 ./heat heat.deck
 *
 * Reads the input deck named by its one argument (heat.deck shows every
 * setting), does as many Jacobi steps as the deck says, prints the residual at
 * intervals, and writes the picture heat.ppm into the working directory.
 *
 * The picture is the same, byte for byte, for any number of ranks: every cell is
 * computed by one formula from the same four neighbours, on any rank. (So
 * do not compile with -ffast-math, which may reorder the additions.)
 *
 * -DHEAT_SKIP_HALO=LEFT (or RIGHT, UP, DOWN) leaves out the halo on that side:
 * a wrong program, with which a test shows that the picture depends on it (take
 * 4 ranks: as 2 x 2 they have neighbours on all sides).
 */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE "heat.ppm"
#define MAX_SIDE 20000 /* cells; keeps every count below 2^31 */
#define MAX_SPOTS 64
#define MAX_NUMBER 1e9
#define BAD_INPUT 2 /* exit code */

/* ---- the input deck ------------------------------------------------------ */

struct spot {
    int x, y, radius;
    double temperature;
};

struct deck {
    int nx, ny, steps, report, spots;
    double initial, left, right, top, bottom;
    struct spot spot[MAX_SPOTS];
};

/* Reports invalid input with advice, and ends all ranks. */
static void refuse(const char *path, int line, const char *what, const char *advice)
{
    if (line > 0)
        fprintf(stderr, "heat: %s:%d: %s; %s\n", path, line, what, advice);
    else
        fprintf(stderr, "heat: %s: %s; %s\n", path, what, advice);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, BAD_INPUT);
    exit(BAD_INPUT);
}

/* Reads up to `max` numbers after the keyword. Returns how many there are, or
 * -1 if there is other text or an excessive number. */
static int numbers(char *text, double *value, int max)
{
    int n = 0;

    for (char *word = strtok(text, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
        char *end;
        double v = strtod(word, &end);
        if (end == word || *end != '\0' || !(fabs(v) <= MAX_NUMBER) || n == max)
            return -1;
        value[n++] = v;
    }
    return n;
}

static int is_whole(double v, double least, double most)
{
    return v >= least && v <= most && v == floor(v);
}

/* Reads one line of the deck. Returns advice if it is invalid, else NULL. */
static const char *parse(struct deck *d, const char *key, char *rest)
{
    double v[4] = {0};
    const int n = numbers(rest, v, 4);
    const struct {
        const char *key;
        double *value;
    } temperature[] = {{"initial", &d->initial},
                       {"left", &d->left},
                       {"right", &d->right},
                       {"top", &d->top},
                       {"bottom", &d->bottom}};

    if (strcmp(key, "grid") == 0) {
        if (n != 2 || !is_whole(v[0], 1, MAX_SIDE) || !is_whole(v[1], 1, MAX_SIDE))
            return "write 'grid NX NY' with whole numbers from 1 to 20000";
        d->nx = (int)v[0];
        d->ny = (int)v[1];
        return NULL;
    }
    if (strcmp(key, "steps") == 0) {
        if (n != 1 || !is_whole(v[0], 0, 1e9))
            return "write 'steps N' with a whole number from 0 to 1000000000";
        d->steps = (int)v[0];
        return NULL;
    }
    if (strcmp(key, "report") == 0) {
        if (n != 1 || !is_whole(v[0], 1, 1e9))
            return "write 'report N' with a whole number from 1 to 1000000000";
        d->report = (int)v[0];
        return NULL;
    }
    if (strcmp(key, "spot") == 0) {
        if (n != 4 || !is_whole(v[0], 0, MAX_SIDE) || !is_whole(v[1], 0, MAX_SIDE) ||
            !is_whole(v[2], 0, MAX_SIDE))
            return "write 'spot X Y RADIUS TEMPERATURE', the first three whole, from 0 to 20000";
        if (d->spots == MAX_SPOTS)
            return "remove some spots, there may be 64";
        d->spot[d->spots++] = (struct spot){(int)v[0], (int)v[1], (int)v[2], v[3]};
        return NULL;
    }
    for (size_t i = 0; i < sizeof temperature / sizeof *temperature; i++) {
        if (strcmp(key, temperature[i].key) == 0) {
            if (n != 1)
                return "write one temperature after the word";
            *temperature[i].value = v[0];
            return NULL;
        }
    }
    return "known words are grid, steps, report, initial, left, right, top, bottom, spot";
}

static void read_deck(const char *path, struct deck *d)
{
    char line[256], what[320];
    int at = 0;
    FILE *f = fopen(path, "r");

    memset(d, 0, sizeof *d);
    d->steps = -1;
    if (!f) {
        snprintf(what, sizeof what, "cannot be opened (%s)", strerror(errno));
        refuse(path, 0, what, "give the path of an input deck such as heat.deck");
    }
    while (fgets(line, sizeof line, f)) {
        at++;
        if (!strchr(line, '\n') && !feof(f))
            refuse(path, at, "not a line of text", "keep to text, below 255 characters a line");
        line[strcspn(line, "#")] = '\0';
        char *key = line + strspn(line, " \t\r\n");
        char *rest = key + strcspn(key, " \t\r\n");
        if (*key == '\0')
            continue;
        if (*rest != '\0')
            *rest++ = '\0';
        const char *advice = parse(d, key, rest);
        if (advice) {
            snprintf(what, sizeof what, "'%s' is not understood", key);
            refuse(path, at, what, advice);
        }
    }
    if (ferror(f)) {
        snprintf(what, sizeof what, "cannot be read (%s)", strerror(errno));
        refuse(path, 0, what, "give the path of an input deck such as heat.deck");
    }
    fclose(f);
    if (d->nx == 0)
        refuse(path, at, "the deck ends without a grid", "add a line 'grid NX NY'");
    if (d->steps < 0)
        refuse(path, at, "the deck ends without a number of steps", "add a line 'steps N'");
    if (d->report == 0)
        d->report = d->steps < 10 ? 1 : d->steps / 10;
}

/* ---- the domain decomposition -------------------------------------------- */

enum side { LEFT, RIGHT, UP, DOWN, SIDES };
static const enum side opposite[SIDES] = {RIGHT, LEFT, DOWN, UP};

/* The ranks form a grid of px columns and py rows, rank = row * px + column.
 * A block has one extra layer of cells around it: the halo, which holds copies
 * of the neighbours' cells, or the plate's edge where there is no neighbour. */
struct block {
    int x0, y0, nx, ny; /* the part of the plate */
    int stride;         /* nx + 2 */
    int neighbour[SIDES];
};

/* Returns part `i` of `n` cells cut into `parts` pieces that differ by one at most. */
static int cut(int n, int parts, int i)
{
    return (int)((long long)n * i / parts);
}

/* Chooses px * py = ranks with the shortest borders. Returns 0 if no split
 * leaves every rank at least one cell. */
static int split_ranks(const struct deck *d, int ranks, int *px, int *py)
{
    long long best = -1;

    for (int columns = 1; columns <= ranks; columns++) {
        const int rows = ranks / columns;
        if (rows * columns != ranks || columns > d->nx || rows > d->ny)
            continue;
        const long long border = (columns - 1LL) * d->ny + (rows - 1LL) * d->nx;
        if (best < 0 || border < best) {
            best = border;
            *px = columns;
            *py = rows;
        }
    }
    return best >= 0;
}

static struct block block_of(const struct deck *d, int rank, int px, int py)
{
    const int column = rank % px, row = rank / px;
    struct block b;

    b.x0 = cut(d->nx, px, column);
    b.y0 = cut(d->ny, py, row);
    b.nx = cut(d->nx, px, column + 1) - b.x0;
    b.ny = cut(d->ny, py, row + 1) - b.y0;
    b.stride = b.nx + 2;
    /* Messages to and from MPI_PROC_NULL do nothing, so the plate's edge needs
     * no special treatment below. */
    b.neighbour[LEFT] = column > 0 ? rank - 1 : MPI_PROC_NULL;
    b.neighbour[RIGHT] = column < px - 1 ? rank + 1 : MPI_PROC_NULL;
    b.neighbour[UP] = row > 0 ? rank - px : MPI_PROC_NULL;
    b.neighbour[DOWN] = row < py - 1 ? rank + px : MPI_PROC_NULL;
    return b;
}

/* Returns the index of cell (x, y); 0 and nx + 1, 0 and ny + 1 are the halo. */
static size_t at(const struct block *b, int x, int y)
{
    return (size_t)y * (size_t)b->stride + (size_t)x;
}

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) {
        fprintf(stderr, "heat: no memory for %zu cells; use a smaller grid or more ranks\n", n);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return p;
}

/* ---- the physics -------------------------------------------------------- */

/* Sets the initial state: the plate, its edges, and the discs with a fixed
 * temperature. The geometry uses integers on global coordinates. */
static void start(const struct deck *d, const struct block *b, double *u, char *held)
{
    for (int y = 0; y <= b->ny + 1; y++) {
        for (int x = 0; x <= b->nx + 1; x++) {
            const int gx = b->x0 + x - 1, gy = b->y0 + y - 1;
            double t = d->initial;
            if (gx < 0)
                t = d->left;
            else if (gx >= d->nx)
                t = d->right;
            else if (gy < 0)
                t = d->top;
            else if (gy >= d->ny)
                t = d->bottom;
            else
                for (int s = 0; s < d->spots; s++) {
                    const struct spot *p = &d->spot[s];
                    const long long dx = gx - p->x, dy = gy - p->y;
                    if (dx * dx + dy * dy <= (long long)p->radius * p->radius) {
                        t = p->temperature;
                        held[at(b, x, y)] = 1;
                    }
                }
            u[at(b, x, y)] = t;
        }
    }
}

/* Does one Jacobi step. Returns the largest change of any cell: unlike a sum, it does
 * not depend on how the plate is split. */
static double step(const struct block *b, const double *old, double *new, const char *held)
{
    double largest = 0;

    for (int y = 1; y <= b->ny; y++) {
        const double *above = old + at(b, 0, y - 1), *here = old + at(b, 0, y);
        const double *below = old + at(b, 0, y + 1);
        const char *fixed = held + at(b, 0, y);
        double *out = new + at(b, 0, y);
        for (int x = 1; x <= b->nx; x++) {
            const double mean = 0.25 * ((here[x - 1] + here[x + 1]) + (above[x] + below[x]));
            const double t = fixed[x] ? here[x] : mean;
            const double change = fabs(t - here[x]);
            largest = change > largest ? change : largest;
            out[x] = t;
        }
    }
    return largest;
}

/* ---- the communication -------------------------------------------------- */

/* Columns are not contiguous, so they are packed into these buffers. */
struct halo {
    double *out[SIDES], *in[SIDES];
};

/* Sends the outermost cells to the four neighbours and receives theirs into the
 * halo. All eight transfers are started at once; MPI may do them in any order. */
static void exchange(const struct block *b, double *u, const struct halo *h)
{
    double *const from[SIDES] = {h->out[LEFT], h->out[RIGHT], u + at(b, 1, 1), u + at(b, 1, b->ny)};
    double *const into[SIDES] = {h->in[LEFT], h->in[RIGHT], u + at(b, 1, 0),
                                 u + at(b, 1, b->ny + 1)};
    const int count[SIDES] = {b->ny, b->ny, b->nx, b->nx};
    MPI_Request request[2 * SIDES];
    int source[SIDES], target[SIDES];

    for (int s = 0; s < SIDES; s++)
        source[s] = target[s] = b->neighbour[s];
#ifdef HEAT_SKIP_HALO
    source[HEAT_SKIP_HALO] = target[opposite[HEAT_SKIP_HALO]] = MPI_PROC_NULL;
#endif
    for (int y = 0; y < b->ny; y++) {
        h->out[LEFT][y] = u[at(b, 1, y + 1)];
        h->out[RIGHT][y] = u[at(b, b->nx, y + 1)];
    }
    /* The tag names the side of the receiver on which the cells arrive. */
    for (int s = 0; s < SIDES; s++)
        MPI_Irecv(into[s], count[s], MPI_DOUBLE, source[s], s, MPI_COMM_WORLD, &request[s]);
    for (int s = 0; s < SIDES; s++)
        MPI_Isend(from[s], count[s], MPI_DOUBLE, target[s], (int)opposite[s], MPI_COMM_WORLD,
                  &request[SIDES + s]);
    MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
    for (int y = 0; y < b->ny; y++) {
        if (source[LEFT] != MPI_PROC_NULL)
            u[at(b, 0, y + 1)] = h->in[LEFT][y];
        if (source[RIGHT] != MPI_PROC_NULL)
            u[at(b, b->nx + 1, y + 1)] = h->in[RIGHT][y];
    }
}

/* Gathers all blocks on rank 0, which returns the whole plate. The
 * blocks may differ in size, so they are sent one by one. */
static double *gather(const struct deck *d, const struct block *b, const double *u, int rank,
                      int px, int py)
{
    double *cells = allocate((size_t)b->nx * (size_t)b->ny, sizeof *cells);

    for (int y = 0; y < b->ny; y++)
        memcpy(cells + (size_t)y * (size_t)b->nx, u + at(b, 1, y + 1), sizeof *u * (size_t)b->nx);
    if (rank != 0) {
        MPI_Send(cells, b->nx * b->ny, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        free(cells);
        return NULL;
    }
    double *plate = allocate((size_t)d->nx * (size_t)d->ny, sizeof *plate);
    for (int r = 0; r < px * py; r++) {
        const struct block its = block_of(d, r, px, py);
        if (r > 0) {
            free(cells);
            cells = allocate((size_t)its.nx * (size_t)its.ny, sizeof *cells);
            MPI_Recv(cells, its.nx * its.ny, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int y = 0; y < its.ny; y++)
            memcpy(plate + (size_t)(its.y0 + y) * (size_t)d->nx + its.x0,
                   cells + (size_t)y * (size_t)its.nx, sizeof *plate * (size_t)its.nx);
    }
    free(cells);
    return plate;
}

/* ---- the picture -------------------------------------------------------- */

/* Returns the colour from cold to hot, `t` from 0 to 1023; it uses integers only, so
 * that pictures are identical on all machines. */
static void colour(int t, unsigned char rgb[3])
{
    static const int map[][3] = {{8, 10, 40},    {28, 40, 120},  {36, 96, 176},
                                 {60, 160, 180}, {160, 208, 170}, {244, 222, 130},
                                 {244, 150, 60}, {206, 62, 44},  {110, 14, 40}};
    const int pieces = (int)(sizeof map / sizeof *map) - 1;
    const int piece = t * pieces / 1024, part = t * pieces % 1024;

    for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned char)((map[piece][c] * (1024 - part) + map[piece + 1][c] * part) / 1024);
}

static void write_picture(const struct deck *d, const double *plate)
{
    const size_t cells = (size_t)d->nx * (size_t)d->ny;
    unsigned char *rgb = allocate(cells, 3);
    double low = plate[0], high = plate[0];

    for (size_t i = 0; i < cells; i++) {
        low = plate[i] < low ? plate[i] : low;
        high = plate[i] > high ? plate[i] : high;
    }
    for (size_t i = 0; i < cells; i++)
        colour(high > low ? (int)((plate[i] - low) / (high - low) * 1023) : 0, rgb + 3 * i);

    FILE *f = fopen(PICTURE, "wb");
    int fine = f != NULL;
    fine = fine && fprintf(f, "P6\n%d %d\n255\n", d->nx, d->ny) > 0;
    fine = fine && fwrite(rgb, 3, cells, f) == cells;
    if (f)
        fine = fclose(f) == 0 && fine;
    if (!fine) {
        fprintf(stderr, "heat: %s cannot be written (%s); run where you may write\n", PICTURE,
                strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    free(rgb);
}

/* ---- the program --------------------------------------------------------- */

int main(int argc, char **argv)
{
    struct deck deck;
    int rank, ranks, px = 0, py = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* Rank 0 reads the deck and broadcasts it. All ranks run the same binary, so
     * the structure travels as bytes. */
    if (rank == 0) {
        if (argc != 2)
            refuse("usage", 0, "heat takes one argument", "run: mpirun -n 4 ./heat heat.deck");
        read_deck(argv[1], &deck);
        if (!split_ranks(&deck, ranks, &px, &py))
            refuse(argv[1], 0, "the grid is too small for so many ranks",
                   "use fewer ranks or a larger grid");
    }
    MPI_Bcast(&deck, (int)sizeof deck, MPI_BYTE, 0, MPI_COMM_WORLD);
    split_ranks(&deck, ranks, &px, &py);

    const struct block block = block_of(&deck, rank, px, py);
    const size_t cells = (size_t)block.stride * (size_t)(block.ny + 2);
    double *u = allocate(cells, sizeof *u), *next = allocate(cells, sizeof *next);
    char *held = allocate(cells, 1);
    struct halo halo;
    for (int s = LEFT; s <= RIGHT; s++) {
        halo.out[s] = allocate((size_t)block.ny, sizeof(double));
        halo.in[s] = allocate((size_t)block.ny, sizeof(double));
    }
    start(&deck, &block, u, held);
    memcpy(next, u, cells * sizeof *u); /* the edges never change */

    if (rank == 0) {
        printf("heat: %d x %d cells, %d steps, %d %s as %d x %d\n", deck.nx, deck.ny, deck.steps,
               ranks, ranks == 1 ? "rank" : "ranks", px, py);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();

    for (int n = 1; n <= deck.steps; n++) {
        exchange(&block, u, &halo);
        const double change = step(&block, u, next, held);
        double *t = u;
        u = next;
        next = t;
        if (n % deck.report == 0 || n == deck.steps) {
            double residual = 0;
            MPI_Reduce(&change, &residual, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0) {
                printf("step %8d   residual %.6e\n", n, residual);
                fflush(stdout);
            }
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double took = MPI_Wtime() - began;

    double *plate = gather(&deck, &block, u, rank, px, py);
    if (rank == 0) {
        write_picture(&deck, plate);
        printf("time per step %.1f us (%.2f s in all)\n",
               deck.steps > 0 ? took / deck.steps * 1e6 : 0.0, took);
        printf("picture in %s\n", PICTURE);
    }

    free(plate);
    for (int s = LEFT; s <= RIGHT; s++) {
        free(halo.out[s]);
        free(halo.in[s]);
    }
    free(held);
    free(next);
    free(u);
    MPI_Finalize();
    return 0;
}
