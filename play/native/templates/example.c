/* Two levels, or without levels two searches, play a game; README.md says how to compile this. */
#include <stdio.h>

#include "ludarium_game.h"

static _Alignas(64) unsigned char game[LUDARIUM_GAME_SIZE];

int main(void) {
    int32_t code = ludarium_game_init(game, sizeof game);
    if (code) return puts(ludarium_game_error(code)), 1;
    while (ludarium_game_outcome(game) == LUDARIUM_ONGOING) {
        int32_t ply = ludarium_game_plies(game);
        if (ludarium_game_levels())
            code = ludarium_game_begin_level(game, ply % 2 ? 1 : ludarium_game_levels(), ply);
        else
            code = ludarium_game_begin(game, ply % 2 ? 1 : 64, ply);
        while (!code && (code = ludarium_game_run(game, 8)) == 1) code = 0; /* a frame each */
        int32_t action = ludarium_game_choose(game);
        char text[LUDARIUM_GAME_TEXT];
        if (code || action < 0 || ludarium_game_text(game, action, text, sizeof text) < 0)
            return puts(ludarium_game_error(code ? code : action)), 1;
        printf("%s ", text);
        ludarium_game_play(game, action);
    }
    printf("\noutcome %d after %d plies\n", ludarium_game_outcome(game), ludarium_game_plies(game));
    return 0;
}
