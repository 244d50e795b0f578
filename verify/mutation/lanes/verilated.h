// What the loop around a design needs of Verilator, for a design without Verilator.

#pragma once

#include <cstdint>

struct VerilatedContext {
    int seed = 0;
    void randReset(int) {}
    void randSeed(int value) { seed = value; }
    void traceEverOn(bool) {}
};
