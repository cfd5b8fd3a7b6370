/* Milliseconds of processor time that moves of a native library take, by processor and level.

   ludarium export corso --as c
   cc -O2 -DGAME=corso -include corso-c/ludarium_corso.h benchmarks/native_moves.c \
       corso-c/x86_64-linux/libludarium_corso.a -o native_moves && ./native_moves 40 3

   plays 40 moves of each level against itself, each 3 times, of which the shortest counts, in
   slices of 8; prints the median and the longest. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define JOINED(game, name) ludarium_##game##_##name
#define OF(game, name) JOINED(game, name)
#define CALL(name) OF(GAME, name)

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int compared(const void *first, const void *second) {
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

/* A new game that remembers no answers of the network. */
static void begin(void *game, int processor) {
    CALL(init)(game, CALL(size)());
    CALL(use_processor)(game, processor);
}

/* Play some moves and keep the shortest time of each. */
static void play(void *game, int processor, int level, int moves, double *shortest) {
    begin(game, processor);
    for (int move = 0; move < moves; move++) {
        if (CALL(outcome)(game)) begin(game, processor);
        double began = milliseconds();
        CALL(begin_level)(game, level, move);
        while (CALL(run)(game, 8) == 1) {}
        int action = CALL(choose)(game);
        double took = milliseconds() - began;
        if (took < shortest[move]) shortest[move] = took;
        CALL(play)(game, action);
    }
}

int main(int count, char **arguments) {
    int moves = count > 1 ? atoi(arguments[1]) : 60, times = count > 2 ? atoi(arguments[2]) : 5;
    size_t size = (size_t)CALL(size)();
    void *game = aligned_alloc(64, (size + 63) / 64 * 64);
    double *shortest = malloc((size_t)moves * sizeof *shortest);
    double began = milliseconds();
    if (!game || !shortest || moves < 1 || CALL(init)(game, (int64_t)size)) return 1;
    printf("buffer %zu kB, init %.2f ms\n", size / 1000, milliseconds() - began);
    for (int processor = CALL(processor)(game); processor >= 0; processor--)
        for (int level = 1; level <= CALL(levels)(); level++) {
            for (int move = 0; move < moves; move++) shortest[move] = 1e9;
            for (int time = 0; time < times; time++) play(game, processor, level, moves, shortest);
            qsort(shortest, (size_t)moves, sizeof *shortest, compared);
            printf("processor %d level %2d: %6.2f %6.2f ms\n", processor, level,
                   shortest[moves / 2], shortest[moves - 1]);
        }
    return 0;
}
