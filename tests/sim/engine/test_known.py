"""Faults of the engine that are known and not yet mended: a test that passes is to be moved.

Random jobs leave them out: ``EMPTY_RANGES`` in ``verify/fuzz/engine/jobs/prefetches.py``, and
addresses of fewer than 64 bits in ``verify/fuzz/engine/sizes.py``.
"""

import numpy as np
import pytest

from cdma.engine_codes import Op, Status
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.model import OFFLOAD, PREFETCH


@pytest.mark.xfail(strict=True, reason="RangeReader reads the first beat of an empty range")
def test_a_stream_of_no_bytes_is_not_read(model_of, small_zvc):
    """A prefetch with a limit of 0, whose stream does not begin with a beat."""
    model = model_of()
    tensor = model.allocate(DEVICE, 64, align=2048)
    index = model.allocate(HOST, 8)
    index.data[:] = 0
    job = Descriptor(
        Op.PREFETCH,
        device=tensor.address,
        host=index.end + 4096 + small_zvc.word_bytes,
        index=index.address,
        row_bytes=64,
        with_index=True,
    )
    assert model.run(PREFETCH, job).status is Status.INDEX


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="the checker of descriptors takes bit 63 for a carry")
def test_host_addresses_of_64_bits(model_with):
    """An offload to the upper half of all addresses."""
    config = EngineConfig(
        channels=1, lanes=2, address_bits=64, stripe_bytes=1024, latency=20, link_fifo_bytes=2048
    )
    model = model_with(config)
    tensor = model.place_tensor(np.ones(8, config.format.dtype))
    address = (1 << 63) + 4096
    job = Descriptor(Op.OFFLOAD, device=tensor.address, host=address, row_bytes=32, limit=64)
    model.engine.add(Buffer(HOST, address, np.zeros(64, np.uint8)))
    assert model.run(OFFLOAD, job).status is Status.OK
