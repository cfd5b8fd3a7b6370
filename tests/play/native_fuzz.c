/* Random calls of a library's functions, many with wrong arguments; run with sanitizers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ludarium_corso.h"

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

/* What lies before and behind the buffer: the library itself is made without sanitizers. */
enum { MARGIN = 4096, CANARY = 0xa5 };

static int is_untouched(const unsigned char *margin) {
    for (int k = 0; k < MARGIN; k++)
        if (margin[k] != CANARY) return 0;
    return 1;
}

int main(int count, char **arguments) {
    long calls = count > 1 ? atol(arguments[1]) : 1000, refused = 0, sealed = 0;
    int64_t whole = (MARGIN + LUDARIUM_CORSO_SIZE + MARGIN + 63) / 64 * 64;
    unsigned char *memory = aligned_alloc(64, (size_t)whole), *game = memory + MARGIN;
    unsigned char saved[2048] = {0};
    int64_t length = 0;
    if (!memory) return 1;
    memset(memory, CANARY, (size_t)whole);
    if (ludarium_corso_init(game, LUDARIUM_CORSO_SIZE)) return 1;
    for (long call = 0; call < calls; call++) {
        void *buffer = below(50) ? game : below(2) ? NULL : game + 1 + below(15);
        int32_t number = below(4) ? below(30) - 2 : below(2) ? INT32_MIN : INT32_MAX, score;
        int64_t room = below(3) ? 64 : below(100) - 10, code = 0;
        float values[25];
        int32_t visits[64];
        uint8_t mask[25];
        char text[8];
        switch (below(24)) {
        case 0: code = below(100) ? 0 : ludarium_corso_init(buffer, room); break;
        case 1: code = below(5) ? 0 : ludarium_corso_start(buffer, number); break;
        case 2: code = ludarium_corso_set_up(buffer, below(2) ? "wb" : NULL); break;
        case 3: code = ludarium_corso_mover(buffer); break;
        case 4: code = ludarium_corso_score(buffer, below(9) ? &score : NULL); break;
        case 5: code = ludarium_corso_legal(buffer, mask, room); break;
        case 6: case 7: code = ludarium_corso_play(buffer, number); break;
        case 8: code = ludarium_corso_take_back(buffer); break;
        case 9: case 10:
            code = ludarium_corso_play(buffer, ludarium_corso_random_action(buffer));
            break;
        case 11: code = ludarium_corso_text(buffer, number, text, below(2) ? 8 : below(8)); break;
        case 12: code = ludarium_corso_action(buffer, below(9) ? "c3" : ""); break;
        case 13: code = ludarium_corso_view(buffer, visits, room > 64 ? 64 : room); break;
        case 14:
            code = ludarium_corso_save(buffer, saved, below(2) ? 2048 : below(100));
            if (code > 0) length = code;
            break;
        case 15:
            if (!below(2)) saved[below((int32_t)length + 1)] ^= (unsigned char)(1 << below(8));
            if (length && below(2)) {
                seal(saved, length);
                code = ludarium_corso_restore(buffer, saved, length);
                sealed += !code;
            } else {
                code = ludarium_corso_restore(buffer, saved, below(4) ? length : below(2048));
            }
            break;
        case 16: code = ludarium_corso_begin_level(buffer, below(14) - 1, number); break;
        case 17: code = ludarium_corso_begin(buffer, number, below(20) - 1); break;
        case 18: case 19: code = ludarium_corso_run(buffer, below(9)); break;
        case 20: code = ludarium_corso_choose(buffer); break;
        case 21: code = ludarium_corso_values(buffer, values, visits, room > 25 ? 25 : room); break;
        case 22: code = ludarium_corso_elo(number); break;
        case 23: code = ludarium_corso_use_processor(buffer, below(5) - 1); break;
        }
        refused += code < 0;
        if (code < 0 && !strlen(ludarium_corso_error((int32_t)code))) return 1;
    }
    printf("%ld calls, %ld refused, %ld saves restored\n", calls, refused, sealed);
    int untouched = is_untouched(memory) && is_untouched(game + LUDARIUM_CORSO_SIZE);
    free(memory);
    return untouched ? 0 : 2;
}
