// Vectors with a bit for each lane, and memories of lanes. Lane 0 has no fault.

#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#ifndef LANE_COUNT
#define LANE_COUNT 512
#endif
constexpr int LANES = LANE_COUNT, WORDS = LANES / 64;
typedef uint64_t V __attribute__((vector_size(LANES / 8)));

// Lanes whose values are still of interest. What the others do does not matter.
inline V alive{};
// Registers and memories of each lane power up at values of its own; registers are followed.
inline bool is_scattered = false, is_followed = false;

inline V splat(bool bit) { return V{} - uint64_t(bit); }
inline bool first(const V& v) { return v[0] & 1; }
// A random bit, for all lanes or for each.
template <class Random>
inline V bits(Random& random) {
    if (!is_scattered) return splat(random() & 1);
    V v;
    for (int k = 0; k < WORDS; ++k) v[k] = random();
    return v;
}
inline bool any(const V& v) {
    uint64_t all = 0;
    for (int k = 0; k < WORDS; ++k) all |= v[k];
    return all;
}
inline bool any(const V* v, int count) {
    V all{};
    for (int k = 0; k < count; ++k) all |= v[k];
    return any(all & alive);
}

template <class Action>
inline void for_lanes(const V& v, Action action) {
    for (int word = 0; word < WORDS; ++word)
        for (uint64_t left = v[word]; left; left &= left - 1)
            action(word, uint64_t(1) << __builtin_ctzll(left));
}

// Rows of a memory. Most lanes access the row of lane 0; the others are handled one by one.
template <int DEPTH, int WIDTH, int BITS, int PORTS>
class Rows {
  public:
    Rows() : rows_(DEPTH * WIDTH) {
        for (int& last : last_) last = -1;
    }

    template <class Random>
    void fill(Random& random) {
        for (V& bit : rows_) bit = bits(random);
    }

    // Read in this cycle.
    void read(int port, const V* address, V* to) {
        V apart;
        const int row = split(address, apart);
        const bool is_apart = any(apart);
        if (row == last_[port] && !is_apart) return;  // no write since, and no lane apart
        copy(row, to);
        if (is_apart) patch(address, apart, to);
        last_[port] = is_apart ? -1 : row;
    }

    // Read at the clock, where enabled.
    void read(int, const V* address, const V& enable, const V* old, V* to) {
        if (!any(enable & alive)) {
            memcpy(to, old, WIDTH * sizeof(V));
            return;
        }
        V apart;
        copy(split(address, apart), to);
        if (any(apart)) patch(address, apart, to);
        for (int bit = 0; bit < WIDTH; ++bit) to[bit] = (to[bit] & enable) | (old[bit] & ~enable);
    }

    // Write the bits that are enabled: by one bit for all, or by a bit each.
    void write(const V* address, const V* data, const V* enable, int count) {
        for (int& last : last_) last = -1;
        V apart;
        const int row = split(address, apart);
        if (row < DEPTH)
            for (int bit = 0; bit < WIDTH; ++bit) {
                const V e = enable[count == 1 ? 0 : bit] & ~apart;
                V& kept = rows_[row * WIDTH + bit];
                kept = (kept & ~e) | (data[bit] & e);
            }
        for_lanes(apart, [&](int word, uint64_t lane) {
            const int other = row_of(address, word, lane);
            for (int bit = 0; bit < WIDTH && other < DEPTH; ++bit)
                if (enable[count == 1 ? 0 : bit][word] & lane)
                    set(rows_[other * WIDTH + bit], word, lane, data[bit][word] & lane);
        });
    }

  private:
    static void set(V& v, int word, uint64_t lane, bool bit) {
        v[word] = bit ? v[word] | lane : v[word] & ~lane;
    }

    static int row_of(const V* address, int word, uint64_t lane) {
        int row = 0;
        for (int bit = 0; bit < BITS; ++bit) row |= ((address[bit][word] & lane) != 0) << bit;
        return row;
    }

    // The row of lane 0, and the lanes of interest that have another one.
    static int split(const V* address, V& apart) {
        int row = 0;
        apart = V{};
        for (int bit = 0; bit < BITS; ++bit) {
            const bool is_set = first(address[bit]);
            row |= is_set << bit;
            apart |= address[bit] ^ splat(is_set);
        }
        apart &= alive;
        return row;
    }

    void copy(int row, V* to) const {
        if (row < DEPTH) memcpy(to, &rows_[row * WIDTH], WIDTH * sizeof(V));
        else memset(to, 0, WIDTH * sizeof(V));
    }

    void patch(const V* address, const V& apart, V* to) const {
        for_lanes(apart, [&](int word, uint64_t lane) {
            const int row = row_of(address, word, lane);
            for (int bit = 0; bit < WIDTH; ++bit)
                set(to[bit], word, lane, row < DEPTH && (rows_[row * WIDTH + bit][word] & lane));
        });
    }

    std::vector<V> rows_;
    int last_[PORTS];
};

// What became of the lanes, over all engines since the faults were chosen.
struct Verdict {
    int64_t cycle;  // of its engine; -1 while no output has differed
    int32_t port;   // the first output that differed
    int32_t pad;
};
inline Verdict verdicts[LANES];
inline int32_t chosen[LANES];  // number of the fault of each lane; 0: none

inline void note(const V& differs, int port, int64_t cycle) {
    const V found = differs & alive;
    if (!any(found)) return;
    for_lanes(found, [&](int word, uint64_t lane) {
        verdicts[64 * word + __builtin_ctzll(lane)] = {cycle, port, 0};
    });
    alive &= ~found;
}
