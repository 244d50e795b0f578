// Ports of a Verilated unit: sources that offer packets, sinks that check the rules in every cycle.
//
// They have the behaviour of sim/cocotb/ports.py under cocotb, with the same cycles and messages. tick()
// reads the values before a clock edge, drive() drives the values after the edge.

#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "stalls.h"

// The bytes of a port have the same order in memory and on the bus: Verilator stores up to 64 bits in
// one integer and wider ports in an array of 32-bit words, the lowest first.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr int FAILURE_BYTES = 256;

struct Packet {
    int64_t end;  // end of its bytes, after all earlier packets
    int64_t beats, first_cycle, last_cycle;
};

struct Port {
    const char* name;
    Stall stall;
    const uint8_t* data;     // inputs: bytes of all packets
    const int64_t* offsets;  // ... start of each packet, and the end; null: a record in each beat
    uint8_t* out;            // outputs: receives bytes
    int64_t capacity;        // ... and their largest number
    Packet* packets;         // packets at the port, `count` at most
    int64_t count;           // packets expected
    int64_t done, stalls;    // complete packets; cycles with valid and without ready
};

class Failure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] [[gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
    char text[FAILURE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    throw Failure(text);
}

struct Pins {
    uint8_t *data, *keep, *last, *valid, *ready;
};

// Copies the pins to the bytes at `to`: valid, ready, for packets last and keep, data.
template <int BYTES, bool FRAMED>
uint8_t* copy_pins(const Pins& pins, uint8_t* to) {
    *to++ = *pins.valid;
    *to++ = *pins.ready;
    if constexpr (FRAMED) {
        *to++ = *pins.last;
        memcpy(to, pins.keep, (BYTES + 7) / 8);
        to += (BYTES + 7) / 8;
    }
    memcpy(to, pins.data, BYTES);
    return to + BYTES;
}

// tkeep of a beat of BYTES bytes, as bytes.
template <int BYTES>
struct Keep {
    static constexpr int SIZE = (BYTES + 7) / 8;
    uint8_t of[BYTES + 1][SIZE] = {};  // by the number of bytes kept

    constexpr Keep() {
        for (int kept = 0; kept <= BYTES; ++kept)
            for (int byte = 0; byte < kept; ++byte) of[kept][byte / 8] |= 1 << byte % 8;
    }
    const uint8_t* all() const { return of[BYTES]; }

    static int count(const uint8_t* keep) {
        int kept = 0;
        for (int index = 0; index < SIZE; ++index) kept += __builtin_popcount(keep[index]);
        return kept;
    }
};

template <int BYTES>
inline constexpr Keep<BYTES> KEEP{};

// Offers packets in order. FRAMED: with tkeep and tlast, else a record in each beat.
template <int BYTES, bool FRAMED>
class Source {
  public:
    Source(Port& port, const Pins& pins, uint64_t junk)
        : port_(port), pins_(pins), willing_(port.stall), junk_(junk) {
        port_.done = port_.stalls = 0;
        if (FRAMED) at_ = port_.offsets[0];
        rest();
    }

    // In reset the design must ignore all inputs, also valid.
    void disturb(Junk& junk) {
        junk.fill(pins_.valid, 1);
        *pins_.valid &= 1;
        junk.fill(pins_.data, BYTES);
        if constexpr (FRAMED) *pins_.last = *pins_.data & 1;
    }

    void rest() {
        *pins_.valid = 0;
        put(nullptr, 0, false);
    }

    void check_silence() const {}
    uint8_t* record(uint8_t* to) const { return copy_pins<BYTES, FRAMED>(pins_, to); }
    bool is_done() const { return port_.done == port_.count; }

    // Process one clock edge: read the values before the edge, compute the next values.
    bool tick(int64_t cycle) {
        const bool willing = willing_.next();
        const bool moves = offers_ && *pins_.ready;
        changes_ = false;
        if (offers_ && !moves) {
            ++port_.stalls;
            return false;
        }
        if (moves) count(cycle);
        changes_ = moves || willing;
        offers_ = willing && !is_done();
        return moves;
    }

    // Drive the values after the edge.
    void drive() {
        if (!changes_) return;
        *pins_.valid = offers_;
        if (offers_) {
            const int64_t left = end() - at_;
            put(port_.data + at_, left < BYTES ? left : BYTES, left <= BYTES);
        } else if (junk_) {
            junk_.fill(pins_.data, BYTES);
            if constexpr (FRAMED) {
                fill_keep();
                junk_.fill(pins_.last, 1);
                *pins_.last &= 1;
            }
        }
    }

  private:
    int64_t end() const { return FRAMED ? port_.offsets[port_.done + 1] : at_ + BYTES; }

    void count(int64_t cycle) {
        Packet& packet = port_.packets[port_.done];
        if (beats_++ == 0) packet.first_cycle = cycle;
        const bool is_last = end() - at_ <= BYTES;
        at_ = is_last ? end() : at_ + BYTES;
        if (!is_last) return;
        packet.end = at_;
        packet.beats = beats_;
        packet.last_cycle = cycle;
        beats_ = 0;
        ++port_.done;
    }

    void put(const uint8_t* bytes, int count, bool is_last) {
        if (count == BYTES) {
            memcpy(pins_.data, bytes, BYTES);
        } else {
            if (junk_) junk_.fill(pins_.data, BYTES);
            else memset(pins_.data, 0, BYTES);
            if (count) memcpy(pins_.data, bytes, count);
        }
        if constexpr (FRAMED) {
            if (junk_) {
                fill_keep();
                // In a last beat, tkeep of the lowest byte of each word keeps the word.
                for (int byte = 0; is_last && byte < BYTES; byte += KEEP_BYTES) {
                    const uint8_t bit = 1 << byte % 8;
                    uint8_t& place = pins_.keep[byte / 8];
                    place = byte < count ? place | bit : place & ~bit;
                }
            } else {
                memcpy(pins_.keep, KEEP<BYTES>.of[count], Keep<BYTES>::SIZE);
            }
            *pins_.last = is_last;
        }
    }

    void fill_keep() {
        junk_.fill(pins_.keep, Keep<BYTES>::SIZE);
        pins_.keep[Keep<BYTES>::SIZE - 1] &= KEEP<BYTES>.all()[Keep<BYTES>::SIZE - 1];
    }

    Port& port_;
    const Pins pins_;
    Willing willing_;
    Junk junk_;
    bool offers_ = false, changes_ = false;
    int64_t at_ = 0, beats_ = 0;
};

// Accepts the output and checks the rules of the stream.
template <int BYTES, bool FRAMED>
class Sink {
  public:
    Sink(Port& port, const Pins& pins, bool is_watched = false)
        : port_(port), pins_(pins), willing_(port.stall), is_watched_(is_watched) {
        port_.done = port_.stalls = 0;
        rest();
    }

    void disturb(Junk& junk) {
        if (is_watched_) return;
        junk.fill(pins_.ready, 1);
        *pins_.ready &= 1;
    }

    void rest() {
        if (!is_watched_) *pins_.ready = 0;
    }

    // Called from the first edge of a reset on.
    void check_silence() const {
        if (*pins_.valid) fail("%s: tvalid is 1 in reset, expected 0", port_.name);
    }

    uint8_t* record(uint8_t* to) const { return copy_pins<BYTES, FRAMED>(pins_, to); }
    bool is_done() const { return port_.done == port_.count; }

    bool tick(int64_t cycle) {
        willing = is_watched_ || willing_.next();
        if (!*pins_.valid) {
            if (is_stalled_) broken("tvalid fell without a handshake", cycle);
            return false;
        }
        if (is_stalled_) check_stable(cycle);
        if (!*pins_.ready) {
            ++port_.stalls;
            is_stalled_ = true;
            memcpy(data_, pins_.data, BYTES);
            if constexpr (FRAMED) {
                memcpy(keep_, pins_.keep, Keep<BYTES>::SIZE);
                last_ = *pins_.last;
            }
            return false;
        }
        is_stalled_ = false;
        take(cycle);
        return true;
    }

    void drive() {
        if (!is_watched_) *pins_.ready = willing;
    }

  private:
    [[noreturn]] [[gnu::cold]] void broken(const char* rule, int64_t cycle) const {
        fail("%s: %s in cycle %lld", port_.name, rule, static_cast<long long>(cycle));
    }

    void check_stable(int64_t cycle) const {
        const bool data = memcmp(data_, pins_.data, BYTES) != 0;
        bool keep = false, last = false;
        if constexpr (FRAMED) {
            keep = memcmp(keep_, pins_.keep, Keep<BYTES>::SIZE) != 0;
            last = last_ != *pins_.last;
        }
        if (!(data || keep || last)) return;
        char rule[64];
        snprintf(rule, sizeof(rule), "%s%s%s%s%s changed while the beat was stalled",
                 data ? "tdata" : "", data && (keep || last) ? ", " : "", keep ? "tkeep" : "",
                 keep && last ? ", " : "", last ? "tlast" : "");
        broken(rule, cycle);
    }

    void take(int64_t cycle) {
        if (is_done()) broken("gives more packets than expected", cycle);
        int kept = BYTES;
        bool is_last = true;
        if constexpr (FRAMED) {
            is_last = *pins_.last;
            if (memcmp(pins_.keep, KEEP<BYTES>.all(), Keep<BYTES>::SIZE)) kept = partial(cycle);
        }
        if (kept > port_.capacity - at_) broken("gives more bytes than it may", cycle);
        memcpy(port_.out + at_, pins_.data, kept);
        at_ += kept;
        Packet& packet = port_.packets[port_.done];
        if (beats_++ == 0) packet.first_cycle = cycle;
        if (!is_last) return;
        packet.end = at_;
        packet.beats = beats_;
        packet.last_cycle = cycle;
        beats_ = 0;
        ++port_.done;
    }

    // Number of kept bytes in a partial beat.
    int partial(int64_t cycle) const {
        const int kept = KEEP<BYTES>.count(pins_.keep);
        if (memcmp(pins_.keep, KEEP<BYTES>.of[kept], Keep<BYTES>::SIZE))
            broken("tkeep is not contiguous from byte 0", cycle);
        if (!*pins_.last) broken("tkeep is not all ones before the last beat", cycle);
        for (int byte = kept; byte < BYTES; ++byte)
            if (pins_.data[byte]) broken("a byte that is not kept is not zero", cycle);
        return kept;
    }

    Port& port_;
    const Pins pins_;
    Willing willing_;
    const bool is_watched_;
    bool willing = false, is_stalled_ = false;
    int64_t at_ = 0, beats_ = 0;
    uint8_t data_[BYTES], keep_[Keep<BYTES>::SIZE], last_ = 0;
};
