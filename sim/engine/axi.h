// Pins of one AXI4 port, and counts and log of the memory model. Mirrored in sim/engine/pins.py.

#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr int MOST_BEAT_BYTES = 128;
constexpr int FAILURE_BYTES = 256;
constexpr int PAGE_BYTES = 4096;

// The five channels of a port.
enum Channel { AR, R, AW, W, B, CHANNELS };
enum Response { OKAY = 0, SLVERR = 2, DECERR = 3 };

struct Address {  // an AR or AW channel
    uint64_t addr;
    uint16_t id, user;
    uint8_t valid, len, size, burst, lock, cache, prot, qos;

    bool is_same(const Address& other) const { return !memcmp(this, &other, sizeof(*this)); }
};

struct Ask {  // driven by the manager
    Address ar, aw;
    uint64_t wstrb[2];
    uint8_t wdata[MOST_BEAT_BYTES];
    uint8_t wvalid, wlast, rready, bready, pad[4];
};

struct Answer {  // driven by the memory
    uint8_t rdata[MOST_BEAT_BYTES];
    uint16_t rid, bid;
    uint8_t arready, awready, wready, rvalid, rlast, rresp, bvalid, bresp, pad[4];
};

struct Event {  // an entry of a port's log
    int64_t cycle;
    uint64_t addr;
    uint16_t id, user;
    uint8_t channel;  // AR, AW: VALID rose; R, B: last response accepted
    uint8_t len, cache, prot, qos;
    uint8_t pad[7];
};

struct Counts {  // of one port, since the start
    int64_t reads, writes;            // accepted bursts
    int64_t read_beats, write_beats;  // transferred beats
    int64_t written_bytes;
    int64_t reading, writing;            // bursts outstanding now
    int64_t most_reading, most_writing;  // ... and at most
    int64_t first_write_beat, last_write_beat, first_read_beat, last_read_beat;  // cycles
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

// First and last byte of the beats of a burst.
inline uint64_t burst_start(const Address& a, int beat_bytes) {
    return a.addr & ~uint64_t(beat_bytes - 1);
}
