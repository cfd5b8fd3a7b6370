// Uniform random playouts of Corso 5x5 in hand-written C++, one thread: a yardstick of speed.
//
//   g++ -O3 -march=native -std=c++17 corso_bitboard.cpp -o corso_bitboard
//   ./corso_bitboard [seconds] [--single | --scalar]
//
// (default)  bitboards, one game in each lane of a few vectors
// --single   the same bitboards, one game at a time
// --scalar   the plain way: an array of cells, a neighbour table, an explicit stack
//
// Prints one line of JSON. The random numbers are the same on every run; how many of them fit in
// the time is not. An action is drawn as floor(random * n / 2^b), with b >= 27: its chance differs
// from 1/n by less than 1e-8.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef __BMI2__
#include <immintrin.h>
#endif

constexpr int SIZE = 5;
constexpr uint64_t SEED = 20230420;

struct Tally {
    uint64_t plies = 0, games = 0, player_0_wins = 0;  // no draws: 25 cells cannot be halved
};

uint64_t split_mix(uint64_t& state) {  // Vigna's splitmix64; it seeds xoshiro below
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct Random64 {  // Marsaglia's xorshift64
    uint64_t state = SEED;
    uint32_t below(uint32_t n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<uint32_t>((state >> 32) * n >> 32);
    }
};

// ---------------------------------------------------------------- bitboards

// A cell's bit is 6 * rank + file. The sixth column stays empty, so that a shift by one cannot
// run from one row into the next:
//
//   24 25 26 27 28 (29)
//   18 19 20 21 22 (23)
//   12 13 14 15 16 (17)
//    6  7  8  9 10 (11)
//    0  1  2  3  4  (5)
constexpr int STRIDE = SIZE + 1;
constexpr uint32_t BOARD = 0x1f7df7dfu;

// As many games as 32-bit words fit in one vector register of the target.
#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX2__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif
typedef uint32_t Lanes __attribute__((vector_size(4 * LANES)));

// A position as its mover sees it, with all bits 0 at the start. W is uint32_t or Lanes.
template <class W>
struct Position {
    W mine, theirs;     // marbles of the mover and of the opponent
    W dyed, dyed_mine;  // dyed cells of both, dyed cells of the mover
};

template <class W>
inline W spread(W b) {  // b and its orthogonal neighbours
    return b | (b << 1) | (b >> 1) | (b << STRIDE) | (b >> STRIDE);
}

template <class W>
inline W open_cells(const Position<W>& p) {
    return ~(p.mine | p.theirs | p.dyed) & BOARD;
}

// The position that the opponent sees after the mover placed on `move` (if that cell held nothing)
// and dyed the cells `dye`.
template <class W>
inline Position<W> played(const Position<W>& p, W move, W dye) {
    return {p.theirs & ~dye, (p.mine | move) & ~dye, p.dyed | dye, p.dyed & ~(p.dyed_mine | dye)};
}

// Plays the legal one-bit `move`. Placing and expanding share one path without a branch: placing
// expands an empty group.
inline void play(Position<uint32_t>& p, uint32_t move) {
    const uint32_t marbles = p.mine | p.theirs;
    uint32_t group, reach, grown = p.mine & move;
    do {
        group = grown;
        reach = spread(group);
        grown = reach & marbles;
    } while (grown != group);
    p = played(p, move, reach & BOARD);
}

inline uint32_t nth_bit(uint32_t word, uint32_t n) {  // the n-th lowest set bit, n from 0
#ifdef __BMI2__
    return _pdep_u32(1u << n, word);
#else
    while (n--) word &= word - 1;
    return word & -word;
#endif
}

void play_single(Random64& random, int games, Tally& tally) {
    for (int game = 0; game < games; ++game) {
        Position<uint32_t> p{};
        uint32_t open = BOARD, mover = 0;
        while (open) {
            const uint32_t legal = open | p.mine;
            play(p, nth_bit(legal, random.below(__builtin_popcount(legal))));
            open = open_cells(p);
            mover ^= 1;
            ++tally.plies;
        }
        const int held = __builtin_popcount(p.mine | p.dyed_mine);
        tally.player_0_wins += (2 * held > SIZE * SIZE) ^ mover;
        ++tally.games;
    }
}

// Counts of set bits in the fields of 2, 4, 8, 16 and 32 bits of a word.
template <class W>
struct Counts {
    W in2, in4, in8, in16, in32;
    explicit Counts(W b) {
        in2 = b - ((b >> 1) & 0x55555555u);
        in4 = (in2 & 0x33333333u) + ((in2 >> 2) & 0x33333333u);
        in8 = (in4 + (in4 >> 4)) & 0x0f0f0f0fu;
        in16 = in8 + (in8 >> 8);
        in32 = (in16 + (in16 >> 16)) & 0x3fu;
    }
};

// The n-th lowest set bit in every lane: halve the field that must hold it, five times.
inline Lanes nth_bit(Lanes word, const Counts<Lanes>& c, Lanes n) {
    Lanes at = {};
    auto halve = [&](Lanes low, uint32_t width) {
        const Lanes upper = (Lanes)(n >= low);  // all ones where the bit is in the upper half
        n -= low & upper;
        at += width & upper;
    };
    halve(c.in16 & 0x1fu, 16);
    halve((c.in8 >> at) & 0xfu, 8);
    halve((c.in4 >> at) & 0x7u, 4);
    halve((c.in2 >> at) & 0x3u, 2);
    halve((word >> at) & 0x1u, 1);
    return (Lanes{} + 1u) << at;
}

// A vector of games, each at its own pace, without a branch. In one step a lane makes a ply; or, if
// the group it expands is wide, grows it and leaves the rest to the next step; or, if its game is
// over, takes the result and clears the board.
struct LaneGames {
    Position<Lanes> p{};
    Lanes growing{};  // the group of an expansion under way, else 0
    Lanes mover{}, plies{}, games{}, player_0_wins{};
    Lanes s[4];  // xoshiro128+ (Blackman and Vigna), one generator in each lane

    explicit LaneGames(uint64_t seed) {
        for (Lanes& word : s)
            for (int lane = 0; lane < LANES; ++lane) word[lane] = uint32_t(split_mix(seed) >> 32);
    }

    inline Lanes random27() {
        const Lanes result = (s[0] + s[3]) >> 5;
        const Lanes t = s[1] << 9;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = (s[3] << 11) | (s[3] >> 21);
        return result;
    }

    __attribute__((always_inline)) inline void step() {
        // One count serves both ends: of the legal cells or, in a game that is over, of the cells
        // that the mover holds.
        const Lanes open = open_cells(p);
        const auto over = open == 0u;
        const Lanes word = p.mine | (over ? p.dyed_mine : open);
        const Counts<Lanes> counts(word);
        const Lanes mover_wins = (Lanes)(counts.in32 > uint32_t(SIZE * SIZE / 2));
        player_0_wins -= (mover_wins ^ mover) & (Lanes)over;
        games -= (Lanes)over;

        const Lanes drawn = nth_bit(word, counts, (random27() * counts.in32) >> 27);
        const Lanes move = growing == 0u ? drawn : Lanes{};
        const Lanes marbles = p.mine | p.theirs;
        const Lanes group = spread(growing | (p.mine & move)) & marbles;
        const Lanes reach = spread(group);
        const Lanes grown = reach & marbles;
        const auto done = grown == group;
        const Position<Lanes> next = played(p, move, reach & BOARD);
        const Lanes stay = ~(Lanes)over;
        p.mine = (done ? next.mine : p.mine) & stay;
        p.theirs = (done ? next.theirs : p.theirs) & stay;
        p.dyed = (done ? next.dyed : p.dyed) & stay;
        p.dyed_mine = (done ? next.dyed_mine : p.dyed_mine) & stay;
        growing = (done ? Lanes{} : grown) & stay;
        mover = (mover ^ (Lanes)done) & stay;  // all ones when player 1 is to move
        plies -= (Lanes)done & stay;
    }
};

void play_lanes(LaneGames (&vectors)[2], int steps, Tally& tally) {
    LaneGames a = vectors[0], b = vectors[1];  // two, so that the waits of one hide in the other
    for (int step = 0; step < steps; ++step) {
        a.step();
        b.step();
    }
    vectors[0] = a;
    vectors[1] = b;
    for (LaneGames& v : vectors) {
        for (int lane = 0; lane < LANES; ++lane) {
            tally.plies += v.plies[lane];
            tally.games += v.games[lane];
            tally.player_0_wins += v.player_0_wins[lane];
        }
        v.plies = v.games = v.player_0_wins = Lanes{};
    }
}

// ---------------------------------------------------------------- array of cells

enum Cell : int8_t { OPEN, MARBLE_0, MARBLE_1, DYE_0, DYE_1 };

struct Neighbours {
    int8_t count[SIZE * SIZE] = {}, cell[SIZE * SIZE][4] = {};
    Neighbours() {
        for (int rank = 0; rank < SIZE; ++rank)
            for (int file = 0; file < SIZE; ++file) {
                const int at = rank * SIZE + file;
                if (file > 0) cell[at][count[at]++] = at - 1;
                if (file < SIZE - 1) cell[at][count[at]++] = at + 1;
                if (rank > 0) cell[at][count[at]++] = at - SIZE;
                if (rank < SIZE - 1) cell[at][count[at]++] = at + SIZE;
            }
    }
};

const Neighbours neighbours;

void expand(int8_t (&cells)[SIZE * SIZE], int start, int8_t dye, int& open) {
    int8_t stack[SIZE * SIZE];
    int top = 0;
    stack[top++] = start;
    cells[start] = dye;
    while (top) {
        const int at = stack[--top];
        for (int i = 0; i < neighbours.count[at]; ++i) {
            const int near = neighbours.cell[at][i];
            if (cells[near] == MARBLE_0 || cells[near] == MARBLE_1) stack[top++] = near;
            open -= cells[near] == OPEN;
            cells[near] = dye;
        }
    }
}

void play_scalar(Random64& random, int games, Tally& tally) {
    for (int game = 0; game < games; ++game) {
        int8_t cells[SIZE * SIZE] = {};
        int open = SIZE * SIZE, mover = 0;
        while (open) {
            const int8_t marble = MARBLE_0 + mover, dye = DYE_0 + mover;
            int legal[SIZE * SIZE], count = 0;
            for (int at = 0; at < SIZE * SIZE; ++at) {
                legal[count] = at;
                count += cells[at] == OPEN || cells[at] == marble;
            }
            const int action = legal[random.below(count)];
            if (cells[action] == OPEN) {
                cells[action] = marble;
                --open;
            } else {
                expand(cells, action, dye, open);
            }
            mover ^= 1;
            ++tally.plies;
        }
        int held = 0;
        for (int8_t cell : cells) held += cell == MARBLE_0 || cell == DYE_0;
        tally.player_0_wins += 2 * held > SIZE * SIZE;
        ++tally.games;
    }
}

// ---------------------------------------------------------------- command line

template <class Chunk>
void report(const char* mode, double seconds, Chunk chunk) {
    using clock = std::chrono::steady_clock;
    Tally tally;
    const auto start = clock::now();
    double spent = 0;
    do {
        chunk(tally);
        spent = std::chrono::duration<double>(clock::now() - start).count();
    } while (spent < seconds);
    std::printf(
        "{\"mode\": \"%s\", \"plies\": %llu, \"games\": %llu, \"seconds\": %.3f, "
        "\"plies_per_second\": %.0f, \"mean_plies_per_game\": %.4f, "
        "\"player_0_win_share\": %.5f}\n",
        mode, (unsigned long long)tally.plies, (unsigned long long)tally.games, spent,
        tally.plies / spent, double(tally.plies) / tally.games,
        double(tally.player_0_wins) / tally.games);
}

#ifndef CORSO_NO_MAIN
int main(int argc, char** argv) {
    const char* mode = "lanes";
    double seconds = 2;
    for (int i = 1; i < argc; ++i) {
        char* end = argv[i];
        if (!std::strcmp(argv[i], "--single") || !std::strcmp(argv[i], "--scalar"))
            mode = argv[i] + 2;
        else if (seconds = std::strtod(argv[i], &end); *end || end == argv[i] || !(seconds > 0)) {
            std::fprintf(stderr, "usage: %s [seconds > 0] [--single | --scalar]\n", argv[0]);
            return 2;
        }
    }
    Random64 random;
    if (!std::strcmp(mode, "single"))
        report(mode, seconds, [&](Tally& tally) { play_single(random, 1000, tally); });
    else if (!std::strcmp(mode, "scalar"))
        report(mode, seconds, [&](Tally& tally) { play_scalar(random, 1000, tally); });
    else {
        LaneGames vectors[2] = {LaneGames(SEED), LaneGames(~SEED)};
        report(mode, seconds, [&](Tally& tally) { play_lanes(vectors, 10000, tally); });
    }
}
#endif
