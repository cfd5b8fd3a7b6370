/* ludarium_game.h: TITLE.
 *
 * The rules, a search, a trained network and levels of strength work in a buffer of the caller:
 *
 *     static _Alignas(64) unsigned char game[LUDARIUM_GAME_SIZE];
 *     ludarium_game_init(game, sizeof game);
 *     while (ludarium_game_outcome(game) == LUDARIUM_ONGOING) {
 *         ludarium_game_begin_level(game, 3, seed++);
 *         while (ludarium_game_run(game, 8) == 1) {}    (a frame may lie between two calls)
 *         ludarium_game_play(game, ludarium_game_choose(game));
 *     }
 *
 * Nothing else is needed, except memcpy and memset if it is linked statically: no allocation,
 * threads, files, clock or global variables. Each buffer holds one game. Threads may use different
 * buffers at once, but only one thread at a time may use a buffer. Do not copy the bytes of a
 * buffer to another program; use save and restore.
 *
 * Functions return 0 or their result. A negative number is an error, and then nothing has changed,
 * except that NETWORK ends the search, and a refused text changes what refusal tells. Players are 0
 * and 1. Actions are numbers from 0 to LUDARIUM_GAME_ACTIONS - 1. With the same seed the opponent
 * plays the same moves on every machine, as in Python. It does so whatever your program's rounding,
 * traps and treatment of subnormal numbers are: functions put the processor's floating-point state
 * back as it was, flags of exceptions included.
 *
LEVELS_TABLE
 */
#ifndef LUDARIUM_GAME_H
#define LUDARIUM_GAME_H

#include <stdint.h>

#if defined(_WIN32) && defined(LUDARIUM_BUILD)
#define LUDARIUM_GAME_API __declspec(dllexport)
#elif defined(LUDARIUM_BUILD)
#define LUDARIUM_GAME_API __attribute__((visibility("default")))
#else
#define LUDARIUM_GAME_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LUDARIUM_GAME_SIZE BUFFER_BYTES        /* bytes of the buffer */
#define LUDARIUM_GAME_ACTIONS ACTION_COUNT
#define LUDARIUM_GAME_SLOTS SLOT_COUNT         /* numbers that ludarium_game_view writes */
#define LUDARIUM_GAME_SIMULATIONS SIMULATION_COUNT /* most for ludarium_game_begin */
#define LUDARIUM_GAME_TEXT TEXT_BYTES          /* bytes of the longest action text, with its 0 */
#define LUDARIUM_GAME_POSITION POSITION_ROOM   /* bytes of the longest text of a position, likewise */

#ifndef LUDARIUM_CODES
#define LUDARIUM_CODES

/* Outcomes. */
enum {
    LUDARIUM_ONGOING = 0,
OUTCOMES
};

/* Errors. */
enum {
ERRORS
};

#endif

/* Options of ludarium_game_begin_with: meaning, values, default. Choices are numbered from 0, as are
   false and true; 2147483647 is none. `max_considered` is at most CONSIDERED_COUNT here, `noise` 1. */
enum {
SEARCH_OPTIONS
};

/* Returns the bytes that a buffer needs, LUDARIUM_GAME_SIZE. */
LUDARIUM_GAME_API int64_t ludarium_game_size(void);

/* Makes a buffer ready, with a game at its start. NULL, ALIGNMENT: the address is not a multiple of
   16; SIZE: the buffer is too short; PROCESSOR: the processor is too old. All other functions of a
   buffer: NULL, ALIGNMENT, and NOT_READY if this was not done, or by a library with another game,
   agent, levels or limits. */
LUDARIUM_GAME_API int32_t ludarium_game_init(void *buffer, int64_t size);

/* Starts a new game. `seed`, 0 or more, is the seed of a start that the rules draw, and of
   ludarium_game_random_action. SEED. */
LUDARIUM_GAME_API int32_t ludarium_game_start(void *buffer, int64_t seed);

/* Starts from agreed places: a letter for each, as in the game's option. START: this is not a start,
   or the game has no such starts. */
LUDARIUM_GAME_API int32_t ludarium_game_set_up(void *buffer, const char *letters);

/* Starts at the position of a text, as Python writes them. POSITION: it is no position of this game;
   ludarium_game_refusal then writes why, in words, and returns the length, at most 400. ROOM. */
LUDARIUM_GAME_API int32_t ludarium_game_start_at(void *buffer, const char *text);
LUDARIUM_GAME_API int64_t ludarium_game_refusal(void *buffer, char *text, int64_t size);

/* Writes the position as a text, with a 0 at the end; returns its length. ROOM: `size` is too small;
   LUDARIUM_GAME_POSITION is enough. */
LUDARIUM_GAME_API int64_t ludarium_game_position(void *buffer, char *text, int64_t size);

/* Return the player to move; one of the outcomes; the number of actions that were played. */
LUDARIUM_GAME_API int32_t ludarium_game_mover(void *buffer);
LUDARIUM_GAME_API int32_t ludarium_game_outcome(void *buffer);
LUDARIUM_GAME_API int32_t ludarium_game_plies(void *buffer);

