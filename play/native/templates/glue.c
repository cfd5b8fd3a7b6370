/* The functions of ludarium_game.h, around the compiled rules and search. made.h has this game's
   sizes, places in the buffer, layers, levels and texts, see `made` in play/native/texts.py. */

#include <stddef.h>

#include "ludarium_game.h"

typedef int64_t i64;
struct layer { i64 inputs, outputs; }; /* of a convolution, each input counts once for each tap */
/* The order in which a processor's kernels read weights: `step` outputs to a block, `narrow` to the
   last blocks of a layer, and `per` inputs at a time. */
struct order { i64 step, narrow, per; };
/* An option of a search: its place among the settings, and its limits. */
struct option { i64 place; int32_t is_whole; double least, most; };

#include "made.h"

/* The compiled rules and search, from play/native/compiler.py. All take the buffer. */
i64 ludarium_game_fill(void *), ludarium_game_game_seed(void *, i64);
i64 ludarium_game_game_start(void *), ludarium_game_game_set_up(void *, i64);
i64 ludarium_game_game_play(void *, i64), ludarium_game_game_score(void *);
i64 ludarium_game_game_random_action(void *), ludarium_game_game_view(void *, i64);
i64 ludarium_game_game_word(void *, i64), ludarium_game_search_seed(void *, i64);
i64 ludarium_game_game_write_text(void *), ludarium_game_game_read_text(void *);
i64 ludarium_game_search_begin(void *, i64), ludarium_game_search_run(void *, i64);
i64 ludarium_game_search_results(void *);
i64 ludarium_game_level_begin(void *, i64, i64), ludarium_game_level_choose(void *);

enum { CANONICAL = 1, ALIGNMENT = 16, SAVE_VERSION = 2, SAVE_HEAD = 60, CRC_BYTES = 4 };
enum { NO_SEARCH, RUNNING, DONE };
enum { PROCESSORS = sizeof orders / sizeof *orders };
static const i64 READY = 0x4c554441 ^ RULES ^ BUILD;

/* The fields at the start of the buffer. */
struct kept {
    i64 ready, processor;
    i64 seed, places; /* the start's; places < 0: the rules' own start, or that of the text */
    i64 status;       /* 2 * outcome + mover */
    /* is_level: a level searches; asked: the search has asked the network; chosen: if it is DONE */
    i64 plies, search, is_level, asked, chosen;
    int32_t actions[MOST_PLIES];
    i64 length; /* of the text of the position at the start; 0: the rules' own start, or places */
    char text[POSITION_BYTES];
};
_Static_assert(sizeof(struct kept) <= KEPT_BYTES, "there is room for it");

static i64 length_of(const char *text) {
    i64 length = 0;
    while (text[length]) length++;
    return length;
}

static void *at(void *buffer, i64 offset) { return (char *)buffer + offset; }

static int32_t fault(void *buffer) {
    if (!buffer) return LUDARIUM_NULL;
    if ((uintptr_t)buffer % ALIGNMENT) return LUDARIUM_ALIGNMENT;
    return ((struct kept *)buffer)->ready == READY ? 0 : LUDARIUM_NOT_READY;
}

/* How the processor computes with floating-point numbers: the library's own way is to the nearest,
   without traps, and with subnormal numbers. The caller's way may be another one: it and the flags
   of exceptions are put back. The compiler does not move calls across these instructions. */
#if defined(__x86_64__)
struct floating { uint32_t control; }; /* with the flags */
static const struct floating own_floating = {0x1f80};

static struct floating floating_of_caller(void) {
    struct floating found;
    __asm__ volatile("stmxcsr %0" : "=m"(found.control) : : "memory");
    return found;
}

static void set_floating(const struct floating *state) {
    __asm__ volatile("ldmxcsr %0" : : "m"(state->control) : "memory");
}
#elif defined(__aarch64__)
struct floating { uint64_t control, flags; };
static const struct floating own_floating = {0, 0};

static struct floating floating_of_caller(void) {
    struct floating found;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
                     : "=r"(found.control), "=r"(found.flags) : : "memory");
    return found;
}

