// An address space: accessible buffers, and faults by address.

#pragma once

#include <map>
#include <vector>

#include "axi.h"

struct Fault {  // mirrored in sim/engine/pins.py
    uint64_t first, last;  // addresses
    int64_t delay;         // additional cycles until the response
    int64_t count;         // bursts with this fault; negative: all
    uint8_t on_read, on_write, response, pad[5];
};

class Space {
  public:
    enum Access { READ = 1, WRITE = 2 };

    void add(uint64_t base, uint64_t size, uint8_t* data, int access) {
        regions_[base] = {size, data, access};
    }
    void remove(uint64_t base) { regions_.erase(base); }

    // The byte at an address, or null without such an accessible buffer.
    uint8_t* find(uint64_t address, Access access) {
        if (!last_ || address - last_base_ >= last_->size) {
            auto next = regions_.upper_bound(address);
            if (next == regions_.begin()) return nullptr;
            --next;
            if (address - next->first >= next->second.size) return nullptr;
            last_base_ = next->first;
            last_ = &next->second;
        }
        return last_->access & access ? last_->data + (address - last_base_) : nullptr;
    }

    void changed() { last_ = nullptr; }

    std::vector<Fault> faults;

  private:
    struct Region {
        uint64_t size;
        uint8_t* data;
        int access;
    };
    std::map<uint64_t, Region> regions_;
    Region* last_ = nullptr;
    uint64_t last_base_ = 0;
};
