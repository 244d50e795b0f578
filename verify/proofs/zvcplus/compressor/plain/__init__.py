"""Proofs about the coder of floats without repeats."""
