"""Proofs of the engine's components."""
