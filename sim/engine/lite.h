// Manager of the AXI4-Lite port: one access at a time.

#pragma once

#include <random>

#include "axi.h"

struct LitePins {
    // driven by the manager
    uint64_t awaddr, araddr;
    uint32_t wdata;
    uint8_t awvalid, wvalid, wstrb, bready, arvalid, rready, awprot, arprot;
    // driven by the engine
    uint32_t rdata;
    uint8_t awready, wready, bvalid, bresp, arready, rvalid, rresp;
};

struct Access {  // mirrored in sim/engine/pins.py
    uint64_t address;
    uint32_t data;
    uint8_t write, strobe, response;
    uint8_t order;         // of a write: 0 both together, 1 data later, 2 data first
    int64_t taken;         // cycle of the W (AR) handshake
    int64_t done;          // cycle of the response's handshake; -1 until then
};

// A response waits for its READY in one of eight accesses, 1 to 8 cycles from its VALID on. In all
// others READY is 1 before VALID. When AW and W are apart, the second follows the handshake of the
// first at once, or in one of eight accesses 1 to 8 cycles later.
constexpr int ACCESSES_A_GAP = 8, MOST_GAP = 8;

class Lite {
  public:
    explicit Lite(uint64_t seed) : seed_(seed), random_(seed) {}

    LitePins pins{};

    void begin(Access* access) {
        access_ = access;
        access_->done = access_->taken = -1;
        has_address_ = has_data_ = false;
        gap_ = draw_gap();
        apart_ = access->order ? draw_gap() : 0;
        pins.awaddr = pins.araddr = access->address;
        pins.wdata = access->data;
        pins.wstrb = access->strobe;
        pins.awvalid = access->write && access->order != 2;
        pins.wvalid = access->write && access->order != 1;
        pins.arvalid = !access->write;
        pins.bready = pins.rready = gap_ == 0;
    }

    bool is_busy() const { return access_ != nullptr; }
    void drop() {
        access_ = nullptr;
        pins.awvalid = pins.wvalid = pins.arvalid = 0;
        had_b_ = had_r_ = false;
    }

    // In a cycle of a reset, in whose first one the pins may be anything. The gaps behind a reset
    // are those behind power-up.
    void reset(int64_t cycle, bool is_first) {
        cycle_ = cycle;
        if (!is_first && (pins.bvalid || pins.rvalid)) broken("a VALID is 1 in reset");
        drop();
        random_.seed(seed_);
    }

    // Read the pins before an edge, and drive the values after the edge.
    void tick(int64_t cycle) {
        cycle_ = cycle;
        stable();
        is_due();
        had_b_ = pins.bvalid && !pins.bready;
        had_r_ = pins.rvalid && !pins.rready;
        bresp_ = pins.bresp;
        rresp_ = pins.rresp;
        rdata_ = pins.rdata;
        if (!access_) return;
        answer();
        if (access_) advance();
    }

  private:
    int draw_gap() {
        return random_() % ACCESSES_A_GAP ? 0 : 1 + int(random_() % MOST_GAP);
    }

    // A response that was not taken stays as it is.
    void stable() const {
        if (had_b_ && !pins.bvalid) broken("B: BVALID fell without a handshake");
        if (had_b_ && pins.bresp != bresp_) broken("B: BRESP changed while BVALID waited");
        if (had_r_ && !pins.rvalid) broken("R: RVALID fell without a handshake");
        if (had_r_ && pins.rresp != rresp_) broken("R: RRESP changed while RVALID waited");
        if (had_r_ && pins.rdata != rdata_) broken("R: RDATA changed while RVALID waited");
    }

    // A response follows the handshakes of its access: those of AW and W both, or that of AR.
    void is_due() const {
        const bool writes = access_ && access_->write, reads = access_ && !access_->write;
        if (pins.bvalid && !writes) broken("B: a response without a write");
        if (pins.rvalid && !reads) broken("R: a response without a read");
        if (pins.bvalid && !has_address_) broken("B: a response before AW was accepted");
        if (pins.bvalid && !has_data_) broken("B: a response before W was accepted");
        if (pins.rvalid && !has_address_) broken("R: a response before AR was accepted");
    }

    // Take the response when READY was 1, or count its gap.
    void answer() {
        const bool is_valid = access_->write ? pins.bvalid : pins.rvalid;
        if (!is_valid) return;
        if (!(access_->write ? pins.bready : pins.rready)) {
            pins.bready = pins.rready = --gap_ == 0;
            return;
        }
        access_->response = access_->write ? pins.bresp : pins.rresp;
        if (!access_->write) access_->data = pins.rdata;
        access_->done = cycle_;
        drop();
    }

    // Requests that were accepted, and those that follow them.
    void advance() {
        if (pins.awvalid && pins.awready) {
            pins.awvalid = 0;
            has_address_ = true;
        }
        if (pins.wvalid && pins.wready) {
            pins.wvalid = 0;
            has_data_ = true;
            access_->taken = cycle_;
        }
        if (pins.arvalid && pins.arready) {
            pins.arvalid = 0;
            has_address_ = true;
            access_->taken = cycle_;
        }
        if (!access_->write || has_address_ == has_data_ || apart_-- > 0) return;
        if (access_->order == 1 && !has_data_) pins.wvalid = 1;
        if (access_->order == 2 && !has_address_) pins.awvalid = 1;
    }

    [[noreturn]] void broken(const char* rule) const {
        fail("s_axil: %s in cycle %lld", rule, static_cast<long long>(cycle_));
    }

    Access* access_ = nullptr;
    const uint64_t seed_;
    std::mt19937_64 random_;
    int64_t cycle_ = 0;
    // Cycles that are left: of the response's VALID without READY, and from AW to W or back.
    int gap_ = 0, apart_ = 0;
    bool has_address_ = false, has_data_ = false, had_b_ = false, had_r_ = false;
    uint8_t bresp_ = 0, rresp_ = 0;
    uint32_t rdata_ = 0;
};
