"""Compressing DMA engine: golden model, hardware, co-simulation and reports.

The parts live in the sibling folders of this one and install as ``cdma.golden``, ``cdma.hdl``,
``cdma.sim``, ``cdma.synth``, ``cdma.study`` and ``cdma.cli``.
"""

__version__ = "0.1.0"
