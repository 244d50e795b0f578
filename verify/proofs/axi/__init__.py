"""Proofs about the AXI tops."""
