"""The compiled model: a unit's Verilog and a loop in C++ as one shared library."""
