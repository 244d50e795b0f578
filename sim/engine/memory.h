// A memory at one AXI4 port: its responses and their timing.

#pragma once

#include <array>
#include <memory>
#include <random>
#include <string>

#include "rules.h"
#include "space.h"
#include "stalls.h"

struct Timing {  // mirrored in sim/engine/pins.py
    int64_t latency, jitter;        // cycles from an address (a last beat) to its response
    double tail;                    // share of the bursts with ...
    int64_t tail_latency;           // ... this number of additional cycles
    double bandwidth;               // bytes a cycle, reads and writes together; 0: any
    int64_t refresh_period, refresh_gap;  // no data for `gap` cycles in each `period`; 0: never
    double reorder;                 // probability of a response with another ID than the oldest
    int64_t outstanding;            // most accepted bursts of each kind
    int32_t order;                  // 0 any, 1 W waits for its AW, 2 AW waits for WVALID
    int32_t pad;
    Stall stalls[CHANNELS];
};

class Memory {
  public:
    Memory(const char* name, Space& space, const Limits& limits, const Timing& timing,
           uint64_t seed)
        : rules(name, limits),
          name_(name),
          space_(space),
          size_(limits.beat_bytes),
          timing_(timing),
          willing_{Willing(timing.stalls[AR]), Willing(timing.stalls[R]),
                   Willing(timing.stalls[AW]), Willing(timing.stalls[W]),
                   Willing(timing.stalls[B])},
          random_(seed),
          tokens_(0) {}

    Rules rules;
    Counts counts{};
    std::vector<Event> log;
    bool is_logged = false;

    int beat_bytes() const { return size_; }

    // Stall this channel until a cycle.
    void hold(int channel, int64_t until) { held_[channel] = until; }

    // Process one clock edge: values of both sides before the edge, values of the memory after it.
    void tick(const Ask& ask, Answer& answer, int64_t cycle) {
        rules.check(ask, answer, cycle);
        cycle_ = cycle;
        note(ask, answer);
        take_read(ask, answer);
        take_write(ask, answer);
        finish_read(ask, answer);
        finish_write(ask, answer);
        offer(ask, answer);
    }

    void reset(const Ask& ask, Answer& answer, int64_t cycle, bool is_first) {
        if (!is_first) rules.check_silence(ask, cycle);
        rules.forget();
        reads_.clear();
        writes_.clear();
        open_.clear();
        beats_.clear();
        counts.reading = counts.writing = 0;
        had_ar_ = had_aw_ = false;
        memset(&answer, 0, sizeof(answer));
    }

  private:
    struct Read {
        Address a;
        int64_t ready;
        int beat;
        bool is_early;  // data is read when the address is accepted, else when the beat is offered
        std::vector<uint8_t> data;
    };
    struct Beat {
        uint64_t strobes[2];
        std::array<uint8_t, MOST_BEAT_BYTES> data;
        bool last;
    };
    struct Write {
        Address a;
        int64_t ready;
        uint8_t response;
        bool is_early;  // bytes are written when their beat is accepted, else when B is offered
        std::vector<Beat> beats;
    };

    bool is_willing(Channel channel) {
        const bool willing = willing_[channel].next();
        return willing && cycle_ >= held_[channel];
    }

    double draw() { return std::uniform_real_distribution<double>(0, 1)(random_); }

    int64_t due(int64_t delay) {
        int64_t latency = timing_.latency + delay;
        if (timing_.jitter) latency += int64_t(draw() * (timing_.jitter + 1));
        if (timing_.tail > 0 && draw() < timing_.tail) latency += timing_.tail_latency;
        return cycle_ + latency;
    }

    // Additional delay of a burst's response because of faults.
    int64_t delay_of(const Address& a, bool is_read) {
        int64_t delay = 0;
        const uint64_t first = burst_start(a, size_), last = first + uint64_t(a.len + 1) * size_ - 1;
        for (Fault& fault : space_.faults) {
            if (!fault.delay || !(is_read ? fault.on_read : fault.on_write)) continue;
            if (last < fault.first || first > fault.last || !fault.count) continue;
            --fault.count;
            delay = std::max(delay, fault.delay);
        }
        return delay;
    }

