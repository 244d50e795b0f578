"""Proofs about buffers, counters, prefix sums, and the functions that components share."""
