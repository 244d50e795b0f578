"""Proofs of what offload and prefetch share."""
