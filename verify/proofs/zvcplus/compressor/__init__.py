"""Proofs about the compressor of ZVC+."""
