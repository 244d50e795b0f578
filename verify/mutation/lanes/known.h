// Bytes of the packets at an output of a unit that are specified. Those behind may be anything.

#pragma once

#include <cstdint>
#include <vector>

// For each run from a reset, and each packet of it. Without any run, all bytes are specified.
inline std::vector<std::vector<int64_t>> known_bytes;

// Follows the packets at an output.
class Known {
  public:
    // Whether a byte of the beat that is there is specified.
    bool has(int byte) const {
        if (known_bytes.empty()) return true;
        const auto& run = known_bytes[run_];
        return packet_ < run.size() && at_ + byte < run[packet_];
    }

    // One cycle: whether the beat of so many bytes passes, and ends its packet.
    void step(bool is_reset, bool passes, bool last, int bytes) {
        if (is_reset) {
            if (has_begun_ && run_ + 1 < known_bytes.size()) ++run_;
            has_begun_ = false;
            packet_ = at_ = 0;
            return;
        }
        has_begun_ = true;
        if (!passes) return;
        at_ = last ? 0 : at_ + bytes;
        packet_ += last;
    }

  private:
    size_t run_ = 0, packet_ = 0;
    int64_t at_ = 0;
    bool has_begun_ = false;
};

extern "C" [[gnu::visibility("default"), gnu::used]] inline void lanes_know(
    const int64_t* bytes, const int64_t* counts, int runs) {
    known_bytes.clear();
    for (int run = 0; run < runs; ++run) {
        known_bytes.emplace_back(bytes, bytes + counts[run]);
        bytes += counts[run];
    }
}
