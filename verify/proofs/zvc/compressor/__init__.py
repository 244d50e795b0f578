"""Proofs about the compressor and its components."""
