// Manager of the AXI4-Lite port: one access at a time.

#pragma once

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
    uint8_t order;         // of a write: 0 both together, 1 data a cycle later, 2 data first
    int64_t taken;         // cycle of the W (AR) handshake
    int64_t done;          // cycle of the response; -1 until then
};

class Lite {
  public:
    LitePins pins{};

    void begin(Access* access) {
        access_ = access;
        access_->done = access_->taken = -1;
        pins.awaddr = pins.araddr = access->address;
        pins.wdata = access->data;
        pins.wstrb = access->strobe;
        pins.awvalid = access->write && access->order != 2;
        pins.wvalid = access->write && access->order != 1;
        pins.arvalid = !access->write;
        pins.bready = pins.rready = 1;
    }

    bool is_busy() const { return access_ != nullptr; }
    void drop() {
        access_ = nullptr;
        pins.awvalid = pins.wvalid = pins.arvalid = 0;
    }

    // Read the pins before an edge, and drive the values after the edge.
    void tick(int64_t cycle) {
        if (had_answer_ && !answer_taken_) check_answer(cycle);
        had_answer_ = pins.bvalid || pins.rvalid;
        answer_taken_ = (pins.bvalid && pins.bready) || (pins.rvalid && pins.rready);
        if (!access_) {
            if (pins.bvalid || pins.rvalid) fail("s_axil: an answer that nobody asked for");
            return;
        }
        const bool w_taken = pins.wvalid && pins.wready;
        if (pins.awvalid && pins.awready) {
            pins.awvalid = 0;
            if (access_->order == 1) pins.wvalid = 1;
        }
        if (w_taken) {
            pins.wvalid = 0;
            access_->taken = cycle;
            if (access_->order == 2) pins.awvalid = 1;
        }
        if (pins.arvalid && pins.arready) {
            pins.arvalid = 0;
            access_->taken = cycle;
        }
        if (access_->write ? pins.bvalid : pins.rvalid) {
            access_->response = access_->write ? pins.bresp : pins.rresp;
            if (!access_->write) access_->data = pins.rdata;
            access_->done = cycle;
            drop();
        }
    }

  private:
    void check_answer(int64_t cycle) const {
        if (!pins.bvalid && !pins.rvalid)
            fail("s_axil: an answer fell without a handshake in cycle %lld",
                 static_cast<long long>(cycle));
    }

    Access* access_ = nullptr;
    bool had_answer_ = false, answer_taken_ = false;
};