    uint8_t response_of(uint64_t first, uint64_t bytes, bool is_read) {
        for (Fault& fault : space_.faults) {
            if (!fault.response || !(is_read ? fault.on_read : fault.on_write)) continue;
            if (first + bytes - 1 < fault.first || first > fault.last || !fault.count) continue;
            --fault.count;
            return fault.response;
        }
        return OKAY;
    }

    void note(const Ask& ask, const Answer& answer) {
        if (ask.ar.valid && !had_ar_) event(AR, ask.ar);
        if (ask.aw.valid && !had_aw_) event(AW, ask.aw);
        had_ar_ = ask.ar.valid && !answer.arready;
        had_aw_ = ask.aw.valid && !answer.awready;
    }

    void event(Channel channel, const Address& a) {
        if (is_logged)
            log.push_back({cycle_, a.addr, a.id, a.user, uint8_t(channel), a.len, a.cache, a.prot,
                           a.qos, {}});
    }

    void take_read(const Ask& ask, const Answer& answer) {
        if (!(ask.ar.valid && answer.arready)) return;
        Read read{ask.ar, due(delay_of(ask.ar, true)), 0, draw() < 0.5, {}};
        for (const Read& other : reads_)
            if (other.a.id == read.a.id) read.ready = std::max(read.ready, other.ready);
        if (read.is_early) {
            read.data.resize((read.a.len + 1) * size_);
            for (int beat = 0; beat <= read.a.len; ++beat)
                fetch(read.a, beat, &read.data[beat * size_]);
        }
        reads_.push_back(std::move(read));
        ++counts.reads;
        counts.most_reading = std::max(counts.most_reading, ++counts.reading);
    }

    void fetch(const Address& a, int beat, uint8_t* to) {
        const uint64_t first = burst_start(a, size_) + uint64_t(beat) * size_;
        bool is_inside = false;
        for (int byte = 0; byte < size_; ++byte) {
            const uint8_t* from = space_.find(first + byte, Space::READ);
            is_inside |= from != nullptr;
            to[byte] = from ? *from : uint8_t(random_());
        }
        if (!is_inside)
            fail("%s: reads %#llx outside all buffers in cycle %lld", name_.c_str(),
                 static_cast<unsigned long long>(first), static_cast<long long>(cycle_));
    }

    void store(uint64_t first, const Beat& beat) {
        for (int byte = 0; byte < size_; ++byte) {
            if (!(beat.strobes[byte / 64] >> byte % 64 & 1)) continue;
            uint8_t* to = space_.find(first + byte, Space::WRITE);
            if (!to)
                fail("%s: writes %#llx outside all buffers in cycle %lld", name_.c_str(),
                     static_cast<unsigned long long>(first + byte),
                     static_cast<long long>(cycle_));
            *to = beat.data[byte];
            ++counts.written_bytes;
        }
    }

    void take_write(const Ask& ask, const Answer& answer) {
        if (ask.aw.valid && answer.awready) {
            open_.push_back({ask.aw, -1, OKAY, draw() < 0.5, {}});
            ++counts.writes;
            counts.most_writing = std::max(counts.most_writing, ++counts.writing);
        }
        if (ask.wvalid && answer.wready) {
            Beat beat{{ask.wstrb[0], ask.wstrb[1]}, {}, ask.wlast != 0};
            memcpy(beat.data.data(), ask.wdata, size_);
            beats_.push_back(beat);
            if (!counts.write_beats++) counts.first_write_beat = cycle_;
            counts.last_write_beat = cycle_;
        }
        while (!open_.empty() && !beats_.empty()) {
            add_beat(open_.front(), beats_.front());
            beats_.pop_front();
        }
    }

    void add_beat(Write& write, const Beat& beat) {
        const uint64_t first = burst_start(write.a, size_) + write.beats.size() * size_;
        const uint8_t response = response_of(first, size_, false);
        if (response) write.response = response;
        if (write.is_early && !response) store(first, beat);
        write.beats.push_back(beat);
        if (!beat.last) return;
        write.ready = due(delay_of(write.a, false));
        for (const Write& other : writes_)
            if (other.a.id == write.a.id) write.ready = std::max(write.ready, other.ready);
        writes_.push_back(std::move(write));
        open_.pop_front();
    }

    void finish_read(const Ask& ask, Answer& answer) {
        if (!(answer.rvalid && ask.rready)) return;
        if (!counts.read_beats++) counts.first_read_beat = cycle_;
        counts.last_read_beat = cycle_;
        answer.rvalid = 0;
        Read& read = reads_[reading_];
        if (read.beat++ < read.a.len) return;
        event(R, read.a);
        --counts.reading;
        reads_.erase(reads_.begin() + reading_);
    }

