"""Compressing DMA engine: golden model, hardware, co-simulation, verification and reports.

The hardware's side lives in the sibling folders of this one and installs as ``cdma.golden``,
``cdma.hdl``, ``cdma.sim``, ``cdma.verify`` and ``cdma.synth``; the tool around it lives here.
"""

__version__ = "0.1.0"