/* Writes the lead of player 0 in points; without points, what the rules tell of who is ahead. */
LUDARIUM_GAME_API int32_t ludarium_game_score(void *buffer, int32_t *score);

/* Writes 1 for each legal action and 0 for the others; returns how many are legal, none after the
   end. ROOM: `count` is below LUDARIUM_GAME_ACTIONS. */
LUDARIUM_GAME_API int32_t ludarium_game_legal(void *buffer, uint8_t *mask, int64_t count);

/* Plays an action, and ends the search. ILLEGAL, OVER. */
LUDARIUM_GAME_API int32_t ludarium_game_play(void *buffer, int32_t action);

/* Takes the last action back, and ends the search. START: there is none. */
LUDARIUM_GAME_API int32_t ludarium_game_take_back(void *buffer);

/* Returns a random legal action. OVER. */
LUDARIUM_GAME_API int32_t ludarium_game_random_action(void *buffer);

/* Writes an action's text in this position, UTF-8 and a 0 at the end; returns its length.
   ILLEGAL: there is no such action; ROOM: `size` is too small. */
LUDARIUM_GAME_API int64_t ludarium_game_text(void *buffer, int32_t action, char *text, int64_t size);

/* Returns the legal action with this text, also in capitals. TEXT: there is none. */
LUDARIUM_GAME_API int32_t ludarium_game_action(void *buffer, const char *text);

/* Writes the contents of the picture, with the marks of the last action: for each slot of scene.json
   the number of its shape, see README.md. ROOM: `count` is below LUDARIUM_GAME_SLOTS. */
LUDARIUM_GAME_API int32_t ludarium_game_view(void *buffer, int32_t *shown, int64_t count);

/* Writes the game with its past, as bytes that any build of the same rules and options reads;
   returns their number, which save_size returns beforehand. ROOM. */
LUDARIUM_GAME_API int64_t ludarium_game_save_size(void *buffer);
LUDARIUM_GAME_API int64_t ludarium_game_save(void *buffer, void *bytes, int64_t size);

/* Restores a saved game. SAVE: it is damaged; if the text of its start is refused, refusal tells why.
   OTHER_GAME: it has other rules or options. */
LUDARIUM_GAME_API int32_t ludarium_game_restore(void *buffer, const void *bytes, int64_t size);

/* The opponent. Begin a search, at a level from 1 on, or at full strength with some simulations.
   `seed`, 0 or more, decides what a level draws. LEVEL; SETTING: the simulations are below 1, or
   there is no room for so many; SEED, OVER. */
LUDARIUM_GAME_API int32_t ludarium_game_begin_level(void *buffer, int32_t level, int64_t seed);
LUDARIUM_GAME_API int32_t ludarium_game_begin(void *buffer, int32_t simulations, int64_t seed);

/* Begins a search at full strength with `count` options, LUDARIUM_GAME_OPTION_..., and their values;
   the others have their defaults. `seed` decides what is drawn. SETTING: there is no such option, or
   it does not take the value, or the buffer has no room; NULL, SEED, OVER. */
LUDARIUM_GAME_API int32_t ludarium_game_begin_with(void *buffer, const int32_t *options,
                                                   const double *values, int64_t count, int64_t seed);

/* Continues the search: it asks the network at most `most` times, which takes most of the time. A
   simulation asks it once, or not at all, for example if the buffer still has the answer. Returns 1
   if the search needs more, 0 if it is done. NO_SEARCH; SETTING: `most` is below 1; NETWORK. */
LUDARIUM_GAME_API int32_t ludarium_game_run(void *buffer, int32_t most);

/* Returns the opponent's action. This ends a search that is not done yet; one that has not run yet
   asks the network once before. NO_SEARCH, NETWORK. */
LUDARIUM_GAME_API int32_t ludarium_game_choose(void *buffer);

/* Writes for each action its value for the mover, from -1, lost, to 1, won, NaN if the search has
   not tried it, and the number of its visits; also while the search runs. NO_SEARCH, ROOM. */
LUDARIUM_GAME_API int32_t ludarium_game_values(void *buffer, float *values, int32_t *visits,
                                               int64_t count);

/* Return the number of levels; the Elo points of a level above random play. LEVEL. */
LUDARIUM_GAME_API int32_t ludarium_game_levels(void);
LUDARIUM_GAME_API int32_t ludarium_game_elo(int32_t level);

/* The number of the network's code in use; 0 is the code for the oldest processors. On x86, init
   takes the newest code that the processor runs. On ARM programs cannot ask the processor, so init
   takes 0. If there is a code 1, use it if the system says that the processor has dot products, as
   getauxval(AT_HWCAP) & HWCAP_ASIMDDP or sysctlbyname("hw.optional.arm.FEAT_DotProd", ...) does. A
   search goes on, and plays the same. PROCESSOR: there is no such code, or the processor, on x86,
   does not run it. */
LUDARIUM_GAME_API int32_t ludarium_game_processor(void *buffer);
LUDARIUM_GAME_API int32_t ludarium_game_use_processor(void *buffer, int32_t processor);

/* Returns the meaning of a code, in words. */
LUDARIUM_GAME_API const char *ludarium_game_error(int32_t code);

#ifdef __cplusplus
}
#endif

#endif
