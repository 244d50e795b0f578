// Clock loop around the Verilated engine, with a memory at each of its AXI4 ports.
//
// Compiled for one design: pins.h, written by sim/engine/build.py, has PORTS, `load` and `drive` of
// its ports. Structs are mirrored in sim/engine/pins.py.

#include <memory>

#include "Vmodel.h"
#include "digest.h"
#include "lite.h"
#include "memory.h"
#include "pins.h"
#include "verilated.h"
#if HAS_WAVES
#include "verilated_vcd_c.h"
#endif

void vl_fatal(const char*, int, const char*, const char* text) { fail("%s", text); }

struct Stop {  // why a run ends; mirrored in sim/engine/pins.py
    int64_t cycles;        // after this number of cycles
    const uint8_t* byte;   // when *byte & mask == value; null: never
    uint8_t mask, value, irq, access;  // when irq is 1; when the register access is done
};

enum Reason { CYCLES, BYTE, IRQ, ACCESS, FAILED };

struct RandomContext : VerilatedContext {
    explicit RandomContext(int seed) {
        randReset(2);
        randSeed(seed);
        if (HAS_WAVES) traceEverOn(true);
    }
};

struct Engine {
    Engine(int power_up, uint64_t seed) : context(power_up), top(&context), lite(seed) {
        top.aclk = 0;
        top.aresetn = 0;
        top.eval();
    }

    // Process one rising edge of the clock.
    void step() {
        load_pins(top, asks.data(), lite.pins);
        const bool in_reset = !top.aresetn;
        if (!in_reset) watch();
        for (int k = 0; k < PORTS; ++k)
            if (in_reset) memories[k]->reset(asks[k], answers[k], cycle, !was_reset);
            else memories[k]->tick(asks[k], answers[k], cycle);
        if (in_reset) lite.reset(cycle, !was_reset);
        else lite.tick(cycle);
        was_reset = in_reset;
        top.aclk = 1;
        top.eval();
        dump(0);
        drive_pins(top, answers.data(), lite.pins);
        top.aclk = 0;
        top.eval();
        dump(1);
        ++cycle;
    }

    void watch() {
        for (int k = 0; k < PORTS; ++k) digest.add(asks[k], memories[k]->beat_bytes());
        digest.add(lite.pins, top.irq);
    }

    void dump(int half) {
#if HAS_WAVES
        if (waves) waves->dump(uint64_t(10000 * cycle + 5000 * half));
#endif
        (void)half;
    }

    Reason run(const Stop& stop) {
        for (int64_t end = cycle + stop.cycles; cycle < end;) {
            step();
            if (stop.access && !lite.is_busy()) return ACCESS;
            if (stop.byte && (*stop.byte & stop.mask) == stop.value) return BYTE;
            if (stop.irq && top.irq) return IRQ;
        }
        return CYCLES;
    }

    RandomContext context;
    Vmodel top;
    Space spaces[2];
    std::array<std::unique_ptr<Memory>, PORTS> memories;
    std::array<Ask, PORTS> asks{};
    std::array<Answer, PORTS> answers{};
    Lite lite;
    Digest digest;
    int64_t cycle = 0;
    bool was_reset = false;
    char failure[FAILURE_BYTES] = "";
#if HAS_WAVES
    std::unique_ptr<VerilatedVcdC> waves;
#endif
};

#define EXPORT extern "C" [[gnu::visibility("default")]]

// Registers and memories power up with the one seed, gaps at the AXI4-Lite port have the other.
EXPORT Engine* engine_new(int power_up, uint64_t seed) { return new Engine(power_up, seed); }

EXPORT void engine_delete(Engine* engine) {
#if HAS_WAVES
    if (engine->waves) engine->waves->close();
#endif
    delete engine;
}

#if HAS_WAVES
EXPORT void engine_open_waves(Engine* engine, const char* path) {
    engine->waves = std::make_unique<VerilatedVcdC>();
    engine->top.trace(engine->waves.get(), 99);
    engine->waves->open(path);
}
#endif

EXPORT void engine_set_port(Engine* engine, int port, const char* name, int space,
                            const Limits* limits, const Timing* timing, uint64_t seed) {
    engine->memories[port] =
        std::make_unique<Memory>(name, engine->spaces[space], *limits, *timing, seed);
}

EXPORT void engine_add_buffer(Engine* engine, int space, uint64_t base, uint64_t size,
                              uint8_t* data, int access) {
    engine->spaces[space].add(base, size, data, access);
    engine->spaces[space].changed();
}

EXPORT void engine_remove_buffer(Engine* engine, int space, uint64_t base) {
    engine->spaces[space].remove(base);
    engine->spaces[space].changed();
}

EXPORT void engine_add_fault(Engine* engine, int space, const Fault* fault) {
    engine->spaces[space].faults.push_back(*fault);
}

EXPORT void engine_clear_faults(Engine* engine) {
    for (Space& space : engine->spaces) space.faults.clear();
}

EXPORT void engine_hold(Engine* engine, int port, int channel, int64_t until) {
    engine->memories[port]->hold(channel, until);
}

EXPORT void engine_reset(Engine* engine, int is_in_reset) {
    engine->top.aresetn = !is_in_reset;
    engine->top.eval();
}

EXPORT int64_t engine_cycle(const Engine* engine) { return engine->cycle; }
EXPORT int engine_irq(const Engine* engine) { return engine->top.irq; }
EXPORT uint64_t engine_digest(const Engine* engine) { return engine->digest.value; }
EXPORT const char* engine_failure(const Engine* engine) { return engine->failure; }

EXPORT const Counts* engine_counts(const Engine* engine, int port) {
    return &engine->memories[port]->counts;
}

// Start to log, or read and clear the log.
EXPORT void engine_log(Engine* engine, int port, int is_logged) {
    engine->memories[port]->is_logged = is_logged;
    engine->memories[port]->log.clear();
}
EXPORT int64_t engine_log_size(const Engine* engine, int port) {
    return engine->memories[port]->log.size();
}
EXPORT const Event* engine_log_data(const Engine* engine, int port) {
    return engine->memories[port]->log.data();
}

// Begin an access. The struct must stay at its address until the access is done.
EXPORT void engine_access(Engine* engine, Access* access) {
    engine->lite.begin(access);
    drive_pins(engine->top, engine->answers.data(), engine->lite.pins);
    engine->top.eval();
}
EXPORT void engine_drop_access(Engine* engine) { engine->lite.drop(); }

EXPORT int engine_run(Engine* engine, const Stop* stop) {
    try {
        return engine->run(*stop);
    } catch (const std::exception& error) {
        snprintf(engine->failure, sizeof(engine->failure), "%s", error.what());
        return FAILED;
    }
}
