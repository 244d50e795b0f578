// The rules of AXI4 that a manager port is checked against in every cycle (docs/engine.md).

#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "axi.h"

constexpr int MOST_IDS = 4;
// Cycles in which beats wait for their address, and AWVALID is 0.
constexpr int MOST_STRAY = 64;

struct Limits {
    int32_t beat_bytes;
    int32_t burst_bytes;             // bytes of the longest burst
    int32_t ids;                     // IDs are below this
    int32_t reads[MOST_IDS];         // bursts of each ID that are outstanding at most ...
    int32_t read_beats[MOST_IDS];    // ... their beats that are outstanding at most ...
    int32_t writes[MOST_IDS];        // ... and the same of writes, in bursts
    int32_t bubble;                  // most consecutive cycles without WVALID while data is due
    int32_t channels, channel;       // the port serves stripes with this number mod channels ...
    int64_t stripe_bytes;            // ... of this number of bytes; 0: any address
};

// Checks one port. `check` is called once a cycle with the values before the clock edge.
class Rules {
  public:
    Rules(const char* name, const Limits& limits) : name_(name), limits_(limits) {}

    void check(const Ask& ask, const Answer& answer, int64_t cycle) {
        cycle_ = cycle;
        stable(ask);
        if (ask.ar.valid) {
            if (!had_ar_) address(ask.ar, "AR");
            if (answer.arready) ask_read(ask.ar);
        }
        if (ask.aw.valid) {
            if (!had_aw_) address(ask.aw, "AW");
            if (answer.awready) {
                owed_.push_back(ask.aw);
                if (++writes_[ask.aw.id] > limits_.writes[ask.aw.id])
                    broken("AW: more than %d writes of ID %d outstanding",
                           limits_.writes[ask.aw.id], ask.aw.id);
                match();
            }
        }
        data(ask, answer);
        if (answer.rvalid && ask.rready) {
            --read_beats_[answer.rid];
            reads_[answer.rid] -= answer.rlast;
        }
        if (answer.bvalid && ask.bready) --writes_[answer.bid];
        remember(ask, answer);
    }

    // In reset, from its second cycle on.
    void check_silence(const Ask& ask, int64_t cycle) {
        cycle_ = cycle;
        if (ask.ar.valid || ask.aw.valid || ask.wvalid) broken("a VALID is 1 in reset");
    }

    // In each cycle of a reset: what was begun is over.
    void forget() {
        had_ar_ = had_aw_ = had_w_ = false;
        owed_.clear();
        early_.clear();
        reads_ = read_beats_ = writes_ = {};
        beat_ = idle_ = stray_ = 0;
    }

  private:
    struct Beat {
        uint64_t strobes[2];
        bool last;
    };

    template <class... Values>
    [[noreturn]] [[gnu::cold]] void broken(const char* rule, Values... values) const {
        char text[FAILURE_BYTES - 64];
        snprintf(text, sizeof(text), rule, values...);
        fail("%s: %s in cycle %lld", name_.c_str(), text, static_cast<long long>(cycle_));
    }

    void stable(const Ask& ask) const {
        if (had_ar_ && !ask.ar.is_same(ar_)) broken("AR: changed or fell while it was stalled");
        if (had_aw_ && !ask.aw.is_same(aw_)) broken("AW: changed or fell while it was stalled");
        if (!had_w_) return;
        if (!ask.wvalid) broken("W: WVALID fell without a handshake");
        if (ask.wlast != w_.last || memcmp(ask.wstrb, w_.strobes, sizeof(w_.strobes)))
            broken("W: WLAST or WSTRB changed while the beat was stalled");
        if (memcmp(ask.wdata, data_, limits_.beat_bytes))
            broken("W: WDATA changed while the beat was stalled");
    }

    void address(const Address& a, const char* channel) const {
        const int size = limits_.beat_bytes, beats = a.len + 1;
        const uint64_t first = burst_start(a, size);
        const uint64_t last = first + uint64_t(beats) * size - 1;
        const auto at = static_cast<unsigned long long>(a.addr);
        if (a.burst != 1) broken("%s: burst type %d at %#llx, not INCR", channel, a.burst, at);
        if (1 << a.size != size)
            broken("%s: AxSIZE %d at %#llx, not the full width", channel, a.size, at);
        if (a.lock) broken("%s: lock at %#llx", channel, at);
        if (beats * size > limits_.burst_bytes)
            broken("%s: %d bytes at %#llx, over %d", channel, beats * size, at,
                   limits_.burst_bytes);
        if (first / PAGE_BYTES != last / PAGE_BYTES)
            broken("%s: burst of %d beats at %#llx crosses a 4 KB page", channel, beats, at);
        if (a.id >= limits_.ids) broken("%s: ID %d at %#llx is not in use", channel, a.id, at);
        if (!limits_.stripe_bytes) return;
        for (uint64_t end : {first, last})
            if (int(end / limits_.stripe_bytes % limits_.channels) != limits_.channel)
                broken("%s: %#llx belongs to another channel", channel,
                       static_cast<unsigned long long>(end));
    }

