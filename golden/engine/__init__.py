"""Golden model of the DMA engine: the contents of memory after each descriptor."""

from cdma.golden.engine.container import Streams, read_zvc, write_zvc
from cdma.golden.engine.cycles import cycles
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.offload import Offload, copy_out, offload
from cdma.golden.engine.prefetch import Prefetch, StripeError, prefetch, salvage_stripes

__all__ = [
    "Completion",
    "Descriptor",
    "Offload",
    "Prefetch",
    "Streams",
    "StripeError",
    "copy_out",
    "cycles",
    "offload",
    "prefetch",
    "read_zvc",
    "salvage_stripes",
    "write_zvc",
]
