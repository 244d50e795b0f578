"""Proofs of components of the ZVC+ units."""