    // Room for a burst is there before it is asked for.
    void ask_read(const Address& a) {
        if (++reads_[a.id] > limits_.reads[a.id])
            broken("AR: more than %d reads of ID %d outstanding", limits_.reads[a.id], a.id);
        read_beats_[a.id] += a.len + 1;
        if (read_beats_[a.id] > limits_.read_beats[a.id])
            broken("AR: more than %d beats of ID %d outstanding", limits_.read_beats[a.id], a.id);
    }

    void data(const Ask& ask, const Answer& answer) {
        // Data is due but not offered: the writer did not have the whole burst.
        const bool owes = !owed_.empty() && !ask.wvalid;
        idle_ = owes ? idle_ + 1 : 0;
        if (idle_ > limits_.bubble)
            broken("W: no WVALID for %d cycles inside a burst whose address was taken", idle_);
        stray_ = early_.empty() || ask.aw.valid ? 0 : stray_ + 1;
        if (stray_ > MOST_STRAY) broken("W: a beat without an address for %d cycles", stray_);
        if (!(ask.wvalid && answer.wready)) return;
        early_.push_back({{ask.wstrb[0], ask.wstrb[1]}, ask.wlast != 0});
        match();
    }

    // Check beats whose address is known.
    void match() {
        while (!owed_.empty() && !early_.empty()) {
            const Address& a = owed_.front();
            const Beat beat = early_.front();
            early_.pop_front();
            strobes(a, beat);
            const bool is_last = beat_ == a.len;
            if (beat.last != is_last)
                broken("W: WLAST is %d at beat %d of %d", beat.last, beat_, a.len + 1);
            if (is_last) owed_.pop_front();
            beat_ = is_last ? 0 : beat_ + 1;
        }
    }

    // Strobes are clear only before the first and after the last byte of the burst.
    void strobes(const Address& a, const Beat& beat) const {
        const int size = limits_.beat_bytes;
        int first = 0, last = size - 1;
        while (first < size && !enabled(beat.strobes, first)) ++first;
        while (last >= 0 && !enabled(beat.strobes, last)) --last;
        if (first == size) broken("W: beat %d enables no byte", beat_);
        for (int byte = first; byte <= last; ++byte)
            if (!enabled(beat.strobes, byte)) broken("W: hole in WSTRB of beat %d", beat_);
        if (first && beat_) broken("W: first byte of beat %d is not enabled", beat_);
        if (last != size - 1 && beat_ != a.len)
            broken("W: last byte of beat %d of %d is not enabled", beat_, a.len + 1);
        if (!beat_ && first < int(a.addr & (size - 1)))
            broken("W: a byte below AWADDR is enabled");
    }

    static bool enabled(const uint64_t* strobes, int byte) {
        return strobes[byte / 64] >> byte % 64 & 1;
    }

    void remember(const Ask& ask, const Answer& answer) {
        had_ar_ = ask.ar.valid && !answer.arready;
        had_aw_ = ask.aw.valid && !answer.awready;
        had_w_ = ask.wvalid && !answer.wready;
        if (had_ar_) ar_ = ask.ar;
        if (had_aw_) aw_ = ask.aw;
        if (!had_w_) return;
        w_ = {{ask.wstrb[0], ask.wstrb[1]}, ask.wlast != 0};
        memcpy(data_, ask.wdata, limits_.beat_bytes);
    }

    const std::string name_;
    const Limits limits_;
    int64_t cycle_ = 0;
    std::array<int, MOST_IDS> reads_{}, read_beats_{}, writes_{};
    int beat_ = 0, idle_ = 0, stray_ = 0;
    bool had_ar_ = false, had_aw_ = false, had_w_ = false;
    Address ar_{}, aw_{};
    Beat w_{};
    uint8_t data_[MOST_BEAT_BYTES] = {};
    std::deque<Address> owed_;  // bursts with missing data
    std::deque<Beat> early_;    // beats before their address
};
