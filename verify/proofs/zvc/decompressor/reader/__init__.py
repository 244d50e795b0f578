"""Proofs about reading the words of beats."""
