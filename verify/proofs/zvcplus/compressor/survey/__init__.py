"""Proofs about the statistics of blocks."""
