"""Golden model of the DMA engine: what must be in memory after each descriptor."""
