/* Random calls of all functions of a library, many with wrong arguments, in a hostile floating-point
   state; run with sanitizers. The arguments are the number of calls, and a start for set_up. After
   each call the buffer's margins, the floating-point state and, after an error, the game are what
   they were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ludarium_game.h"
#include "native_floating.h"

static uint32_t bits = 1;
static int32_t below(int32_t bound) {
    bits = bits * 1664525 + 1013904223;
    return (int32_t)((uint64_t)bits * (uint32_t)bound >> 32);
}

/* The CRC of a save, so that what was changed in it is played, not refused for its CRC. */
static void seal(unsigned char *saved, int64_t length) {
    uint32_t crc = 0xffffffff;
    for (int64_t k = 0; k < length - 4; k++) {
        crc ^= saved[k];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    for (int k = 0; k < 4; k++) saved[length - 4 + k] = (unsigned char)(~crc >> 8 * k);
}

/* What lies before and behind the buffer: the compiled rules are made without sanitizers. */
enum { MARGIN = 4096, CANARY = 0xa5, ROOM = 1 << 14, FUNCTIONS = 31 };

static int is_untouched(const unsigned char *margin) {
    for (int k = 0; k < MARGIN; k++)
        if (margin[k] != CANARY) return 0;
    return 1;
}

static unsigned char *game, saved[ROOM];
static int64_t length = 0; /* of what is saved */

/* A legal action, -1 if there is none. */
static int32_t legal_action(void) {
    uint8_t mask[LUDARIUM_GAME_ACTIONS];
    int32_t legal = ludarium_game_legal(game, mask, sizeof mask), action = -1;
    for (int32_t left = legal > 0 ? 1 + below(legal) : 0; left > 0; left -= mask[action]) action++;
    return action;
}

/* One random call; `start` is shuffled. Sets `restored` if it restored a changed save. */
static int64_t call(char *start, long *restored) {
    enum { ACTIONS = LUDARIUM_GAME_ACTIONS, SLOTS = LUDARIUM_GAME_SLOTS };
    void *buffer = below(50) ? game : below(2) ? NULL : game + 1 + below(15);
    int32_t number = below(4) ? below(ACTIONS + 4) - 2 : below(2) ? INT32_MIN : INT32_MAX, score;
    int64_t code, needed = below(2) ? ACTIONS : SLOTS;
    int64_t count = below(3) ? needed : below((int32_t)needed + 10) - 9, places = strlen(start);
    size_t room = (size_t)(count < 0 ? 0 : count); /* exactly, for the address sanitizer */
    char *text = malloc(room * 4), name[LUDARIUM_GAME_TEXT];
    int32_t *visits = malloc(room * 4);
    switch (below(FUNCTIONS + 6)) {
    case 0:
        code = below(100) ? 0 : ludarium_game_init(buffer, below(3) ? ludarium_game_size() : count);
        break;
    case 1: code = below(5) ? 0 : ludarium_game_start(buffer, number); break;
    case 2:
        for (int64_t k = places - 1; k > 0; k--) {
            int32_t other = below((int32_t)k + 1);
            char letter = start[k];
            start[k] = start[other], start[other] = letter;
        }
        code = below(5) ? 0 : ludarium_game_set_up(buffer, below(9) ? start + !below(3) : NULL);
        break;
    case 3: code = ludarium_game_mover(buffer); break;
    case 4: code = ludarium_game_outcome(buffer); break;
    case 5: code = ludarium_game_plies(buffer); break;
    case 6: code = ludarium_game_score(buffer, below(9) ? &score : NULL); break;
    case 7: code = ludarium_game_legal(buffer, below(9) ? (uint8_t *)text : NULL, count); break;
    case 8: code = ludarium_game_play(buffer, number); break;
    case 9: code = ludarium_game_take_back(buffer); break;
    case 10: code = ludarium_game_random_action(buffer); break;
    case 11: code = ludarium_game_text(buffer, number, below(9) ? text : NULL, count); break;
    case 12:
        code = number = legal_action();
        if (code < 0 || ludarium_game_text(game, number, name, sizeof name) < 0) break;
        if (ludarium_game_action(game, name) != number) abort();
        for (int32_t k = 0; below(3) && name[k]; k++) name[k] = (char)(name[k] + below(2));
        code = ludarium_game_action(buffer, below(9) ? name : NULL);
        break;
    case 13: code = ludarium_game_view(buffer, below(9) ? visits : NULL, count); break;
    case 14: code = ludarium_game_save_size(buffer); break;
    case 15:
        code = ludarium_game_save(buffer, below(9) ? saved : NULL, below(2) ? ROOM : below(100));
        if (code > 0) length = code;
        break;
    case 16:
        if (length && below(2)) saved[below((int32_t)length)] ^= (unsigned char)(1 << below(8));
        if (length && below(2)) {
            seal(saved, length);
            code = ludarium_game_restore(buffer, saved, length);
            *restored += !code;
        } else {
            code = ludarium_game_restore(buffer, below(9) ? saved : NULL,
                                         below(4) ? length : below(ROOM));
        }
        break;
    case 17: code = ludarium_game_begin_level(buffer, below(14) - 1, number); break;
    case 18: code = ludarium_game_begin(buffer, number, below(20) - 1); break;
    case 31: {
        int32_t options[] = {below(15) - 1, below(15) - 1};
        double values[] = {number, below(3)};
        code = ludarium_game_begin_with(buffer, below(9) ? options : NULL, values, below(3), number);
        break;
    }
    case 19: case 27: case 28: code = ludarium_game_run(buffer, below(9)); break;
    case 20: code = ludarium_game_choose(buffer); break;
    case 21: {
        float *values = malloc(room * 4);
        code = ludarium_game_values(buffer, below(9) ? values : NULL, visits, count);
        free(values);
        break;
    }
    case 22: code = ludarium_game_levels(); break;
    case 23: code = ludarium_game_elo(number); break;
    case 24: code = ludarium_game_processor(buffer); break;
    case 25: code = ludarium_game_use_processor(buffer, below(5) - 1); break;
    case 26: code = strlen(ludarium_game_error(number)) ? 0 : INT64_MIN; break;
    case 29: code = ludarium_game_refusal(buffer, below(9) ? text : NULL, count); break;
    case 30: {
        static char place[LUDARIUM_GAME_POSITION];
        count = below(2) ? count : (int64_t)sizeof place;
        code = ludarium_game_position(buffer, below(9) ? place : NULL, count);
        if (code <= 0) break;
        for (int32_t k = below(4); k > 0; k--) place[below((int32_t)code)] = "0/1 =,Lx*-"[below(10)];
        code = ludarium_game_start_at(buffer, place);
        break;
    }
    default: code = ludarium_game_play(buffer, legal_action());
    }
    free(text), free(visits);
    return code;
}

int main(int count, char **arguments) {
    if (count < 3) return 1;
    long calls = atol(arguments[1]), refused = 0, restored = 0;
    int64_t whole = (MARGIN + LUDARIUM_GAME_SIZE + MARGIN + 63) / 64 * 64;
    unsigned char *memory = aligned_alloc(64, (size_t)whole), before[ROOM], after[ROOM];
    uint64_t usual = floating(), given;
    if (!memory) return 1;
    game = memory + MARGIN;
    memset(memory, CANARY, (size_t)whole);
    if (ludarium_game_init(game, LUDARIUM_GAME_SIZE)) return 1;
    for (long number = 0; number < calls; number++) {
        int64_t size = ludarium_game_save(game, before, ROOM), code;
        set_floating(hostile);
        given = floating();
        code = call(arguments[2], &restored);
        uint64_t found = floating();
        set_floating(usual);
        if (found != given) return puts("the floating-point state is another"), 2;
        if (code >= 0) continue;
        refused++;
        if (!strlen(ludarium_game_error((int32_t)code))) return puts("an error has no text"), 2;
        if (ludarium_game_save(game, after, ROOM) != size || memcmp(before, after, (size_t)size))
            return printf("call %ld failed, and changed the game\n", number), 2;
    }
    printf("%ld calls, %ld refused, %ld changed saves restored\n", calls, refused, restored);
    int untouched = is_untouched(memory) && is_untouched(game + LUDARIUM_GAME_SIZE);
    free(memory);
    return untouched ? 0 : 2;
}
