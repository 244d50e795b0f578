"""Proofs of the front end."""