static void set_floating(const struct floating *state) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
                     : : "r"(state->control), "r"(state->flags) : "memory");
}
#else
#error "the floating-point state of this processor is not known"
#endif

/* From here to the function's end, compute in the library's own way. */
#define OWN_FLOATING                                                                         \
    __attribute__((cleanup(set_floating))) const struct floating of_caller = floating_of_caller(); \
    set_floating(&own_floating)

/* The beginning of a function that takes a buffer made ready: it returns the fault, if any. */
#define KEPT(buffer)                  \
    struct kept *kept = buffer;       \
    int32_t code = fault(buffer);     \
    if (code) return code;            \
    OWN_FLOATING

static int32_t is_over(const struct kept *kept) { return kept->status >= 2; }

static int is_action(i64 action) { return action >= 0 && action < ACTIONS; }

/* The kind of processor. */

#if defined(__x86_64__)
#include <cpuid.h>

static int has(unsigned word, unsigned bits) { return (word & bits) == bits; }

static int32_t best_processor(void) {
    enum { KEEPS_AVX = 0x6, KEEPS_AVX512 = 0xe6 }; /* registers that the system saves */
    unsigned a, b, c, d, of_1, of_7b, of_7c, kept, high;
    if (!__get_cpuid(1, &a, &b, &of_1, &d)) return -1;
    if (!has(of_1, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT)) return -1;
    if (!has(of_1, bit_OSXSAVE | bit_AVX | bit_F16C | bit_FMA | bit_MOVBE)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &of_7b, &of_7c, &d)) return 0;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !has(c, bit_LZCNT)) return 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if (!has(kept, KEEPS_AVX) || !has(of_7b, bit_BMI | bit_AVX2 | bit_BMI2)) return 0;
    if (!has(kept, KEEPS_AVX512) || !has(of_7c, bit_AVX512VNNI)) return 1;
    unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    return has(of_7b, avx512) ? 2 : 1;
}
static int runs_code_of(int32_t processor) { return processor <= best_processor(); }
#else
static int32_t best_processor(void) { return 0; }
static int runs_code_of(int32_t processor) { return (void)processor, 1; } /* only the caller can tell */
#endif

#define NETWORK(name) extern i64 ludarium_game_##name##_network_answer(void *);
NETWORKS
#undef NETWORK

/* The search calls this for the network's answer. */
i64 ludarium_game_ask(void *buffer) {
#define NETWORK(name) ludarium_game_##name##_network_answer,
    static i64 (*const answers[])(void *) = {NETWORKS};
#undef NETWORK
    return answers[((struct kept *)buffer)->processor](buffer);
}

/* The weights of the trunk and of the heads, each once in the library: [output][tap][input]. */
extern const int8_t ludarium_game_network_weights[], ludarium_game_network_head_weights[];

/* Write a layer in an order, see `packed` in models/kernels/packing.py, as int8 or float;
   return how many weights. */
static i64 pack_layer(const struct layer *layer, struct order order, const int8_t *plain,
                      int8_t *bytes, float *floats) {
    i64 n = 0, width;
    for (i64 o = 0; o < layer->outputs; o += width) {
        width = o + order.step <= layer->outputs ? order.step : order.narrow;
        for (i64 input = 0; input < layer->inputs; input += order.per)
            for (i64 output = o; output < o + width; output++)
                for (i64 k = 0; k < order.per; k++, n++) {
                    int8_t weight = plain[output * layer->inputs + input + k];
                    if (bytes) bytes[n] = weight;
                    else floats[n] = weight;
                }
    }
    return n;
}

static void use_processor(void *buffer, i64 processor) {
    struct order order = orders[processor];
    int8_t *weights = at(buffer, AT_weights);
    const int8_t *plain = ludarium_game_network_weights;
    for (size_t k = 0; k < sizeof trunk / sizeof *trunk; k++) {
        i64 size = pack_layer(&trunk[k], order, plain, weights, 0);
        plain += size, weights += size;
    }
    order.per = 1;
    float *head_weights = at(buffer, AT_head_weights);
    plain = ludarium_game_network_head_weights;
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        i64 size = pack_layer(&heads[k], order, plain, 0, head_weights);
        plain += size, head_weights += size;
    }
    ((struct kept *)buffer)->processor = processor;
}

