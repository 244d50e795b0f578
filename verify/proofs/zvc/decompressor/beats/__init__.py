"""Proofs about the beats of blocks."""
