// A digest of what the engine drives: equal digests mean the same outputs in every cycle.

#pragma once

#include "axi.h"
#include "lite.h"

class Digest {
  public:
    uint64_t value = 0;

    // Outputs of a port in one cycle. Fields of a channel count while its VALID is high, bytes of
    // write data where they are enabled.
    void add(const Ask& ask, int beat_bytes) {
        mix(ask.ar.valid | ask.aw.valid << 1 | ask.wvalid << 2 | ask.rready << 3 |
            ask.bready << 4);
        if (ask.ar.valid) add(ask.ar);
        if (ask.aw.valid) add(ask.aw);
        if (!ask.wvalid) return;
        mix(ask.wstrb[0]);
        mix(ask.wstrb[1] ^ uint64_t(ask.wlast) << 63);
        for (int byte = 0; byte < beat_bytes; byte += 8) {
            uint64_t data, enables = ask.wstrb[byte / 64] >> byte % 64 & 0xFF;
            memcpy(&data, ask.wdata + byte, sizeof(data));
            // Each strobe enables a byte.
            enables = (enables * 0x0101010101010101 & 0x8040201008040201) + 0x7F7F7F7F7F7F7F7F;
            enables = (enables >> 7 & 0x0101010101010101) * 0xFF;
            mix(data & enables);
        }
    }

    void add(const LitePins& pins, bool irq) {
        mix(pins.awready | pins.wready << 1 | pins.arready << 2 | pins.bvalid << 3 |
            pins.rvalid << 4 | irq << 5);
        if (pins.bvalid) mix(pins.bresp);
        if (pins.rvalid) mix(pins.rdata | uint64_t(pins.rresp) << 32);
    }

  private:
    void mix(uint64_t word) {
        value = (value ^ word) * 0x9E3779B97F4A7C15;
        value ^= value >> 32;
    }

    void add(const Address& a) {
        mix(a.addr);
        mix(a.id | uint64_t(a.user) << 16 | uint64_t(a.len) << 32 | uint64_t(a.size) << 40 |
            uint64_t(a.burst) << 48 | uint64_t(a.lock) << 56);
        mix(a.cache | a.prot << 8 | a.qos << 16);
    }
};