/* The game. */

/* Begin at the position of a text; returns the status, or a negative number: the position stays. */
static i64 begin_at(void *buffer, const char *text, i64 length) {
    char *signs = at(buffer, AT_said_text);
    for (i64 k = 0; k < length && k < POSITION_BYTES; k++) {
        int is_space = text[k] >= '\t' && text[k] <= '\r';
        signs[k] = is_space ? ' ' : text[k] < ' ' || text[k] > '~' ? '?' : text[k];
    }
    *(int32_t *)at(buffer, AT_said_length) = length < INT32_MAX ? (int32_t)length : INT32_MAX;
    return ludarium_game_game_read_text(buffer);
}

/* Begin at `text`, which begin_at has accepted; if its `length` is 0, at `places`, or if these are
   negative, at the rules' own start. */
static void begin_game(void *buffer, i64 seed, i64 places, const char *text, i64 length) {
    struct kept *kept = buffer;
    kept->seed = seed;
    kept->places = places;
    kept->plies = 0;
    kept->search = NO_SEARCH;
    ludarium_game_game_seed(buffer, seed);
    kept->status = length ? begin_at(buffer, text, length) : ludarium_game_game_start(buffer);
    if (places >= 0) ludarium_game_game_set_up(buffer, places);
}

/* Keep the text at which the game has begun. */
static void keep_text(struct kept *kept, const char *text, i64 length) {
    kept->length = length;
    __builtin_memcpy(kept->text, text, (size_t)length);
}

/* Play an action, and remember the position before it; returns whether it is legal. */
static int play_one(void *buffer, i64 action) {
    struct kept *kept = buffer;
    const int8_t *legal = at(buffer, AT_game_mask);
    if (!is_action(action) || is_over(kept) || !legal[action]) return 0;
    __builtin_memcpy(at(buffer, AT_game_before), at(buffer, AT_game_states), STATE_BYTES);
    kept->status = ludarium_game_game_play(buffer, action);
    kept->plies++;
    return 1;
}

/* Play actions, each of four bytes in little-endian order, up to the first that is illegal: those
   before it stay played. Returns whether all are legal. */
static int replay(void *buffer, const uint8_t *actions, i64 count) {
    for (; count > 0; count--, actions += 4) {
        i64 action = actions[0] | actions[1] << 8 | actions[2] << 16 | (i64)actions[3] << 24;
        if (!play_one(buffer, action)) return 0;
    }
    return 1;
}

/* Begin the game again, and play the first `count` of the kept actions. */
static void play_again(void *buffer, i64 count) {
    struct kept *kept = buffer;
    begin_game(buffer, kept->seed, kept->places, kept->text, kept->length);
    while (kept->plies < count) play_one(buffer, kept->actions[kept->plies]);
}

i64 ludarium_game_size(void) { return BUFFER_BYTES; }

int32_t ludarium_game_init(void *buffer, i64 size) {
    if (!buffer) return LUDARIUM_NULL;
    if ((uintptr_t)buffer % ALIGNMENT) return LUDARIUM_ALIGNMENT;
    if (size < BUFFER_BYTES) return LUDARIUM_SIZE;
    int32_t processor = best_processor();
    if (processor < 0) return LUDARIUM_PROCESSOR;
    OWN_FLOATING;
    __builtin_memset(buffer, 0, BUFFER_BYTES);
    ludarium_game_fill(buffer);
    struct kept *kept = buffer;
    use_processor(buffer, processor);
    kept->ready = READY;
    begin_game(buffer, 0, -1, 0, 0);
    return 0;
}

int32_t ludarium_game_start(void *buffer, i64 seed) {
    KEPT(buffer);
    if (seed < 0) return LUDARIUM_SEED;
    begin_game(buffer, seed, -1, 0, 0);
    kept->length = 0;
    return 0;
}

