"""Proofs about the choice of a coding."""
