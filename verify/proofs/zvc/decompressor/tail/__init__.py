"""Proofs of the end of a packet whose stream ends itself."""