int32_t ludarium_game_start_at(void *buffer, const char *text) {
    KEPT(buffer);
    if (!text) return LUDARIUM_NULL;
    i64 length = length_of(text);
    if (begin_at(buffer, text, length) < 0) return LUDARIUM_POSITION;
    begin_game(buffer, 0, -1, text, length);
    keep_text(kept, text, length);
    return 0;
}

/* Copy a text and write a 0 behind it; returns its length without the 0, or an error. */
static i64 copy_text(const void *from, i64 length, char *text, i64 size) {
    if (!text) return LUDARIUM_NULL;
    if (size <= length) return LUDARIUM_ROOM;
    __builtin_memcpy(text, from, (size_t)length);
    text[length] = 0;
    return length;
}

i64 ludarium_game_position(void *buffer, char *text, i64 size) {
    KEPT(buffer);
    (void)kept;
    return copy_text(at(buffer, AT_said_text), ludarium_game_game_write_text(buffer), text, size);
}

i64 ludarium_game_refusal(void *buffer, char *text, i64 size) {
    KEPT(buffer);
    (void)kept;
    i64 length = *(int32_t *)at(buffer, AT_said_told);
    return copy_text(at(buffer, AT_said_message), length, text, size);
}

int32_t ludarium_game_set_up(void *buffer, const char *letters) {
    KEPT(buffer);
    i64 places = 0, count = 0;
    if (!letters) return LUDARIUM_NULL;
    for (int32_t k = 0; k < DIAGRAM_PLACES; k++) {
        if (letters[k] != DIAGRAM_LETTERS[0] && letters[k] != DIAGRAM_LETTERS[1])
            return LUDARIUM_START;
        i64 is_first = letters[k] == DIAGRAM_LETTERS[0];
        places |= is_first << k;
        count += is_first;
    }
    if (!DIAGRAM_PLACES || letters[DIAGRAM_PLACES] || 2 * count != DIAGRAM_PLACES)
        return LUDARIUM_START;
    begin_game(buffer, 0, places, 0, 0);
    kept->length = 0;
    return 0;
}

int32_t ludarium_game_mover(void *buffer) {
    KEPT(buffer);
    return kept->status & 1;
}

int32_t ludarium_game_outcome(void *buffer) {
    KEPT(buffer);
    return (int32_t)(kept->status >> 1);
}

int32_t ludarium_game_plies(void *buffer) {
    KEPT(buffer);
    return (int32_t)kept->plies;
}

int32_t ludarium_game_score(void *buffer, int32_t *score) {
    KEPT(buffer);
    (void)kept;
    if (!score) return LUDARIUM_NULL;
    *score = (int32_t)ludarium_game_game_score(buffer);
    return 0;
}

int32_t ludarium_game_legal(void *buffer, uint8_t *mask, i64 count) {
    KEPT(buffer);
    if (!mask) return LUDARIUM_NULL;
    if (count < ACTIONS) return LUDARIUM_ROOM;
    const int8_t *legal = at(buffer, AT_game_mask);
    int32_t found = 0;
    for (int32_t action = 0; action < ACTIONS; action++)
        found += mask[action] = !is_over(kept) && legal[action];
    return found;
}

int32_t ludarium_game_play(void *buffer, int32_t action) {
    KEPT(buffer);
    if (!is_action(action)) return LUDARIUM_ILLEGAL;
    if (is_over(kept) || kept->plies >= MOST_PLIES) return LUDARIUM_OVER;
    if (!play_one(buffer, action)) return LUDARIUM_ILLEGAL;
    kept->actions[kept->plies - 1] = action;
    kept->search = NO_SEARCH;
    return 0;
}

int32_t ludarium_game_take_back(void *buffer) {
    KEPT(buffer);
    if (!kept->plies) return LUDARIUM_START;
    i64 *rng = at(buffer, AT_game_rngs), first = rng[0], second = rng[1];
    play_again(buffer, kept->plies - 1);
    rng[0] = first, rng[1] = second;
    return 0;
}

