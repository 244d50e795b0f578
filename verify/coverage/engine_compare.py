"""The result of a single job of any operation, compared with the golden engine."""

from dataclasses import replace

import numpy as np

from cdma.engine_codes import Op, Raw, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.engine.offload import copy_out
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.model import Job


def difference(job: Job, config: EngineConfig) -> str:
    """First difference between a job and the golden engine with its fields, or nothing.

    Rows must follow each other without a gap. An offload with APPEND has all of its host buffer as
    the arena.
    """
    descriptor = job.descriptor
    if descriptor.reserved or job.completion.status == Status.BAD_DESCRIPTOR:
        return _refusal(job)
    op, nbytes = Op(descriptor.op), descriptor.raw_bytes
    if op in (Op.OFFLOAD, Op.MEASURE):
        return _offload(job, config, _words(job.before[0], nbytes, config))
    if op is Op.COPY_OUT:
        words = _words(job.before[0], nbytes, config)
        return offload_difference(job, copy_out(words, config, descriptor.limit), config)
    if op is Op.COPY_IN:
        # The same in the other direction.
        turned = replace(
            job,
            host=job.tensor,
            tensor=job.host,
            before=(job.before[1], job.before[0], *job.before[2:]),
        )
        words = _words(job.before[1], nbytes, config)
        return offload_difference(turned, copy_out(words, config, descriptor.limit), config)
    found = golden.salvage_stripes(
        job.before[1][: descriptor.limit],
        job.before[2][: 8 * config.stripes(nbytes)],
        nbytes // config.word_bytes,
        config,
        crc=descriptor.crc,
    )
    return prefetch_difference(job, found, config, is_verify=op is Op.VERIFY)


def _words(memory, nbytes, config):
    return memory[:nbytes].view(config.format.dtype)


def _offload(job, config, words):
    descriptor, is_measure = job.descriptor, job.descriptor.op == Op.MEASURE
    limit = job.host.data.size if descriptor.append else descriptor.limit
    found = golden.offload(
        words, config, Raw(descriptor.raw), None if is_measure else limit, bool(descriptor.crc)
    )
    if not descriptor.with_index:
        found = replace(found, index=found.index[:0])
    return offload_difference(job, found, config, is_measure=is_measure)


def _refusal(job):
    if not job.descriptor.reserved or job.completion.status != Status.BAD_DESCRIPTOR:
        return f"status {job.completion.status} with reserved bits {job.descriptor.reserved}"
    for buffer, before in zip((job.tensor, job.host, job.index_buffer), job.before, strict=True):
        if not np.array_equal(buffer.data, before):
            return "a job that was refused has written"
    return ""
