"""Proofs about fetching masks."""
