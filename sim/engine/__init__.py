"""Simulation of the engine: memories, a checker of AXI rules, and the compiled model."""
