"""Proofs of the hardware: one folder (kit) for the shared library, for AXI, and for each codec.

The folders mirror those of :mod:`cdma.hdl`. Each module lists its proofs in ``PROOFS``.
:mod:`cdma.verify.proofs.registry` finds the lists, so a new kit changes no existing file.
"""
