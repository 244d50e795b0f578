"""Proofs of the ports to memories."""
