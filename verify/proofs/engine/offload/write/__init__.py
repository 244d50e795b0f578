"""Proofs of the writer of streams."""
