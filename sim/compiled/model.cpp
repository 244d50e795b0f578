// Clock loop around a Verilated unit, with the same cycles as sim/cocotb/bench.py under cocotb.
//
// It is compiled for one design, with the macros BEAT_BYTES, KEEP_BYTES (unit of tkeep of s_axis in
// bytes), STATUS_BYTES, HAS_COMMAND, COMMAND_BYTES, HAS_ZERO, ZERO_VALUE, HAS_LINK, HAS_MUTANTS,
// HAS_COVERAGE and HAS_WAVES. Structs are mirrored in sim/compiled/run.py.

#include <memory>

#include "Vmodel.h"
#include "streams.h"
#include "verilated.h"
#if HAS_WAVES
#include "verilated_vcd_c.h"
using Waves = VerilatedVcdC;
#else
struct Waves {
    void dump(uint64_t) {}
};
#endif

struct Job {
    Port source, command, sink, status, link, link_status;
    uint64_t junk;  // seed of values that a design must ignore; 0 drives zeros
    int64_t patience;
    int64_t reset_cycles;
    uint8_t* trace;  // receives the pins of all ports in each cycle, or null
    int64_t cycle;   // cycles so far
    char failure[FAILURE_BYTES];
};

namespace {

constexpr int HALF_PERIOD = 5000;  // ps, of the waveforms
constexpr int QUIET_CYCLES = 40;  // cycles of a run after the last packet, to detect surplus output
enum Outcome { RUNNING, DONE, FAILED };

template <class Signal>
uint8_t* bytes_of(Signal& signal) {
    return reinterpret_cast<uint8_t*>(&signal);
}

#define RECORD_PINS(top, prefix)                                                 \
    Pins {                                                                       \
        bytes_of((top).prefix##_tdata), nullptr, nullptr,                        \
            bytes_of((top).prefix##_tvalid), bytes_of((top).prefix##_tready)     \
    }
#define PACKET_PINS(top, prefix)                                                 \
    Pins {                                                                       \
        bytes_of((top).prefix##_tdata), bytes_of((top).prefix##_tkeep),          \
            bytes_of((top).prefix##_tlast), bytes_of((top).prefix##_tvalid),     \
            bytes_of((top).prefix##_tready)                                      \
    }

// One run, from reset.
class Bench {
  public:
    Bench(Vmodel& top, Job& job, Waves* waves, uint64_t& time)
        : top_(top),
          job_(job),
          waves_(waves),
          time_(time),
          source_(job.source, PACKET_PINS(top, s_axis), job.junk),
#if HAS_COMMAND
          command_(job.command, RECORD_PINS(top, s_axis_cmd), job.junk),
#endif
#if HAS_LINK
          link_(job.link, PACKET_PINS(top, link), true),
          link_status_(job.link_status, RECORD_PINS(top, m_axis_csts)),
#endif
          sink_(job.sink, PACKET_PINS(top, m_axis)),
          status_(job.status, RECORD_PINS(top, m_axis_sts)) {
        job_.cycle = 0;
#if HAS_ZERO
        top_.s_zero = ZERO_VALUE;
#endif
        top_.aresetn = 0;
        for (int64_t cycle = 0; cycle < job_.reset_cycles; ++cycle) {
            if (job_.junk) each_port([&](auto& port) { port.disturb(junk_); });
            pass_edge();
        }
        top_.aresetn = 1;
        each_port([](auto& port) { port.rest(); });
        pass_edge();
    }

    Outcome advance(int64_t cycles) {
        for (int64_t left = cycles; left; --left) {
            // Combinational paths from the inputs settle before the edge.
            settle(0);
            const int64_t cycle = job_.cycle;
            if (job_.trace) each_port([&](auto& port) { job_.trace = port.record(job_.trace); });
            if (tick(cycle)) {
                last_move_ = cycle;
            } else if (cycle - last_move_ > job_.patience) {
                fail("hangs: no handshake since cycle %lld", static_cast<long long>(last_move_));
            }
            settle(1);
            drive();
            job_.cycle = cycle + 1;
            if (is_done() && ++quiet_ == QUIET_CYCLES) return DONE;
        }
        return RUNNING;
    }

  private:
    void settle(int clock) {
        top_.aclk = clock;
        top_.eval();
        if (waves_) waves_->dump(time_);
        time_ += HALF_PERIOD;
    }

    void pass_edge() {
        settle(0);
        settle(1);
        each_port([](auto& port) { port.check_silence(); });
    }

    template <class Visit>
    void each_port(Visit visit) {
        visit(source_);
#if HAS_COMMAND
        visit(command_);
#endif
        visit(sink_);
        visit(status_);
#if HAS_LINK
        visit(link_);
        visit(link_status_);
#endif
    }

    bool tick(int64_t cycle) {
        bool moved = source_.tick(cycle);
#if HAS_COMMAND
        moved |= command_.tick(cycle);
#endif
#if HAS_LINK
        moved |= link_.tick(cycle);
        if (link_status_.tick(cycle)) moved = check_order(job_.link, job_.link_status, cycle);
#endif
        moved |= sink_.tick(cycle);
        if (status_.tick(cycle)) moved = check_order(job_.sink, job_.status, cycle);
        return moved;
    }

    // A status comes after the last beat of its packet.
    static bool check_order(const Port& packets, const Port& statuses, int64_t cycle) {
        const int64_t index = statuses.done - 1;
        if (index >= packets.done || packets.packets[index].last_cycle >= cycle)
            fail("%s: status of packet %lld came before its last beat was taken in cycle %lld",
                 statuses.name, static_cast<long long>(index), static_cast<long long>(cycle));
        return true;
    }

    void drive() {
        each_port([](auto& port) { port.drive(); });
    }

    bool is_done() {
        bool done = true;
        each_port([&](auto& port) { done &= port.is_done(); });
        return done;
    }

    Vmodel& top_;
    Job& job_;
    Waves* waves_;
    uint64_t& time_;
    Junk junk_{job_.junk};  // driven in reset
    int64_t last_move_ = 0;
    int quiet_ = 0;
    Source<BEAT_BYTES, true> source_;
#if HAS_COMMAND
    Source<COMMAND_BYTES, false> command_;
#endif
#if HAS_LINK
    Sink<BEAT_BYTES, true> link_;
    Sink<8, false> link_status_;
#endif
    Sink<BEAT_BYTES, true> sink_;
    Sink<STATUS_BYTES, false> status_;
};

}  // namespace

struct RandomContext : VerilatedContext {
    explicit RandomContext(int seed) {
        // Registers without a reset start at random values, except when toggles are counted.
        randReset(HAS_COVERAGE ? 0 : 2);
        randSeed(seed);
        if (HAS_WAVES) traceEverOn(true);
    }
};

struct Model {
    explicit Model(int seed) : context(seed), top(&context) {}

    RandomContext context;
    Vmodel top;
    std::unique_ptr<Waves> waves;
    uint64_t time = 0;
    std::unique_ptr<Bench> bench;
};

template <class Step>
static int guarded(Job& job, Step step) {
    try {
        return step();
    } catch (const std::exception& error) {
        snprintf(job.failure, sizeof(job.failure), "%s", error.what());
        return FAILED;
    }
}

// Errors of Verilator, such as a combinational loop that does not settle, end only the run.
void vl_fatal(const char*, int, const char*, const char* text) { fail("%s", text); }

extern "C" {

[[gnu::visibility("default")]] Model* model_new(int seed) { return new Model(seed); }
[[gnu::visibility("default")]] void model_delete(Model* model) {
#if HAS_WAVES
    if (model->waves) model->waves->close();
#endif
    delete model;
}

#if HAS_WAVES
[[gnu::visibility("default")]] void model_open_waves(Model* model, const char* path) {
    model->waves = std::make_unique<Waves>();
    model->top.trace(model->waves.get(), 99);
    model->waves->open(path);
}
#endif

#if HAS_MUTANTS
// Select the fault of the design by its number. 0 for no fault.
[[gnu::visibility("default")]] void model_mutate(Model* model, int mutant) {
    model->top.mutant = mutant;
}
#endif

#if HAS_COVERAGE
[[gnu::visibility("default")]] void model_write_coverage(Model* model, const char* path) {
    model->context.coveragep()->write(path);
}
#endif

// Reset, and begin a job. Its memory must stay at its address until the job ends.
[[gnu::visibility("default")]] int model_start(Model* model, Job* job) {
    return guarded(*job, [&] {
        model->bench = std::make_unique<Bench>(model->top, *job, model->waves.get(), model->time);
        return RUNNING;
    });
}

// Continue for a number of cycles, or to the end of the job. Returns an Outcome.
[[gnu::visibility("default")]] int model_advance(Model* model, Job* job, int64_t cycles) {
    return guarded(*job, [&] { return model->bench->advance(cycles); });
}
}