int32_t ludarium_game_random_action(void *buffer) {
    KEPT(buffer);
    return is_over(kept) ? LUDARIUM_OVER : (int32_t)ludarium_game_game_random_action(buffer);
}

i64 ludarium_game_text(void *buffer, int32_t action, char *text, i64 size) {
    KEPT(buffer);
    (void)kept;
    if (!is_action(action)) return LUDARIUM_ILLEGAL;
    const char *word = words[ludarium_game_game_word(buffer, action)];
    return copy_text(word, length_of(word), text, size);
}

int32_t ludarium_game_action(void *buffer, const char *text) {
    KEPT(buffer);
    if (!text) return LUDARIUM_NULL;
    const int8_t *legal = at(buffer, AT_game_mask);
    for (int32_t action = 0; action < ACTIONS; action++) {
        if (is_over(kept) || !legal[action]) continue;
        const char *word = words[ludarium_game_game_word(buffer, action)];
        i64 k = 0;
        while (word[k] && word[k] == (text[k] | (text[k] >= 'A' && text[k] <= 'Z') << 5)) k++;
        if (!word[k] && !text[k]) return action;
    }
    return LUDARIUM_TEXT;
}

int32_t ludarium_game_view(void *buffer, int32_t *shown, i64 count) {
    KEPT(buffer);
    if (!shown) return LUDARIUM_NULL;
    if (count < SLOTS) return LUDARIUM_ROOM;
    ludarium_game_game_view(buffer, kept->plies ? kept->actions[kept->plies - 1] : -1);
    __builtin_memcpy(shown, at(buffer, AT_game_shown), SLOTS * sizeof *shown);
    return 0;
}

/* Saves have numbers in little-endian order, and at the end the CRC-32 of everything before. */

