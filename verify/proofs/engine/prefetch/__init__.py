"""Proofs about the components of prefetch."""
