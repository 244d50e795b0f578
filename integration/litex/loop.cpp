// Clock loop of the system: prints what the UART sends, ends when the firmware sets an LED.
//
//   simulate CYCLES
//
// Exit status: 0 PASS, 1 FAIL, 2 a fault of the model, 3 no end within CYCLES cycles.

#include <cstdio>
#include <cstdlib>

#include "Vsoc.h"
#include "verilated.h"

// The project's objects of Verilator's library leave this function to the program.
void vl_fatal(const char*, int, const char*, const char* text) {
    std::fprintf(stderr, "%s\n", text);
    std::exit(2);
}

enum { PASS = 0x80, FAIL = 0x40 };  // LEDs; as in firmware/main.c

int main(int count, char** words) {
    const long long limit = count > 1 ? std::atoll(words[1]) : 10000000;
    VerilatedContext context;
    context.randReset(2);
    Vsoc top(&context);
    top.serial_source_ready = 1;
    top.serial_sink_valid = 0;
    for (long long cycle = 0; cycle < limit; ++cycle) {
        top.sys_clk = 0;
        top.eval();
        if (top.serial_source_valid) std::putchar(top.serial_source_data);
        top.sys_clk = 1;
        top.eval();
        if (top.leds & (PASS | FAIL)) {
            std::fprintf(stderr, "%lld cycles\n", cycle + 1);
            return top.leds & FAIL ? 1 : 0;
        }
    }
    std::fprintf(stderr, "no end within %lld cycles\n", limit);
    return 3;
}