    void finish_write(const Ask& ask, Answer& answer) {
        if (!(answer.bvalid && ask.bready)) return;
        answer.bvalid = 0;
        event(B, writes_[writing_].a);
        --counts.writing;
        writes_.erase(writes_.begin() + writing_);
    }

    // The first ready burst of each ID may get its response: the oldest, or a random one.
    template <class Bursts>
    int choose(const Bursts& bursts) {
        uint64_t seen = 0;
        int chosen = -1;
        const bool by_chance = timing_.reorder > 0 && draw() < timing_.reorder;
        int found = 0;
        for (int k = 0; k < int(bursts.size()); ++k) {
            const uint64_t bit = uint64_t(1) << bursts[k].a.id % 64;
            if (seen & bit) continue;
            seen |= bit;
            if (bursts[k].ready > cycle_) continue;
            ++found;
            if (chosen < 0 || (by_chance && draw() < 1.0 / found)) chosen = k;
        }
        return chosen;
    }

    void offer(const Ask& ask, Answer& answer) {
        const bool rests = timing_.refresh_period &&
                           cycle_ % timing_.refresh_period < timing_.refresh_gap;
        if (timing_.bandwidth > 0)
            tokens_ = std::min(tokens_ + timing_.bandwidth, timing_.bandwidth + 2 * size_);
        const bool has_tokens = timing_.bandwidth <= 0 || tokens_ >= size_;
        bool may_move = has_tokens && !rests;
        const bool r = is_willing(R), b = is_willing(B);
        if (!answer.rvalid && r && may_move) {
            reading_ = choose(reads_);
            if (reading_ >= 0) {
                give(reads_[reading_], answer);
                if (timing_.bandwidth > 0) {
                    tokens_ -= size_;
                    may_move = tokens_ >= size_;
                }
            }
        }
        if (!answer.bvalid && b) {
            writing_ = choose(writes_);
            if (writing_ >= 0) confirm(writes_[writing_], answer);
        }
        const int64_t most = timing_.outstanding;
        // AWREADY may wait for WVALID: for this beat, or a beat that was accepted before its address.
        const bool has_w = !beats_.empty() || ask.wvalid;
        const bool w_room = beats_.size() < 64 && (timing_.order != 1 || !open_.empty());
        answer.arready = is_willing(AR) && int64_t(reads_.size()) < most;
        answer.awready = is_willing(AW) && int64_t(writes_.size() + open_.size()) < most &&
                         (timing_.order != 2 || has_w);
        answer.wready = is_willing(W) && may_move && w_room;
        if (answer.wready && timing_.bandwidth > 0 && ask.wvalid) tokens_ -= size_;
    }

    void give(Read& read, Answer& answer) {
        const uint64_t first = burst_start(read.a, size_) + uint64_t(read.beat) * size_;
        if (read.is_early) memcpy(answer.rdata, &read.data[read.beat * size_], size_);
        else fetch(read.a, read.beat, answer.rdata);
        answer.rvalid = 1;
        answer.rid = read.a.id;
        answer.rlast = read.beat == read.a.len;
        answer.rresp = response_of(first, size_, true);
        if (answer.rresp)
            for (int byte = 0; byte < size_; ++byte) answer.rdata[byte] = uint8_t(random_());
    }

    void confirm(Write& write, Answer& answer) {
        uint64_t first = burst_start(write.a, size_);
        if (!write.is_early)
            for (const Beat& beat : write.beats) {
                if (!write.response) store(first, beat);
                first += size_;
            }
        answer.bvalid = 1;
        answer.bid = write.a.id;
        answer.bresp = write.response;
    }

    const std::string name_;
    Space& space_;
    const int size_;
    const Timing timing_;
    std::array<Willing, CHANNELS> willing_;
    std::array<int64_t, CHANNELS> held_{};
    std::mt19937_64 random_;
    double tokens_;
    int64_t cycle_ = 0;
    int reading_ = -1, writing_ = -1;
    bool had_ar_ = false, had_aw_ = false;
    std::deque<Read> reads_;
    std::deque<Write> writes_, open_;
    std::deque<Beat> beats_;  // accepted before their address
};
