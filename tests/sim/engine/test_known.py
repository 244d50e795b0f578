"""Faults of the engine that are known and not yet mended: a test that passes is to be moved.

Random jobs leave them out: ``EMPTY_RANGES`` in ``verify/fuzz/engine/jobs/prefetches.py``.
"""

import pytest

from cdma.engine_codes import Op, Status
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import PREFETCH


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
