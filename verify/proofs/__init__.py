"""Proofs about the hardware, a folder for each kit: what all units share, AXI, and each codec.

The folders follow those of :mod:`cdma.hdl`. A module of proofs has them in ``PROOFS``;
:mod:`cdma.verify.proofs.registry` finds them, so a further kit touches no other.
"""
