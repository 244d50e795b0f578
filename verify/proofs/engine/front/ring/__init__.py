"""Proofs about a ring of descriptors."""
