"""Proofs about the decompressor and its components."""
