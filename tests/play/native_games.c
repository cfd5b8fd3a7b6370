/* Plays the games that test_native.py asks for: a line of standard input is a game's number, its
   level and how it starts; a line of the answer is its actions. The argument is the processor.
   Games with odd numbers are played in a hostile floating-point state, which must stay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ludarium_game.h"
#include "native_floating.h"

static _Alignas(64) unsigned char game[LUDARIUM_GAME_SIZE];

static int failed(int64_t code) {
    if (code < 0) fprintf(stderr, "%s\n", ludarium_game_error((int32_t)code));
    return code < 0;
}

static int play(int number, int level, const char *start) {
    if (failed(strcmp(start, "-") ? ludarium_game_set_up(game, start)
                                  : ludarium_game_start(game, number)))
        return 0;
    while (ludarium_game_outcome(game) == LUDARIUM_ONGOING) {
        int32_t seed = 1000 * number + ludarium_game_plies(game), code, action;
        if (failed(ludarium_game_begin_level(game, level, seed))) return 0;
        while ((code = ludarium_game_run(game, 1 + number % 7)) == 1) {}
        action = ludarium_game_choose(game);
        if (failed(code) || failed(ludarium_game_play(game, action))) return 0;
        printf("%d ", action);
    }
    puts("");
    return 1;
}

int main(int count, char **arguments) {
    int processor = count > 1 ? atoi(arguments[1]) : 0, number, level;
    char start[100];
    uint64_t usual = floating(), given;
    set_floating(hostile);
    given = floating();
    if (failed(ludarium_game_init(game, sizeof game))) return 1;
    if (ludarium_game_use_processor(game, processor)) return puts("older"), 0;
    set_floating(usual);
    while (scanf("%d %d %99s", &number, &level, start) == 3) {
        if (number % 2) set_floating(given);
        int is_played = play(number, level, start);
        uint64_t found = floating();
        set_floating(usual);
        if (!is_played) return 1;
        if (number % 2 && found != given) return puts("the floating-point state is another"), 1;
    }
    return 0;
}
