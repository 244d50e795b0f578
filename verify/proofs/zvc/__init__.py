"""Proofs about the zero-value codec: its units and their components."""
