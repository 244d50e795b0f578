// The memory model as a separate library, for benches that drive the pins: cocotb, and tests.

#include "lite.h"
#include "memory.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

struct Bank {  // one address space, with ports
    Space space;
    std::vector<std::unique_ptr<Memory>> ports;
    char failure[FAILURE_BYTES] = "";
};

EXPORT Bank* bank_new() { return new Bank; }
EXPORT void bank_delete(Bank* bank) { delete bank; }

EXPORT int bank_add_port(Bank* bank, const char* name, const Limits* limits, const Timing* timing,
                         uint64_t seed) {
    bank->ports.push_back(
        std::make_unique<Memory>(name, bank->space, *limits, *timing, seed));
    return bank->ports.size() - 1;
}

EXPORT void bank_add_buffer(Bank* bank, uint64_t base, uint64_t size, uint8_t* data, int access) {
    bank->space.add(base, size, data, access);
    bank->space.changed();
}

EXPORT void bank_remove_buffer(Bank* bank, uint64_t base) {
    bank->space.remove(base);
    bank->space.changed();
}

EXPORT void bank_add_fault(Bank* bank, const Fault* fault) {
    bank->space.faults.push_back(*fault);
}

EXPORT const Counts* bank_counts(const Bank* bank, int port) { return &bank->ports[port]->counts; }
EXPORT const char* bank_failure(const Bank* bank) { return bank->failure; }

// Process a clock edge. Returns whether no rule was violated.
EXPORT int bank_tick(Bank* bank, int port, const Ask* ask, Answer* answer, int64_t cycle,
                     int in_reset) {
    try {
        if (in_reset) bank->ports[port]->reset(*ask, *answer, cycle, in_reset > 1);
        else bank->ports[port]->tick(*ask, *answer, cycle);
        return 1;
    } catch (const std::exception& error) {
        snprintf(bank->failure, sizeof(bank->failure), "%s", error.what());
        return 0;
    }
}

struct Registers {  // manager of an AXI4-Lite port
    explicit Registers(uint64_t seed) : lite(seed) {}

    Lite lite;
    char failure[FAILURE_BYTES] = "";
};

EXPORT Registers* registers_new(uint64_t seed) { return new Registers(seed); }
EXPORT void registers_delete(Registers* registers) { delete registers; }
EXPORT LitePins* registers_pins(Registers* registers) { return &registers->lite.pins; }
EXPORT void registers_begin(Registers* registers, Access* access) {
    registers->lite.begin(access);
}
EXPORT int registers_busy(const Registers* registers) { return registers->lite.is_busy(); }
EXPORT const char* registers_failure(const Registers* registers) { return registers->failure; }

// Process a clock edge. Returns whether no rule was violated.
EXPORT int registers_tick(Registers* registers, int64_t cycle, int in_reset) {
    try {
        if (in_reset) registers->lite.reset(cycle, in_reset > 1);
        else registers->lite.tick(cycle);
        return 1;
    } catch (const std::exception& error) {
        snprintf(registers->failure, sizeof(registers->failure), "%s", error.what());
        return 0;
    }
}
