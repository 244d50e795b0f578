"""Proofs of components of the ZVC+ decompressor: rows, controls and output."""
