// Stalls of a port, and random values for signals that a design must ignore.

#pragma once

#include <cstdint>
#include <cstring>

struct Stall {  // cdma.sim.backpressure.Profile, started
    int64_t on, off, phase, pause, at;
    double p;
    double (*draw)(void*);  // NumPy's generator, so that the sequence is the same as in Python
    void* state;
};

// For each cycle: whether a port may transfer a beat.
class Willing {
  public:
    explicit Willing(const Stall& stall) : stall_(stall), place_(stall.phase) {}

    bool next() {
        if (stall_.p > 0) return stall_.draw(stall_.state) >= stall_.p;
        if (stall_.pause) {
            const int64_t now = place_++;
            return now < stall_.at || now >= stall_.at + stall_.pause;
        }
        const bool willing = place_ < stall_.on;
        if (++place_ == stall_.on + stall_.off) place_ = 0;
        return willing;
    }

  private:
    const Stall stall_;
    int64_t place_;
};

class Junk {  // xorshift64*
  public:
    explicit Junk(uint64_t seed) : state_(seed) {}
    explicit operator bool() const { return state_ != 0; }

    void fill(uint8_t* bytes, int count) {
        for (; count > 0; bytes += 8, count -= 8) {
            state_ ^= state_ >> 12;
            state_ ^= state_ << 25;
            state_ ^= state_ >> 27;
            const uint64_t drawn = state_ * 0x2545F4914F6CDD1D;
            memcpy(bytes, &drawn, count < 8 ? count : 8);
        }
    }

  private:
    uint64_t state_;
};
