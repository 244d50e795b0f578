"""Proofs of offload."""
