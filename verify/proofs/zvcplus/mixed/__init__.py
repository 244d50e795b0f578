"""Proofs about units of several element types."""