static uint32_t crc_of(const uint8_t *bytes, i64 count) {
    uint32_t crc = 0xffffffff;
    for (; count > 0; count--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static uint8_t *written(uint8_t *bytes, uint64_t number, int count) {
    for (; count > 0; count--, number >>= 8) *bytes++ = (uint8_t)number;
    return bytes;
}

/* Whether these may be the words of a generator, see random_bits in envs/engine/rule.py. */
static int is_rng(uint64_t first, uint64_t second) {
    return (first | second) && first <= UINT32_MAX && second <= UINT32_MAX;
}

static uint64_t number_at(const uint8_t *bytes, int count) {
    uint64_t number = 0;
    while (count-- > 0) number = number << 8 | bytes[count];
    return number;
}

i64 ludarium_game_save_size(void *buffer) {
    KEPT(buffer);
    return SAVE_HEAD + 4 * kept->plies + kept->length + CRC_BYTES;
}

i64 ludarium_game_save(void *buffer, void *bytes, i64 size) {
    KEPT(buffer);
    i64 needed = ludarium_game_save_size(buffer);
    if (!bytes) return LUDARIUM_NULL;
    if (size < needed) return LUDARIUM_ROOM;
    const i64 *rng = at(buffer, AT_game_rngs);
    uint8_t *place = written(bytes, SAVE_VERSION, 4);
    place = written(place, RULES, 8);
    place = written(place, (uint64_t)kept->seed, 8);
    place = written(place, (uint64_t)kept->places, 8);
    place = written(place, (uint64_t)rng[0], 8);
    place = written(place, (uint64_t)rng[1], 8);
    place = written(place, (uint64_t)kept->plies, 8);
    place = written(place, (uint64_t)kept->length, 8);
    for (i64 ply = 0; ply < kept->plies; ply++)
        place = written(place, (uint64_t)kept->actions[ply], 4);
    __builtin_memcpy(place, kept->text, (size_t)kept->length);
    written(place + kept->length, crc_of(bytes, needed - CRC_BYTES), CRC_BYTES);
    return needed;
}

int32_t ludarium_game_restore(void *buffer, const void *bytes, i64 size) {
    KEPT(buffer);
    const uint8_t *saved = bytes;
    if (!saved) return LUDARIUM_NULL;
    if (size < SAVE_HEAD + CRC_BYTES || number_at(saved, 4) != SAVE_VERSION) return LUDARIUM_SAVE;
    if (number_at(saved + 4, 8) != RULES) return LUDARIUM_OTHER_GAME;
    i64 seed = (i64)number_at(saved + 12, 8), places = (i64)number_at(saved + 20, 8);
    i64 plies = (i64)number_at(saved + 44, 8), length = (i64)number_at(saved + 52, 8);
    i64 checked = size - CRC_BYTES;
    if (plies < 0 || plies > MOST_PLIES || length < 0 || length > POSITION_BYTES) return LUDARIUM_SAVE;
    if (checked != SAVE_HEAD + 4 * plies + length) return LUDARIUM_SAVE;
    if (number_at(saved + checked, CRC_BYTES) != crc_of(saved, checked)) return LUDARIUM_SAVE;
    if (seed < 0 || (places >= 0 && (!DIAGRAM_PLACES || length))) return LUDARIUM_SAVE;
    if (places >= 0 && (places >> DIAGRAM_PLACES ||
                        2 * __builtin_popcountll((uint64_t)places) != DIAGRAM_PLACES))
        return LUDARIUM_SAVE;
    uint64_t saved_first = number_at(saved + 28, 8), saved_second = number_at(saved + 36, 8);
    if (!is_rng(saved_first, saved_second)) return LUDARIUM_SAVE;
    i64 *rng = at(buffer, AT_game_rngs), first = rng[0], second = rng[1];
    i64 seed_before = kept->seed, places_before = kept->places;
    i64 plies_before = kept->plies, search_before = kept->search;
    const char *text = (const char *)saved + SAVE_HEAD + 4 * plies;
    if (length && begin_at(buffer, text, length) < 0) return LUDARIUM_SAVE;
    begin_game(buffer, seed, places < 0 ? -1 : places, text, length);
    if (!replay(buffer, saved + SAVE_HEAD, plies)) {
        kept->seed = seed_before, kept->places = places_before;
        play_again(buffer, plies_before);
        rng[0] = first, rng[1] = second;
        kept->search = search_before;
        return LUDARIUM_SAVE;
    }
    for (i64 ply = 0; ply < plies; ply++)
        kept->actions[ply] = (int32_t)number_at(saved + SAVE_HEAD + 4 * ply, 4);
    keep_text(kept, text, length);
    rng[0] = (i64)saved_first, rng[1] = (i64)saved_second;
    return 0;
}

/* The opponent. */

static int32_t begun(struct kept *kept, i64 answer, i64 is_level) {
    if (answer < 0) return LUDARIUM_SETTING;
    kept->search = RUNNING;
    kept->is_level = is_level;
    kept->asked = 0;
    return 0;
}

static int32_t fault_of_begin(struct kept *kept, i64 seed) {
    if (seed < 0) return LUDARIUM_SEED;
    return is_over(kept) ? LUDARIUM_OVER : 0;
}

int32_t ludarium_game_begin(void *buffer, int32_t simulations, i64 seed) {
    const int32_t option = LUDARIUM_GAME_OPTION_SIMULATIONS;
    const double value = simulations;
    return ludarium_game_begin_with(buffer, &option, &value, 1, seed);
}

int32_t ludarium_game_begin_with(void *buffer, const int32_t *options, const double *values,
                                 i64 count, i64 seed) {
    KEPT(buffer);
    code = fault_of_begin(kept, seed);
    if (code) return code;
    if (count > 0 && (!options || !values)) return LUDARIUM_NULL;
    for (i64 k = 0; k < count; k++) {
        if (options[k] < 0 || options[k] >= OPTIONS) return LUDARIUM_SETTING;
        const struct option *option = &known_options[options[k]];
        if (!(values[k] >= option->least && values[k] <= option->most)) return LUDARIUM_SETTING;
        if (option->is_whole && values[k] != (int32_t)values[k]) return LUDARIUM_SETTING;
    }
    __builtin_memcpy(at(buffer, AT_search_settings), settings, sizeof settings);
    for (i64 k = 0; k < count; k++) {
        const struct option *option = &known_options[options[k]];
        void *place = at(buffer, AT_search_settings + option->place);
        if (option->is_whole) *(int32_t *)place = (int32_t)values[k];
        else *(double *)place = values[k];
    }
    __builtin_memset(at(buffer, AT_noise), 0, ACTIONS * sizeof(float));
    ludarium_game_search_seed(buffer, seed);
    return begun(kept, ludarium_game_search_begin(buffer, CANONICAL), 0);
}

int32_t ludarium_game_begin_level(void *buffer, int32_t level, i64 seed) {
    KEPT(buffer);
    code = fault_of_begin(kept, seed);
    if (code) return code;
    if (level < 1 || level > LEVELS) return LUDARIUM_LEVEL;
    if (levels[level - 1].params[0] > MOST_SIMULATIONS) return LUDARIUM_SETTING;
    __builtin_memcpy(at(buffer, AT_search_params), levels[level - 1].params, sizeof levels[0].params);
    return begun(kept, ludarium_game_level_begin(buffer, seed, CANONICAL), 1);
}

int32_t ludarium_game_run(void *buffer, int32_t most) {
    KEPT(buffer);
    if (kept->search == NO_SEARCH) return LUDARIUM_NO_SEARCH;
    if (most < 1) return LUDARIUM_SETTING;
    if (kept->search == DONE) return 0;
    i64 asked = ludarium_game_search_run(buffer, most);
    if (asked < 0) {
        kept->search = NO_SEARCH;
        return LUDARIUM_NETWORK;
    }
    kept->asked = 1;
    if (*(int32_t *)at(buffer, AT_waiting) >= 0) return 1;
    code = ludarium_game_choose(buffer);
    return code < 0 ? code : 0;
}

int32_t ludarium_game_choose(void *buffer) {
    KEPT(buffer);
    if (kept->search == NO_SEARCH) return LUDARIUM_NO_SEARCH;
    if (kept->search == RUNNING && !kept->asked) { /* the network has not seen the position yet */
        code = ludarium_game_run(buffer, 1);
        if (code < 0) return code;
    }
    if (kept->search == RUNNING) {
        kept->chosen = kept->is_level ? ludarium_game_level_choose(buffer)
                                      : ludarium_game_search_results(buffer);
        kept->search = DONE;
    }
    return (int32_t)kept->chosen;
}

int32_t ludarium_game_values(void *buffer, float *values, int32_t *visits, i64 count) {
    KEPT(buffer);
    if (kept->search == NO_SEARCH) return LUDARIUM_NO_SEARCH;
    if (!values || !visits) return LUDARIUM_NULL;
    if (count < ACTIONS) return LUDARIUM_ROOM;
    /* Also before the network has answered: no action has visits or a value then. */
    if (kept->search == RUNNING) ludarium_game_search_results(buffer);
    __builtin_memcpy(values, at(buffer, AT_search_action_values), ACTIONS * sizeof *values);
    __builtin_memcpy(visits, at(buffer, AT_search_visits), ACTIONS * sizeof *visits);
    return 0;
}

int32_t ludarium_game_levels(void) { return LEVELS; }

int32_t ludarium_game_elo(int32_t level) {
    return level < 1 || level > LEVELS ? LUDARIUM_LEVEL : levels[level - 1].elo;
}

int32_t ludarium_game_processor(void *buffer) {
    KEPT(buffer);
    return (int32_t)kept->processor;
}

int32_t ludarium_game_use_processor(void *buffer, int32_t processor) {
    KEPT(buffer);
    if (processor < 0 || processor >= PROCESSORS || !runs_code_of(processor))
        return LUDARIUM_PROCESSOR;
    if (processor != kept->processor) use_processor(buffer, processor);
    return 0;
}

const char *ludarium_game_error(int32_t code) {
    static const char *const texts[] = {ERROR_TEXTS};
    return code <= 0 && code > -(int32_t)(sizeof texts / sizeof *texts) ? texts[-code]
                                                                        : "no such code";
}
