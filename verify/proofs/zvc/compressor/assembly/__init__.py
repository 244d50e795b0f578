"""Proofs about beat assembly."""
